/**
 * Finds the rows that a "where" means: by UUID, by an index of the schema, or one after another.
 */

import type { Datum } from '../data/datum.ts';
import type { Uuid } from '../data/uuid.ts';
import { UUID_COLUMN } from '../schema/table-schema.ts';
import { createRow, type Row, rowKey } from '../store/row.ts';
import type { Table } from '../store/table.ts';
import { type Clause, type Condition, matchesEvery } from './condition.ts';
import type { Draft } from './draft.ts';

/** Rows in which every clause holds, as the transaction sees them. */
export function query(draft: Draft, table: Table, condition: Condition): Row[] {
  const [first] = condition;
  if (first !== undefined && isEquality(first) && first.column.index === UUID_COLUMN) {
    const row = draft.row(table, first.argument[0] as Uuid);
    return row !== null && matchesEvery(row, condition) ? [row] : [];
  }
  const indexed = throughIndex(draft, table, condition);
  const candidates = indexed ?? draft.rows(table);
  const rows: Row[] = [];
  for (const row of candidates) if (matchesEvery(row, condition)) rows.push(row);
  return rows;
}

function isEquality(clause: Clause): clause is Clause & { kind: 'column' } {
  return clause.kind === 'column' && clause.function === '==';
}

/**
 * The only rows that can match, when the clauses fix all columns of an index: one of the table's,
 * and those that the transaction has changed, whose values no index knows yet.
 */
function throughIndex(draft: Draft, table: Table, condition: Condition): Row[] | null {
  const values = new Map<number, Datum>();
  for (const clause of condition) {
    if (isEquality(clause)) values.set(clause.column.index, clause.argument);
  }
  const { indexes } = table.schema;
  const index = indexes.findIndex((columns) => columns.every((column) => values.has(column.index)));
  if (index === -1) return null;
  const wanted = createRow(table.schema, '', '', values);
  const found = table.rowByIndex(index, rowKey(wanted, indexes[index]));
  const rows: Row[] = [];
  if (found !== null && draft.drafted(table, found.uuid) === null) rows.push(found);
  for (const { after } of draft.tables.get(table)?.values() ?? []) {
    if (after !== null) rows.push(after);
  }
  return rows;
}
