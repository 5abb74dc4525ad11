/**
 * From a draft to a change set: the checks of RFC 7047 §4.1.3 that wait for the end of the
 * transaction, in the original's order, since the first failure is what the client sees:
 *
 * 1. rows that did not change are dropped; nothing left is success without a commit;
 * 2. references are counted: strong ones must have targets, deleted rows must have none;
 * 3. rows of non-root tables that nobody refers to are collected, and what only they referred to;
 * 4. tables must not exceed their maximum of rows;
 * 5. weak references to rows that are gone are removed, which a column may not survive;
 * 6. indexes must be unique;
 * 7. changed rows get new versions.
 */
import { type Datum, datumsEqual } from '../data/datum.ts';
import { constraintViolation, isError, type OvsdbError } from '../data/error.ts';
import { VERSION_COLUMN } from '../schema/table-schema.ts';
import type { ChangeSet, Recount, RowChange, TableChanges } from '../store/change-set.ts';
import { atomCount, type Row } from '../store/row.ts';
import type { Table } from '../store/table.ts';
import type { Draft, DraftRow } from './draft.ts';
import { collectGarbage, countReferences } from './strong-references.ts';
import { checkUniqueness } from './uniqueness.ts';
import { removeDangling } from './weak-references.ts';

/** The changes that the draft means, to be applied; `null`: none. The draft is used up. */
export function precommit(draft: Draft): ChangeSet | OvsdbError | null {
  dropUnchanged(draft);
  if (draft.tables.size === 0) return null;
  const problem =
    countReferences(draft) ??
    collect(draft) ??
    checkMaxRows(draft) ??
    settleWeakReferences(draft) ??
    checkUniqueness(draft);
  return problem ?? changeSetOf(draft);
}

function dropUnchanged(draft: Draft): void {
  for (const drafted of draft.all()) {
    drafted.changed = changedColumns(drafted);
    if (drafted.changed.length === 0) draft.forget(drafted);
  }
}

function changedColumns({ table, before, after }: DraftRow): number[] {
  const indexes = table.schema.columns.map((column) => column.index);
  if (before === null || after === null) return indexes;
  return indexes.filter((index) => !datumsEqual(datumOf(before, index), datumOf(after, index)));
}

function datumOf(row: Row, index: number): Datum {
  return row.datum(index);
}

function collect(draft: Draft): null {
  collectGarbage(draft);
  return null;
}

function checkMaxRows(draft: Draft): OvsdbError | null {
  for (const table of draft.tables.keys()) {
    const { name, maxRows } = table.schema;
    const size = draft.size(table);
    if (size <= maxRows) continue;
    return constraintViolation(
      `transaction causes "${name}" table to contain ${size} rows, ` +
        `greater than the schema-defined limit of ${maxRows} row(s)`,
    );
  }
  return null;
}

/**
 * A removed map entry may take a strong reference with it, and so the last one to a row, to which
 * others may refer weakly: repeated until nothing more goes.
 */
function settleWeakReferences(draft: Draft): OvsdbError | null {
  for (;;) {
    const released = removeDangling(draft);
    if (isError(released)) return released;
    for (const drafted of draft.all()) {
      if (drafted.changed.length > 0) drafted.changed = changedColumns(drafted);
    }
    if (!released) return null;
    collectGarbage(draft);
  }
}

function changeSetOf(draft: Draft): ChangeSet | null {
  const tables: TableChanges[] = [];
  let atoms = 0;
  let atomsDelta = 0;
  for (const [table, drafted] of draft.tables) {
    const changes = tableChanges(table, drafted.values(), draft);
    if (changes.rows.length + changes.recounts.length > 0) tables.push(changes);
    for (const { before, after } of changes.rows) {
      const old = before === null ? 0 : atomCount(before, table.schema);
      const now = after === null ? 0 : atomCount(after, table.schema);
      atoms += old + now;
      atomsDelta += now - old;
    }
  }
  if (tables.length === 0) return null;
  return { tables, comment: draft.comments.join('\n'), atoms, atomsDelta };
}

function tableChanges(table: Table, drafted: Iterable<DraftRow>, draft: Draft): TableChanges {
  const rows: RowChange[] = [];
  const recounts: Recount[] = [];
  for (const { uuid, before, after, changed, references } of drafted) {
    if (after === null) {
      // Inserted and collected within the transaction: it never was.
      if (before !== null) rows.push({ uuid, before, after, changed });
    } else if (before === null) {
      rows.push({ uuid, before, after: after.finished(after.version, references), changed });
    } else if (changed.length > 0) {
      const finished = after.finished(draft.uuids(), references);
      rows.push({ uuid, before, after: finished, changed: withVersion(changed) });
    } else if (references !== before.references) {
      recounts.push({ uuid, before, after: before.finished(before.version, references) });
    }
  }
  return { table, rows, recounts };
}

function withVersion(changed: readonly number[]): number[] {
  return [VERSION_COLUMN, ...changed];
}
