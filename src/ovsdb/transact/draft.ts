/**
 * A transaction under way: what it has inserted, changed and deleted so far, laid over a database
 * that it does not touch. Abandoning it costs nothing; several may be drafted at once.
 */
import { assert } from '../../stdx/index.ts';
import type { Uuid, UuidSource } from '../data/uuid.ts';
import type { Database } from '../store/database.ts';
import type { Row } from '../store/row.ts';
import type { Table } from '../store/table.ts';

/** A row that the transaction has to do with; not both `before` and `after` are `null`. */
export interface DraftRow {
  readonly table: Table;
  readonly uuid: Uuid;
  readonly before: Row | null;
  after: Row | null;
  /** Of the commit: strong references to the row from others. */
  references: number;
  /** Of the commit: indexes of columns that differ. */
  changed: readonly number[];
}

export class Draft {
  readonly database: Database;
  readonly uuids: UuidSource;
  readonly tables: Map<Table, Map<Uuid, DraftRow>> = new Map();
  readonly comments: string[] = [];

  constructor(database: Database, uuids: UuidSource) {
    this.database = database;
    this.uuids = uuids;
  }

  /** The row as the transaction sees it. */
  row(table: Table, uuid: Uuid): Row | null {
    const drafted = this.tables.get(table)?.get(uuid);
    return drafted === undefined ? table.row(uuid) : drafted.after;
  }

  drafted(table: Table, uuid: Uuid): DraftRow | null {
    return this.tables.get(table)?.get(uuid) ?? null;
  }

  /** All rows of the table as the transaction sees them, its own new ones last. */
  *rows(table: Table): Generator<Row> {
    const drafted = this.tables.get(table);
    if (drafted === undefined) {
      yield* table.rows();
      return;
    }
    for (const row of table.rows()) {
      const own = drafted.get(row.uuid);
      if (own === undefined) yield row;
      else if (own.after !== null) yield own.after;
    }
    for (const { before, after } of drafted.values()) {
      if (before === null && after !== null) yield after;
    }
  }

  /** Rows that the table has as the transaction sees it. */
  size(table: Table): number {
    let size = table.size;
    for (const { before, after } of this.tables.get(table)?.values() ?? []) {
      size += (after === null ? 0 : 1) - (before === null ? 0 : 1);
    }
    return size;
  }

  /** Whether a row of this UUID may be inserted: it neither exists nor was deleted just now. */
  mayInsert(table: Table, uuid: Uuid): boolean {
    return table.row(uuid) === null && this.drafted(table, uuid) === null;
  }

  insert(table: Table, row: Row): void {
    assert(this.mayInsert(table, row.uuid), 'Draft.insert: the row exists');
    this.#add({ table, uuid: row.uuid, before: null, after: row, references: 0, changed: [] });
  }

  /** Puts `after` in the place of the row of the same UUID, which exists. */
  modify(table: Table, after: Row): void {
    const drafted = this.touch(table, after.uuid);
    assert(drafted !== null && drafted.after !== null, 'Draft.modify: no such row');
    drafted.after = after;
  }

  delete(table: Table, uuid: Uuid): void {
    const drafted = this.touch(table, uuid);
    assert(drafted !== null && drafted.after !== null, 'Draft.delete: no such row');
    drafted.after = null;
    if (drafted.before === null) this.forget(drafted);
  }

  /** The row as part of the transaction, changed or not; `null`: it never existed. */
  touch(table: Table, uuid: Uuid): DraftRow | null {
    const drafted = this.drafted(table, uuid);
    if (drafted !== null) return drafted;
    const row = table.row(uuid);
    if (row === null) return null;
    const { references } = row;
    return this.#add({ table, uuid, before: row, after: row, references, changed: [] });
  }

  forget({ table, uuid }: DraftRow): void {
    const rows = this.tables.get(table);
    assert(rows?.delete(uuid) === true, 'Draft.forget: not in the draft');
    if (rows.size === 0) this.tables.delete(table);
  }

  /** Every row of the draft, those that are added meanwhile too. */
  *all(): Generator<DraftRow> {
    for (const rows of this.tables.values()) yield* rows.values();
  }

  #add(drafted: DraftRow): DraftRow {
    let rows = this.tables.get(drafted.table);
    if (rows === undefined) {
      rows = new Map();
      this.tables.set(drafted.table, rows);
    }
    rows.set(drafted.uuid, drafted);
    return drafted;
  }
}
