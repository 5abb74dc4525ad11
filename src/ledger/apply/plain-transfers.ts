/**
 * The fast path of create_transfers, for what nearly all transfers are: an amount from one open
 * account to another of the same ledger, nothing else.
 *
 * It only ever says "yes": it proves that an event passes every check, in any order, and executes
 * it. `false` means "not proven", not "refused"; the long way decides then, with its checks in the
 * order that gives each failure its status.
 *
 * A window of events is walked twice. The first walk hashes ids, touches their slots in the index
 * and finds accounts, in loops that do so little that the processor has many loads under way at
 * once; what it loads is still in the cache when the second walk needs it. No transfer creates an
 * account, so what it finds stays true.
 *
 * Names of other modules are copied to constants here: V8 reads an imported name from memory each
 * time, but knows the value of a constant of the same module.
 */
import {
  AccountFlags,
  AccountWord,
  TransferFlags as Flags,
  RECORD_WORDS as RECORD,
  TransferWord as Word,
} from '../format/constants.ts';
import type { Rows } from '../rows.ts';
import type { LedgerState } from '../store/state.ts';
import { copy } from '../store/u128.ts';
import { exceedsCredits, exceedsDebits } from './amount.ts';

/** Events of a window: few enough that what was loaded for them is still in the cache. */
export const WINDOW_EVENTS = 256;

const RECORD_WORDS = RECORD;
const DEBIT_ACCOUNT_ID = Word.debitAccountId;
const CREDIT_ACCOUNT_ID = Word.creditAccountId;
const AMOUNT = Word.amount;
const PENDING_ID = Word.pendingId;
const TIMEOUT = Word.timeout;
/** The same words in accounts and transfers. */
const LEDGER = Word.ledger;
const CODE_FLAGS = Word.codeFlags;
const TIMESTAMP = Word.timestamp;
const DEBITS_PENDING = AccountWord.debitsPending;
const DEBITS_POSTED = AccountWord.debitsPosted;
const CREDITS_PENDING = AccountWord.creditsPending;
const CREDITS_POSTED = AccountWord.creditsPosted;
const CLOSED = AccountFlags.closed << 16;
const LIMITS =
  (AccountFlags.debits_must_not_exceed_credits | AccountFlags.credits_must_not_exceed_debits) << 16;

const POST_OR_VOID = (Flags.post_pending_transfer | Flags.void_pending_transfer) << 16;

/** With all high limbs below 2^30, the sum of any three numbers does not overflow 128 bits. */
const LIMB_SAFE_BITS = 30;

export class PlainTransfers {
  /** What the first walk finds, by event of the window. */
  readonly hashes: Int32Array = new Int32Array(WINDOW_EVENTS);
  readonly debitRows: Int32Array = new Int32Array(WINDOW_EVENTS);
  readonly creditRows: Int32Array = new Int32Array(WINDOW_EVENTS);
  readonly #pendingRows: Int32Array = new Int32Array(WINDOW_EVENTS);
  readonly #state: LedgerState;
  readonly #amount: Uint32Array = new Uint32Array(4);
  /** Keeps the loads of the first walk from being optimised away. */
  #touched: number = 0;

  constructor(state: LedgerState) {
    this.#state = state;
  }

