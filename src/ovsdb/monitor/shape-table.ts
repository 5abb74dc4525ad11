/**
 * One table as monitors of a shape see it: columns and what they want to hear of. Conditions are
 * not part of it, but the columns that they look at are: a change in one of those may move a row in
 * or out. Once looked at, a column stays so: it only means that a few changes more are recorded.
 */
import type { RowChange } from '../store/change-set.ts';
import type { Table } from '../store/table.ts';
import type { MonitorCondition } from './monitor-condition.ts';
import { type MonitoredColumn, RowUpdates } from './row-updates.ts';
import { SELECT_CHANGES } from './select.ts';

export class ShapeTable {
  readonly table: Table;
  /** Bits of {@link Select}, of all columns together. */
  readonly select: number;
  readonly updates: RowUpdates;
  /** Equal for equal tables. */
  readonly key: string;
  readonly #lookedAt: Set<number>;

  /** `columns`: by index. */
  constructor(table: Table, select: number, columns: readonly MonitoredColumn[]) {
    this.table = table;
    this.select = select;
    this.updates = new RowUpdates(select, columns);
    this.#lookedAt = new Set(columns.map(({ column }) => column.index));
    const parts = columns.map((c) => `${c.column.index}:${c.select}`);
    this.key = `${table.schema.name} ${select} ${parts.join(',')}`;
  }

  get name(): string {
    return this.table.schema.name;
  }

  /** Whether anything is told after the initial reply. */
  get follows(): boolean {
    return (this.select & SELECT_CHANGES) !== 0;
  }

  /** Whether that is new. */
  lookAt(condition: MonitorCondition): boolean {
    const before = this.#lookedAt.size;
    for (const index of condition.columns) this.#lookedAt.add(index);
    return this.#lookedAt.size > before;
  }

  concerns({ before, after, changed }: RowChange): boolean {
    if (before === null || after === null) return true;
    for (const index of changed) if (this.#lookedAt.has(index)) return true;
    return false;
  }
}
