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
import { assert } from '../../stdx/index.ts';
import { SEGMENT_ROWS_MAX, sortColumn, sortedKeys, sortedRows } from './radix-sort.ts';

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

/** The run of a whole segment; `column[row]` is the key of each of its `rowCount` rows. */
export function buildRun(column: Uint32Array, rowCount: number): SortedRun {
  assert(rowCount >= 2 && rowCount <= SEGMENT_ROWS_MAX, 'buildRun: rows');
  assert(column.length >= rowCount, 'buildRun: column too short');
  const keyCount = sortColumn(column, rowCount);
  assert(keyCount >= 1 && keyCount <= rowCount, 'buildRun: keys');
  if (keyCount === 1) {
    return new SortedRun(Uint32Array.of(Form.constant, rowCount, 1, column[0]));
  }
  const isFew = 2 * keyCount < rowCount;
  const keyWords = isFew ? 2 * keyCount : rowCount;
  const words = new Uint32Array(RUN_HEADER_WORDS + keyWords + rowCount / 2);
  words[HeaderWord.form] = isFew ? Form.few : Form.many;
  words[HeaderWord.rowCount] = rowCount;
  words[HeaderWord.keyCount] = keyCount;
  if (isFew) writeFewKeys(words, rowCount, keyCount);
  else words.set(sortedKeys.subarray(0, rowCount), RUN_HEADER_WORDS);
  const run = new SortedRun(words);
  run.rows?.set(sortedRows(rowCount));
  return run;
}

/** Each distinct key, then for each of them where its rows begin. */
function writeFewKeys(words: Uint32Array, rowCount: number, keyCount: number): void {
  let at = RUN_HEADER_WORDS;
  for (let i = 0; i < rowCount; i++) {
    if (i > 0 && sortedKeys[i] === sortedKeys[i - 1]) continue;
    words[at] = sortedKeys[i];
    words[at + keyCount] = i;
    at += 1;
  }
  assert(at === RUN_HEADER_WORDS + keyCount, 'writeFewKeys: keys');
}
