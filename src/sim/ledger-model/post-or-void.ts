/**
 * The rules of a transfer that posts or voids a pending one, in the order in which they are
 * checked, and what posting, voiding and expiring do. All three end the pending transfer by
 * releasing the whole of its amount; a post moves what it asks for and drops the rest.
 */
import { assert } from '../../stdx/index.ts';
import { AccountFlag, TransferStatus as Status, TransferFlag, U128_MAX } from './codes.ts';
import { expiryOf, type LedgerState } from './state.ts';
import type { CreateResult, Transfer } from './structs.ts';
import { amountMeant } from './transfer-exists.ts';

/** Flags that a post or void must not have, besides each other. */
const FLAGS_EXCLUDED =
  TransferFlag.pending |
  TransferFlag.balancingDebit |
  TransferFlag.balancingCredit |
  TransferFlag.closingDebit |
  TransferFlag.closingCredit;

/** `timestamp` is the one the event was assigned; an imported transfer brings its own. */
export function postOrVoid(state: LedgerState, event: Transfer, timestamp: bigint): CreateResult {
  const isPost = (event.flags & TransferFlag.postPendingTransfer) !== 0;
  const isVoid = (event.flags & TransferFlag.voidPendingTransfer) !== 0;
  const isImported = (event.flags & TransferFlag.imported) !== 0;
  assert(isPost || isVoid, 'postOrVoid: neither');

  // The event alone.
  if ((isPost && isVoid) || (event.flags & FLAGS_EXCLUDED) !== 0) {
    return { status: Status.flagsAreMutuallyExclusive, timestamp };
  }
  if (event.pendingId === 0n) return { status: Status.pendingIdMustNotBeZero, timestamp };
  if (event.pendingId === U128_MAX) return { status: Status.pendingIdMustNotBeIntMax, timestamp };
  if (event.pendingId === event.id) return { status: Status.pendingIdMustBeDifferent, timestamp };
  if (event.timeout !== 0) return { status: Status.timeoutReservedForPendingTransfer, timestamp };

  // The event and the transfer it ends.
  const pending = state.transferById.get(event.pendingId);
  if (pending === undefined) return { status: Status.pendingTransferNotFound, timestamp };
  const problem = pendingProblem(state, event, pending, timestamp);
  if (problem !== null) return { status: problem, timestamp };
  if (isImported && state.transferRegresses(event.timestamp)) {
    return { status: Status.importedEventTimestampMustNotRegress, timestamp };
  }

  // A closed account lets go of what is pending but takes nothing new.
  const debit = state.account(pending.debitAccountId);
  const credit = state.account(pending.creditAccountId);
  if (isPost && (debit.flags & AccountFlag.closed) !== 0) {
    return { status: Status.debitAccountAlreadyClosed, timestamp };
  }
  if (isPost && (credit.flags & AccountFlag.closed) !== 0) {
    return { status: Status.creditAccountAlreadyClosed, timestamp };
  }

  const transfer: Transfer = {
    ...event,
    debitAccountId: pending.debitAccountId,
    creditAccountId: pending.creditAccountId,
    amount: amountMeant(event, pending),
    userData128: event.userData128 || pending.userData128,
    userData64: event.userData64 || pending.userData64,
    userData32: event.userData32 || pending.userData32,
    ledger: pending.ledger,
    code: pending.code,
    timestamp: isImported ? event.timestamp : timestamp,
  };
  storePostOrVoid(state, transfer, pending);
  return { status: Status.created, timestamp: transfer.timestamp };
}

function pendingProblem(
  state: LedgerState,
  event: Transfer,
  pending: Transfer,
  timestamp: bigint,
): number | null {
  if ((pending.flags & TransferFlag.pending) === 0) return Status.pendingTransferNotPending;
  // What the event leaves out it takes from the pending transfer.
  const { debitAccountId, creditAccountId, ledger, code } = event;
  if (debitAccountId !== 0n && debitAccountId !== pending.debitAccountId) {
    return Status.pendingTransferHasDifferentDebitAccountId;
  }
  if (creditAccountId !== 0n && creditAccountId !== pending.creditAccountId) {
    return Status.pendingTransferHasDifferentCreditAccountId;
  }
  if (ledger !== 0 && ledger !== pending.ledger) return Status.pendingTransferHasDifferentLedger;
  if (code !== 0 && code !== pending.code) return Status.pendingTransferHasDifferentCode;

  const amount = amountMeant(event, pending);
  const isVoid = (event.flags & TransferFlag.voidPendingTransfer) !== 0;
  if (amount > pending.amount) return Status.exceedsPendingTransferAmount;
  if (isVoid && amount < pending.amount) return Status.pendingTransferHasDifferentAmount;

  const status = state.pendingStatus.get(pending.id);
  if (status === 'posted') return Status.pendingTransferAlreadyPosted;
  if (status === 'voided') return Status.pendingTransferAlreadyVoided;
  if (status === 'expired') return Status.pendingTransferExpired;
  // Time decides even before the pulse has come round to this transfer.
  if (pending.timeout !== 0 && expiryOf(pending) <= timestamp) return Status.pendingTransferExpired;
  return null;
}

/** Stores a post or void that passed its rules, and moves the balances. */
export function storePostOrVoid(state: LedgerState, transfer: Transfer, pending: Transfer): void {
  const isPost = (transfer.flags & TransferFlag.postPendingTransfer) !== 0;
  state.insertTransfer(transfer);
  release(state, pending, isPost ? 'posted' : 'voided');
  if (isPost) {
    state.addToBalances(state.account(pending.debitAccountId), { debitsPosted: transfer.amount });
    state.addToBalances(state.account(pending.creditAccountId), { creditsPosted: transfer.amount });
  }
  state.recordEvent(isPost ? 'posted' : 'voided', transfer.timestamp, transfer);
}

/** Ends a pending transfer: gives back its amount and opens the accounts that it had closed. */
export function release(
  state: LedgerState,
  pending: Transfer,
  status: 'posted' | 'voided' | 'expired',
): void {
  const debit = state.account(pending.debitAccountId);
  const credit = state.account(pending.creditAccountId);
  state.setPendingStatus(pending, status);
  state.addToBalances(debit, { debitsPending: -pending.amount });
  state.addToBalances(credit, { creditsPending: -pending.amount });
  // A closing transfer is never posted: the account that it closed refuses that.
  if ((pending.flags & TransferFlag.closingDebit) !== 0) state.setClosed(debit, false);
  if ((pending.flags & TransferFlag.closingCredit) !== 0) state.setClosed(credit, false);
}
