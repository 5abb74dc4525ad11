/**
 * The pulse: time has passed, and pending transfers that nobody posted or voided expire. Their
 * amounts are released, accounts that they closed open again, and each expiry is an account event
 * with a timestamp of its own. No transfer is created.
 */
import { assert } from '../../stdx/index.ts';
import { PULSE_EXPIRIES_MAX, TransferWord } from '../format/constants.ts';
import type { LedgerState } from '../store/state.ts';
import { add64, time64 } from '../store/u64.ts';
import { PendingStatus } from '../tables.ts';
import { release, reopen } from './release.ts';

/** Expiry record, in words. */
const ExpiryWord = { timestamp: 0, pendingTimestamp: 2, eventsBefore: 4, zero: 6 } as const;
const EXPIRY_WORDS = 8;

export class Pulse {
  readonly #state: LedgerState;
  readonly #rows: Int32Array = new Int32Array(PULSE_EXPIRIES_MAX);
  readonly #time: Uint32Array = time64();

  constructor(state: LedgerState) {
    this.#state = state;
  }

  /** Expires what is due at this timestamp, at most PULSE_EXPIRIES_MAX. Returns how many. */
  execute(hi: number, lo: number): number {
    const { expiryQueue } = this.#state;
    let count = 0;
    while (count < PULSE_EXPIRIES_MAX && expiryQueue.due(hi, lo)) {
      this.#rows[count++] = expiryQueue.take();
    }
    // The last one gets the operation's timestamp, those before it the nanoseconds before.
    const borrow = lo < count - 1 ? 1 : 0;
    const first = Uint32Array.of(lo - (count - 1), hi - borrow);
    for (let i = 0; i < count; i++) {
      add64(this.#time, first, i);
      this.#expire(this.#rows[i]);
    }
    return count;
  }

  #expire(row: number): void {
    const state = this.#state;
    const { accounts, transfers } = state;
    const pending = transfers.chunkOf(row);
    const from = transfers.baseOf(row);
    const debitRow = state.accountRow(pending, from + TransferWord.debitAccountId);
    const creditRow = state.accountRow(pending, from + TransferWord.creditAccountId);
    assert(debitRow >= 0 && creditRow >= 0, 'Pulse: account of a pending transfer is gone');
    const debit = state.accountForWrite(debitRow);
    const credit = state.accountForWrite(creditRow);
    const debitBase = accounts.baseOf(debitRow);
    const creditBase = accounts.baseOf(creditRow);
    release(pending, from, debit, debitBase, credit, creditBase);
    reopen(pending, from, debit, debitBase, credit, creditBase);
    state.settlePending(row, PendingStatus.expired, true);
    const eventsBefore = state.eventCount;
    const expiry = state.expiries.append();
    const words = state.expiries.chunkOf(expiry);
    const at = state.expiries.baseOf(expiry);
    words.fill(0, at, at + EXPIRY_WORDS);
    words[at + ExpiryWord.timestamp] = this.#time[0];
    words[at + ExpiryWord.timestamp + 1] = this.#time[1];
    words[at + ExpiryWord.pendingTimestamp] = pending[from + TransferWord.timestamp];
    words[at + ExpiryWord.pendingTimestamp + 1] = pending[from + TransferWord.timestamp + 1];
    words[at + ExpiryWord.eventsBefore] = eventsBefore;
    words[at + ExpiryWord.eventsBefore + 1] = Math.floor(eventsBefore / 0x1_0000_0000);
    state.events.appendEvent(debitRow, creditRow);
  }
}
