/**
 * Sorting a segment by key: a stable radix sort, least significant digit first, that moves only
 * the 16-bit row numbers and looks their keys up.
 *
 * The scratch memory is the module's, one for all ledgers of a process: what is in it is read right
 * after the call. Arrays that the compiler knows make these loops twice as fast as arrays that are
 * passed.
 */
import { assert } from '../../stdx/index.ts';

/** Most rows of a segment: their numbers take 16 bits. */
export const SEGMENT_ROWS_MAX = 65_536;

const DIGIT_BITS_MAX = 11;

const keys = new Uint32Array(SEGMENT_ROWS_MAX);
const rowsA = new Uint16Array(SEGMENT_ROWS_MAX);
const rowsB = new Uint16Array(SEGMENT_ROWS_MAX);
/** Per digit value: how many keys have it, then where the next row with it goes. */
const places = new Uint32Array(1 << DIGIT_BITS_MAX);
let lastInA: boolean = true;

/** After {@link sortColumn}: the keys in order. */
export const sortedKeys: Uint32Array = new Uint32Array(SEGMENT_ROWS_MAX);

/** After {@link sortColumn}: the rows in the order of their keys, equal keys in row order. */
export function sortedRows(rowCount: number): Uint16Array {
  return (lastInA ? rowsA : rowsB).subarray(0, rowCount);
}

/**
 * Sorts rows 0 … rowCount − 1 by column[row] and returns how many different keys there are. If
 * there is only one, nothing is sorted.
 */
export function sortColumn(column: Uint32Array, rowCount: number): number {
  assert(rowCount >= 1 && rowCount <= SEGMENT_ROWS_MAX, 'sortColumn: rows');
  assert(column.length >= rowCount, 'sortColumn: column too short');
  keys.set(column.length === rowCount ? column : column.subarray(0, rowCount));
  const varying = varyingBits(rowCount);
  if (varying === 0) return 1;
  // Only the bits in which keys differ are worth a pass, and equal digits keep their tables small.
  const low = 31 - Math.clz32(varying & -varying);
  const width = 32 - Math.clz32(varying) - low;
  const passes = Math.ceil(width / DIGIT_BITS_MAX);
  const digitBits = Math.ceil(width / passes);
  assert(passes >= 1 && passes <= 3, 'sortColumn: passes');
  const mask = (1 << digitBits) - 1;
  countDigits(rowCount, low, mask);
  scatterFirst(rowCount, low, mask);
  lastInA = true;
  for (let pass = 1; pass < passes; pass++) {
    const shift = low + pass * digitBits;
    countDigits(rowCount, shift, mask);
    if (lastInA) scatterAToB(rowCount, shift, mask);
    else scatterBToA(rowCount, shift, mask);
    lastInA = !lastInA;
  }
  return lastInA ? gatherFromA(rowCount) : gatherFromB(rowCount);
}

function varyingBits(rowCount: number): number {
  const first = keys[0];
  let varying = 0;
  for (let row = 1; row < rowCount; row++) varying |= keys[row] ^ first;
  return varying;
}

function countDigits(rowCount: number, shift: number, mask: number): void {
  places.fill(0, 0, mask + 1);
  for (let row = 0; row < rowCount; row++) places[(keys[row] >>> shift) & mask] += 1;
  let place = 0;
  for (let digit = 0; digit <= mask; digit++) {
    const count = places[digit];
    places[digit] = place;
    place += count;
  }
  assert(place === rowCount, 'countDigits: lost rows');
}

function scatterFirst(rowCount: number, shift: number, mask: number): void {
  for (let row = 0; row < rowCount; row++) {
    const digit = (keys[row] >>> shift) & mask;
    const place = places[digit];
    places[digit] = place + 1;
    rowsA[place] = row;
  }
}

function scatterAToB(rowCount: number, shift: number, mask: number): void {
  for (let i = 0; i < rowCount; i++) {
    const row = rowsA[i];
    const digit = (keys[row] >>> shift) & mask;
    const place = places[digit];
    places[digit] = place + 1;
    rowsB[place] = row;
  }
}

function scatterBToA(rowCount: number, shift: number, mask: number): void {
  for (let i = 0; i < rowCount; i++) {
    const row = rowsB[i];
    const digit = (keys[row] >>> shift) & mask;
    const place = places[digit];
    places[digit] = place + 1;
    rowsA[place] = row;
  }
}

function gatherFromA(rowCount: number): number {
  let keyCount = 0;
  let last = -1;
  for (let i = 0; i < rowCount; i++) {
    const key = keys[rowsA[i]];
    if (key !== last) keyCount += 1;
    sortedKeys[i] = key;
    last = key;
  }
  return keyCount;
}

function gatherFromB(rowCount: number): number {
  let keyCount = 0;
  let last = -1;
  for (let i = 0; i < rowCount; i++) {
    const key = keys[rowsB[i]];
    if (key !== last) keyCount += 1;
    sortedKeys[i] = key;
    last = key;
  }
  return keyCount;
}
