/**
 * Change events: the history of all accounts as one stream, for programs that follow the ledger.
 * Each tells a transfer, or the expiry of one, with both accounts as they were right after it.
 */
import { CHANGE_EVENTS_MAX } from './codes.ts';
import { decodeChangeEventsFilter, rangeIsValid } from './filters.ts';
import type { AccountEvent, AccountSnapshot, EventKind, LedgerState } from './state.ts';
import { Writer } from './structs.ts';

const typeOfKind: { readonly [kind in EventKind]: number } = {
  'single-phase': 0,
  pending: 1,
  posted: 2,
  voided: 3,
  expired: 4,
};

/**
 * Events in the filter's range, oldest first. An imported transfer may carry a time before an
 * expiry that was recorded earlier, so the history is put in order; equal times stay as recorded.
 */
export function changeEvents(state: LedgerState, filterBytes: Uint8Array): Uint8Array[] {
  const filter = decodeChangeEventsFilter(filterBytes);
  if (!rangeIsValid(filter)) return [];
  const selected = state.events.filter(
    ({ timestamp }) =>
      timestamp >= filter.timestampMin &&
      (filter.timestampMax === 0n || timestamp <= filter.timestampMax),
  );
  selected.sort((a, b) => Number(a.timestamp - b.timestamp));
  return selected
    .slice(0, Math.min(filter.limit, CHANGE_EVENTS_MAX))
    .map((event) => encodeChangeEvent(state, event));
}

function encodeChangeEvent(state: LedgerState, event: AccountEvent): Uint8Array {
  const { transfer } = event;
  const writer = new Writer(384)
    .u128(transfer.id)
    .u128(transfer.amount)
    .u128(transfer.pendingId)
    .u128(transfer.userData128)
    .u64(transfer.userData64)
    .u32(transfer.userData32)
    .u32(transfer.timeout)
    .u16(transfer.code)
    .u16(transfer.flags)
    .u32(transfer.ledger)
    .u8(typeOfKind[event.kind])
    .skip(39);
  for (const snapshot of [event.debit, event.credit]) writeAccount(writer, state, snapshot);
  return writer
    .u64(event.timestamp)
    .u64(transfer.timestamp)
    .u64(state.account(transfer.debitAccountId).timestamp)
    .u64(state.account(transfer.creditAccountId).timestamp).bytes;
}

/** Balances and flags as of the event; the rest of an account never changes. */
function writeAccount(writer: Writer, state: LedgerState, snapshot: AccountSnapshot): void {
  const account = state.account(snapshot.accountId);
  writer
    .u128(account.id)
    .u128(snapshot.debitsPending)
    .u128(snapshot.debitsPosted)
    .u128(snapshot.creditsPending)
    .u128(snapshot.creditsPosted)
    .u128(account.userData128)
    .u64(account.userData64)
    .u32(account.userData32)
    .u16(account.code)
    .u16(snapshot.flags);
}
