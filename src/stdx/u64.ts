/**
 * 64-bit unsigned integers as two 32-bit limbs. Timestamps in nanoseconds do not fit a double, and
 * BigInt allocates; limbs do neither. Values are immutable: every function returns a new one, so
 * the hot loops of the ledger work on bare `hi`, `lo` numbers instead and use this at the edges.
 */
import { assert } from './assert.ts';

/** `value = hi · 2^32 + lo`, both unsigned 32-bit. */
export interface U64 {
  readonly hi: number;
  readonly lo: number;
}

const LIMB = 0x1_0000_0000;

export const U64_ZERO: U64 = { hi: 0, lo: 0 };

export function u64(hi: number, lo: number): U64 {
  assert(hi >>> 0 === hi, 'u64: hi is not an unsigned 32-bit integer');
  assert(lo >>> 0 === lo, 'u64: lo is not an unsigned 32-bit integer');
  return { hi, lo };
}

/** From a safe non-negative integer. */
export function u64FromNumber(value: number): U64 {
  assert(Number.isSafeInteger(value) && value >= 0, 'u64FromNumber: not a safe integer');
  return { hi: Math.floor(value / LIMB), lo: value >>> 0 };
}

/** To a double; asserts that the value is below 2^53. */
export function u64ToNumber(value: U64): number {
  assert(value.hi < 0x20_0000, 'u64ToNumber: value is 2^53 or more');
  return value.hi * LIMB + value.lo;
}

/** Negative, zero or positive, as `a` is below, equal to or above `b`. */
export function u64Compare(a: U64, b: U64): number {
  return a.hi !== b.hi ? a.hi - b.hi : a.lo - b.lo;
}

export function u64Max(a: U64, b: U64): U64 {
  return u64Compare(a, b) >= 0 ? a : b;
}

/** `a + n` for a safe integer `n` of either sign; asserts that the result fits. */
export function u64Add(a: U64, n: number): U64 {
  assert(Number.isSafeInteger(n), 'u64Add: not a safe integer');
  const low = a.lo + (n % LIMB);
  const carry = Math.floor(low / LIMB);
  const hi = a.hi + Math.trunc(n / LIMB) + carry;
  assert(hi >= 0 && hi < LIMB, 'u64Add: overflow');
  return { hi, lo: low - carry * LIMB };
}

/** `a − b` as a double (exact below 2^53 in magnitude). */
export function u64Difference(a: U64, b: U64): number {
  return (a.hi - b.hi) * LIMB + (a.lo - b.lo);
}

export function u64ToBigInt(value: U64): bigint {
  return (BigInt(value.hi) << 32n) | BigInt(value.lo);
}

export function u64FromBigInt(value: bigint): U64 {
  assert(value >= 0n && value < 1n << 64n, 'u64FromBigInt: out of range');
  return { hi: Number(value >> 32n), lo: Number(value & 0xffff_ffffn) };
}
