/**
 * Balances of an account after any of its events, rebuilt on read.
 *
 * From the event in question the chain is walked back, adding up what each event did, until the
 * balances are known: at a snapshot (32 events away at most), at the balances that the last read
 * of this account left in a small cache, or at the beginning, where all is zero. Amounts wrap at
 * 2^128 on the way, which does not matter: the sum is what the account really held.
 *
 * The cache makes reads that follow the course of time cheap: pages of change events, or all
 * balances of one account, then take one step per event.
 */
import { assert } from '../../stdx/index.ts';
import { AccountFlags, AccountWord, TransferFlags, TransferWord } from '../format/constants.ts';
import { copyWords, ExpiryWord, lowerBound } from '../query-timestamps.ts';
import type { LedgerTables } from '../tables.ts';
import {
  type AccountEvents,
  BALANCE_WORDS,
  EXPIRY_BIT,
  referenceRow,
  referenceSide,
  Side,
  SNAPSHOT_EVENTS,
  SnapshotWord,
} from './account-events.ts';

/** What an event did to the closed flag of an account. */
export const Closing = { unchanged: 0, closed: 1, opened: 2 } as const;

/** Accounts whose latest read is remembered: a power of two near the number of accounts. */
const CACHE_ACCOUNTS_MIN = 256;
const CACHE_ACCOUNTS_MAX = 65_536;

/**
 * Cache entry, in words. The reference names event and side, so it says whose balances they are,
 * even if accounts share an entry.
 */
const CacheWord = { balances: 0, flags: 16, reference: 17 } as const;
const CACHE_ENTRY_WORDS = 18;

/** Within the balances of an account, in words. */
const PENDING = 0;
const POSTED = 4;
const SIDE_WORDS = 8;

const CLOSING_FLAGS = [TransferFlags.closing_debit, TransferFlags.closing_credit] as const;

/** Row of the pending transfer that expired in expiry `row`. */
export function expiredTransferRow(tables: LedgerTables, row: number): number {
  const { expiries, transfers } = tables;
  const words = expiries.chunks[row >>> expiries.rowShift];
  const at = expiries.baseOf(row) + ExpiryWord.pendingTimestamp;
  const pending = lowerBound(transfers, TransferWord.timestamp, words[at + 1], words[at]);
  assert(pending < transfers.count, 'expiredTransferRow: no such transfer');
  const transfer = transfers.chunks[pending >>> transfers.rowShift];
  const timestampAt = transfers.baseOf(pending) + TransferWord.timestamp;
  assert(transfer[timestampAt] === words[at], 'expiredTransferRow: another transfer');
  return pending;
}

/**
 * Adds what the event did to its account, on the side that `reference` names, to the sixteen words
 * of balances at `target[offset]`. Returns what it did to the closed flag: a {@link Closing}.
 */
export function applyEvent(
  tables: LedgerTables,
  reference: number,
  target: Uint32Array,
  offset: number,
): number {
  const side = referenceSide(reference);
  const row = referenceRow(reference);
  const pendingAt = offset + side * SIDE_WORDS + PENDING;
  const postedAt = offset + side * SIDE_WORDS + POSTED;
  if ((reference & EXPIRY_BIT) !== 0) {
    return release(tables, expiredTransferRow(tables, row), side, target, pendingAt);
  }
  const { transfers } = tables;
  const words = transfers.chunks[row >>> transfers.rowShift];
  const base = transfers.baseOf(row);
  const flags = words[base + TransferWord.codeFlags] >>> 16;
  if ((flags & TransferFlags.pending) !== 0) {
    add(target, pendingAt, words, base + TransferWord.amount);
    return (flags & CLOSING_FLAGS[side]) === 0 ? Closing.unchanged : Closing.closed;
  }
  const isPost = (flags & TransferFlags.post_pending_transfer) !== 0;
  if (!isPost && (flags & TransferFlags.void_pending_transfer) === 0) {
    add(target, postedAt, words, base + TransferWord.amount);
    return Closing.unchanged;
  }
  if (isPost) add(target, postedAt, words, base + TransferWord.amount);
  const pendingRow = tables.transferRow(words, base + TransferWord.pendingId);
  assert(pendingRow >= 0, 'applyEvent: pending transfer is missing');
  return release(tables, pendingRow, side, target, pendingAt);
}

/** A pending transfer ends: its whole amount is released, and what it closed is opened. */
function release(
  tables: LedgerTables,
  pendingRow: number,
  side: number,
  target: Uint32Array,
  pendingAt: number,
): number {
  const { transfers } = tables;
  const words = transfers.chunks[pendingRow >>> transfers.rowShift];
  const base = transfers.baseOf(pendingRow);
  subtract(target, pendingAt, words, base + TransferWord.amount);
  const flags = words[base + TransferWord.codeFlags] >>> 16;
  return (flags & CLOSING_FLAGS[side]) === 0 ? Closing.unchanged : Closing.opened;
}

