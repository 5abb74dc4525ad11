/**
 * Datums: the value of one column of one row, immutable. A set is its atoms in order; a map is its
 * keys in order, each followed by its value: [k0, v0, k1, v1, …]. One flat array and no wrapper,
 * since a database is mostly datums; how to read it, the column type says (`stride`). Keys are
 * distinct. Empty datums are all the same object.
 */
import { assert } from '../../stdx/index.ts';
import { type Atom, compareAtoms, defaultAtom } from './atom.ts';
import { checkAtom } from './base-type.ts';
import type { ColumnType } from './column-type.ts';
import type { OvsdbError } from './error.ts';

export type Datum = readonly Atom[];

export const EMPTY_DATUM: Datum = Object.freeze([]);

/** Places that one element takes: 2 in maps. */
export function strideOf(type: ColumnType): 1 | 2 {
  return type.value === null ? 1 : 2;
}

/** Elements, pairs counting once. */
export function countOf(datum: Datum, type: ColumnType): number {
  return datum.length / strideOf(type);
}

/** The value of a column that an insert does not mention (RFC 7047 §5.2.1). */
export function defaultDatum(type: ColumnType): Datum {
  if (type.min === 0) return EMPTY_DATUM;
  const key = defaultAtom(type.key.type);
  return type.value === null ? [key] : [key, defaultAtom(type.value.type)];
}

export function isDefaultDatum(datum: Datum, type: ColumnType): boolean {
  return datumsEqual(datum, defaultDatum(type));
}

export function datumsEqual(a: Datum, b: Datum): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** A total order: fewer elements first, then keys, then values. */
export function compareDatums(a: Datum, b: Datum, type: ColumnType): number {
  if (a.length !== b.length) return a.length - b.length;
  const stride = strideOf(type);
  for (let part = 0; part < stride; part++) {
    for (let i = part; i < a.length; i += stride) {
      const order = compareAtoms(a[i], b[i]);
      if (order !== 0) return order;
    }
  }
  return 0;
}

/** Where `key` is in `datum`, or where it would have to be, as `-1 - place`. */
export function findKey(datum: Datum, key: Atom, stride: 1 | 2): number {
  let low = 0;
  let high = datum.length / stride;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const order = compareAtoms(key, datum[middle * stride]);
    if (order === 0) return middle * stride;
    if (order < 0) high = middle;
    else low = middle + 1;
  }
  return -1 - low * stride;
}

/**
 * `datum` with its elements in order; `null` when a key occurs twice. `elements` is flat as a datum
 * is, and becomes the result: the caller gives it away.
 */
export function sortElements(elements: Atom[], stride: 1 | 2): Datum | null {
  if (elements.length <= stride) return elements.length === 0 ? EMPTY_DATUM : elements;
  if (!isSorted(elements, stride)) {
    if (stride === 1) elements.sort(compareAtoms);
    else sortPairs(elements);
  }
  for (let i = stride; i < elements.length; i += stride) {
    if (elements[i] === elements[i - stride]) return null;
  }
  return elements;
}

function isSorted(elements: readonly Atom[], stride: number): boolean {
  for (let i = stride; i < elements.length; i += stride) {
    if (compareAtoms(elements[i - stride], elements[i]) > 0) return false;
  }
  return true;
}

function sortPairs(elements: Atom[]): void {
  const pairs: [Atom, Atom][] = [];
  for (let i = 0; i < elements.length; i += 2) pairs.push([elements[i], elements[i + 1]]);
  pairs.sort((a, b) => compareAtoms(a[0], b[0]));
  for (const [i, [key, value]] of pairs.entries()) {
    elements[2 * i] = key;
    elements[2 * i + 1] = value;
  }
}

/** Every element of `part` is in `whole`; in maps with the same value. */
export function includesAll(part: Datum, whole: Datum, type: ColumnType): boolean {
  if (part.length > whole.length) return false;
  return everyElement(part, type, (i) => holds(whole, part, i, type));
}

/** No element of `part` is in `whole`; in maps the value must match too. */
export function excludesAll(part: Datum, whole: Datum, type: ColumnType): boolean {
  return everyElement(part, type, (i) => !holds(whole, part, i, type));
}

function everyElement(datum: Datum, type: ColumnType, holdsAt: (i: number) => boolean): boolean {
  for (let i = 0; i < datum.length; i += strideOf(type)) if (!holdsAt(i)) return false;
  return true;
}

