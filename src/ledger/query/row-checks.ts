/**
 * What the candidates of a segment still have to prove. There are two ways to do it: looking at
 * the row, which costs a cache miss or two, or a mark per row of the segment, for which all hits of
 * another condition have to be gone through once. Few candidates are looked at; for many, marks
 * are far cheaper.
 */
import { assert } from '../../stdx/index.ts';
import { RECORD_WORDS, TransferWord } from '../format/constants.ts';
import { Key } from '../indexes/index-keys.ts';
import { SEGMENT_ROWS_MAX } from '../indexes/radix-sort.ts';
import type { SortedRun } from '../indexes/sorted-run.ts';
import type { Rows } from '../rows.ts';
import type { Filter } from './filter.ts';

/**
 * Per row of a segment: how many of the conditions that use marks it fulfils. One scratch array
 * for all: nothing in it outlives a segment of a query.
 */
const marks = new Uint8Array(SEGMENT_ROWS_MAX);

export class RowChecks {
  /** Conditions that use marks. */
  #marked: number = 0;
  /** Numbers of the conditions for which the row is looked at. */
  readonly #conditions: Uint8Array = new Uint8Array(8);
  #conditionCount: number = 0;
  /** Whether the row must have the filter's account on either side. */
  #either: boolean = false;

  clear(): void {
    this.#marked = 0;
    this.#conditionCount = 0;
    this.#either = false;
  }

  addCondition(condition: number): void {
    this.#conditions[this.#conditionCount] = condition;
    this.#conditionCount += 1;
  }

  addEither(): void {
    this.#either = true;
  }

  /** Asks for rows among the hits of the run, or of one of two runs that share no hit. */
  addHits(run: SortedRun, other: SortedRun | null): void {
    if (this.#marked === 0) marks.fill(0, 0, run.rowCount);
    markHits(run, this.#marked);
    if (other !== null) markHits(other, this.#marked);
    this.#marked += 1;
  }

  /** `place` is the row's number within its segment. */
  passes(filter: Filter, rows: Rows, row: number, place: number): boolean {
    if (this.#marked > 0 && marks[place] !== this.#marked) return false;
    if (this.#conditionCount === 0 && !this.#either) return true;
    const words = rows.chunks[row >>> rows.rowShift];
    const at = (row & rows.rowMask) * RECORD_WORDS;
    for (let i = 0; i < this.#conditionCount; i++) {
      if (!passesCondition(filter, this.#conditions[i], words, at)) return false;
    }
    if (!this.#either) return true;
    return (
      sameWords(words, at + TransferWord.debitAccountId, filter.accountId, 4) ||
      sameWords(words, at + TransferWord.creditAccountId, filter.accountId, 4)
    );
  }
}

/** Raises the marks of those hits that have fulfilled all conditions so far. */
function markHits(run: SortedRun, marked: number): void {
  const { rows, low, high } = run;
  if (rows === null) {
    assert(low === high, 'markHits: all rows are hits');
    return;
  }
  for (let i = low; i < high; i++) {
    const place = rows[i];
    if (marks[place] === marked) marks[place] = marked + 1;
  }
}

/** Whether the row at words[at] fulfils one condition of the filter. */
function passesCondition(
  filter: Filter,
  condition: number,
  words: Uint32Array,
  at: number,
): boolean {
  const value = filter.values[condition];
  switch (filter.keys[condition]) {
    case Key.userData128:
      return sameWords(words, at + TransferWord.userData128, filter.userData128, 4);
    case Key.userData64:
      return sameWords(words, at + TransferWord.userData64, filter.userData64, 2);
    case Key.userData32:
      return words[at + TransferWord.userData32] === filter.userData32;
    case Key.ledger:
      return words[at + TransferWord.ledger] === value;
    case Key.code:
      return (words[at + TransferWord.codeFlags] & 0xffff) === value;
    case Key.debitAccount:
      return sameWords(words, at + TransferWord.debitAccountId, filter.accountId, 4);
    default:
      assert(filter.keys[condition] === Key.creditAccount, 'passesCondition: unknown key');
      return sameWords(words, at + TransferWord.creditAccountId, filter.accountId, 4);
  }
}

function sameWords(words: Uint32Array, at: number, wanted: Uint32Array, count: number): boolean {
  for (let i = 0; i < count; i++) if (words[at + i] !== wanted[i]) return false;
  return true;
}
