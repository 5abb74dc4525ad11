/**
 * The reading half of the ledger: account events, secondary indexes and the queries over them.
 *
 * The writing half applies events and keeps tables; it tells this class about every account event
 * when it happens and about every operation when it is final. All that is kept here is derived: it
 * is stored with a checkpoint to come back faster, and rebuilt from the tables when it is missing.
 *
 * Reading order: `events` and `balances` (what an account was at any time), `sorted-run` and
 * `index-table` (finding rows), `query-rows` (from a filter to rows), `change-events`.
 */
import type { Block } from '../engine/index.ts';
import { assert } from '../stdx/index.ts';
import { AccountEvents, BALANCE_WORDS, eventReference, Side } from './events/account-events.ts';
import { BalanceReader } from './events/balances.ts';
import { CHANGE_EVENT_WORDS, ChangeEvents } from './events/change-events.ts';
import { EventBlocks } from './events/event-blocks.ts';
import { rebuildEvents } from './events/rebuild-events.ts';
import {
  AccountFlags,
  AccountWord,
  Operation,
  RECORD_WORDS,
  TransferWord,
} from './format/constants.ts';
import { IndexBlocks } from './indexes/index-blocks.ts';
import { ACCOUNT_KEYS, Key, TRANSFER_KEYS } from './indexes/index-keys.ts';
import { IndexTable } from './indexes/index-table.ts';
import { SEGMENT_ROWS_MAX } from './indexes/radix-sort.ts';
import { Filter } from './query/filter.ts';
import { RowSelector, SELECTED_ROWS_MAX } from './query/row-selector.ts';
import { copyWords } from './query-timestamps.ts';
import type { Rows } from './rows.ts';
import type { LedgerTables } from './tables.ts';

/** Kinds of derived blocks; those of events are in `events-blocks`. */
const TRANSFER_RUNS_KIND = 21;
const ACCOUNT_RUNS_KIND = 22;

/** Runs waiting to be built before one operation has to build more than one: two segments. */
const PENDING_RUNS_MAX: number = 2 * (ACCOUNT_KEYS + TRANSFER_KEYS);

export interface ReadsOptions {
  /** Rows of an index segment, a power of two; tests make it small. */
  readonly segmentRows?: number;
}

export class LedgerReads {
  readonly #tables: LedgerTables;
  readonly #events: AccountEvents = new AccountEvents();
  readonly #eventBlocks: EventBlocks;
  readonly #transfers: IndexTable;
  readonly #accounts: IndexTable;
  readonly #transferBlocks: IndexBlocks;
  readonly #accountBlocks: IndexBlocks;
  readonly #balances: BalanceReader;
  readonly #changeEvents: ChangeEvents;
  readonly #filter: Filter = new Filter();
  readonly #selector: RowSelector = new RowSelector();

  constructor(tables: LedgerTables, options: ReadsOptions = {}) {
    const segmentRows = options.segmentRows ?? SEGMENT_ROWS_MAX;
    this.#tables = tables;
    this.#eventBlocks = new EventBlocks(this.#events);
    this.#transfers = new IndexTable(tables.transfers, TRANSFER_KEYS, segmentRows);
    this.#accounts = new IndexTable(tables.accounts, ACCOUNT_KEYS, segmentRows);
    this.#transferBlocks = new IndexBlocks(TRANSFER_RUNS_KIND, this.#transfers);
    this.#accountBlocks = new IndexBlocks(ACCOUNT_RUNS_KIND, this.#accounts);
    this.#balances = new BalanceReader(tables, this.#events);
    this.#changeEvents = new ChangeEvents(tables, this.#balances);
  }

  /** Account events so far: created transfers and expiries. */
  get eventCount(): number {
    return this.#events.count;
  }

  /**
   * One account event. Called after its row was appended to `transfers` or `expiries`, when both
   * accounts, given by their rows, show what they hold after it.
   */
  appendEvent(debitAccountRow: number, creditAccountRow: number): void {
    const events = this.#events;
    const { accounts, transfers, expiries } = this.#tables;
    const row = events.transferLinks.count;
    if (row < transfers.count) {
      assert(row === transfers.count - 1, 'LedgerReads: transfer without an event');
      this.#transfers.setAccounts(row, debitAccountRow, creditAccountRow);
      events.appendTransfer(accounts, debitAccountRow, creditAccountRow);
    } else {
      assert(events.expiryLinks.count === expiries.count - 1, 'LedgerReads: no row of this event');
      events.appendExpiry(accounts, debitAccountRow, creditAccountRow);
    }
  }

