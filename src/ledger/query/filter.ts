/**
 * Filters from the wire, checked and taken apart once per query into a form that both tables and
 * all directions share. An invalid filter is no error: it answers nothing.
 */
import { assert } from '../../stdx/index.ts';
import { AccountFilterFlags, QueryFilterFlags } from '../format/constants.ts';
import { foldedKey32, foldedKey64, foldedKey128, Key } from '../indexes/index-keys.ts';

/** Fields of the three filters, in words. */
const AccountFilterWord = {
  accountId: 0,
  userData128: 4,
  userData64: 8,
  userData32: 10,
  /** Code in the lower half, zero in the upper one. */
  code: 11,
  reserved: 12,
  timestampMin: 26,
  timestampMax: 28,
  limit: 30,
  flags: 31,
} as const;

const QueryFilterWord = {
  userData128: 0,
  userData64: 4,
  userData32: 6,
  ledger: 7,
  code: 8,
  reserved: 9,
  timestampMin: 10,
  timestampMax: 12,
  limit: 14,
  flags: 15,
} as const;

const ChangeEventsFilterWord = { timestampMin: 0, timestampMax: 2, limit: 4, reserved: 5 } as const;
const CHANGE_EVENTS_FILTER_WORDS = 16;

/** Top word of the largest valid timestamp, 2^63 − 1. */
const TIMESTAMP_HI_MAX = 0x7fff_ffff;

/** One filter, reused by every query. */
export class Filter {
  /** Inclusive bounds; a filter without a bound has 0 and 2^64 − 1. */
  timestampMinHi: number = 0;
  timestampMinLo: number = 0;
  timestampMaxHi: number = 0;
  timestampMaxLo: number = 0;
  /** Results wanted at most. */
  limit: number = 0;
  reversed: boolean = false;

  /** Conditions, all of which must hold: `keys[i]` (a {@link Key}) has the value `values[i]`. */
  readonly keys: Uint8Array = new Uint8Array(8);
  readonly values: Uint32Array = new Uint32Array(8);
  conditionCount: number = 0;
  /** What folded keys stand for. */
  readonly userData128: Uint32Array = new Uint32Array(4);
  readonly userData64: Uint32Array = new Uint32Array(2);
  userData32: number = 0;

  /** Account filters only: the account, and which sides of a transfer it may stand on. */
  readonly accountId: Uint32Array = new Uint32Array(4);
  debits: boolean = false;
  credits: boolean = false;

  /** Reads a query filter (16 words); false when it is invalid. */
  readQuery(words: Uint32Array, at: number): boolean {
    this.#reset();
    const flags = words[at + QueryFilterWord.flags];
    if ((flags & ~QueryFilterFlags.reversed) !== 0) return false;
    if (words[at + QueryFilterWord.reserved] !== 0) return false;
    if (words[at + QueryFilterWord.code] > 0xffff) return false;
    this.reversed = (flags & QueryFilterFlags.reversed) !== 0;
    this.#readUserData(words, at + QueryFilterWord.userData128);
    const ledger = words[at + QueryFilterWord.ledger];
    const code = words[at + QueryFilterWord.code];
    if (ledger !== 0) this.#condition(Key.ledger, ledger);
    if (code !== 0) this.#condition(Key.code, code);
    return (
      this.#readLimit(words[at + QueryFilterWord.limit]) &&
      this.#readRange(words, at + QueryFilterWord.timestampMin)
    );
  }

  /** Reads an account filter (32 words); false when it is invalid. */
  readAccount(words: Uint32Array, at: number): boolean {
    this.#reset();
    const flags = words[at + AccountFilterWord.flags];
    const { debits, credits, reversed } = AccountFilterFlags;
    if ((flags & ~(debits | credits | reversed)) !== 0) return false;
    if (words[at + AccountFilterWord.code] > 0xffff) return false;
    for (let i = AccountFilterWord.reserved; i < AccountFilterWord.timestampMin; i++) {
      if (words[at + i] !== 0) return false;
    }
    this.debits = (flags & debits) !== 0;
    this.credits = (flags & credits) !== 0;
    this.reversed = (flags & reversed) !== 0;
    if (!this.debits && !this.credits) return false;
    for (let i = 0; i < 4; i++) this.accountId[i] = words[at + AccountFilterWord.accountId + i];
    const [a, b, c, d] = this.accountId;
    if ((a | b | c | d) === 0 || (a & b & c & d) === -1) return false;
    this.#readUserData(words, at + AccountFilterWord.userData128);
    const code = words[at + AccountFilterWord.code];
    if (code !== 0) this.#condition(Key.code, code);
    return (
      this.#readLimit(words[at + AccountFilterWord.limit]) &&
      this.#readRange(words, at + AccountFilterWord.timestampMin)
    );
  }

  /** Reads a change events filter (16 words); false when it is invalid. */
  readChangeEvents(words: Uint32Array, at: number): boolean {
    this.#reset();
    for (let i = ChangeEventsFilterWord.reserved; i < CHANGE_EVENTS_FILTER_WORDS; i++) {
      if (words[at + i] !== 0) return false;
    }
    return (
      this.#readLimit(words[at + ChangeEventsFilterWord.limit]) &&
      this.#readRange(words, at + ChangeEventsFilterWord.timestampMin)
    );
  }

  /** Adds the account itself as a condition on one side, once its row is known. */
  addAccount(accountRow: number): void {
    assert(this.debits !== this.credits, 'Filter: not exactly one side');
    this.#condition(this.debits ? Key.debitAccount : Key.creditAccount, accountRow);
  }

  #reset(): void {
    this.conditionCount = 0;
    this.reversed = false;
    this.debits = false;
    this.credits = false;
  }

  /** A field that must be equal; the caller knows that it is not zero, which means any value. */
  #condition(key: number, value: number): void {
    this.keys[this.conditionCount] = key;
    this.values[this.conditionCount] = value;
    this.conditionCount += 1;
  }

  /** The three user data fields, which stand side by side in both kinds of filter. */
  #readUserData(words: Uint32Array, at: number): void {
    for (let i = 0; i < 4; i++) this.userData128[i] = words[at + i];
    for (let i = 0; i < 2; i++) this.userData64[i] = words[at + 4 + i];
    this.userData32 = words[at + 6];
    const [a, b, c, d] = this.userData128;
    const [lo, hi] = this.userData64;
    if ((a | b | c | d) !== 0) this.#condition(Key.userData128, foldedKey128(words, at));
    if ((lo | hi) !== 0) this.#condition(Key.userData64, foldedKey64(words, at + 4));
    if (this.userData32 !== 0) this.#condition(Key.userData32, foldedKey32(this.userData32));
  }

  #readLimit(limit: number): boolean {
    this.limit = limit;
    return limit !== 0;
  }

  /** Minimum and maximum stand side by side, two words each. */
  #readRange(words: Uint32Array, at: number): boolean {
    this.timestampMinLo = words[at];
    this.timestampMinHi = words[at + 1];
    this.timestampMaxLo = words[at + 2];
    this.timestampMaxHi = words[at + 3];
    if (this.timestampMinHi > TIMESTAMP_HI_MAX) return false;
    if (this.timestampMaxHi > TIMESTAMP_HI_MAX) return false;
    if (this.timestampMaxHi === 0 && this.timestampMaxLo === 0) {
      this.timestampMaxHi = 0xffff_ffff;
      this.timestampMaxLo = 0xffff_ffff;
      return true;
    }
    if (this.timestampMinHi !== this.timestampMaxHi) {
      return this.timestampMinHi < this.timestampMaxHi;
    }
    return this.timestampMinLo <= this.timestampMaxLo;
  }
}
