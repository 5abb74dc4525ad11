/**
 * The whole of a database as the two records that a compacted file consists of, in pieces, so that
 * nobody has to wait for all of it. Rows are immutable, so what has been captured stays what it
 * was while the database goes on.
 */
import { serialize } from '../json/serialize.ts';
import { rowToRecord } from '../record/write.ts';
import type { Column } from '../schema/column.ts';
import { type Schema, schemaToJson } from '../schema/schema.ts';
import { STANDARD_COLUMNS, type TableSchema } from '../schema/table-schema.ts';
import type { Database } from '../store/database.ts';
import type { Row } from '../store/row.ts';
import { objectWriter } from '../store/row-text.ts';

export interface Snapshot {
  readonly schema: Schema;
  readonly tables: readonly { readonly schema: TableSchema; readonly rows: readonly Row[] }[];
}

/** What accompanies the rows, as in the record of a transaction. */
export interface SnapshotNotes {
  readonly comment: string;
  /** Wall clock, ms. */
  readonly dateMs: number;
  /** Says so without meaning anything: no row of a snapshot is a diff. */
  readonly columnDiff: boolean;
}

/** Takes hold of the content as it is now: no row is copied. */
export function captureSnapshot({ schema, tables }: Database): Snapshot {
  const captured: Snapshot['tables'][number][] = [];
  for (const table of tables.values()) {
    if (table.size > 0) captured.push({ schema: table.schema, rows: [...table.rows()] });
  }
  return { schema, tables: captured };
}

/** The JSON of the first record, without a line feed. */
export function schemaText(schema: Schema): string {
  return serialize(schemaToJson(schema));
}

/** The JSON of the second record, without a line feed, in pieces of a row each at most. */
export function* snapshotText(snapshot: Snapshot, notes: SnapshotNotes): Generator<string> {
  let separator = '{';
  for (const { schema, rows } of snapshot.tables) {
    const write = objectWriter(keptColumns(schema));
    separator += `${serialize(schema.name)}:{`;
    for (const row of rows) {
      yield `${separator}"${row.uuid}":${write(rowToRecord(row, schema))}`;
      separator = ',';
    }
    separator = '},';
  }
  yield `${separator}${notesText(notes)}}`;
}

function notesText({ comment, dateMs, columnDiff }: SnapshotNotes): string {
  const diff = columnDiff ? '"_is_diff":true,' : '';
  return `"_comment":${serialize(comment)},${diff}"_date":${dateMs}`;
}

function keptColumns({ columns }: TableSchema): readonly Column[] {
  return columns.filter(({ persistent, index }) => persistent && index >= STANDARD_COLUMNS);
}