function add(target: Uint32Array, at: number, words: Uint32Array, from: number): void {
  let carry = 0;
  for (let i = 0; i < 4; i++) {
    const sum = target[at + i] + words[from + i] + carry;
    target[at + i] = sum;
    carry = sum > 0xffff_ffff ? 1 : 0;
  }
}

function subtract(target: Uint32Array, at: number, words: Uint32Array, from: number): void {
  let borrow = 0;
  for (let i = 0; i < 4; i++) {
    const difference = target[at + i] - words[from + i] - borrow;
    target[at + i] = difference;
    borrow = difference < 0 ? 1 : 0;
  }
}

export class BalanceReader {
  readonly #tables: LedgerTables;
  readonly #events: AccountEvents;
  #cache: Uint32Array = new Uint32Array(0);
  #cacheAccounts: number = 0;
  /** The events between a known point and the one in question, and the sum of what they did. */
  readonly #walk: Uint32Array = new Uint32Array(SNAPSHOT_EVENTS);
  readonly #sum: Uint32Array = new Uint32Array(BALANCE_WORDS);

  constructor(tables: LedgerTables, events: AccountEvents) {
    this.#tables = tables;
    this.#events = events;
  }

  /**
   * Writes the sixteen words of balances that the account had after the event to
   * `target[offset]` and returns its flags then. `reference` names the event and the side on which
   * the account stands there.
   */
  read(accountRow: number, reference: number, target: Uint32Array, offset: number): number {
    assert(reference > 0, 'BalanceReader: no event');
    assert(accountRow < this.#tables.accounts.count, 'BalanceReader: no such account');
    if (this.#tables.accounts.count > this.#cacheAccounts) this.#enlargeCache();
    const cache = this.#cache;
    const entry = (accountRow & (this.#cacheAccounts - 1)) * CACHE_ENTRY_WORDS;
    const cached = cache[entry + CacheWord.reference];
    const sum = this.#sum;
    const walk = this.#walk;
    sum.fill(0);
    let current = reference;
    let flags = -1;
    let steps = 0;
    while (current !== 0) {
      if (current === cached) {
        flags = cache[entry + CacheWord.flags];
        add16(sum, cache, entry + CacheWord.balances);
        break;
      }
      const link = this.#events.linkOf(current);
      if ((link | 0) < 0) {
        const { snapshotBalances } = this.#events;
        const snapshot = link & 0x7fff_ffff;
        flags = this.#events.snapshotWord(link, SnapshotWord.flags);
        add16(sum, snapshotBalances.chunkOf(snapshot), snapshotBalances.baseOf(snapshot));
        break;
      }
      assert(steps < SNAPSHOT_EVENTS, 'BalanceReader: no snapshot where one should be');
      walk[steps] = current;
      steps += 1;
      current = link;
    }
    // Links first, then rows: loads that do not wait for each other overlap.
    let closing: number = Closing.unchanged;
    for (let i = 0; i < steps; i++) {
      const effect = applyEvent(this.#tables, walk[i], sum, 0);
      if (closing === Closing.unchanged) closing = effect;
    }
    if (flags === -1) flags = this.#initialFlags(accountRow);
    if (closing === Closing.closed) flags |= AccountFlags.closed;
    if (closing === Closing.opened) flags &= ~AccountFlags.closed;
    cache[entry + CacheWord.reference] = reference;
    cache[entry + CacheWord.flags] = flags;
    copyWords(sum, 0, cache, entry + CacheWord.balances, BALANCE_WORDS);
    copyWords(sum, 0, target, offset, BALANCE_WORDS);
    return flags;
  }

  /** Forgets what was read: events may be replaced. */
  clear(): void {
    this.#cache.fill(0);
  }

  /** Adapts the cache to the number of accounts; it starts out empty again. */
  #enlargeCache(): void {
    if (this.#cacheAccounts === CACHE_ACCOUNTS_MAX) return;
    let wanted = CACHE_ACCOUNTS_MIN;
    const { count } = this.#tables.accounts;
    while (wanted < count && wanted < CACHE_ACCOUNTS_MAX) wanted *= 2;
    this.#cacheAccounts = wanted;
    this.#cache = new Uint32Array(wanted * CACHE_ENTRY_WORDS);
  }

  /**
   * Flags before the first event. Only the closed flag ever changes, and an account that was
   * created closed has no events: nothing may be booked on it, so nothing can open it.
   */
  #initialFlags(accountRow: number): number {
    const { accounts } = this.#tables;
    const words = accounts.chunks[accountRow >>> accounts.rowShift];
    const flags = words[accounts.baseOf(accountRow) + AccountWord.codeFlags] >>> 16;
    return flags & ~AccountFlags.closed;
  }
}

/** Adds four amounts to four amounts. */
function add16(target: Uint32Array, words: Uint32Array, from: number): void {
  for (let at = 0; at < BALANCE_WORDS; at += 4) add(target, at, words, from + at);
}

assert(Side.credit * SIDE_WORDS + POSTED + 4 === BALANCE_WORDS);
