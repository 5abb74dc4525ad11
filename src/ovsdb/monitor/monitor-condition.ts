/**
 * A monitor's condition on one table: clauses of which any may hold (`[]`: every row). Clients send
 * thousands of them, mostly equalities and many twice, and often again: duplicates are dropped, and
 * clauses that compare a column with one value are looked up by the row's value, so a row costs as
 * much as there are columns mentioned.
 */
import { isScalar } from '../data/column-type.ts';
import { countOf, type Datum, strideOf } from '../data/datum.ts';
import type { Uuid } from '../data/uuid.ts';
import type { Column } from '../schema/column.ts';
import { UUID_COLUMN } from '../schema/table-schema.ts';
import type { Row } from '../store/row.ts';
import {
  type Clause,
  type ColumnClause,
  type Condition,
  compareClauses,
  matches,
} from '../transact/condition.ts';

type Key = Datum[number];

/** Arguments of clauses of one kind on one column, by their key. */
interface Lookup {
  readonly column: Column;
  readonly keys: Set<Key>;
  /** `value`: the whole datum is compared; `element`: each of its elements. */
  readonly by: 'value' | 'element';
}

export class MonitorCondition {
  /** Two conditions of one table with the same key are the same; empty: every row. */
  readonly key: string;
  /** Indexes of the columns that it looks at. */
  readonly columns: ReadonlySet<number>;
  /** The only rows that can match, where clauses name rows and nothing else; else `null`. */
  readonly uuids: ReadonlySet<Uuid> | null;
  readonly #lookups: readonly Lookup[];
  readonly #others: readonly Clause[];

  /** `condition` as parsed: its clauses in order. */
  constructor(condition: Condition) {
    const clauses = simplify(condition);
    const found = new Map<string, Lookup>();
    const others: Clause[] = [];
    for (const clause of clauses) {
      if (!lookUp(clause, found)) others.push(clause);
    }
    this.key = clauses.map(clauseKey).join('');
    this.columns = new Set(clauses.flatMap((c) => (c.kind === 'column' ? [c.column.index] : [])));
    this.#lookups = [...found.values()];
    this.#others = others;
    this.uuids = this.key === '' ? null : namedRows(this.#lookups, others);
  }

  get everything(): boolean {
    return this.key === '';
  }

  matches(row: Row): boolean {
    if (this.everything) return true;
    for (const lookup of this.#lookups) if (holds(row, lookup)) return true;
    for (const clause of this.#others) if (matches(row, clause)) return true;
    return false;
  }
}

export const EVERY_ROW: MonitorCondition = new MonitorCondition([]);

/** Without duplicates and what cannot matter; `[]` where every row matches. */
function simplify(condition: Condition): Condition {
  if (condition.some((clause) => clause.kind === 'constant' && clause.value)) return [];
  const columns = condition.filter((clause) => clause.kind === 'column');
  if (columns.length === 0) return condition.slice(0, 1);
  return columns.filter((clause, i) => i === 0 || compareClauses(columns[i - 1], clause) !== 0);
}

/** Ends where it ends: keys one after another are not mistaken for others. */
function clauseKey(clause: Clause): string {
  if (clause.kind === 'constant') return String(clause.value);
  const { column, argument } = clause;
  const atoms = argument.map((atom) => `${atom}\0`).join('');
  return `${column.index} ${clause.function} ${argument.length}\0${atoms}`;
}

/** Puts the clause where it is found by value; false: it has to be evaluated. */
function lookUp(clause: Clause, lookups: Map<string, Lookup>): boolean {
  if (clause.kind !== 'column') return false;
  const by = lookupOf(clause);
  if (by === null) return false;
  const { column, argument } = clause;
  const name = `${column.index} ${by}`;
  let lookup = lookups.get(name);
  if (lookup === undefined) {
    lookup = { column, keys: new Set(), by };
    lookups.set(name, lookup);
  }
  lookup.keys.add(
    by === 'value' ? valueKey(argument) : elementKey(argument, 0, strideOf(column.type)),
  );
  return true;
}

function lookupOf({ function: name, argument, column }: ColumnClause): Lookup['by'] | null {
  if (name === '==') return 'value';
  if (name === 'includes' && isScalar(column.type)) return 'value';
  const single = countOf(argument, column.type) === 1;
  return name === 'includes' && single ? 'element' : null;
}

function holds(row: Row, { column, keys, by }: Lookup): boolean {
  const { index } = column;
  if (index === UUID_COLUMN) return keys.has(row.uuid);
  const datum = row.datum(index);
  if (by === 'value') return keys.has(valueKey(datum));
  const stride = strideOf(column.type);
  for (let i = 0; i < datum.length; i += stride) {
    if (keys.has(elementKey(datum, i, stride))) return true;
  }
  return false;
}

/** One atom is its own key. Else text: no string holds U+0000, so it cannot be mistaken. */
function valueKey(datum: Datum): Key {
  return datum.length === 1 ? datum[0] : `\0${datum.join('\0')}`;
}

function elementKey(datum: Datum, i: number, stride: 1 | 2): Key {
  return stride === 1 ? datum[i] : `${datum[i]}\0${datum[i + 1]}`;
}

function namedRows(
  lookups: readonly Lookup[],
  others: readonly Clause[],
): ReadonlySet<Uuid> | null {
  if (others.some((clause) => clause.kind === 'column')) return null;
  if (lookups.length === 0) return new Set();
  const named = lookups.length === 1 && lookups[0].column.index === UUID_COLUMN;
  return named ? (lookups[0].keys as ReadonlySet<Uuid>) : null;
}