  /** The first walk over `count` events from `words[offset]` on. */
  lookAhead(words: Uint32Array, offset: number, count: number): void {
    const { accountIndex, accounts, transferIndex } = this.#state;
    const { hashes, debitRows, creditRows } = this;
    const debitIds = offset + DEBIT_ACCOUNT_ID;
    const creditIds = offset + CREDIT_ACCOUNT_ID;
    let touched = transferIndex.hashAll(words, offset, RECORD_WORDS, count, hashes);
    touched ^= accountIndex.hashAll(words, debitIds, RECORD_WORDS, count, debitRows);
    touched ^= accountIndex.hashAll(words, creditIds, RECORD_WORDS, count, creditRows);
    accountIndex.findAll(words, debitIds, RECORD_WORDS, count, debitRows);
    accountIndex.findAll(words, creditIds, RECORD_WORDS, count, creditRows);
    touched ^= touchFlags(accounts, debitRows, creditRows, count);
    if (haveFlags(words, offset, count, POST_OR_VOID)) {
      // Pending transfers are looked up again when their turn comes, as chains may take them back.
      const pendingIds = offset + PENDING_ID;
      touched ^= transferIndex.hashAll(words, pendingIds, RECORD_WORDS, count, this.#pendingRows);
      transferIndex.findAll(words, pendingIds, RECORD_WORDS, count, this.#pendingRows);
    }
    this.#touched ^= touched;
  }

  /**
   * Executes the event at `words[offset]`, number `index` of the window, if it is one that passes
   * every check; else does nothing. It has no flags, and its batch is not an import.
   */
  create(words: Uint32Array, offset: number, index: number, time: Uint32Array): boolean {
    const state = this.#state;
    const debitRow = this.debitRows[index];
    const creditRow = this.creditRows[index];
    if ((debitRow | creditRow) < 0 || debitRow === creditRow) return false;
    const { accounts, transferIndex } = state;
    const debit = accounts.chunks[debitRow >>> accounts.rowShift];
    const credit = accounts.chunks[creditRow >>> accounts.rowShift];
    const debitBase = (debitRow & accounts.rowMask) * RECORD_WORDS;
    const creditBase = (creditRow & accounts.rowMask) * RECORD_WORDS;
    if (!isPlain(words, offset)) return false;
    if (!suits(words, offset, debit, debitBase, credit, creditBase)) return false;
    if (((debit[debitBase + CODE_FLAGS] | credit[creditBase + CODE_FLAGS]) & LIMITS) !== 0) {
      copy(this.#amount, 0, words, offset + AMOUNT);
      if (exceedsCredits(this.#amount, debit, debitBase)) return false;
      if (exceedsDebits(this.#amount, credit, creditBase)) return false;
    }
    const hash = this.hashes[index];
    if (state.burned.count > 0 && state.burnedIndex.find(hash, words, offset) >= 0) return false;
    const row = state.transfers.count;
    if (transferIndex.findOrInsert(hash, words, offset, row) >= 0) return false;
    state.appendPlain(words, offset, time);
    state.markAccount(debitRow);
    state.markAccount(creditRow);
    addAmount(debit, debitBase + DEBITS_POSTED, words, offset + AMOUNT);
    addAmount(credit, creditBase + CREDITS_POSTED, words, offset + AMOUNT);
    state.events.appendEvent(debitRow, creditRow);
    return true;
  }
}

/** Whether any of the events has one of these flags, given as bits of the word `codeFlags`. */
function haveFlags(words: Uint32Array, offset: number, count: number, flags: number): boolean {
  let all = 0;
  for (let i = 0; i < count; i++) all |= words[offset + i * RECORD_WORDS + CODE_FLAGS];
  return (all & flags) !== 0;
}

/** Whether the event has what every transfer needs and nothing that needs a closer look. */
function isPlain(words: Uint32Array, offset: number): boolean {
  const pendingId = offset + PENDING_ID;
  const unused =
    words[pendingId] |
    words[pendingId + 1] |
    words[pendingId + 2] |
    words[pendingId + 3] |
    words[offset + TIMEOUT] |
    words[offset + TIMESTAMP] |
    words[offset + TIMESTAMP + 1];
  const a = words[offset];
  const b = words[offset + 1];
  const c = words[offset + 2];
  const d = words[offset + 3];
  return (
    unused === 0 &&
    (a | b | c | d) !== 0 &&
    (a & b & c & d) !== -1 &&
    words[offset + CODE_FLAGS] !== 0
  );
}

/**
 * Whether the two accounts can take the transfer, limits aside. They exist and differ, which also
 * says that the ids given for them are neither zero nor 2^128 − 1; and no account has ledger 0.
 */
function suits(
  words: Uint32Array,
  offset: number,
  debit: Uint32Array,
  debitBase: number,
  credit: Uint32Array,
  creditBase: number,
): boolean {
  const ledger = words[offset + LEDGER];
  const codeFlags = debit[debitBase + CODE_FLAGS] | credit[creditBase + CODE_FLAGS];
  const high =
    words[offset + AMOUNT + 3] |
    debit[debitBase + DEBITS_PENDING + 3] |
    debit[debitBase + DEBITS_POSTED + 3] |
    credit[creditBase + CREDITS_PENDING + 3] |
    credit[creditBase + CREDITS_POSTED + 3];
  return (
    debit[debitBase + LEDGER] === ledger &&
    credit[creditBase + LEDGER] === ledger &&
    (codeFlags & CLOSED) === 0 &&
    high >>> LIMB_SAFE_BITS === 0
  );
}

/** target += source, which does not overflow. */
function addAmount(target: Uint32Array, to: number, source: Uint32Array, from: number): void {
  const a = source[from];
  const sumA = (target[to] + a) >>> 0;
  target[to] = sumA;
  const b = source[from + 1];
  const partB = (target[to + 1] + b) >>> 0;
  const sumB = (partB + (sumA < a ? 1 : 0)) >>> 0;
  target[to + 1] = sumB;
  const carryB = partB < b || sumB < partB ? 1 : 0;
  const c = source[from + 2];
  const d = source[from + 3];
  // Nearly always there is nothing in the upper half of the amount.
  if ((c | d | carryB) === 0) return;
  const partC = (target[to + 2] + c) >>> 0;
  const sumC = (partC + carryB) >>> 0;
  target[to + 2] = sumC;
  target[to + 3] += d + (partC < c || sumC < partC ? 1 : 0);
}

/** Loads the second half of each account, where ledger and flags stand. */
function touchFlags(
  accounts: Rows,
  debitRows: Int32Array,
  creditRows: Int32Array,
  count: number,
): number {
  const { chunks, rowMask, rowShift } = accounts;
  let touched = 0;
  for (let i = 0; i < count; i++) {
    const debitRow = debitRows[i];
    const creditRow = creditRows[i];
    if ((debitRow | creditRow) < 0) continue;
    touched ^= chunks[debitRow >>> rowShift][(debitRow & rowMask) * RECORD_WORDS + CODE_FLAGS];
    touched ^= chunks[creditRow >>> rowShift][(creditRow & rowMask) * RECORD_WORDS + CODE_FLAGS];
  }
  return touched;
}
