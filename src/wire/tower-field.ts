/**
 * AES bytes in another basis, in which inversion is a few 16-entry table lookups: the
 * vector-permute technique of Mike Hamburg (CHES 2009), derived here from scratch instead of taking
 * its tables.
 *
 * GF(2^8) is built as pairs over GF(2^4): a byte holds k + i·w, k in the low and i in the high
 * half, with w² = a·w + a. With j = i + k and the norm N = k² + a·i·k + a·i², four inversions of
 * *nibbles* give io = 1/(1/i + a/k) + j = N/(k + a·i) and jo = 1/(1/j + a/k) + i = N/(k + a·j). The
 * inverse of the byte is (k + a·i)/N + (i/N)·w, which is linear in 1/io and 1/jo: what follows the
 * inversion (the rest of the S-box, doubling, the change of basis) is folded into one table for
 * each of the two.
 *
 * Division by zero is part of the arithmetic: the inverse of 0 is 0x80 ("infinity"), which survives
 * additions, and a lookup with an index of 0x80 or more gives 0, the inverse of infinity.
 */
import { assert } from '../stdx/index.ts';
import { fieldDouble, SBOX_CONSTANT, sboxLinear } from './aes-field.ts';

const INFINITY = 0x80;

/** Lookup tables of 16 bytes each, and the images of single bytes. */
export interface TowerTables {
  /** Low and high nibble of an AES byte → tower byte; the two add up. */
  readonly enterLow: Uint8Array;
  readonly enterHigh: Uint8Array;
  /** The way back. */
  readonly leaveLow: Uint8Array;
  readonly leaveHigh: Uint8Array;
  /** Nibble n → 1/n, and n → a/n; 0 → infinity. */
  readonly inverse: Uint8Array;
  readonly inverseA: Uint8Array;
  /** io and jo → the S-box's output without its constant; the two add up. */
  readonly outputI: Uint8Array;
  readonly outputJ: Uint8Array;
  /** The same, doubled in the AES field. */
  readonly doubleI: Uint8Array;
  readonly doubleJ: Uint8Array;
  /** The S-box's constant. */
  readonly constant: number;
}

/** Computes all tables. */
export function makeTowerTables(): TowerTables {
  const a = findA();
  const enter = linearImages(findRoot(a));
  const leave = invertLinear(enter);
  const inverseOfA = reciprocals[a];
  /** From the parts 1/io and 1/jo of a tower inverse to the tower image of f(inverse). */
  const after = (
    f: (aesByte: number) => number,
    reciprocalI: number,
    reciprocalJ: number,
  ): number => {
    // k/N = (1/io + 1/jo)/a; 1/io = k/N + a·i/N is the inverse's k; its i is i/N.
    const kOverN = nibbleTimes(reciprocalI ^ reciprocalJ, inverseOfA);
    const iOverN = nibbleTimes(reciprocalI ^ kOverN, inverseOfA);
    return applyLinear(enter, f(applyLinear(leave, (iOverN << 4) | reciprocalI)));
  };
  const double = (x: number): number => fieldDouble(sboxLinear(x));
  return {
    enterLow: nibbles((n) => applyLinear(enter, n)),
    enterHigh: nibbles((n) => applyLinear(enter, n << 4)),
    leaveLow: nibbles((n) => applyLinear(leave, n)),
    leaveHigh: nibbles((n) => applyLinear(leave, n << 4)),
    inverse: nibbles((n) => (n === 0 ? INFINITY : reciprocals[n])),
    inverseA: nibbles((n) => (n === 0 ? INFINITY : nibbleTimes(a, reciprocals[n]))),
    // An io or jo of 0 does not occur: N is 0 for the byte 0 only, and there both are infinity.
    outputI: nibbles((n) => after(sboxLinear, reciprocals[n], 0)),
    outputJ: nibbles((n) => after(sboxLinear, 0, reciprocals[n])),
    doubleI: nibbles((n) => after(double, reciprocals[n], 0)),
    doubleJ: nibbles((n) => after(double, 0, reciprocals[n])),
    constant: applyLinear(enter, SBOX_CONSTANT),
  };
}

function nibbles(f: (n: number) => number): Uint8Array {
  return Uint8Array.from({ length: 16 }, (_, n) => f(n));
}

/** Products in GF(2^4) with the polynomial x^4 + x + 1: entry 16·x + y. */
const products: Uint8Array = (() => {
  const table = new Uint8Array(256);
  for (let x = 1; x < 16; x++) {
    for (let y = 1; y < 16; y++) {
      const half = table[16 * x + (y >>> 1)] << 1;
      table[16 * x + y] = half ^ (half & 16 ? 0b10011 : 0) ^ (y & 1 ? x : 0);
    }
  }
  return table;
})();

/** `reciprocals[n]` is 1/n; 0 for 0, as if for infinity. */
const reciprocals: Uint8Array = nibbles((n) => {
  for (let x = 1; x < 16; x++) if (products[16 * n + x] === 1) return x;
  return 0;
});

function nibbleTimes(x: number, y: number): number {
  return products[(x << 4) | y];
}

/** Product of two tower bytes, with w² = a·w + a. */
function towerTimes(a: number, x: number, y: number): number {
  const [i, k] = [x >>> 4, x & 15];
  const [l, m] = [y >>> 4, y & 15];
  const top = nibbleTimes(i, l);
  const high = nibbleTimes(i, m) ^ nibbleTimes(k, l) ^ nibbleTimes(a, top);
  return (high << 4) | (nibbleTimes(k, m) ^ nibbleTimes(a, top));
}

/** The smallest `a` for which w² + a·w + a has no root, so that the pairs are a field. */
function findA(): number {
  for (let a = 1; a < 16; a++) {
    let roots = 0;
    for (let w = 0; w < 16; w++) {
      if ((nibbleTimes(w, w) ^ nibbleTimes(a, w) ^ a) === 0) roots++;
    }
    if (roots === 0) return a;
  }
  assert(false, 'findA: none');
}

/** The powers 0 … 7 of a root of the AES polynomial in the tower: the images of the bits. */
function findRoot(a: number): number[] {
  for (let root = 2; root < 256; root++) {
    const powers = [1];
    for (let n = 1; n <= 8; n++) powers.push(towerTimes(a, powers[n - 1] as number, root));
    const [p0, p1, , p3, p4, , , , p8] = powers as [number, ...number[]];
    if ((p0 ^ (p1 ?? 0) ^ (p3 ?? 0) ^ (p4 ?? 0) ^ (p8 ?? 0)) === 0) return powers.slice(0, 8);
  }
  assert(false, 'findRoot: none');
}

/** All 256 values of the linear map that sends bit n to `images[n]`. */
function linearImages(images: readonly number[]): Uint8Array {
  assert(images.length === 8, 'linearImages: a byte has eight bits');
  const map = new Uint8Array(256);
  for (let x = 1; x < 256; x++) {
    const top = 31 - Math.clz32(x);
    map[x] = map[x ^ (1 << top)] ^ (images[top] ?? 0);
  }
  return map;
}

function invertLinear(map: Uint8Array): Uint8Array {
  const inverse = new Uint8Array(256);
  for (let x = 0; x < 256; x++) inverse[map[x]] = x;
  assert(applyLinear(inverse, map[255]) === 255, 'invertLinear: not a bijection');
  return inverse;
}

function applyLinear(map: Uint8Array, x: number): number {
  assert(x >= 0 && x < 256, 'applyLinear: not a byte');
  return map[x];
}
