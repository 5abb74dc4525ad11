/**
 * One batch of create events, accounts and transfers alike: which timestamp an event gets, what
 * holds for every event before its own rules are looked at, and how linked events stand or fall
 * together.
 */
import { assert } from '../../stdx/index.ts';
import {
  AccountStatus,
  CREATED,
  LINKED_EVENT_CHAIN_OPEN,
  LINKED_EVENT_FAILED,
  TIMESTAMP_MAX,
  TIMESTAMP_MUST_BE_ZERO,
  TransferStatus,
  transientStatuses,
} from './codes.ts';
import { createAccount } from './create-account.ts';
import { createTransfer } from './create-transfer.ts';
import type { LedgerState } from './state.ts';
import type { Account, CreateResult, Transfer } from './structs.ts';

/** What one batch needs to know about the kind of event it creates. */
interface Kind<Event> {
  readonly linkedFlag: number;
  readonly importedFlag: number;
  readonly importedEventExpected: number;
  readonly importedEventNotExpected: number;
  readonly importedEventTimestampOutOfRange: number;
  readonly importedEventTimestampMustNotAdvance: number;
  /** The rules of the event itself. `timestamp` is the one the event was assigned. */
  create(state: LedgerState, event: Event, timestamp: bigint): CreateResult;
}

const accountKind: Kind<Account> = {
  linkedFlag: 1,
  importedFlag: 16,
  importedEventExpected: AccountStatus.importedEventExpected,
  importedEventNotExpected: AccountStatus.importedEventNotExpected,
  importedEventTimestampOutOfRange: AccountStatus.importedEventTimestampOutOfRange,
  importedEventTimestampMustNotAdvance: AccountStatus.importedEventTimestampMustNotAdvance,
  create: createAccount,
};

const transferKind: Kind<Transfer> = {
  linkedFlag: 1,
  importedFlag: 256,
  importedEventExpected: TransferStatus.importedEventExpected,
  importedEventNotExpected: TransferStatus.importedEventNotExpected,
  importedEventTimestampOutOfRange: TransferStatus.importedEventTimestampOutOfRange,
  importedEventTimestampMustNotAdvance: TransferStatus.importedEventTimestampMustNotAdvance,
  create: createTransfer,
};

export function createAccounts(
  state: LedgerState,
  events: readonly Account[],
  timestampMax: bigint,
): CreateResult[] {
  return createBatch(state, events, timestampMax, accountKind);
}

export function createTransfers(
  state: LedgerState,
  events: readonly Transfer[],
  timestampMax: bigint,
): CreateResult[] {
  return createBatch(state, events, timestampMax, transferKind, (event, status) => {
    // The id of the culprit is lost for ever, whatever becomes of its chain.
    if (transientStatuses.has(status)) state.burn(event.id);
  });
}

/** `timestampMax` is the timestamp of the batch's last event; the others come just before it. */
function createBatch<Event extends { readonly flags: number; readonly timestamp: bigint }>(
  state: LedgerState,
  events: readonly Event[],
  timestampMax: bigint,
  kind: Kind<Event>,
  onFailure?: (event: Event, status: number) => void,
): CreateResult[] {
  const results: CreateResult[] = [];
  /** Index of the open chain's first event. */
  let chainStart: number | null = null;
  let chainBroken = false;

  events.forEach((event, index) => {
    const timestamp = timestampMax - BigInt(events.length - index - 1);
    const isLinked = (event.flags & kind.linkedFlag) !== 0;
    const isLast = index === events.length - 1;
    if (isLinked && chainStart === null) {
      chainStart = index;
      chainBroken = false;
      state.beginChain();
    }

    let result: CreateResult;
    if (isLinked && isLast) result = { status: LINKED_EVENT_CHAIN_OPEN, timestamp };
    else if (chainBroken) result = { status: LINKED_EVENT_FAILED, timestamp };
    else {
      const status = importProblem(event, events[0] as Event, timestampMax, kind);
      result = status === null ? kind.create(state, event, timestamp) : { status, timestamp };
    }

    if (result.status !== CREATED) {
      if (chainStart !== null && !chainBroken) {
        state.rollbackChain();
        chainBroken = true;
        // Earlier members keep the timestamps they were created with.
        for (const earlier of results.slice(chainStart)) earlier.status = LINKED_EVENT_FAILED;
      }
      onFailure?.(event, result.status);
    }
    results.push(result);

    if (chainStart !== null && (!isLinked || isLast)) {
      if (!chainBroken) state.keepChain();
      chainStart = null;
      chainBroken = false;
    }
  });
  assert(chainStart === null && !chainBroken, 'createBatch: a chain outlived its batch');
  return results;
}

/**
 * What every event must satisfy first: all of a batch imported, or none; and a fitting timestamp.
 */
function importProblem<Event extends { readonly flags: number; readonly timestamp: bigint }>(
  event: Event,
  first: Event,
  timestampMax: bigint,
  kind: Kind<Event>,
): number | null {
  const isImported = (event.flags & kind.importedFlag) !== 0;
  const firstIsImported = (first.flags & kind.importedFlag) !== 0;
  if (isImported !== firstIsImported) {
    return isImported ? kind.importedEventNotExpected : kind.importedEventExpected;
  }
  if (!isImported) return event.timestamp === 0n ? null : TIMESTAMP_MUST_BE_ZERO;
  if (event.timestamp === 0n || event.timestamp > TIMESTAMP_MAX) {
    return kind.importedEventTimestampOutOfRange;
  }
  return event.timestamp < timestampMax ? null : kind.importedEventTimestampMustNotAdvance;
}