  /** Forgets events from `count` on: the rollback of a chain within one operation. */
  truncateEvents(count: number): void {
    const events = this.#events;
    assert(count <= events.count, 'LedgerReads: truncate beyond the end');
    const transferCount = events.transferLinks.count - (events.count - count);
    assert(transferCount >= this.#transfers.indexedRows, 'LedgerReads: these events are final');
    for (let row = events.transferLinks.count - 1; row >= transferCount; row--) {
      const debitRow = this.#transfers.accountOf(row, Key.debitAccount);
      events.removeTransfer(debitRow, this.#transfers.accountOf(row, Key.creditAccount));
    }
    assert(events.count === count, 'LedgerReads: truncated another number of events');
  }

  /** Indexes catch up with the tables; called after each operation that changed them. Bounded. */
  settle(): void {
    const transfers = this.#transfers;
    const accounts = this.#accounts;
    assert(this.#events.transferLinks.count === transfers.rows.count, 'LedgerReads: no event');
    transfers.catchUp(transfers.rows.count);
    accounts.catchUp(accounts.rows.count);
    let pending = transfers.pendingRuns + accounts.pendingRuns;
    if (pending === 0) return;
    // One run per operation keeps up, as segments are larger than operations; else do not fall
    // behind without end.
    do {
      if (transfers.pendingRuns >= accounts.pendingRuns) transfers.sealNext();
      else accounts.sealNext();
      pending -= 1;
    } while (pending > PENDING_RUNS_MAX);
  }

  /**
   * Executes one filter of operation 137, 142, 143, 144 or 145 and writes at most `resultMax`
   * results from `replyWords[replyWordOffset]` on; returns their number. Invalid filter → 0.
   */
  execute(
    operation: number,
    filterWords: Uint32Array,
    filterWordOffset: number,
    replyWords: Uint32Array,
    replyWordOffset: number,
    resultMax: number,
  ): number {
    assert(resultMax >= 0 && resultMax <= SELECTED_ROWS_MAX, 'LedgerReads: resultMax');
    if (resultMax === 0) return 0;
    const filter = this.#filter;
    switch (operation) {
      case Operation.getChangeEvents: {
        if (!filter.readChangeEvents(filterWords, filterWordOffset)) return 0;
        const limit = Math.min(filter.limit, resultMax);
        return this.#changeEvents.execute(filter, limit, replyWords, replyWordOffset);
      }
      case Operation.getAccountTransfers:
        if (this.#selectOfAccount(filterWords, filterWordOffset, resultMax, false) < 0) return 0;
        return this.#writeRows(this.#tables.transfers, replyWords, replyWordOffset);
      case Operation.getAccountBalances: {
        const row = this.#selectOfAccount(filterWords, filterWordOffset, resultMax, true);
        return row < 0 ? 0 : this.#writeBalances(row, replyWords, replyWordOffset);
      }
      case Operation.queryAccounts:
      case Operation.queryTransfers: {
        if (!filter.readQuery(filterWords, filterWordOffset)) return 0;
        const table = operation === Operation.queryAccounts ? this.#accounts : this.#transfers;
        this.#selector.select(table, filter, -1, Math.min(filter.limit, resultMax));
        return this.#writeRows(table.rows, replyWords, replyWordOffset);
      }
      default:
        assert(false, 'LedgerReads: not a query');
        return 0;
    }
  }

  /** Starts the hand-out of derived blocks (kinds 16 … 127) as of now; see Machine.cut. */
  cut(): number {
    const events = this.#eventBlocks.cut(this.#tables.accounts.count);
    return events + this.#transferBlocks.cut() + this.#accountBlocks.cut();
  }

  slice(target: Uint8Array): Block | null {
    return (
      this.#eventBlocks.next(target) ??
      this.#transferBlocks.next(target) ??
      this.#accountBlocks.next(target)
    );
  }

  /** A block that is complete; between cuts. */
  sliceAhead(target: Uint8Array): Block | null {
    return (
      this.#eventBlocks.nextAhead(target) ??
      this.#transferBlocks.nextAhead(target) ??
      this.#accountBlocks.nextAhead(target)
    );
  }

  /** Puts back one derived block; the tables' own blocks came before. */
  restore(block: Block): void {
    const isKnown =
      this.#eventBlocks.restore(block) ||
      this.#transferBlocks.restore(block) ||
      this.#accountBlocks.restore(block);
    assert(isKnown, 'LedgerReads: block of an unknown kind');
  }

  /** All blocks are back and the id indexes of the tables work: rebuilds what was not stored. */
  restored(): void {
    const { transfers, expiries } = this.#tables;
    const isStored = this.#events.isComplete(transfers.count, expiries.count);
    if (!isStored) {
      this.#events.clear();
      rebuildEvents(this.#tables, this.#events);
    }
    this.#eventBlocks.restored(isStored);
    this.#transferBlocks.restored();
    this.#accountBlocks.restored();
    this.#balances.clear();
    this.#transfers.resume();
    this.#accounts.resume();
    this.#restoreIndex(this.#transfers);
    this.#restoreIndex(this.#accounts);
  }

  /** Gives columns to the rows that no run covers, a segment at a time, and seals full ones. */
  #restoreIndex(table: IndexTable): void {
    const { rows, segmentRows } = table;
    for (let row = table.indexedRows; row < rows.count; row = table.indexedRows) {
      const end = Math.min(row + segmentRows, rows.count);
      if (table === this.#transfers) this.#restoreAccounts(row, end);
      table.catchUp(end);
      while (table.pendingRuns > 0) table.sealNext();
    }
  }

  /** Notes the accounts of transfers [row, end). */
  #restoreAccounts(row: number, end: number): void {
    const { transfers } = this.#tables;
    for (; row < end; row++) {
      const words = transfers.chunkOf(row);
      const base = transfers.baseOf(row);
      const debitRow = this.#tables.accountRow(words, base + TransferWord.debitAccountId);
      const creditRow = this.#tables.accountRow(words, base + TransferWord.creditAccountId);
      assert(debitRow >= 0 && creditRow >= 0, 'LedgerReads: account is missing');
      this.#transfers.setAccounts(row, debitRow, creditRow);
    }
  }

  /** Selects the transfers of an account filter; returns the account's row, −1 for no answer. */
  #selectOfAccount(words: Uint32Array, at: number, resultMax: number, history: boolean): number {
    const filter = this.#filter;
    if (!filter.readAccount(words, at)) return -1;
    const { accounts } = this.#tables;
    const row = this.#tables.accountRow(filter.accountId, 0);
    if (row < 0) return -1;
    const codeFlags = accounts.chunkOf(row)[accounts.baseOf(row) + AccountWord.codeFlags];
    if (history && ((codeFlags >>> 16) & AccountFlags.history) === 0) return -1;
    const isEither = filter.debits && filter.credits;
    if (!isEither) filter.addAccount(row);
    const limit = Math.min(filter.limit, resultMax);
    this.#selector.select(this.#transfers, filter, isEither ? row : -1, limit);
    return row;
  }

  /** Copies the selected rows. */
  #writeRows(rows: Rows, reply: Uint32Array, at: number): number {
    const { count } = this.#selector;
    assert(at + count * RECORD_WORDS <= reply.length, 'LedgerReads: reply too short');
    for (let i = 0; i < count; i++) {
      const row = this.#selector.rows[i];
      copyWords(rows.chunkOf(row), rows.baseOf(row), reply, at + i * RECORD_WORDS, RECORD_WORDS);
    }
    return count;
  }

  /** Writes the account's balances after each of the selected transfers. */
  #writeBalances(accountRow: number, reply: Uint32Array, at: number): number {
    const { accounts, transfers } = this.#tables;
    const { count, rows } = this.#selector;
    assert(at + count * RECORD_WORDS <= reply.length, 'LedgerReads: reply too short');
    const id = accounts.baseOf(accountRow) + AccountWord.id;
    const account = accounts.chunkOf(accountRow);
    for (let n = 0; n < count; n++) {
      // Oldest first, whatever the order of the answer: each walk then ends at the one before.
      const i = this.#filter.reversed ? count - 1 - n : n;
      const words = transfers.chunkOf(rows[i]);
      const base = transfers.baseOf(rows[i]);
      let isDebit = true;
      for (let word = 0; word < 4; word++) {
        if (words[base + TransferWord.debitAccountId + word] !== account[id + word])
          isDebit = false;
      }
      const side = isDebit ? Side.debit : Side.credit;
      const to = at + i * RECORD_WORDS;
      this.#balances.read(accountRow, eventReference(rows[i], side, false), reply, to);
      copyWords(words, base + TransferWord.timestamp, reply, to + BALANCE_WORDS, 2);
      reply.fill(0, to + BALANCE_WORDS + 2, to + RECORD_WORDS);
    }
    return count;
  }
}

assert(CHANGE_EVENT_WORDS === 3 * RECORD_WORDS);
