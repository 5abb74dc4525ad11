/**
 * One database: its schema and tables. It changes by whole, checked change sets only, so between
 * two of them it is always consistent; `revert` exists for execution ahead of a log that may
 * decide otherwise.
 */
import { assert } from '../../stdx/index.ts';
import type { Schema } from '../schema/schema.ts';
import type { ChangeSet } from './change-set.ts';
import { Table } from './table.ts';

export class Database {
  readonly schema: Schema;
  readonly tables: ReadonlyMap<string, Table>;
  #atoms: number = 0;

  constructor(schema: Schema) {
    this.schema = schema;
    this.tables = new Map([...schema.tables].map(([name, table]) => [name, new Table(table)]));
  }

  get name(): string {
    return this.schema.name;
  }

  /** Atoms in all rows. */
  get atoms(): number {
    return this.#atoms;
  }

  /** The table of that name, which must exist. */
  table(name: string): Table {
    const table = this.tables.get(name);
    assert(table !== undefined, 'Database: no such table');
    return table;
  }

  apply(changes: ChangeSet): void {
    const tableOf = (name: string): Table => this.table(name);
    for (const change of changes.tables) change.table.apply(change, tableOf);
    this.#atoms += changes.atomsDelta;
  }

  /** Undoes the change set applied last. */
  revert(changes: ChangeSet): void {
    const tableOf = (name: string): Table => this.table(name);
    for (const change of changes.tables) change.table.revert(change, tableOf);
    this.#atoms -= changes.atomsDelta;
    assert(this.#atoms >= 0, 'Database: fewer atoms than none');
  }
}
