/**
 * The secondary indexes of one table: a sorted run per key for every segment of rows that is full,
 * plain columns of keys for the rows after those.
 *
 * Writing costs a store per key while the row is in the cache, and later one sort per segment and
 * key. Sorts are handed out one at a time ({@link IndexTable.sealNext}), in a fixed order, so that
 * no operation pays for more than one. A segment counts as sealed when all its keys are; until
 * then queries scan its columns, at a nanosecond or so per row.
 */
import { assert } from '../../stdx/index.ts';
import type { Rows } from '../rows.ts';
import { ACCOUNT_KEYS, Key, TRANSFER_KEYS, writeCommonKeys } from './index-keys.ts';
import { SEGMENT_ROWS_MAX } from './radix-sort.ts';
import { buildRun, type SortedRun } from './sorted-run.ts';

/** Room in the columns of a new ledger, rows. */
const COLUMN_ROWS_MIN = 1024;

export class IndexTable {
  readonly rows: Rows;
  readonly keyCount: number;
  readonly segmentRows: number;
  /** Row number to segment, as a shift; and to the place within it, as a mask. */
  readonly #shift: number;
  readonly #mask: number;
  /** In sealing order: the run of (segment, key) is number segment · keyCount + key. */
  readonly runs: SortedRun[] = [];
  /** Rows whose keys are in columns or runs. */
  indexedRows: number = 0;

  /** Columns of each segment, one per key; `null` once it is sealed. */
  readonly #columns: (Uint32Array[] | null)[] = [];
  readonly #spareColumns: Uint32Array[][] = [];
  /** The columns that got the latest row, and the rows for which they have room. */
  #open: Uint32Array[] = [];
  #openFirst: number = 0;
  #openEnd: number = 0;

  constructor(rows: Rows, keyCount: number, segmentRows: number) {
    assert(keyCount === ACCOUNT_KEYS || keyCount === TRANSFER_KEYS, 'IndexTable: keys');
    assert(segmentRows >= 2 && segmentRows <= SEGMENT_ROWS_MAX, 'IndexTable: segment size');
    assert((segmentRows & (segmentRows - 1)) === 0, 'IndexTable: not a power of two');
    assert(rows.recordWords === 32, 'IndexTable: not a table of accounts or transfers');
    this.rows = rows;
    this.keyCount = keyCount;
    this.segmentRows = segmentRows;
    this.#shift = 31 - Math.clz32(segmentRows);
    this.#mask = segmentRows - 1;
  }

  /** Segments all of whose keys have runs. */
  get sealedSegments(): number {
    return Math.floor(this.runs.length / this.keyCount);
  }

  /** Runs that could be built now. */
  get pendingRuns(): number {
    return Math.floor(this.indexedRows / this.segmentRows) * this.keyCount - this.runs.length;
  }

  run(segment: number, key: number): SortedRun {
    return this.runs[segment * this.keyCount + key];
  }

  /** The columns of a segment that is not sealed; its first rows, up to `indexedRows`, count. */
  columns(segment: number): readonly Uint32Array[] {
    const columns = this.#columns[segment];
    assert(columns !== null && columns !== undefined, 'IndexTable: no columns');
    return columns;
  }

  /** Notes the accounts of transfer `row`, ahead of the row's other keys. */
  setAccounts(row: number, debitRow: number, creditRow: number): void {
    if (row < this.#openFirst || row >= this.#openEnd) this.#openFor(row);
    const place = row - this.#openFirst;
    this.#open[Key.debitAccount][place] = debitRow;
    this.#open[Key.creditAccount][place] = creditRow;
  }

  /** Row of the account that {@link setAccounts} noted; `key` says on which side. */
  accountOf(row: number, key: number): number {
    return this.columns(row >>> this.#shift)[key][row & this.#mask];
  }

  /** Indexes rows up to `rowEnd`; the accounts of transfers are noted already. */
  catchUp(rowEnd: number): void {
    const { rows } = this;
    assert(this.indexedRows <= rowEnd, 'IndexTable: indexed rows were taken back');
    assert(rowEnd <= rows.count, 'IndexTable: no such row');
    for (let row = this.indexedRows; row < rowEnd; ) {
      // As far as chunk and segment reach; both begin at multiples of a power of two.
      const end = Math.min(rowEnd, (row | rows.rowMask) + 1, (row | this.#mask) + 1);
      this.#openFor(end - 1);
      const words = rows.chunkOf(row);
      writeCommonKeys(words, rows.baseOf(row), end - row, this.#open, row & this.#mask);
      row = end;
    }
    this.indexedRows = rowEnd;
  }

  /** Builds the next run. Only when {@link pendingRuns} says that there is one. */
  sealNext(): void {
    assert(this.pendingRuns > 0, 'IndexTable: nothing to seal');
    const key = this.runs.length % this.keyCount;
    const segment = this.sealedSegments;
    const columns = this.columns(segment);
    this.runs.push(buildRun(columns[key], this.segmentRows));
    if (key < this.keyCount - 1) return;
    this.#spareColumns.push(this.#columns[segment] as Uint32Array[]);
    this.#columns[segment] = null;
  }

  /** Starts over behind the runs that were restored: their rows need no columns. */
  resume(): void {
    assert(this.indexedRows === 0, 'IndexTable: resumed twice');
    const sealedRows = this.sealedSegments * this.segmentRows;
    assert(sealedRows <= this.rows.count, 'IndexTable: runs beyond the table');
    while (this.#columns.length < this.sealedSegments) this.#columns.push(null);
    this.indexedRows = sealedRows;
  }

  /** Gives a row columns: those of its segment, made or enlarged if need be. */
  #openFor(row: number): void {
    const segment = row >>> this.#shift;
    if (segment >= this.#columns.length) this.#addSegment(segment);
    const columns = this.#columns[segment];
    assert(columns !== null, 'IndexTable: the segment is sealed');
    const place = row & this.#mask;
    if (place >= columns[0].length) {
      const size = Math.min(this.segmentRows, 1 << (32 - Math.clz32(place)));
      for (let key = 0; key < this.keyCount; key++) columns[key] = enlarged(columns[key], size);
    }
    this.#open = columns;
    this.#openFirst = row - place;
    this.#openEnd = this.#openFirst + columns[0].length;
    assert(row < this.#openEnd, 'IndexTable: no room');
  }

  #addSegment(segment: number): void {
    assert(segment === this.#columns.length, 'IndexTable: segment out of order');
    // Only a first segment starts small: a ledger may stay small.
    const size = segment === 0 ? Math.min(COLUMN_ROWS_MIN, this.segmentRows) : this.segmentRows;
    const columns =
      this.#spareColumns.pop() ??
      Array.from({ length: this.keyCount }, () => new Uint32Array(size));
    this.#columns.push(columns);
  }
}

function enlarged(column: Uint32Array, size: number): Uint32Array {
  assert(size > column.length, 'enlarged: not larger');
  const copy = new Uint32Array(size);
  copy.set(column);
  return copy;
}
