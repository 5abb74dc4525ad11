/**
 * One table: its rows by UUID, its schema indexes by value, and who refers weakly to its rows. It
 * changes only by whole change sets, and back.
 */
import { assert } from '../../stdx/index.ts';
import { isWeak } from '../data/base-type.ts';
import { EMPTY_DATUM, forEachChange } from '../data/datum.ts';
import type { Uuid } from '../data/uuid.ts';
import type { Column } from '../schema/column.ts';
import type { TableSchema } from '../schema/table-schema.ts';
import type { TableChanges } from './change-set.ts';
import { type Row, rowKey } from './row.ts';
import { WeakReferrers } from './weak-referrers.ts';

/** The part of a change that all of this file needs; a change backwards is the same swapped. */
interface Step {
  readonly uuid: Uuid;
  readonly before: Row | null;
  readonly after: Row | null;
}

export class Table {
  readonly schema: TableSchema;
  readonly #rows: Map<Uuid, Row> = new Map();
  /** For each of the schema's indexes: key of the values → row. */
  readonly #indexes: readonly Map<string, Uuid>[];
  readonly referrers: WeakReferrers<Table> = new WeakReferrers();

  constructor(schema: TableSchema) {
    this.schema = schema;
    this.#indexes = schema.indexes.map(() => new Map());
  }

  get size(): number {
    return this.#rows.size;
  }

  row(uuid: Uuid): Row | null {
    return this.#rows.get(uuid) ?? null;
  }

  /** In order of insertion. */
  rows(): IterableIterator<Row> {
    return this.#rows.values();
  }

  /** The row that has these values in the columns of the schema's index number `index`. */
  rowByIndex(index: number, key: string): Row | null {
    const uuid = this.#indexes[index].get(key);
    return uuid === undefined ? null : this.row(uuid);
  }

  /** `tableOf` finds the tables that this one's columns refer to. */
  apply(changes: TableChanges, tableOf: (name: string) => Table): void {
    assert(changes.table === this, 'Table.apply: changes of another table');
    this.#walk([...changes.rows, ...changes.recounts], tableOf);
  }

  /** Undoes {@link apply}; the latest change set first. */
  revert(changes: TableChanges, tableOf: (name: string) => Table): void {
    assert(changes.table === this, 'Table.revert: changes of another table');
    const steps: Step[] = [...changes.rows, ...changes.recounts];
    const back = steps.map(({ uuid, before, after }) => ({ uuid, before: after, after: before }));
    this.#walk(back, tableOf);
  }

  #walk(steps: readonly Step[], tableOf: (name: string) => Table): void {
    // First everything that goes, so that two rows may swap the values of an index.
    for (const step of steps) this.#unindex(step);
    for (const step of steps) {
      const { uuid, before, after } = step;
      assert(this.row(uuid) === before, 'Table: a change does not follow from its row');
      if (after === null) this.#rows.delete(uuid);
      else this.#rows.set(uuid, after);
      this.#index(step);
      for (const column of this.schema.columns) {
        if (column.weak) this.#relink(step, column, tableOf);
      }
    }
  }

  #unindex({ before, after }: Step): void {
    if (before === null) return;
    for (const [i, columns] of this.schema.indexes.entries()) {
      if (after !== null && sameIn(before, after, columns)) continue;
      const gone = this.#indexes[i].delete(rowKey(before, columns));
      assert(gone, 'Table: a row was not in its index');
    }
  }

  #index({ uuid, before, after }: Step): void {
    if (after === null) return;
    for (const [i, columns] of this.schema.indexes.entries()) {
      if (before !== null && sameIn(before, after, columns)) continue;
      const key = rowKey(after, columns);
      assert(!this.#indexes[i].has(key), 'Table: two rows with one index value');
      this.#indexes[i].set(key, uuid);
    }
  }

  #relink({ uuid, before, after }: Step, column: Column, tableOf: (name: string) => Table): void {
    const { index, type } = column;
    const old = before?.datum(index) ?? EMPTY_DATUM;
    const now = after?.datum(index) ?? EMPTY_DATUM;
    for (const [part, base] of [type.key, type.value].entries()) {
      if (base === null || !isWeak(base)) continue;
      const { referrers } = tableOf(base.reference?.table as string);
      forEachChange(old, now, type, {
        removed: (datum, i) => referrers.remove(this, uuid, datum[i + part] as Uuid),
        added: (datum, i) => referrers.add(this, uuid, datum[i + part] as Uuid),
      });
    }
  }
}

/** Whether the columns hold the very same datums: changed rows share what they did not change. */
function sameIn(a: Row, b: Row, columns: readonly Column[]): boolean {
  return columns.every(({ index }) => a.datum(index) === b.datum(index));
}