function holds(whole: Datum, part: Datum, i: number, type: ColumnType): boolean {
  const stride = strideOf(type);
  const place = findKey(whole, part[i], stride);
  return place >= 0 && (stride === 1 || whole[place + 1] === part[i + 1]);
}

/** `a` and what of `b` has a key that `a` lacks. */
export function union(a: Datum, b: Datum, type: ColumnType): Datum {
  const stride = strideOf(type);
  const result: Atom[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    const order = compareAtoms(a[i], b[j]);
    if (order <= 0) {
      push(result, a, i, stride);
      i += stride;
      if (order === 0) j += stride;
    } else {
      push(result, b, j, stride);
      j += stride;
    }
  }
  for (; i < a.length; i += stride) push(result, a, i, stride);
  for (; j < b.length; j += stride) push(result, b, j, stride);
  return result.length === a.length ? a : result;
}

/**
 * `a` without the elements of `b`. `keysOnly`: `b` is a set of keys; else, in maps, an element goes
 * only when its value is the same.
 */
export function subtract(a: Datum, b: Datum, type: ColumnType, keysOnly: boolean): Datum {
  const stride = strideOf(type);
  const bStride = keysOnly ? 1 : stride;
  const result: Atom[] = [];
  let j = 0;
  for (let i = 0; i < a.length; i += stride) {
    while (j < b.length && compareAtoms(b[j], a[i]) < 0) j += bStride;
    const found = j < b.length && b[j] === a[i];
    if (found && (bStride === 1 || b[j + 1] === a[i + 1])) continue;
    push(result, a, i, stride);
  }
  if (result.length === 0) return EMPTY_DATUM;
  return result.length === a.length ? a : result;
}

/**
 * What changed, as updates and log records carry it. Of at most one element: the new datum. Else
 * the elements that are in one of the two only, and pairs of changed value with the new value.
 */
export function diffDatums(before: Datum, after: Datum, type: ColumnType): Datum {
  return type.max > 1 ? symmetricDifference(before, after, type) : after;
}

/** The inverse: `after` from `before` and the diff. Does not check how many elements result. */
export function applyDiff(before: Datum, diff: Datum, type: ColumnType): Datum {
  // A changed pair is in both with different values: the difference then takes the diff's.
  return diffDatums(before, diff, type);
}

function symmetricDifference(before: Datum, after: Datum, type: ColumnType): Datum {
  const stride = strideOf(type);
  const result: Atom[] = [];
  let i = 0;
  let j = 0;
  while (i < before.length && j < after.length) {
    const order = compareAtoms(before[i], after[j]);
    if (order < 0) push(result, before, i, stride);
    else if (order > 0) push(result, after, j, stride);
    else if (stride === 2 && before[i + 1] !== after[j + 1]) push(result, after, j, stride);
    if (order <= 0) i += stride;
    if (order >= 0) j += stride;
  }
  for (; i < before.length; i += stride) push(result, before, i, stride);
  for (; j < after.length; j += stride) push(result, after, j, stride);
  return result.length === 0 ? EMPTY_DATUM : result;
}

function push(to: Atom[], from: Datum, i: number, stride: 1 | 2): void {
  to.push(from[i]);
  if (stride === 2) to.push(from[i + 1]);
}

/**
 * Calls for every element that is in one of the two only. A pair of changed value is in both: it is
 * removed with its old and added with its new value.
 */
export function forEachChange(
  before: Datum,
  after: Datum,
  type: ColumnType,
  change: { removed: (datum: Datum, i: number) => void; added: (datum: Datum, i: number) => void },
): void {
  if (before === after) return;
  const stride = strideOf(type);
  let i = 0;
  let j = 0;
  while (i < before.length || j < after.length) {
    const order =
      i >= before.length ? 1 : j >= after.length ? -1 : compareAtoms(before[i], after[j]);
    const same = order === 0 && (stride === 1 || before[i + 1] === after[j + 1]);
    if (order <= 0 && !same) change.removed(before, i);
    if (order >= 0 && !same) change.added(after, j);
    if (order <= 0) i += stride;
    if (order >= 0) j += stride;
  }
}

/** The first atom that its base type does not allow: keys first, then values. */
export function checkDatum(datum: Datum, type: ColumnType): OvsdbError | null {
  const stride = strideOf(type);
  for (let part = 0; part < stride; part++) {
    const base = part === 0 ? type.key : type.value;
    assert(base !== null, 'checkDatum: a map without a value type');
    for (let i = part; i < datum.length; i += stride) {
      const problem = checkAtom(datum[i], base);
      if (problem !== null) return problem;
    }
  }
  return null;
}
