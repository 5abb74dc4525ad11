/**
 * What one committed transaction did: the one structure that updates the tables, undoes itself,
 * and from which monitors, log records and history are made. Immutable; rows are shared with the
 * tables.
 */
import type { Uuid } from '../data/uuid.ts';
import type { Row } from './row.ts';
import type { Table } from './table.ts';

export interface RowChange {
  readonly uuid: Uuid;
  /** `null`: inserted. */
  readonly before: Row | null;
  /** `null`: deleted. */
  readonly after: Row | null;
  /** Indexes of the columns that differ, ascending; all of them when inserted or deleted. */
  readonly changed: readonly number[];
}

/** A row of the same content, referred to by more or fewer others. */
export interface Recount {
  readonly uuid: Uuid;
  readonly before: Row;
  readonly after: Row;
}

export interface TableChanges {
  readonly table: Table;
  /** At least one column of each differs. */
  readonly rows: readonly RowChange[];
  /** Of no interest to anybody but the tables. */
  readonly recounts: readonly Recount[];
}

export interface ChangeSet {
  readonly tables: readonly TableChanges[];
  /** What clients said about it, joined by newlines; empty: nothing. */
  readonly comment: string;
  /** Atoms in all versions of changed rows: its weight in a history. */
  readonly atoms: number;
  /** By how many atoms the database grows. */
  readonly atomsDelta: number;
}
