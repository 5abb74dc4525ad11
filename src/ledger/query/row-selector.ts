/**
 * From a filter to row numbers: which rows of a table it selects, oldest or newest first.
 *
 * Rows are in timestamp order, so a timestamp range is a row range and the segments are visited in
 * the order of the answer; the limit ends the visit. In a sealed segment every condition is looked
 * up in its run. One that finds nothing ends the segment, and the condition with the fewest rows
 * supplies candidates, which are checked for the others (see `row-checks`). In a segment that is
 * not sealed the columns are scanned.
 */
import { assert } from '../../stdx/index.ts';
import { TransferWord } from '../format/constants.ts';
import { FOLDED_KEYS, Key } from '../indexes/index-keys.ts';
import type { IndexTable } from '../indexes/index-table.ts';
import type { SortedRun } from '../indexes/sorted-run.ts';
import { lowerBound, upperBound } from '../query-timestamps.ts';
import { combinationOf, EmptySegments } from './empty-segments.ts';
import type { Filter } from './filter.ts';
import { RowChecks } from './row-checks.ts';

/** Most rows that one query can select: what fits a reply without a trailer. */
export const SELECTED_ROWS_MAX = 8190;

/** Hits that can be marked in the time that one look at a row takes. */
const MARKS_PER_ROW = 32;

/** Candidates that failed in a segment before it is remembered as empty. */
const MISSES_REMEMBERED = 32;

/** Stands for "the account on either side" where the number of a condition is expected. */
const EITHER_SIDE = -1;

export class RowSelector {
  /** After {@link select}: the rows, in the order of the answer. */
  readonly rows: Uint32Array = new Uint32Array(SELECTED_ROWS_MAX);
  count: number = 0;

  #table: IndexTable | null = null;
  #filter: Filter | null = null;
  /** Row of the account that may stand on either side; −1 when the filter names none. */
  #eitherAccount: number = -1;
  #limit: number = 0;
  /** The condition that was most selective in the last segment: likely so in the next one. */
  #favourite: number = 0;
  /** What candidates of this segment have to prove. */
  readonly #checks: RowChecks = new RowChecks();
  /** Candidates of this query that did not pass. */
  #misses: number = 0;
  /** First row of the segment. */
  #base: number = 0;
  /** The conditions as a key of {@link EmptySegments}; `null`: not worth remembering. */
  #combination: string | null = null;
  readonly #empty: EmptySegments = new EmptySegments();

