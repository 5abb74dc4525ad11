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
  let carry = 0;
  for (let limb = 0; limb < 4; limb++) {
    const x = source[from + limb];
    const partial = (target[to + limb] + x) >>> 0;
    const sum = (partial + carry) >>> 0;
    // At most one of the two additions can wrap.
    carry = (partial < x ? 1 : 0) | (sum < partial ? 1 : 0);
    target[to + limb] = sum;
  }
  return carry !== 0;
}

/** target −= source, modulo 2^128. Returns whether source was larger. */
export function subtract(
  target: Uint32Array,
  to: number,
  source: Uint32Array,
  from: number,
): boolean {
  let borrow = 0;
  for (let limb = 0; limb < 4; limb++) {
    const x = target[to + limb];
    const partial = (x - source[from + limb]) >>> 0;
    const difference = (partial - borrow) >>> 0;
    borrow = (partial > x ? 1 : 0) | (difference > partial ? 1 : 0);
    target[to + limb] = difference;
  }
  return borrow !== 0;
}
