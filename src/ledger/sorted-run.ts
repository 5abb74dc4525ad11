/**
 * One index of one segment: its rows sorted by a 32-bit key, built once and never changed.
 *
 * Three forms, whichever is smallest: all rows have the same key (nothing but the key is kept);
 * few keys (each distinct key once, with the place where its rows begin); many keys (the key of
 * each row). Rows of equal keys stand in ascending order, which is timestamp order, because the
 * radix sort is stable: a query gets its answer in order, from either end.
 *
 * All of a run is one array of words, so that storing it is copying it.
 */
import { assert } from '../stdx/index.ts';

/** Most rows of a segment: their numbers take 16 bits. */
export const SEGMENT_ROWS_MAX = 65_536;

const Form = { constant: 0, few: 1, many: 2 } as const;

/** Header, in words: form, rows, distinct keys, the key if it is the only one. */
const HeaderWord = { form: 0, rowCount: 1, keyCount: 2, key: 3 } as const;
export const RUN_HEADER_WORDS = 4;

/** Words of a run, from its header. */
export function runWords(words: Uint32Array, offset: number): number {
  const rowCount = words[offset + HeaderWord.rowCount];
  const keyCount = words[offset + HeaderWord.keyCount];
  assert(rowCount >= 2 && rowCount <= SEGMENT_ROWS_MAX, 'runWords: rows');
  assert(rowCount % 2 === 0, 'runWords: odd number of rows');
  switch (words[offset + HeaderWord.form]) {
    case Form.constant:
      return RUN_HEADER_WORDS;
    case Form.few:
      return RUN_HEADER_WORDS + 2 * keyCount + rowCount / 2;
    default:
      assert(words[offset + HeaderWord.form] === Form.many, 'runWords: unknown form');
      return RUN_HEADER_WORDS + rowCount + rowCount / 2;
  }
}

export class SortedRun {
  readonly words: Uint32Array;
  readonly rowCount: number;
  /** Row numbers within the segment in key order; `null` when all rows have the same key. */
  readonly rows: Uint16Array | null;
  /** After {@link find}: rows[low … high) are the hits. */
  low: number = 0;
  high: number = 0;

  readonly #form: number;
  readonly #keyCount: number;

  /** `words` is the whole run and must not change any more. */
  constructor(words: Uint32Array) {
    assert(runWords(words, 0) === words.length, 'SortedRun: torn');
    this.words = words;
    this.#form = words[HeaderWord.form];
    this.rowCount = words[HeaderWord.rowCount];
    this.#keyCount = words[HeaderWord.keyCount];
    const keyWords = this.#form === Form.few ? 2 * this.#keyCount : this.rowCount;
    const rowsAt = words.byteOffset + (RUN_HEADER_WORDS + keyWords) * 4;
    this.rows =
      this.#form === Form.constant ? null : new Uint16Array(words.buffer, rowsAt, this.rowCount);
  }

  /** Number of rows with this key; {@link low} and {@link high} say where they stand. */
  find(key: number): number {
    const { words } = this;
    this.low = 0;
    this.high = 0;
    if (this.#form === Form.constant) {
      if (words[HeaderWord.key] === key) this.high = this.rowCount;
    } else if (this.#form === Form.few) {
      const count = this.#keyCount;
      const at = firstNotBelow(words, RUN_HEADER_WORDS, RUN_HEADER_WORDS + count, key);
      const index = at - RUN_HEADER_WORDS;
      if (index < count && words[at] === key) {
        this.low = words[at + count];
        this.high = index + 1 < count ? words[at + count + 1] : this.rowCount;
      }
    } else {
      const end = RUN_HEADER_WORDS + this.rowCount;
      const at = firstNotBelow(words, RUN_HEADER_WORDS, end, key);
      if (at < end && words[at] === key) {
        this.low = at - RUN_HEADER_WORDS;
        this.high = firstAbove(words, at, end, key) - RUN_HEADER_WORDS;
      }
    }
    return this.high - this.low;
  }
}

