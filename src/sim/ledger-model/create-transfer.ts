/**
 * The rules of one transfer, in the order in which they are checked. The first rule that is broken
 * decides the status. Transfers that post or void a pending transfer have rules of their own in
 * `post-or-void`; an id that is in use has them in `transfer-exists`.
 */
import {
  AccountFlag,
  NANOSECONDS_PER_SECOND,
  TransferStatus as Status,
  TIMESTAMP_MAX,
  TransferFlag,
  U128_MAX,
} from './codes.ts';
import { postOrVoid } from './post-or-void.ts';
import type { LedgerState } from './state.ts';
import type { Account, CreateResult, Transfer } from './structs.ts';
import { compareWithStored } from './transfer-exists.ts';

/** `timestamp` is the one the event was assigned; an imported transfer brings its own. */
export function createTransfer(
  state: LedgerState,
  event: Transfer,
  timestamp: bigint,
): CreateResult {
  // The event alone, as far as it must be sound to look for its id.
  if ((event.flags & TransferFlag.unknown) !== 0) return { status: Status.reservedFlag, timestamp };
  if (event.id === 0n) return { status: Status.idMustNotBeZero, timestamp };
  if (event.id === U128_MAX) return { status: Status.idMustNotBeIntMax, timestamp };

  // The same id again, or an id that failed for a reason that might have gone away since.
  const stored = state.transferById.get(event.id);
  if (stored !== undefined) {
    const status = compareWithStored(state, event, stored);
    return { status, timestamp: status === Status.exists ? stored.timestamp : timestamp };
  }
  if (state.burnedIds.has(event.id)) return { status: Status.idAlreadyFailed, timestamp };

  if ((event.flags & (TransferFlag.postPendingTransfer | TransferFlag.voidPendingTransfer)) !== 0) {
    return postOrVoid(state, event, timestamp);
  }

  // The rest of the event alone.
  const problem = transferProblem(event);
  if (problem !== null) return { status: problem, timestamp };

  // The event and its accounts.
  const debit = state.accountById.get(event.debitAccountId);
  if (debit === undefined) return { status: Status.debitAccountNotFound, timestamp };
  const credit = state.accountById.get(event.creditAccountId);
  if (credit === undefined) return { status: Status.creditAccountNotFound, timestamp };
  const conflict = accountProblem(state, event, debit, credit);
  if (conflict !== null) return { status: conflict, timestamp };

  // The amount that really moves, and whether the balances can take it.
  const amount = amountAvailable(event, debit, credit);
  const excess =
    overflowProblem(event, amount, timestamp, debit, credit) ?? limitProblem(amount, debit, credit);
  if (excess !== null) return { status: excess, timestamp };

  const isImported = (event.flags & TransferFlag.imported) !== 0;
  const transfer = { ...event, amount, timestamp: isImported ? event.timestamp : timestamp };
  storeTransfer(state, transfer);
  return { status: Status.created, timestamp: transfer.timestamp };
}

function transferProblem(event: Transfer): number | null {
  if (event.debitAccountId === 0n) return Status.debitAccountIdMustNotBeZero;
  if (event.debitAccountId === U128_MAX) return Status.debitAccountIdMustNotBeIntMax;
  if (event.creditAccountId === 0n) return Status.creditAccountIdMustNotBeZero;
  if (event.creditAccountId === U128_MAX) return Status.creditAccountIdMustNotBeIntMax;
  if (event.debitAccountId === event.creditAccountId) return Status.accountsMustBeDifferent;
  if (event.pendingId !== 0n) return Status.pendingIdMustBeZero;
  if ((event.flags & TransferFlag.pending) === 0) {
    if (event.timeout !== 0) return Status.timeoutReservedForPendingTransfer;
    const closes = TransferFlag.closingDebit | TransferFlag.closingCredit;
    if ((event.flags & closes) !== 0) return Status.closingTransferMustBePending;
  }
  if (event.ledger === 0) return Status.ledgerMustNotBeZero;
  if (event.code === 0) return Status.codeMustNotBeZero;
  return null;
}

