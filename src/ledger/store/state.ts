/**
 * Everything the ledger knows, and the few ways in which it changes: a record is appended, an
 * account's balances or flags change, a pending transfer is settled, an id is burned, a chain is
 * taken back. Which of these happens is decided in `apply/`; here they are done so that indexes,
 * undo log, expiry queue, leaves and the reading half all hear of it.
 */
import { assert } from '../../stdx/index.ts';
import type { Checksum } from '../../wire/index.ts';
import { RECORD_WORDS, TransferWord } from '../format/constants.ts';
import { lowerBound } from '../query-timestamps.ts';
import { Rows } from '../rows.ts';
import { type LedgerTables, PendingStatus } from '../tables.ts';
import { ExpiryQueue } from './expiry-queue.ts';
import { hashId, IdIndex } from './id-index.ts';
import { MARKED, MutableSection } from './mutable-section.ts';
import { PendingColumn } from './pending-column.ts';
import { GrowingSection, type Section } from './section.ts';
import { equals64, isBefore64 } from './u64.ts';
import { isZero } from './u128.ts';
import { UndoLog } from './undo-log.ts';

/** What the writing half tells the reading half; see LedgerReads. */
export interface EventSink {
  appendEvent(debitAccountRow: number, creditAccountRow: number): void;
  truncateEvents(count: number): void;
}

/** Until there is a reading half: nobody listens. */
const NO_EVENTS: EventSink = { appendEvent: () => {}, truncateEvents: () => {} };

const RECORD_BYTES = 128;
const EXPIRY_BYTES = 32;
/** Constants of this module, for the fast path; see `apply/plain-transfers`. */
const WORDS = RECORD_WORDS;
const FULLY_MARKED = MARKED;
const ID_BYTES = 16;

export class LedgerState implements LedgerTables {
  readonly accounts: Rows = new Rows(RECORD_BYTES);
  readonly transfers: Rows = new Rows(RECORD_BYTES);
  readonly expiries: Rows = new Rows(EXPIRY_BYTES);
  readonly burned: Rows = new Rows(ID_BYTES);
  readonly pending: PendingColumn = new PendingColumn();

  readonly accountIndex: IdIndex = new IdIndex(this.accounts, { tables: 16 });
  readonly transferIndex: IdIndex = new IdIndex(this.transfers, { tables: 256 });
  readonly burnedIndex: IdIndex = new IdIndex(this.burned, { tables: 16 });
  readonly expiryQueue: ExpiryQueue = new ExpiryQueue(this.pending);

  readonly accountSection: MutableSection;
  readonly pendingSection: MutableSection;
  /** By kind: section k stands at k − 1. */
  readonly sections: readonly Section[];

  /** The reading half; set once, when it has been made for these tables. */
  events: EventSink = NO_EVENTS;

  readonly #undo: UndoLog = new UndoLog();
  /** Counts at the start of the open chain, and transfers buried in it. */
  #chainAccounts: number = 0;
  #chainTransfers: number = 0;
  /** Rows `#aheadRow` … `#aheadEnd` hold copies of records from `#aheadOffset` on. */
  #aheadRow: number = 0;
  #aheadEnd: number = 0;
  #aheadOffset: number = 0;
  #chainBuried: number = 0;

  constructor(checksum: Checksum) {
    this.accountSection = new MutableSection(1, this.accounts, checksum);
    this.pendingSection = new MutableSection(3, this.pending, checksum);
    this.sections = [
      this.accountSection,
      new GrowingSection(2, this.transfers, checksum),
      this.pendingSection,
      new GrowingSection(4, this.burned, checksum),
      new GrowingSection(5, this.expiries, checksum),
    ];
  }

  accountRow(words: Uint32Array, offset: number): number {
    return this.accountIndex.find(hashId(words, offset), words, offset);
  }

  transferRow(words: Uint32Array, offset: number): number {
    return this.transferIndex.find(hashId(words, offset), words, offset);
  }

  pendingStatus(transferRow: number): number {
    return this.pending.get(transferRow);
  }

  /** Account events so far. */
  get eventCount(): number {
    return this.transfers.count + this.expiries.count;
  }

  /** Whether a record of `rows`, accounts or transfers, has exactly this timestamp. */
  hasTimestamp(rows: Rows, time: Uint32Array): boolean {
    const row = lowerBound(rows, TransferWord.timestamp, time[1], time[0]);
    if (row === rows.count) return false;
    return equals64(rows.chunkOf(row), rows.baseOf(row) + TransferWord.timestamp, time);
  }

  /** Whether the last record of `rows` has this timestamp or a later one. */
  hasReached(rows: Rows, time: Uint32Array): boolean {
    if (rows.count === 0) return false;
    const row = rows.count - 1;
    return !isBefore64(rows.chunkOf(row), rows.baseOf(row) + TransferWord.timestamp, time);
  }

  /** Half of {@link accountForWrite}, for the fast path, which never runs inside a chain. */
  markAccount(row: number): void {
    const leaf = row >>> LEAF_SHIFT;
    if (this.accountSection.marks[leaf] !== FULLY_MARKED) this.accountSection.touch(row);
  }

  /** The chunk of an account whose balances or flags are about to change, at `baseOf(row)`. */
  accountForWrite(row: number): Uint32Array {
    const rows = this.accounts;
    this.markAccount(row);
    const words = rows.chunks[row >>> rows.rowShift];
    if (this.#undo.active) {
      this.#undo.saveAccount(row, words, (row & rows.rowMask) * RECORD_WORDS);
    }
    return words;
  }

