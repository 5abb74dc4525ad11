/**
 * The arithmetic of AES that all implementations of the checksum are derived from: the field
 * GF(2^8) with the polynomial x^8 + x^4 + x^3 + x + 1, the S-box made from it, and the constants of
 * AEGIS-128L. Tables are computed at start (a fraction of a millisecond) instead of written down,
 * so that no literal has to be believed.
 */
import { assert, fromHex } from '../stdx/index.ts';

/** Added by the S-box after its linear part. */
export const SBOX_CONSTANT = 0x63;

/** Twice `a` in the field: multiplication by x. */
export function fieldDouble(a: number): number {
  assert(a >= 0 && a < 256, 'fieldDouble: not a byte');
  return ((a << 1) ^ (a & 0x80 ? 0x11b : 0)) & 0xff;
}

/** The linear part of the S-box: each bit becomes the sum of itself and the four bits above it. */
export function sboxLinear(a: number): number {
  assert(a >= 0 && a < 256, 'sboxLinear: not a byte');
  const twice = a | (a << 8);
  return (a ^ (twice >>> 7) ^ (twice >>> 6) ^ (twice >>> 5) ^ (twice >>> 4)) & 0xff;
}

/** The AES S-box: 256 entries, `sbox[x]` = linear part of 1/x, plus the constant. */
export const sbox: Uint8Array = (() => {
  // 3 generates the multiplicative group: powers and their mirror give all inverses.
  const powers = new Uint8Array(255);
  for (let i = 0, value = 1; i < 255; i++, value ^= fieldDouble(value)) powers[i] = value;
  const table = new Uint8Array(256).fill(SBOX_CONSTANT, 0, 1);
  for (let i = 0; i < 255; i++) {
    table[powers[i]] = sboxLinear(powers[(255 - i) % 255]) ^ SBOX_CONSTANT;
  }
  assert(table[0x53] === 0xed, 'sbox: wrong');
  return table;
})();

/**
 * The eight 16-byte blocks of the AEGIS-128L state before its ten initial rounds, key and nonce 0.
 */
export const aegisStart: Uint8Array = (() => {
  const fibonacciA = fromHex('000101020305080d1522375990e97962');
  const fibonacciB = fromHex('db3d18556dc22ff12011314273b528dd');
  const state = new Uint8Array(128);
  for (const block of [2, 5, 7]) state.set(fibonacciA, 16 * block);
  for (const block of [1, 3, 6]) state.set(fibonacciB, 16 * block);
  return state;
})();

export const AEGIS_ROUNDS_INITIAL = 10;
export const AEGIS_ROUNDS_FINAL = 7;
/** Bytes absorbed by one update. */
export const AEGIS_RATE = 32;