/** Place of the first of words[low … high), ascending, that is not below `key`; else `high`. */
function firstNotBelow(words: Uint32Array, low: number, high: number, key: number): number {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (words[middle] < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Place after the last `key`, which stands at `at`: doubling steps, since most keys are rare. */
function firstAbove(words: Uint32Array, at: number, end: number, key: number): number {
  let step = 1;
  while (at + step < end && words[at + step] === key) step *= 2;
  let low = at + (step >>> 1);
  let high = Math.min(at + step, end);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (words[middle] <= key) low = middle + 1;
    else high = middle;
  }
  return low;
}

const DIGIT_BITS = 11;
const DIGIT_VALUES = 1 << DIGIT_BITS;
const DIGIT_MASK = DIGIT_VALUES - 1;

/** Builds runs: a least-significant-digit radix sort and its scratch memory, shared by all. */
export class RunSorter {
  readonly #keys: readonly [Uint32Array, Uint32Array] = [
    new Uint32Array(SEGMENT_ROWS_MAX),
    new Uint32Array(SEGMENT_ROWS_MAX),
  ];
  readonly #rows: readonly [Uint16Array, Uint16Array] = [
    new Uint16Array(SEGMENT_ROWS_MAX),
    new Uint16Array(SEGMENT_ROWS_MAX),
  ];
  readonly #histograms: readonly [Uint32Array, Uint32Array, Uint32Array] = [
    new Uint32Array(DIGIT_VALUES),
    new Uint32Array(DIGIT_VALUES),
    new Uint32Array(DIGIT_VALUES),
  ];

  /** The run of a whole segment; `column[row]` is the key of each of its `rowCount` rows. */
  build(column: Uint32Array, rowCount: number): SortedRun {
    assert(rowCount >= 2 && rowCount <= SEGMENT_ROWS_MAX, 'RunSorter: rows');
    assert(column.length >= rowCount, 'RunSorter: column too short');
    if (isConstant(column, rowCount)) {
      return new SortedRun(Uint32Array.of(Form.constant, rowCount, 1, column[0]));
    }
    const sorted = this.#sort(column, rowCount);
    const keys = this.#keys[sorted];
    const rows = this.#rows[sorted];
    let keyCount = 1;
    for (let i = 1; i < rowCount; i++) if (keys[i] !== keys[i - 1]) keyCount += 1;
    assert(keyCount > 1, 'RunSorter: constant after all');
    return 2 * keyCount < rowCount
      ? runOfFew(keys, rows, rowCount, keyCount)
      : runOfMany(keys, rows, rowCount, keyCount);
  }

  /** Leaves keys and rows in one of the two scratch pairs, and returns which. */
  #sort(column: Uint32Array, rowCount: number): 0 | 1 {
    const [h0, h1, h2] = this.#histograms;
    for (const histogram of this.#histograms) histogram.fill(0);
    const keys = this.#keys[0];
    const rows = this.#rows[0];
    for (let i = 0; i < rowCount; i++) {
      const key = column[i];
      keys[i] = key;
      rows[i] = i;
      h0[key & DIGIT_MASK] += 1;
      h1[(key >>> DIGIT_BITS) & DIGIT_MASK] += 1;
      h2[key >>> (2 * DIGIT_BITS)] += 1;
    }
    let from: 0 | 1 = 0;
    for (let digit = 0; digit < 3; digit++) {
      const histogram = this.#histograms[digit];
      // A digit that all keys share would only copy.
      if (histogram[(column[0] >>> (digit * DIGIT_BITS)) & DIGIT_MASK] === rowCount) continue;
      this.#scatter(from, digit * DIGIT_BITS, histogram, rowCount);
      from = from === 0 ? 1 : 0;
    }
    return from;
  }

  #scatter(from: 0 | 1, shift: number, histogram: Uint32Array, rowCount: number): void {
    let place = 0;
    for (let value = 0; value < DIGIT_VALUES; value++) {
      const count = histogram[value];
      histogram[value] = place;
      place += count;
    }
    assert(place === rowCount, 'RunSorter: lost rows');
    const to = from === 0 ? 1 : 0;
    const keysFrom = this.#keys[from];
    const rowsFrom = this.#rows[from];
    const keysTo = this.#keys[to];
    const rowsTo = this.#rows[to];
    for (let i = 0; i < rowCount; i++) {
      const key = keysFrom[i];
      const digit = (key >>> shift) & DIGIT_MASK;
      const at = histogram[digit];
      histogram[digit] = at + 1;
      keysTo[at] = key;
      rowsTo[at] = rowsFrom[i];
    }
  }
}

function isConstant(column: Uint32Array, rowCount: number): boolean {
  const first = column[0];
  for (let i = 1; i < rowCount; i++) if (column[i] !== first) return false;
  return true;
}

function runOfFew(
  keys: Uint32Array,
  rows: Uint16Array,
  rowCount: number,
  keyCount: number,
): SortedRun {
  const words = new Uint32Array(RUN_HEADER_WORDS + 2 * keyCount + rowCount / 2);
  words.set([Form.few, rowCount, keyCount, 0]);
  let at = RUN_HEADER_WORDS;
  for (let i = 0; i < rowCount; i++) {
    if (i > 0 && keys[i] === keys[i - 1]) continue;
    words[at] = keys[i];
    words[at + keyCount] = i;
    at += 1;
  }
  assert(at === RUN_HEADER_WORDS + keyCount, 'runOfFew: keys');
  const run = new SortedRun(words);
  run.rows?.set(rows.subarray(0, rowCount));
  return run;
}

function runOfMany(
  keys: Uint32Array,
  rows: Uint16Array,
  rowCount: number,
  keyCount: number,
): SortedRun {
  const words = new Uint32Array(RUN_HEADER_WORDS + rowCount + rowCount / 2);
  words.set([Form.many, rowCount, keyCount, 0]);
  words.set(keys.subarray(0, rowCount), RUN_HEADER_WORDS);
  const run = new SortedRun(words);
  run.rows?.set(rows.subarray(0, rowCount));
  return run;
}
