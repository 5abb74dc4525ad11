/**
 * The rows of a database as far as its commits are confirmed, when the tables are ahead of that:
 * what is read from here will not be taken back.
 */
import { assert } from '../../stdx/index.ts';
import type { Uuid } from '../data/uuid.ts';
import type { ChangeSet } from '../store/change-set.ts';
import type { Row } from '../store/row.ts';
import type { Table } from '../store/table.ts';

type Rows = Map<Uuid, Row | null>;

export class ConfirmedView {
  /** In the tables but not confirmed, the oldest first. */
  readonly #ahead: ChangeSet[] = [];
  /** For each table that is ahead: its rows as they were. Made when asked for. */
  #behind: Map<Table, Rows> | null = null;

  applied(changes: ChangeSet): void {
    this.#ahead.push(changes);
    this.#behind = null;
  }

  /** The latest is taken back. */
  reverted(changes: ChangeSet): void {
    assert(this.#ahead.pop() === changes, 'ConfirmedView: the latest goes first');
    this.#behind = null;
  }

  /** The oldest is there for good. A change set that nobody announced is too. */
  confirmed(changes: ChangeSet): void {
    if (this.#ahead.length === 0) return;
    assert(this.#ahead.shift() === changes, 'ConfirmedView: the oldest comes first');
    this.#behind = null;
  }

  row(table: Table, uuid: Uuid): Row | null {
    const old = this.#rowsBehind(table)?.get(uuid);
    return old === undefined ? table.row(uuid) : old;
  }

  *rows(table: Table): Generator<Row> {
    const behind = this.#rowsBehind(table);
    if (behind === undefined) {
      yield* table.rows();
      return;
    }
    for (const row of table.rows()) {
      const old = behind.get(row.uuid);
      if (old === undefined) yield row;
      else if (old !== null) yield old;
    }
    for (const [uuid, old] of behind) {
      if (old !== null && table.row(uuid) === null) yield old;
    }
  }

  #rowsBehind(table: Table): Rows | undefined {
    if (this.#ahead.length === 0) return undefined;
    this.#behind ??= rowsBefore(this.#ahead);
    return this.#behind.get(table);
  }
}

function rowsBefore(sets: readonly ChangeSet[]): Map<Table, Rows> {
  const tables = new Map<Table, Rows>();
  for (const { tables: changed } of sets) {
    for (const { table, rows } of changed) {
      const before = tables.get(table) ?? new Map<Uuid, Row | null>();
      tables.set(table, before);
      for (const change of rows) {
        if (!before.has(change.uuid)) before.set(change.uuid, change.before);
      }
    }
  }
  return tables;
}