function accountProblem(
  state: LedgerState,
  event: Transfer,
  debit: Account,
  credit: Account,
): number | null {
  if (debit.ledger !== credit.ledger) return Status.accountsMustHaveTheSameLedger;
  if (event.ledger !== debit.ledger) return Status.transferMustHaveTheSameLedgerAsAccounts;
  if ((event.flags & TransferFlag.imported) !== 0) {
    if (state.transferRegresses(event.timestamp))
      return Status.importedEventTimestampMustNotRegress;
    if (event.timestamp <= debit.timestamp) {
      return Status.importedEventTimestampMustPostdateDebitAccount;
    }
    if (event.timestamp <= credit.timestamp) {
      return Status.importedEventTimestampMustPostdateCreditAccount;
    }
    if (event.timeout !== 0) return Status.importedEventTimeoutMustBeZero;
  }
  if ((debit.flags & AccountFlag.closed) !== 0) return Status.debitAccountAlreadyClosed;
  if ((credit.flags & AccountFlag.closed) !== 0) return Status.creditAccountAlreadyClosed;
  return null;
}

/** A balancing transfer moves at most what keeps debits within credits, or the reverse. */
function amountAvailable(event: Transfer, debit: Account, credit: Account): bigint {
  let amount = event.amount;
  if ((event.flags & TransferFlag.balancingDebit) !== 0) {
    amount = min(amount, debit.creditsPosted - (debit.debitsPosted + debit.debitsPending));
  }
  if ((event.flags & TransferFlag.balancingCredit) !== 0) {
    amount = min(amount, credit.debitsPosted - (credit.creditsPosted + credit.creditsPending));
  }
  return amount;
}

/** The smaller of an amount and what is available, which counts as zero when negative. */
function min(amount: bigint, available: bigint): bigint {
  if (available < 0n) return 0n;
  return amount < available ? amount : available;
}

function overflowProblem(
  event: Transfer,
  amount: bigint,
  timestamp: bigint,
  debit: Account,
  credit: Account,
): number | null {
  if ((event.flags & TransferFlag.pending) !== 0) {
    if (amount + debit.debitsPending > U128_MAX) return Status.overflowsDebitsPending;
    if (amount + credit.creditsPending > U128_MAX) return Status.overflowsCreditsPending;
  }
  if (amount + debit.debitsPosted > U128_MAX) return Status.overflowsDebitsPosted;
  if (amount + credit.creditsPosted > U128_MAX) return Status.overflowsCreditsPosted;
  if (amount + debit.debitsPending + debit.debitsPosted > U128_MAX) return Status.overflowsDebits;
  if (amount + credit.creditsPending + credit.creditsPosted > U128_MAX) {
    return Status.overflowsCredits;
  }
  const end = timestamp + BigInt(event.timeout) * NANOSECONDS_PER_SECOND;
  return end > TIMESTAMP_MAX ? Status.overflowsTimeout : null;
}

function limitProblem(amount: bigint, debit: Account, credit: Account): number | null {
  if ((debit.flags & AccountFlag.debitsMustNotExceedCredits) !== 0) {
    const debits = debit.debitsPending + debit.debitsPosted + amount;
    if (debits > debit.creditsPosted) return Status.exceedsCredits;
  }
  if ((credit.flags & AccountFlag.creditsMustNotExceedDebits) !== 0) {
    const credits = credit.creditsPending + credit.creditsPosted + amount;
    if (credits > credit.debitsPosted) return Status.exceedsDebits;
  }
  return null;
}

/** Stores a transfer that passed its rules, and moves the balances. */
export function storeTransfer(state: LedgerState, transfer: Transfer): void {
  const debit = state.account(transfer.debitAccountId);
  const credit = state.account(transfer.creditAccountId);
  const isPending = (transfer.flags & TransferFlag.pending) !== 0;
  state.insertTransfer(transfer);
  if (isPending) {
    state.setPendingStatus(transfer, 'pending');
    state.addToBalances(debit, { debitsPending: transfer.amount });
    state.addToBalances(credit, { creditsPending: transfer.amount });
  } else {
    state.addToBalances(debit, { debitsPosted: transfer.amount });
    state.addToBalances(credit, { creditsPosted: transfer.amount });
  }
  if ((transfer.flags & TransferFlag.closingDebit) !== 0) state.setClosed(debit, true);
  if ((transfer.flags & TransferFlag.closingCredit) !== 0) state.setClosed(credit, true);
  state.recordEvent(isPending ? 'pending' : 'single-phase', transfer.timestamp, transfer);
}
