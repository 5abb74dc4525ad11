/**
 * The reading half of the ledger: account events, secondary indexes and the queries over them.
 *
 * The writing half applies events and keeps tables; it tells this class about every account event
 * when it happens and about every operation when it is final. All that is kept here is derived: it
 * can be stored with a checkpoint to come back faster, or rebuilt from the tables.
 */
import type { Block } from '../engine/index.ts';
import type { LedgerTables } from './tables.ts';

export class LedgerReads {
  readonly tables: LedgerTables;

  constructor(tables: LedgerTables, _checksum?: object) {
    this.tables = tables;
  }

  /** Account events so far: created transfers and expiries. */
  get eventCount(): number {
    throw new Error('not built yet');
  }

  /**
   * One account event. Called after its row was appended to `transfers` or `expiries`, when both
   * accounts, given by their rows, show what they hold after it.
   */
  appendEvent(_debitAccountRow: number, _creditAccountRow: number): void {
    throw new Error('not built yet');
  }

  /** Forgets events from `count` on: the rollback of a chain within one operation. */
  truncateEvents(_count: number): void {
    throw new Error('not built yet');
  }

  /** Indexes catch up with the tables; called after each operation that changed them. Bounded. */
  settle(): void {
    throw new Error('not built yet');
  }

  /**
   * Executes one filter of operation 137, 142, 143, 144 or 145 and writes at most `resultMax`
   * results from `replyWords[replyWordOffset]` on; returns their number. Invalid filter → 0.
   */
  execute(
    _operation: number,
    _filterWords: Uint32Array,
    _filterWordOffset: number,
    _replyWords: Uint32Array,
    _replyWordOffset: number,
    _resultMax: number,
  ): number {
    throw new Error('not built yet');
  }

  /** Starts the hand-out of derived blocks (kinds 16 … 127) as of now; see Machine.cut. */
  cut(): void {
    throw new Error('not built yet');
  }

  slice(): Block | null {
    throw new Error('not built yet');
  }

  /** Puts back one derived block; the tables' own blocks came before. */
  restore(_block: Block): void {
    throw new Error('not built yet');
  }

  /** All blocks are back and the id index of the accounts works: rebuilds what was not stored. */
  restored(): void {
    throw new Error('not built yet');
  }
}
