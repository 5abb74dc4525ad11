/**
 * Searching rows by timestamp, which their order allows, and two small things that all of the
 * reading half needs: where an expiry keeps its timestamps, and a copy of a few words.
 */
import { assert } from '../stdx/index.ts';
import type { Rows } from './rows.ts';

/** Expiry record, in words: when it happened, and which pending transfer expired. */
export const ExpiryWord = { timestamp: 0, pendingTimestamp: 2 } as const;

/** Row number of the first row whose timestamp is not below (hi, lo), or `rows.count`. */
export function lowerBound(rows: Rows, timestampWord: number, hi: number, lo: number): number {
  assert(timestampWord < rows.recordWords, 'lowerBound: no such word');
  let low = 0;
  let high = rows.count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const words = rows.chunks[middle >>> rows.rowShift];
    const at = (middle & rows.rowMask) * rows.recordWords + timestampWord;
    const middleHi = words[at + 1];
    if (middleHi < hi || (middleHi === hi && words[at] < lo)) low = middle + 1;
    else high = middle;
  }
  assert(low <= rows.count, 'lowerBound: beyond the end');
  return low;
}

/** Row number of the first row whose timestamp is above (hi, lo), or `rows.count`. */
export function upperBound(rows: Rows, timestampWord: number, hi: number, lo: number): number {
  if (lo !== 0xffff_ffff) return lowerBound(rows, timestampWord, hi, lo + 1);
  if (hi !== 0xffff_ffff) return lowerBound(rows, timestampWord, hi + 1, 0);
  return rows.count;
}

/** Copies `length` words between places that do not overlap. */
export function copyWords(
  from: Uint32Array,
  fromOffset: number,
  to: Uint32Array,
  toOffset: number,
  length: number,
): void {
  for (let i = 0; i < length; i++) to[toOffset + i] = from[fromOffset + i];
}