  /**
   * Selects at most `limit` rows and returns their number. `eitherAccount` is the row of an account
   * that must be the debit or the credit account, or −1.
   */
  select(table: IndexTable, filter: Filter, eitherAccount: number, limit: number): number {
    assert(limit >= 1 && limit <= SELECTED_ROWS_MAX, 'RowSelector: limit');
    assert(table.indexedRows === table.rows.count, 'RowSelector: indexes are behind');
    this.#table = table;
    this.#filter = filter;
    this.#eitherAccount = eitherAccount;
    this.#limit = limit;
    this.#favourite = filter.conditionCount - 1;
    this.count = 0;
    this.#misses = 0;
    this.#base = 0;
    this.#checks.clear();
    const { rows, segmentRows } = table;
    const word = TransferWord.timestamp;
    const min = lowerBound(rows, word, filter.timestampMinHi, filter.timestampMinLo);
    const max = upperBound(rows, word, filter.timestampMaxHi, filter.timestampMaxLo);
    if (min >= max) return 0;
    if (filter.conditionCount === 0 && eitherAccount < 0) {
      this.#takeRange(min, max);
      return this.count;
    }
    this.#combination = combinationOf(filter, eitherAccount);
    const first = Math.floor(min / segmentRows);
    const last = Math.floor((max - 1) / segmentRows);
    const sealed = table.sealedSegments;
    for (let i = 0; i <= last - first && this.count < limit; i++) {
      const segment = filter.reversed ? last - i : first + i;
      this.#base = segment * segmentRows;
      const low = Math.max(min - this.#base, 0);
      const high = Math.min(max - this.#base, segmentRows);
      if (segment < sealed) this.#searchSegment(segment, low, high);
      else this.#scanColumns(segment, low, high);
    }
    return this.count;
  }

  /** Searches a sealed segment, unless it is known to hold nothing. */
  #searchSegment(segment: number, low: number, high: number): void {
    const table = this.#table as IndexTable;
    const combination = this.#combination;
    if (combination !== null && this.#empty.has(table, combination, segment)) return;
    const { count } = this;
    const misses = this.#misses;
    this.#searchRuns(segment, low, high);
    const isWhole = low === 0 && high === table.segmentRows;
    if (combination === null || !isWhole || this.count > count) return;
    // A search that cost next to nothing is not worth a place.
    const missesMin = Math.min(MISSES_REMEMBERED, table.segmentRows >>> 3);
    if (this.#misses - misses < missesMin) return;
    this.#empty.add(table, combination, segment);
  }

  /** Selects from rows [low, high) of a sealed segment, counted within it. */
  #searchRuns(segment: number, low: number, high: number): void {
    const table = this.#table as IndexTable;
    const filter = this.#filter as Filter;
    let best = EITHER_SIDE;
    let bestCount = Number.POSITIVE_INFINITY;
    for (let i = 0; i < filter.conditionCount; i++) {
      // The favourite first, in place of the first.
      const condition = i === 0 ? this.#favourite : i === this.#favourite ? 0 : i;
      const run = table.run(segment, filter.keys[condition]);
      const count = run.find(filter.values[condition]);
      if (count < bestCount) {
        best = condition;
        bestCount = count;
      }
      if (count === 0) {
        this.#favourite = condition;
        return;
      }
    }
    if (best >= 0) this.#favourite = best;
    if (this.#eitherAccount >= 0) {
      const debits = table.run(segment, Key.debitAccount).find(this.#eitherAccount);
      const credits = table.run(segment, Key.creditAccount).find(this.#eitherAccount);
      if (debits + credits === 0) return;
      if (debits + credits < bestCount) {
        best = EITHER_SIDE;
        bestCount = debits + credits;
      }
    }
    this.#planChecks(segment, best, bestCount);
    if (best === EITHER_SIDE) {
      const debits = table.run(segment, Key.debitAccount);
      this.#takeEither(debits, table.run(segment, Key.creditAccount), low, high);
    } else {
      const run = table.run(segment, filter.keys[best]);
      if (run.rows === null) this.#takeRange(this.#base + low, this.#base + high);
      else this.#takeRun(run, low, high);
    }
  }

  /** Says how the candidates that `best` supplies prove what is not known of them yet. */
  #planChecks(segment: number, best: number, bestCount: number): void {
    const table = this.#table as IndexTable;
    const filter = this.#filter as Filter;
    const checks = this.#checks;
    checks.clear();
    for (let i = 0; i < filter.conditionCount; i++) {
      const key = filter.keys[i];
      const run = table.run(segment, key);
      const isMarked =
        i !== best && run.rows !== null && this.#isWorthMarks(run.high - run.low, bestCount);
      if (isMarked) checks.addHits(run, null);
      const isKnown = isMarked || i === best || run.rows === null;
      if (!isKnown || key < FOLDED_KEYS) checks.addCondition(i);
    }
    if (this.#eitherAccount < 0 || best === EITHER_SIDE) return;
    const debits = table.run(segment, Key.debitAccount);
    const credits = table.run(segment, Key.creditAccount);
    const hits = debits.high - debits.low + (credits.high - credits.low);
    const isListed = debits.rows !== null && credits.rows !== null;
    if (isListed && this.#isWorthMarks(hits, bestCount)) checks.addHits(debits, credits);
    else checks.addEither();
  }

  /**
   * Whether going through `hits` is cheaper than looking at the rows of all candidates that will
   * be needed. Until candidates have failed, half of them are expected to pass.
   */
  #isWorthMarks(hits: number, candidates: number): boolean {
    const expected = 2 * (this.#limit - this.count) + this.#misses;
    return Math.min(candidates, expected) * MARKS_PER_ROW > hits;
  }

  /** Takes rows [low, high) as candidates. */
  #takeRange(low: number, high: number): void {
    const reversed = (this.#filter as Filter).reversed;
    for (let i = 0; i < high - low && this.count < this.#limit; i++) {
      this.#take(reversed ? high - 1 - i : low + i);
    }
  }

  /** Takes the hits of a run, as far as they are in [low, high), as candidates. */
  #takeRun(run: SortedRun, low: number, high: number): void {
    const rows = run.rows as Uint16Array;
    const base = this.#base;
    const from = firstNotBelow(rows, run.low, run.high, low);
    const to = firstNotBelow(rows, from, run.high, high);
    if ((this.#filter as Filter).reversed) {
      for (let i = to - 1; i >= from && this.count < this.#limit; i--) this.#take(base + rows[i]);
    } else {
      for (let i = from; i < to && this.count < this.#limit; i++) this.#take(base + rows[i]);
    }
  }

  /** Takes the hits of both sides in row order. No transfer has the same account on both. */
  #takeEither(a: SortedRun, b: SortedRun, low: number, high: number): void {
    const base = this.#base;
    if (a.rows === null || b.rows === null) {
      // An account that stands on the same side of every transfer stands on the other of none.
      const all = a.rows === null && a.high > 0 ? a : b.rows === null && b.high > 0 ? b : null;
      if (all !== null) this.#takeRange(base + low, base + high);
      else if (a.rows !== null) this.#takeRun(a, low, high);
      else if (b.rows !== null) this.#takeRun(b, low, high);
      return;
    }
    const step = (this.#filter as Filter).reversed ? -1 : 1;
    const aFrom = firstNotBelow(a.rows, a.low, a.high, low);
    const aTo = firstNotBelow(a.rows, aFrom, a.high, high);
    const bFrom = firstNotBelow(b.rows, b.low, b.high, low);
    const bTo = firstNotBelow(b.rows, bFrom, b.high, high);
    let aAt = step > 0 ? aFrom : aTo - 1;
    let bAt = step > 0 ? bFrom : bTo - 1;
    let left = aTo - aFrom + (bTo - bFrom);
    while (left > 0 && this.count < this.#limit) {
      const aLeft = aAt >= aFrom && aAt < aTo;
      const bLeft = bAt >= bFrom && bAt < bTo;
      const takeA = aLeft && (!bLeft || (a.rows[aAt] - b.rows[bAt]) * step < 0);
      this.#take(base + (takeA ? a.rows[aAt] : b.rows[bAt]));
      if (takeA) aAt += step;
      else bAt += step;
      left -= 1;
    }
  }

  /** Selects from rows [low, high) of a segment that has only columns. */
  #scanColumns(segment: number, low: number, high: number): void {
    const filter = this.#filter as Filter;
    const table = this.#table as IndexTable;
    const columns = table.columns(segment);
    const step = filter.reversed ? -1 : 1;
    const end = filter.reversed ? low - 1 : high;
    // Columns decide all but folded keys.
    this.#checks.clear();
    for (let i = 0; i < filter.conditionCount; i++) {
      if (filter.keys[i] < FOLDED_KEYS) this.#checks.addCondition(i);
    }
    const base = this.#base;
    const start = filter.reversed ? high - 1 : low;
    if (this.#eitherAccount >= 0) {
      this.#scanEither(columns, start, end, step);
      return;
    }
    // The last condition is the account, if there is one, else the first will do as well.
    const condition = filter.conditionCount - 1;
    const column = columns[filter.keys[condition]];
    const value = filter.values[condition];
    let row = nextHit(column, value, start, end, step);
    while (row !== end && this.count < this.#limit) {
      if (this.#columnsMatch(columns, row)) this.#take(base + row);
      row = nextHit(column, value, row + step, end, step);
    }
  }

  /** The same, for an account on either side; no transfer has the same account on both. */
  #scanEither(columns: readonly Uint32Array[], start: number, end: number, step: number): void {
    const account = this.#eitherAccount;
    const debits = columns[Key.debitAccount];
    const credits = columns[Key.creditAccount];
    let debit = nextHit(debits, account, start, end, step);
    let credit = nextHit(credits, account, start, end, step);
    while ((debit !== end || credit !== end) && this.count < this.#limit) {
      const isDebit = credit === end || (debit !== end && (debit - credit) * step < 0);
      const row = isDebit ? debit : credit;
      if (this.#columnsMatch(columns, row)) this.#take(this.#base + row);
      if (isDebit) debit = nextHit(debits, account, debit + step, end, step);
      else credit = nextHit(credits, account, credit + step, end, step);
    }
  }

  #columnsMatch(columns: readonly Uint32Array[], row: number): boolean {
    const filter = this.#filter as Filter;
    for (let i = 0; i < filter.conditionCount; i++) {
      if (columns[filter.keys[i]][row] !== filter.values[i]) return false;
    }
    return true;
  }

  /** Adds a candidate to the answer, if it passes. */
  #take(row: number): void {
    const { rows } = this.#table as IndexTable;
    if (!this.#checks.passes(this.#filter as Filter, rows, row, row - this.#base)) {
      this.#misses += 1;
      return;
    }
    this.rows[this.count] = row;
    this.count += 1;
  }
}

/** Elements looked at one by one before the built-in search is worth its call. */
const PROBES = 16;

/** The next place, from `row` in direction `step`, where the column has `value`; else `end`. */
function nextHit(
  column: Uint32Array,
  value: number,
  row: number,
  end: number,
  step: number,
): number {
  for (let i = 0; i < PROBES; i++) {
    if (row === end || column[row] === value) return row;
    row += step;
  }
  if (row === end) return end;
  if (step > 0) {
    const found = column.indexOf(value, row);
    return found < 0 || found > end ? end : found;
  }
  const found = column.lastIndexOf(value, row);
  return Math.max(found, end);
}

/** Place of the first of rows[low … high), ascending, that is not below `row`; else `high`. */
function firstNotBelow(rows: Uint16Array, low: number, high: number, row: number): number {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (rows[middle] < row) low = middle + 1;
    else high = middle;
  }
  return low;
}
