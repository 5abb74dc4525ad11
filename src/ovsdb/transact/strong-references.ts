/**
 * Strong references: every row counts how many other rows refer to it, so that integrity and
 * garbage are a matter of the rows that a transaction touches. References of a row to itself do
 * not count; the original knows them by the UUID alone, whatever the table, and so do we: what its
 * files hold must be a valid database here.
 */
import { assert } from '../../stdx/index.ts';
import { isStrong } from '../data/base-type.ts';
import { type Datum, EMPTY_DATUM, forEachChange } from '../data/datum.ts';
import { OvsdbError } from '../data/error.ts';
import type { Uuid } from '../data/uuid.ts';
import type { Column } from '../schema/column.ts';
import type { Row } from '../store/row.ts';
import type { Draft, DraftRow } from './draft.ts';

/** Updates the counts, and checks that nothing refers to what does not exist. */
export function countReferences(draft: Draft): OvsdbError | null {
  for (const drafted of draft.all()) {
    for (const column of drafted.table.schema.columns) {
      if (!column.strong || !drafted.changed.includes(column.index)) continue;
      const problem = countColumn(draft, drafted, column);
      if (problem !== null) return problem;
    }
  }
  for (const { table, uuid, after, references } of draft.all()) {
    if (after !== null || references === 0) continue;
    return integrityViolation(
      `cannot delete ${table.schema.name} row ${uuid} because of ` +
        `${references} remaining reference(s)`,
    );
  }
  return null;
}

function integrityViolation(details: string): OvsdbError {
  return new OvsdbError('referential integrity violation', details);
}

function countColumn(draft: Draft, drafted: DraftRow, column: Column): OvsdbError | null {
  const { before, after, uuid } = drafted;
  const old = before?.datum(column.index) ?? EMPTY_DATUM;
  const now = after?.datum(column.index) ?? EMPTY_DATUM;
  let missing: OvsdbError | null = null;
  for (const { part, table } of strongParts(draft, column)) {
    forEachChange(old, now, column.type, {
      removed: (datum, i) => {
        const target = datum[i + part] as Uuid;
        if (target === uuid) return;
        const row = draft.touch(table, target);
        assert(row !== null && row.references > 0, 'a strong reference was not counted');
        row.references -= 1;
      },
      added: (datum, i) => {
        const target = datum[i + part] as Uuid;
        if (target === uuid) return;
        const row = draft.touch(table, target);
        if (row !== null) row.references += 1;
        else missing ??= nonexistent(drafted, column, target, table.schema.name);
      },
    });
  }
  return missing;
}

function nonexistent(
  { table, uuid }: DraftRow,
  column: Column,
  target: Uuid,
  targetTable: string,
): OvsdbError {
  return integrityViolation(
    `Table ${table.schema.name} column ${column.name} row ${uuid} ` +
      `references nonexistent row ${target} in table ${targetTable}.`,
  );
}

/** Where in an element strong references are: key, value or both, and to which table. */
function strongParts(draft: Draft, { type }: Column): { part: number; table: DraftRow['table'] }[] {
  return [type.key, type.value].flatMap((base, part) => {
    if (!isStrong(base)) return [];
    return [{ part, table: draft.database.table(base?.reference?.table as string) }];
  });
}

/** Removes the rows of non-root tables that nothing refers to, and what only they kept alive. */
export function collectGarbage(draft: Draft): void {
  const garbage: DraftRow[] = [...draft.all()].filter(isGarbage);
  for (let drafted = garbage.pop(); drafted !== undefined; drafted = garbage.pop()) {
    const row = drafted.after;
    // It may have been found twice.
    if (row === null) continue;
    drafted.after = null;
    drafted.changed = drafted.table.schema.columns.map((column) => column.index);
    for (const column of drafted.table.schema.columns) {
      if (column.strong) garbage.push(...release(draft, row, column).filter(isGarbage));
    }
  }
}

function isGarbage({ table, after, references }: DraftRow): boolean {
  return after !== null && references === 0 && !table.schema.isRoot;
}

/** Uncounts what a column of a row that goes refers to; returns the rows referred to. */
function release(draft: Draft, row: Row, column: Column): DraftRow[] {
  return releaseElements(draft, row.uuid, column, row.datum(column.index));
}

/** The same for some elements of the column. */
export function releaseElements(
  draft: Draft,
  from: Uuid,
  column: Column,
  elements: Datum,
): DraftRow[] {
  const released: DraftRow[] = [];
  for (const { part, table } of strongParts(draft, column)) {
    forEachChange(elements, EMPTY_DATUM, column.type, {
      removed: (datum, i) => {
        const target = datum[i + part] as Uuid;
        if (target === from) return;
        const row = draft.touch(table, target);
        assert(row !== null && row.references > 0, 'a strong reference was not counted');
        row.references -= 1;
        released.push(row);
      },
      added: () => assert(false, 'nothing is added to nothing'),
    });
  }
  return released;
}
