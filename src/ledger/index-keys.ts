/**
 * The keys by which accounts and transfers are indexed: one 32-bit value each.
 *
 * Ledger, code and user_data_32 are their own key. Accounts are keyed by their row, so equal keys
 * mean equal accounts. Longer user data is folded; whoever finds rows by a folded key has to look
 * at the row itself. Small numbers fold to themselves, which saves the sort a pass or two.
 */
import { TransferWord } from './format/constants.ts';

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
export const FOLDED_KEYS = 2;

/** Odd multipliers: with three of the four words fixed, different fields have different keys. */
const FOLD_1 = 0x9e37_79b1;
const FOLD_2 = 0x85eb_ca6b;
const FOLD_3 = 0xc2b2_ae35;

export function foldedKey128(words: Uint32Array, at: number): number {
  return (
    (words[at] ^
      Math.imul(words[at + 1], FOLD_1) ^
      Math.imul(words[at + 2], FOLD_2) ^
      Math.imul(words[at + 3], FOLD_3)) >>>
    0
  );
}

export function foldedKey64(words: Uint32Array, at: number): number {
  return (words[at] ^ Math.imul(words[at + 1], FOLD_1)) >>> 0;
}

/** Writes the five keys that accounts and transfers share into place `to` of their columns. */
export function writeCommonKeys(
  words: Uint32Array,
  base: number,
  columns: readonly Uint32Array[],
  to: number,
): void {
  // Accounts keep these fields at the same places as transfers.
  columns[Key.userData128][to] = foldedKey128(words, base + TransferWord.userData128);
  columns[Key.userData64][to] = foldedKey64(words, base + TransferWord.userData64);
  columns[Key.userData32][to] = words[base + TransferWord.userData32];
  columns[Key.ledger][to] = words[base + TransferWord.ledger];
  columns[Key.code][to] = words[base + TransferWord.codeFlags] & 0xffff;
}
