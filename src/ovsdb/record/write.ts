/**
 * Change sets as the records of the original's files and clusters: {table: {uuid: row}}, a row
 * being `null` (deleted) or an object of columns: of an inserted row those that differ from their
 * defaults, of a changed row what changed, as a diff where `_is_diff` says so. Ephemeral columns
 * are left out.
 */
import { type Datum, diffDatums, isDefaultDatum } from '../data/datum.ts';
import { datumToJson } from '../data/datum-json.ts';
import type { Json, JsonObject } from '../json/value.ts';
import type { Column } from '../schema/column.ts';
import { STANDARD_COLUMNS, type TableSchema } from '../schema/table-schema.ts';
import type { ChangeSet, RowChange } from '../store/change-set.ts';
import type { Database } from '../store/database.ts';
import type { Row } from '../store/row.ts';

export interface RecordOptions {
  /** Wall clock, ms. */
  readonly dateMs: number;
  /** Changed columns as diffs, which readers older than 2.15 do not know. */
  readonly columnDiff: boolean;
}

/** `null`: nothing that has to be kept. */
export function changeSetToRecord(changes: ChangeSet, options: RecordOptions): JsonObject | null {
  const record: { [table: string]: Json } = {};
  for (const { table, rows } of changes.tables) {
    const tableJson: { [uuid: string]: Json } = {};
    let empty = true;
    for (const change of rows) {
      const row = changeToJson(change, table.schema, options.columnDiff);
      if (row === undefined) continue;
      tableJson[change.uuid] = row;
      empty = false;
    }
    if (!empty) record[table.schema.name] = tableJson;
  }
  if (Object.keys(record).length === 0) return null;
  if (changes.comment !== '') record['_comment'] = changes.comment;
  if (options.columnDiff) record['_is_diff'] = true;
  record['_date'] = options.dateMs;
  return record;
}

/** The whole content, as a snapshot has it. */
export function databaseToRecord(database: Database): JsonObject {
  const record: { [table: string]: Json } = {};
  for (const [name, table] of database.tables) {
    if (table.size === 0) continue;
    const tableJson: { [uuid: string]: Json } = {};
    for (const row of table.rows()) tableJson[row.uuid] = rowToRecord(row, table.schema);
    record[name] = tableJson;
  }
  return record;
}

/** `undefined`: the change is none that is kept. */
function changeToJson(
  { before, after, changed }: RowChange,
  schema: TableSchema,
  columnDiff: boolean,
): Json | undefined {
  if (after === null) return null;
  if (before === null) return rowToRecord(after, schema);
  const json: { [column: string]: Json } = {};
  let kept = false;
  for (const index of changed) {
    const column = schema.columns[index];
    if (!isKept(column)) continue;
    const now: Datum = after.datum(index);
    const datum = columnDiff ? diffDatums(before.datum(index), now, column.type) : now;
    json[column.name] = datumToJson(datum, column.type);
    kept = true;
  }
  return kept ? json : undefined;
}

/** A row as that of an insertion: what differs from the defaults, ephemeral columns left out. */
export function rowToRecord(row: Row, schema: TableSchema): JsonObject {
  const json: { [column: string]: Json } = {};
  for (const column of schema.columns) {
    if (!isKept(column)) continue;
    const datum = row.datum(column.index);
    if (!isDefaultDatum(datum, column.type)) json[column.name] = datumToJson(datum, column.type);
  }
  return json;
}

function isKept(column: Column): boolean {
  return column.persistent && column.index >= STANDARD_COLUMNS;
}
