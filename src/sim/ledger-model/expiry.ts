/**
 * What time does by itself: pending transfers whose timeout is over expire, in the order of their
 * expiry times, a bounded number per pulse.
 */
import { PULSE_EXPIRIES_MAX } from './codes.ts';
import { release } from './post-or-void.ts';
import type { LedgerState } from './state.ts';
import type { Transfer } from './structs.ts';

/** Whether a pulse with this timestamp would expire anything. */
export function isDue(state: LedgerState, timestamp: bigint): boolean {
  const next = state.expiryMin();
  return next !== null && next <= timestamp;
}

/** `timestampMax` goes to the last transfer that expires; the others come just before it. */
export function pulse(state: LedgerState, timestampMax: bigint): void {
  const due = transfersDue(state, timestampMax).slice(0, PULSE_EXPIRIES_MAX);
  due.forEach((transfer, index) => {
    release(state, transfer, 'expired');
    const timestamp = timestampMax - BigInt(due.length - index - 1);
    state.recordEvent('expired', timestamp, transfer);
  });
}

/** All that have expired by `timestamp`, earliest expiry first, then oldest transfer first. */
function transfersDue(state: LedgerState, timestamp: bigint): Transfer[] {
  const due: { at: bigint; transfer: Transfer }[] = [];
  for (const [id, at] of state.expiresAt) {
    const transfer = state.transferById.get(id) as Transfer;
    if (at <= timestamp) due.push({ at, transfer });
  }
  due.sort((a, b) => compare(a.at, b.at) || compare(a.transfer.timestamp, b.transfer.timestamp));
  return due.map(({ transfer }) => transfer);
}

function compare(a: bigint, b: bigint): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
