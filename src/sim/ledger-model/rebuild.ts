/**
 * From the five sections back to a state. Accounts start empty and every transfer and expiry is
 * lived through again, without its rules: they held when it was created. That brings back the
 * history of balances, and since the balances at the end are in the sections as well, it checks
 * that the sections belong together.
 */
import { assert } from '../../stdx/index.ts';
import { AccountFlag, TransferFlag } from './codes.ts';
import { storeTransfer } from './create-transfer.ts';
import { release, storePostOrVoid } from './post-or-void.ts';
import { recordSizes, SECTION_COUNT, statusCodes } from './sections.ts';
import { LedgerState } from './state.ts';
import { type Account, decodeAccount, decodeTransfer, Reader, type Transfer } from './structs.ts';

interface ExpiryRecord {
  readonly timestamp: bigint;
  readonly transferTimestamp: bigint;
  /** How many account events came before this one. */
  readonly eventIndex: number;
}

/** `state` is empty at first. Sections 1 … 5 are at index 0 … 4. */
export function rebuild(
  sections: readonly Uint8Array[],
  state: LedgerState = new LedgerState(),
): LedgerState {
  assert(sections.length === SECTION_COUNT, 'rebuild: five sections');
  assert(state.accounts.length === 0, 'rebuild: the state is not empty');
  const records = sections.map((section, index) =>
    recordsOf(section, recordSizes[index] as number),
  );
  const accounts = records[0]!.map((bytes) => decodeAccount(bytes));
  const transfers = records[1]!.map((bytes) => decodeTransfer(bytes));
  const expiries = records[4]!.map(decodeExpiry);

  for (const id of records[3]!) state.burnedIds.add(new Reader(id).u128());
  insertEmptyAccounts(state, accounts, transfers);
  let expired = 0;
  const expireWhereDue = (): void => {
    for (; expiries[expired]?.eventIndex === state.events.length; expired++) {
      repeatExpiry(state, expiries[expired] as ExpiryRecord);
    }
  };
  for (const transfer of transfers) {
    expireWhereDue();
    repeatTransfer(state, transfer);
  }
  expireWhereDue();
  assert(expired === expiries.length, 'rebuild: an expiry has no place in the history');
  checkOutcome(state, accounts, sections[2] as Uint8Array);
  return state;
}

function recordsOf(section: Uint8Array, size: number): Uint8Array[] {
  assert(section.length % size === 0, 'recordsOf: partial record');
  const records: Uint8Array[] = [];
  for (let at = 0; at < section.length; at += size) records.push(section.subarray(at, at + size));
  return records;
}

function decodeExpiry(bytes: Uint8Array): ExpiryRecord {
  const reader = new Reader(bytes);
  const timestamp = reader.u64();
  return { timestamp, transferTimestamp: reader.u64(), eventIndex: Number(reader.u64()) };
}

/**
 * Accounts as they were created. One that was closed from the start never has a transfer, so the
 * closed flag of an account with transfers was set later, by one of them.
 */
function insertEmptyAccounts(
  state: LedgerState,
  accounts: readonly Account[],
  transfers: readonly Transfer[],
): void {
  const withTransfers = new Set(
    transfers.flatMap(({ debitAccountId, creditAccountId }) => [debitAccountId, creditAccountId]),
  );
  for (const account of accounts) {
    state.insertAccount({
      ...account,
      debitsPending: 0n,
      debitsPosted: 0n,
      creditsPending: 0n,
      creditsPosted: 0n,
      flags: withTransfers.has(account.id) ? account.flags & ~AccountFlag.closed : account.flags,
    });
  }
}

function repeatTransfer(state: LedgerState, transfer: Transfer): void {
  const { postPendingTransfer, voidPendingTransfer } = TransferFlag;
  if ((transfer.flags & (postPendingTransfer | voidPendingTransfer)) !== 0) {
    const pending = state.transferById.get(transfer.pendingId);
    assert(pending !== undefined, 'rebuild: a post or void without its pending transfer');
    storePostOrVoid(state, transfer, pending);
  } else {
    storeTransfer(state, transfer);
  }
}

function repeatExpiry(state: LedgerState, expiry: ExpiryRecord): void {
  const transfer = state.transferByTimestamp.get(expiry.transferTimestamp);
  assert(transfer !== undefined, 'rebuild: an expiry without its transfer');
  release(state, transfer, 'expired');
  state.recordEvent('expired', expiry.timestamp, transfer);
}

/** What came out must be what the sections say of balances, flags and pending status. */
function checkOutcome(
  state: LedgerState,
  accounts: readonly Account[],
  statuses: Uint8Array,
): void {
  assert(statuses.length === state.transfers.length, 'rebuild: one status per transfer');
  for (const expected of accounts) {
    const account = state.account(expected.id);
    const same =
      account.debitsPending === expected.debitsPending &&
      account.debitsPosted === expected.debitsPosted &&
      account.creditsPending === expected.creditsPending &&
      account.creditsPosted === expected.creditsPosted &&
      account.flags === expected.flags;
    assert(same, 'rebuild: an account differs from its history');
  }
  state.transfers.forEach(({ id }, index) => {
    const status = statusCodes[statuses[index] as number];
    assert(state.pendingStatus.get(id) === status, 'rebuild: a status differs from its history');
  });
}
