/**
 * 128-bit unsigned integers inside `Uint32Array`s: four limbs, least significant first, named by an
 * array and a word offset. The hot paths of the ledger use nothing else for amounts and ids,
 * since BigInt allocates on every operation.
 *
 * Sums are masked to 32 bits and carries found by comparison, which V8 compiles to plain integer
 * instructions; a sum as a double would be converted back and forth.
 */

export function isZero(words: Uint32Array, offset: number): boolean {
  return (words[offset] | words[offset + 1] | words[offset + 2] | words[offset + 3]) === 0;
}

/** Whether it is 2^128 − 1. */
export function isMax(words: Uint32Array, offset: number): boolean {
  return (words[offset] & words[offset + 1] & words[offset + 2] & words[offset + 3]) === -1;
}

export function isEqual(a: Uint32Array, aOffset: number, b: Uint32Array, bOffset: number): boolean {
  return (
    a[aOffset] === b[bOffset] &&
    a[aOffset + 1] === b[bOffset + 1] &&
    a[aOffset + 2] === b[bOffset + 2] &&
    a[aOffset + 3] === b[bOffset + 3]
  );
}

/** a < b */
export function isLess(a: Uint32Array, aOffset: number, b: Uint32Array, bOffset: number): boolean {
  for (let limb = 3; limb > 0; limb--) {
    const x = a[aOffset + limb];
    const y = b[bOffset + limb];
    if (x !== y) return x < y;
  }
  return a[aOffset] < b[bOffset];
}

export function copy(target: Uint32Array, to: number, source: Uint32Array, from: number): void {
  target[to] = source[from];
  target[to + 1] = source[from + 1];
  target[to + 2] = source[from + 2];
  target[to + 3] = source[from + 3];
}

export function clear(target: Uint32Array, to: number): void {
  target[to] = 0;
  target[to + 1] = 0;
  target[to + 2] = 0;
  target[to + 3] = 0;
}

/** target += source, modulo 2^128. Returns whether it overflowed. */
export function add(target: Uint32Array, to: number, source: Uint32Array, from: number): boolean {
  // A partial sum that wrapped is smaller than what was added; of the two steps one wraps at most.
  const x0 = source[from];
  const s0 = (target[to] + x0) >>> 0;
  target[to] = s0;
  const x1 = source[from + 1];
  const p1 = (target[to + 1] + x1) >>> 0;
  const s1 = (p1 + (s0 < x0 ? 1 : 0)) >>> 0;
  target[to + 1] = s1;
  const x2 = source[from + 2];
  const p2 = (target[to + 2] + x2) >>> 0;
  const s2 = (p2 + (p1 < x1 || s1 < p1 ? 1 : 0)) >>> 0;
  target[to + 2] = s2;
  const x3 = source[from + 3];
  const p3 = (target[to + 3] + x3) >>> 0;
  const s3 = (p3 + (p2 < x2 || s2 < p2 ? 1 : 0)) >>> 0;
  target[to + 3] = s3;
  return p3 < x3 || s3 < p3;
}

/** target −= source, modulo 2^128. Returns whether source was larger. */
export function subtract(
  target: Uint32Array,
  to: number,
  source: Uint32Array,
  from: number,
): boolean {
  // A partial difference that wrapped is larger than what was there.
  const x0 = target[to];
  const d0 = (x0 - source[from]) >>> 0;
  target[to] = d0;
  const x1 = target[to + 1];
  const p1 = (x1 - source[from + 1]) >>> 0;
  const d1 = (p1 - (d0 > x0 ? 1 : 0)) >>> 0;
  target[to + 1] = d1;
  const x2 = target[to + 2];
  const p2 = (x2 - source[from + 2]) >>> 0;
  const d2 = (p2 - (p1 > x1 || d1 > p1 ? 1 : 0)) >>> 0;
  target[to + 2] = d2;
  const x3 = target[to + 3];
  const p3 = (x3 - source[from + 3]) >>> 0;
  const d3 = (p3 - (p2 > x2 || d2 > p2 ? 1 : 0)) >>> 0;
  target[to + 3] = d3;
  return p3 > x3 || d3 > p3;
}
