/**
 * Weak references: one to a row that is gone, or never was, is removed when the transaction
 * commits. Looked at are the elements that the transaction adds, and every element of the rows that
 * refer to a row that it deletes.
 */
import type { Atom } from '../data/atom.ts';
import { isWeak } from '../data/base-type.ts';
import { countOf, type Datum, forEachChange, strideOf, subtract } from '../data/datum.ts';
import { constraintViolation, isError, type OvsdbError } from '../data/error.ts';
import { UUID_ZERO, type Uuid } from '../data/uuid.ts';
import type { Column } from '../schema/column.ts';
import type { Row } from '../store/row.ts';
import type { Table } from '../store/table.ts';
import type { Draft, DraftRow } from './draft.ts';
import { releaseElements } from './strong-references.ts';

/** Whether strong references went with weak ones, or which column may not lose its own. */
export function removeDangling(draft: Draft): boolean | OvsdbError {
  const bereaved = referrersOfDeleted(draft);
  let released = false;
  for (const drafted of draft.all()) {
    for (const column of drafted.table.schema.columns) {
      if (!column.weak || drafted.after === null) continue;
      const all = drafted.before === null || bereaved.has(drafted);
      if (!all && !drafted.changed.includes(column.index)) continue;
      const outcome = cleanColumn(draft, drafted, drafted.after, column, all);
      if (isError(outcome)) return outcome;
      released ||= outcome;
    }
  }
  return released;
}

/** Rows that live and refer weakly to rows that the transaction deletes; now part of it. */
function referrersOfDeleted(draft: Draft): Set<DraftRow> {
  const bereaved = new Set<DraftRow>();
  for (const { table, uuid, before, after } of draft.all()) {
    if (before === null || after !== null) continue;
    table.referrers.forEach(uuid, (source, from) => {
      const referrer = draft.touch(source, from);
      if (referrer !== null && referrer.after !== null) bereaved.add(referrer);
    });
  }
  return bereaved;
}

/** `all`: not only what is new to the column has to be looked at. */
function cleanColumn(
  draft: Draft,
  drafted: DraftRow,
  row: Row,
  column: Column,
  all: boolean,
): boolean | OvsdbError {
  const { index, type } = column;
  const datum = row.datum(index);
  const dangling = danglingElements(draft, drafted, column, datum, all);
  if (dangling.length === 0) return false;
  const rest = subtract(datum, dangling, type, false);
  const released = column.strong && releaseElements(draft, row.uuid, column, dangling).length > 0;
  drafted.after = row.with(new Map([[index, rest]]));
  // So that its columns are compared again.
  if (drafted.changed.length === 0) drafted.changed = [index];
  if (countOf(rest, type) >= type.min) return released;
  return emptied(drafted, column, countOf(dangling, type), dangling.includes(UUID_ZERO));
}

function danglingElements(
  draft: Draft,
  { before }: DraftRow,
  column: Column,
  datum: Datum,
  all: boolean,
): Datum {
  const { index, type } = column;
  const tables = [type.key, type.value].map((base) =>
    isWeak(base) ? draft.database.table(base?.reference?.table as string) : null,
  );
  const exists = (table: Table | null | undefined, target: Atom): boolean =>
    !table || draft.row(table, target as Uuid) !== null;
  const dangling: Atom[] = [];
  const look = (from: Datum, i: number): void => {
    const found =
      exists(tables[0], from[i]) && (tables[1] === null || exists(tables[1], from[i + 1]));
    if (!found) dangling.push(...from.slice(i, i + strideOf(type)));
  };
  if (all) for (let i = 0; i < datum.length; i += strideOf(type)) look(datum, i);
  else forEachChange(before?.datum(index) ?? [], datum, type, { removed: () => {}, added: look });
  return dangling;
}

function emptied(
  { table, uuid, before }: DraftRow,
  column: Column,
  count: number,
  zero: boolean,
): OvsdbError {
  const { name } = table.schema;
  if (zero && before === null) {
    // Word for word, its slip included: clients and scripts match it.
    return constraintViolation(
      `Weak reference column "${column.name}" in "${name}" row ${uuid} (inserted within this ` +
        'transaction) contained all-zeros UUID (probably as the default value for this column) ' +
        'but deleting this value caused a constraint volation because this column is not ' +
        'allowed to be empty.',
    );
  }
  const inserted = before === null ? '(inserted within this transaction) ' : '';
  return constraintViolation(
    `Deletion of ${count} weak reference(s) to deleted (or never-existing) rows from column ` +
      `"${column.name}" in "${name}" row ${uuid} ${inserted}caused this column to become empty, ` +
      'but constraints on this column disallow an empty column.',
  );
}
