/**
 * Timestamps inside `Uint32Array`s: two limbs, the low one first, as on the wire. The hot paths
 * hand around arrays and offsets instead of numbers, because a 32-bit number that does not fit a
 * small integer of the engine is boxed on its way through a call.
 */

/** A single value: `[lo, hi]`. */
export function time64(): Uint32Array {
  return new Uint32Array(2);
}

export function isZero64(words: Uint32Array, offset: number): boolean {
  return (words[offset] | words[offset + 1]) === 0;
}

export function copy64(target: Uint32Array, source: Uint32Array, from: number): void {
  target[0] = source[from];
  target[1] = source[from + 1];
}

export function equals64(words: Uint32Array, offset: number, time: Uint32Array): boolean {
  return words[offset] === time[0] && words[offset + 1] === time[1];
}

/** words[offset] < time */
export function isBefore64(words: Uint32Array, offset: number, time: Uint32Array): boolean {
  const hi = words[offset + 1];
  return hi < time[1] || (hi === time[1] && words[offset] < time[0]);
}

/** target = source + n, for 0 ≤ n < 2^31. Wraps at 2^64, which timestamps never reach. */
export function add64(target: Uint32Array, source: Uint32Array, n: number): void {
  const low = source[0];
  const sum = (low + n) >>> 0;
  target[0] = sum;
  target[1] = source[1] + (sum < low ? 1 : 0);
}

/** 10^9, halved: the products below are then exact as doubles. */
const NANOSECONDS_HIGH = 15_258;
const NANOSECONDS_LOW = 51_712;
const LIMB = 0x1_0000_0000;

/**
 * target = the timestamp at `words[offset]` + `seconds` (32 bits). Returns whether the result is a
 * valid timestamp, that is below 2^63; if not, target means nothing.
 */
export function addSeconds64(
  target: Uint32Array,
  words: Uint32Array,
  offset: number,
  seconds: number,
): boolean {
  const high = seconds >>> 16;
  const low = seconds & 0xffff;
  const middle = high * NANOSECONDS_LOW + low * NANOSECONDS_HIGH;
  const sum = words[offset] + low * NANOSECONDS_LOW + middle * 0x1_0000;
  const sumLow = sum >>> 0;
  const hi = words[offset + 1] + high * NANOSECONDS_HIGH + (sum - sumLow) / LIMB;
  target[0] = sumLow;
  target[1] = hi >>> 0;
  return hi < 0x8000_0000;
}
