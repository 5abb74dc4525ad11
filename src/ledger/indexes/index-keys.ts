/**
 * The keys by which accounts and transfers are indexed: one 32-bit value each.
 *
 * Ledger and code are their own key. Accounts are keyed by their row, so equal keys mean equal
 * accounts. User data is folded to 22 bits, two passes of the sort: small numbers stay what they
 * are, all others are hashed. In a segment of 65,536 rows that makes about one false hit in sixty
 * look-ups, and whoever finds rows by a folded key has to look at the row itself anyway.
 */
import { RECORD_WORDS, TransferWord } from '../format/constants.ts';

/** Number of a key; the two accounts come last because only transfers have them. */
export const Key = {
  userData128: 0,
  userData64: 1,
  userData32: 2,
  ledger: 3,
  code: 4,
  debitAccount: 5,
  creditAccount: 6,
} as const;

export const ACCOUNT_KEYS = 5;
export const TRANSFER_KEYS = 7;

/** Keys below this number are folded: equal keys do not mean equal fields. */
export const FOLDED_KEYS = 3;

/** Values below this are their own folded key; hashes of others have this bit set. */
const HASHED_BIT = 0x20_0000;
/** Shift that leaves the highest bits of a product: the best mixed ones. */
const HASH_SHIFT = 11;

const FACTOR_1 = 0x9e37_79b1;
const FACTOR_2 = 0x85eb_ca6b;
const FACTOR_3 = 0xc2b2_ae35;

function hashed(mixed: number): number {
  return (Math.imul(mixed, FACTOR_1) >>> HASH_SHIFT) | HASHED_BIT;
}

export function foldedKey128(words: Uint32Array, at: number): number {
  const lo = words[at];
  const b = words[at + 1];
  const c = words[at + 2];
  const d = words[at + 3];
  if ((b | c | d) === 0 && lo < HASHED_BIT) return lo;
  return hashed(lo ^ Math.imul(b, FACTOR_1) ^ Math.imul(c, FACTOR_2) ^ Math.imul(d, FACTOR_3));
}

export function foldedKey64(words: Uint32Array, at: number): number {
  const lo = words[at];
  const hi = words[at + 1];
  return hi === 0 && lo < HASHED_BIT ? lo : hashed(lo ^ Math.imul(hi, FACTOR_2));
}

export function foldedKey32(value: number): number {
  return value < HASHED_BIT ? value : hashed(value);
}

/** Writes the five shared keys of `count` rows from words[base] on to places from `to` on. */
export function writeCommonKeys(
  words: Uint32Array,
  base: number,
  count: number,
  columns: readonly Uint32Array[],
  to: number,
): void {
  const userData128 = columns[Key.userData128];
  const userData64 = columns[Key.userData64];
  const userData32 = columns[Key.userData32];
  const ledger = columns[Key.ledger];
  const code = columns[Key.code];
  for (const end = to + count; to < end; to++) {
    // Accounts keep these fields at the same places as transfers.
    userData128[to] = foldedKey128(words, base + TransferWord.userData128);
    userData64[to] = foldedKey64(words, base + TransferWord.userData64);
    userData32[to] = foldedKey32(words[base + TransferWord.userData32]);
    ledger[to] = words[base + TransferWord.ledger];
    code[to] = words[base + TransferWord.codeFlags] & 0xffff;
    base += RECORD_WORDS;
  }
}