  /** Appends an account: the record at `words[offset]` with this timestamp. */
  appendAccount(hash: number, words: Uint32Array, offset: number, time: Uint32Array): void {
    const row = this.accounts.append();
    writeRecord(this.accounts, row, words, offset, time);
    this.accountIndex.insert(hash, row);
  }

  /** Appends a transfer likewise; the caller may still change its words, and tells the events. */
  appendTransfer(
    hash: number,
    words: Uint32Array,
    offset: number,
    time: Uint32Array,
    status: number,
  ): number {
    const row = this.transfers.append();
    writeRecord(this.transfers, row, words, offset, time);
    this.pending.append(status);
    this.transferIndex.insert(hash, row);
    return row;
  }

  /**
   * Appends a transfer that is not pending, as it came; the caller has put it into the index as row
   * `transfers.count`, and tells the events.
   */
  appendPlain(words: Uint32Array, offset: number, time: Uint32Array): void {
    const { transfers } = this;
    const row = transfers.append();
    if (row < this.#aheadEnd && offset - this.#aheadOffset === (row - this.#aheadRow) * WORDS) {
      const chunk = transfers.chunks[row >>> transfers.rowShift];
      const base = (row & transfers.rowMask) * WORDS;
      chunk[base + WORDS - 2] = time[0];
      chunk[base + WORDS - 1] = time[1];
    } else {
      writeRecord(transfers, row, words, offset, time);
    }
    this.pending.appendNone();
  }

  /**
   * Copies records to where their rows will be if all of them are created: one copy of many
   * kilobytes costs a fraction of many small ones. Behind the last row nothing counts, so what is
   * not created does no harm. Until {@link endAhead}, or the next call.
   */
  copyAhead(words: Uint32Array, offset: number, count: number): void {
    const { transfers } = this;
    const row = transfers.count;
    const chunk = transfers.chunkOf(row);
    const copied = Math.min(count, transfers.rowMask + 1 - (row & transfers.rowMask));
    assert(copied > 0, 'LedgerState: no room ahead');
    chunk.set(words.subarray(offset, offset + copied * WORDS), transfers.baseOf(row));
    this.#aheadRow = row;
    this.#aheadOffset = offset;
    this.#aheadEnd = row + copied;
  }

  /** What was copied ahead and not created is forgotten. */
  endAhead(): void {
    this.#aheadEnd = 0;
  }

  /** A pending transfer is posted, voided or expired. */
  settlePending(row: number, status: number, hasTimeout: boolean): void {
    assert(status > PendingStatus.pending, 'LedgerState: not a final status');
    assert(this.pending.get(row) === PendingStatus.pending, 'LedgerState: not pending');
    const leaf = Math.floor(row / this.pending.rowsPerLeaf);
    if (this.pendingSection.marks[leaf] !== MARKED) this.pendingSection.touch(row);
    if (this.#undo.active) this.#undo.saveStatus(row, PendingStatus.pending);
    this.pending.set(row, status);
    if (!hasTimeout || status === PendingStatus.expired) return;
    this.expiryQueue.bury();
    if (this.#undo.active) this.#chainBuried++;
  }

  /** Makes the transfer id at `words[offset]` unusable for ever; no rollback takes it back. */
  burn(words: Uint32Array, offset: number): void {
    assert(!isZero(words, offset), 'LedgerState: burn of no id');
    const row = this.burned.append();
    const chunk = this.burned.chunkOf(row);
    const base = this.burned.baseOf(row);
    for (let i = 0; i < 4; i++) chunk[base + i] = words[offset + i];
    this.burnedIndex.insert(hashId(words, offset), row);
  }

  beginChain(): void {
    this.#undo.begin();
    this.#chainAccounts = this.accounts.count;
    this.#chainTransfers = this.transfers.count;
    this.#chainBuried = 0;
  }

  /** The chain's effects stay. */
  commitChain(): void {
    this.#undo.end();
  }

  /** Takes back all effects of the chain and ends it. */
  rollbackChain(): void {
    this.#undo.rollback(this.accounts, this.pending);
    this.#undo.end();
    removeRows(this.accounts, this.accountIndex, this.#chainAccounts);
    removeRows(this.transfers, this.transferIndex, this.#chainTransfers);
    this.pending.truncate(this.#chainTransfers);
    this.expiryQueue.rollback(this.#chainTransfers, this.#chainBuried);
    this.events.truncateEvents(this.eventCount);
  }
}

/** Accounts of one leaf, as a shift. */
const LEAF_SHIFT = 11;

/** Fills a new row with the record at `words[offset]`, but for the timestamp. */
function writeRecord(
  rows: Rows,
  row: number,
  words: Uint32Array,
  offset: number,
  time: Uint32Array,
): void {
  const chunk = rows.chunks[row >>> rows.rowShift];
  const base = (row & rows.rowMask) * WORDS;
  for (let i = 0; i < WORDS - 2; i++) chunk[base + i] = words[offset + i];
  chunk[base + WORDS - 2] = time[0];
  chunk[base + WORDS - 1] = time[1];
}

/** Takes rows from `count` on out of their index and table. */
function removeRows(rows: Rows, index: IdIndex, count: number): void {
  for (let row = rows.count - 1; row >= count; row--) {
    index.remove(hashId(rows.chunkOf(row), rows.baseOf(row)), row);
  }
  rows.truncate(count);
}
