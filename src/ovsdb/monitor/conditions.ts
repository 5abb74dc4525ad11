/** The conditions of one monitor, of all its tables. */
import { assert } from '../../stdx/index.ts';
import type { Row } from '../store/row.ts';
import type { Table } from '../store/table.ts';
import { EVERY_ROW, type MonitorCondition } from './monitor-condition.ts';
import type { UpdateKind } from './select.ts';
import type { ShapeTable } from './shape-table.ts';

/** A condition that equal monitors share: to be compared by number. */
interface SharedCondition {
  readonly id: number;
  readonly condition: MonitorCondition;
  users: number;
}

/** All conditions of the monitors of a database, each once. They may be large. */
export class ConditionPool {
  readonly #byTable: Map<Table, Map<string, SharedCondition>> = new Map();
  #lastId: number = 0;

  get size(): number {
    let size = 0;
    for (const conditions of this.#byTable.values()) size += conditions.size;
    return size;
  }

  /** To be given back by {@link drop}. */
  take(table: Table, condition: MonitorCondition): SharedCondition {
    const conditions = this.#byTable.get(table) ?? new Map<string, SharedCondition>();
    this.#byTable.set(table, conditions);
    let shared = conditions.get(condition.key);
    if (shared === undefined) {
      this.#lastId += 1;
      shared = { id: this.#lastId, condition, users: 0 };
      conditions.set(condition.key, shared);
    }
    shared.users += 1;
    return shared;
  }

  drop(table: Table, shared: SharedCondition): void {
    shared.users -= 1;
    assert(shared.users >= 0, 'ConditionPool: dropped more often than taken');
    if (shared.users === 0) this.#byTable.get(table)?.delete(shared.condition.key);
  }
}

export class Conditions {
  /** Equal for equal conditions; empty: every row of every table. */
  readonly key: string;
  readonly #pool: ConditionPool;
  readonly #byTable: ReadonlyMap<Table, SharedCondition>;

  /** Tables that are not mentioned show every row. */
  constructor(pool: ConditionPool, byTable: ReadonlyMap<Table, MonitorCondition>) {
    const some = [...byTable].filter(([, condition]) => !condition.everything);
    this.#pool = pool;
    this.#byTable = new Map(some.map(([table, c]) => [table, pool.take(table, c)]));
    const ids = [...this.#byTable.values()].map(({ id }) => id);
    this.key = ids.sort((a, b) => a - b).join();
  }

  of({ table }: ShapeTable): MonitorCondition {
    return this.#byTable.get(table)?.condition ?? EVERY_ROW;
  }

  /** The same but for some tables: others, which are dropped apart from these. */
  with(changed: ReadonlyMap<Table, MonitorCondition>): Conditions {
    const own = [...this.#byTable].map(([table, { condition }]) => [table, condition] as const);
    return new Conditions(this.#pool, new Map([...own, ...changed]));
  }

  /** Nobody needs them any more. */
  drop(): void {
    for (const [table, shared] of this.#byTable) this.#pool.drop(table, shared);
  }
}

/** Of what happens after the initial reply. */
export type ChangeKind = Exclude<UpdateKind, 'initial'>;

/** What a change is to somebody who sees rows that match: `null`: nothing. */
export function kindOf(
  before: Row | null,
  after: Row | null,
  was: MonitorCondition,
  is: MonitorCondition,
): ChangeKind | null {
  assert(before !== null || after !== null, 'kindOf: no row at all');
  const seen = before !== null && was.matches(before);
  const sees = after !== null && is.matches(after);
  if (seen) return sees ? 'modify' : 'delete';
  return sees ? 'insert' : null;
}
