/** The conditions of one monitor, of all its tables. */
import { assert } from '../../stdx/index.ts';
import { compareText } from '../json/serialize.ts';
import type { Row } from '../store/row.ts';
import { EVERY_ROW, type MonitorCondition } from './monitor-condition.ts';
import type { UpdateKind } from './select.ts';
import type { ShapeTable } from './shape-table.ts';

export class Conditions {
  /** Equal for equal conditions; empty: every row of every table. */
  readonly key: string;
  readonly #byTable: ReadonlyMap<ShapeTable, MonitorCondition>;

  /** Tables that are not mentioned show every row. */
  constructor(byTable: ReadonlyMap<ShapeTable, MonitorCondition>) {
    const keyed = [...byTable].filter(([, condition]) => !condition.everything);
    const parts = keyed.map(([{ name }, { key }]) => `${name} ${key.length} ${key}`);
    this.key = parts.sort(compareText).join('');
    this.#byTable = byTable;
  }

  of(table: ShapeTable): MonitorCondition {
    return this.#byTable.get(table) ?? EVERY_ROW;
  }

  /** The same but for some tables. */
  with(changed: ReadonlyMap<ShapeTable, MonitorCondition>): Conditions {
    if (changed.size === 0) return this;
    return new Conditions(new Map([...this.#byTable, ...changed]));
  }
}

export const NO_CONDITIONS: Conditions = new Conditions(new Map());

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
