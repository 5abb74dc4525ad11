/**
 * Indexes of the schema: no two rows may have the same values in an index's columns once a
 * transaction is over. In its midst they may, so values can be swapped.
 */
import { datumToText, englishList } from '../data/datum-text.ts';
import { constraintViolation, type OvsdbError } from '../data/error.ts';
import { compareText } from '../json/serialize.ts';
import type { Column } from '../schema/column.ts';
import { compareRows, type Row, rowKey } from '../store/row.ts';
import type { Table } from '../store/table.ts';
import type { Draft, DraftRow } from './draft.ts';

export function checkUniqueness(draft: Draft): OvsdbError | null {
  for (const [table, drafted] of draft.tables) {
    for (const index of table.schema.indexes.keys()) {
      const problem = checkIndex(table, index, drafted);
      if (problem !== null) return problem;
    }
  }
  return null;
}

function checkIndex(
  table: Table,
  index: number,
  drafted: ReadonlyMap<string, DraftRow>,
): OvsdbError | null {
  const columns = table.schema.indexes[index];
  /** Of rows of this transaction: what the table's index says of them is the past. */
  const seen = new Map<string, Row>();
  for (const { after } of drafted.values()) {
    if (after === null) continue;
    const key = rowKey(after, columns);
    const stored = table.rowByIndex(index, key);
    const other = seen.get(key) ?? (stored !== null && !drafted.has(stored.uuid) ? stored : null);
    if (other !== null) return duplicate(table, columns, drafted, other, after);
    seen.set(key, after);
  }
  return null;
}

function duplicate(
  table: Table,
  columns: readonly Column[],
  drafted: ReadonlyMap<string, DraftRow>,
  a: Row,
  b: Row,
): OvsdbError {
  const [first, second] = compareRows(a, b, comparable(table)) < 0 ? [b, a] : [a, b];
  const names = englishList(columns.map(({ name }) => `"${name}"`));
  const plural = columns.length > 1 ? 's' : '';
  return constraintViolation(
    `Transaction causes multiple rows in "${table.schema.name}" table to have identical values ` +
      `(${valuesOf(first, columns)}) for index on column${plural} ${names}.  ` +
      `First row, with UUID ${first.uuid}, ${history(first, columns, drafted)}  ` +
      `Second row, with UUID ${second.uuid}, ${history(second, columns, drafted)}`,
  );
}

/** Columns by name, those left out whose values are random: the order must be foreseeable. */
function comparable({ schema }: Table): Column[] {
  return schema.columns
    .filter(({ type }) => type.key.type !== 'uuid' && type.value?.type !== 'uuid')
    .sort((a, b) => compareText(a.name, b.name));
}

function valuesOf(row: Row, columns: readonly Column[]): string {
  return englishList(columns.map(({ index, type }) => datumToText(row.datum(index), type)));
}

function history(
  { uuid }: Row,
  columns: readonly Column[],
  drafted: ReadonlyMap<string, DraftRow>,
): string {
  const own = drafted.get(uuid);
  if (own === undefined || own.changed.length === 0 || own.after === null) {
    return 'existed in the database before this transaction and was not modified by the transaction.';
  }
  const { before, after } = own;
  if (before === null) return 'was inserted by this transaction.';
  if (compareRows(before, after, columns) === 0) {
    return (
      "existed in the database before this transaction, which modified some of the row's columns " +
      'but not any columns in this index.'
    );
  }
  return `had the following index values before the transaction: ${valuesOf(before, columns)}.`;
}
