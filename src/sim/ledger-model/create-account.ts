/**
 * The rules of one account, in the order in which they are checked. The first rule that is broken
 * decides the status.
 */
import { AccountFlag, AccountStatus as Status, U128_MAX } from './codes.ts';
import type { LedgerState } from './state.ts';
import type { Account, CreateResult } from './structs.ts';

/** `timestamp` is the one the event was assigned; an imported account brings its own. */
export function createAccount(state: LedgerState, event: Account, timestamp: bigint): CreateResult {
  const isImported = (event.flags & AccountFlag.imported) !== 0;

  // The event alone, as far as it must be sound to look for its id.
  if (event.reserved !== 0) return { status: Status.reservedField, timestamp };
  if ((event.flags & AccountFlag.unknown) !== 0) return { status: Status.reservedFlag, timestamp };
  if (event.id === 0n) return { status: Status.idMustNotBeZero, timestamp };
  if (event.id === U128_MAX) return { status: Status.idMustNotBeIntMax, timestamp };

  // The same id again.
  const stored = state.accountById.get(event.id);
  if (stored !== undefined) {
    const status = compareWithStored(event, stored);
    return { status, timestamp: status === Status.exists ? stored.timestamp : timestamp };
  }

  // The rest of the event.
  const status = accountProblem(event);
  if (status !== null) return { status, timestamp };

  if (isImported && state.accountRegresses(event.timestamp)) {
    return { status: Status.importedEventTimestampMustNotRegress, timestamp };
  }

  const account = { ...event, timestamp: isImported ? event.timestamp : timestamp };
  state.insertAccount(account);
  return { status: Status.created, timestamp: account.timestamp };
}

/** Flags are compared with what they are now: closing or reopening the account changes them. */
function compareWithStored(event: Account, stored: Account): number {
  if (event.flags !== stored.flags) return Status.existsWithDifferentFlags;
  if (event.userData128 !== stored.userData128) return Status.existsWithDifferentUserData128;
  if (event.userData64 !== stored.userData64) return Status.existsWithDifferentUserData64;
  if (event.userData32 !== stored.userData32) return Status.existsWithDifferentUserData32;
  if (event.ledger !== stored.ledger) return Status.existsWithDifferentLedger;
  if (event.code !== stored.code) return Status.existsWithDifferentCode;
  return Status.exists;
}

function accountProblem(event: Account): number | null {
  const bothLimits =
    AccountFlag.debitsMustNotExceedCredits | AccountFlag.creditsMustNotExceedDebits;
  if ((event.flags & bothLimits) === bothLimits) return Status.flagsAreMutuallyExclusive;
  if (event.debitsPending !== 0n) return Status.debitsPendingMustBeZero;
  if (event.debitsPosted !== 0n) return Status.debitsPostedMustBeZero;
  if (event.creditsPending !== 0n) return Status.creditsPendingMustBeZero;
  if (event.creditsPosted !== 0n) return Status.creditsPostedMustBeZero;
  if (event.ledger === 0) return Status.ledgerMustNotBeZero;
  if (event.code === 0) return Status.codeMustNotBeZero;
  return null;
}
