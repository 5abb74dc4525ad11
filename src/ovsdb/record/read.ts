/**
 * Records read back: as a draft, which the same checks turn into a change set as those of a client.
 * Conversion to another schema is the same with what the new schema does not know left out.
 */
import { applyDiff, countOf, type Datum } from '../data/datum.ts';
import { datumToJson, parseDatum, parseTransientDatum } from '../data/datum-json.ts';
import { isError, OvsdbError, plainError, syntaxError, unknownColumn } from '../data/error.ts';
import { parseUuid, type Uuid, type UuidSource } from '../data/uuid.ts';
import { isInteger, isObject, type Json } from '../json/value.ts';
import type { Column } from '../schema/column.ts';
import type { Schema } from '../schema/schema.ts';
import { STANDARD_COLUMNS } from '../schema/table-schema.ts';
import { Database } from '../store/database.ts';
import { createRow, type Row } from '../store/row.ts';
import type { Table } from '../store/table.ts';
import { Draft } from '../transact/draft.ts';
import { precommit } from '../transact/precommit.ts';

export interface ReadOptions {
  /** For the versions of rows, which are not kept. */
  readonly uuids: UuidSource;
  /** Tables and columns that the schema does not have are skipped, not refused. */
  readonly converting: boolean;
}

export function draftOfRecord(
  database: Database,
  json: Json,
  options: ReadOptions,
): Draft | OvsdbError {
  if (!isObject(json)) return syntaxError(json, 'object expected');
  const reader = new RecordReader(database, options, json['_is_diff'] === true);
  for (const [name, tableJson] of Object.entries(json)) {
    const table = database.tables.get(name);
    if (table === undefined) {
      const problem = reader.unknown(name, tableJson, json);
      if (problem !== null) return problem;
      continue;
    }
    const problem = reader.table(table, tableJson);
    if (problem !== null) return problem;
  }
  return reader.draft;
}

function isAnnotation(name: string, json: Json): boolean {
  if (name === '_date') return isInteger(json);
  return name === '_comment' || (name === '_is_diff' && typeof json === 'boolean');
}

/** Takes a record apart into a draft: whole tables or single rows, in any order. */
export class RecordReader {
  readonly draft: Draft;
  readonly #options: ReadOptions;
  readonly #diff: boolean;

  constructor(database: Database, options: ReadOptions, diff: boolean) {
    this.draft = new Draft(database, options.uuids);
    this.#options = options;
    this.#diff = diff;
  }

  /** A member that is no table of the database: whether it may be there. */
  unknown(name: string, json: Json, record?: Json): OvsdbError | null {
    if (this.#options.converting || isAnnotation(name, json)) return null;
    return new OvsdbError('unknown table', `No table named ${name}.`, record);
  }

  table(table: Table, json: Json): OvsdbError | null {
    if (!isObject(json)) return syntaxError(json, 'object expected');
    for (const [text, rowJson] of Object.entries(json)) {
      const problem = this.row(table, text, rowJson, json);
      if (problem !== null) return problem;
    }
    return null;
  }

  row(table: Table, text: string, json: Json, rows?: Json): OvsdbError | null {
    const uuid = parseUuid(text);
    if (uuid === null) return syntaxError(rows, `"${text}" is not a valid UUID`);
    return this.#row(table, uuid, json);
  }

  #row(table: Table, uuid: Uuid, json: Json): OvsdbError | null {
    const row = this.draft.row(table, uuid);
    if (json === null) {
      if (row === null) {
        const details = `transaction deletes row ${uuid} that does not exist`;
        return syntaxError(undefined, details);
      }
      this.draft.delete(table, uuid);
      return null;
    }
    const values = this.#values(table, row, json);
    if (isError(values)) return values;
    if (row !== null) this.draft.modify(table, row.with(values));
    else this.draft.insert(table, createRow(table.schema, uuid, this.#options.uuids(), values));
    return null;
  }

  #values(table: Table, row: Row | null, json: Json): Map<number, Datum> | OvsdbError {
    if (!isObject(json)) return syntaxError(json, 'row must be JSON object');
    const values = new Map<number, Datum>();
    for (const [name, value] of Object.entries(json)) {
      const column = table.schema.byName.get(name);
      if (column === undefined) {
        if (this.#options.converting) continue;
        return unknownColumn(json, name, table.schema.name);
      }
      const before = this.#diff ? (row?.datum(column.index) ?? null) : null;
      const datum = readValue(column, value, before);
      if (isError(datum)) return datum;
      if (column.index >= STANDARD_COLUMNS) values.set(column.index, datum);
    }
    return values;
  }
}

/** `before`: `value` is a diff from it. */
function readValue({ type }: Column, value: Json, before: Datum | null): Datum | OvsdbError {
  if (before === null) return parseDatum(value, type, null);
  const diff = parseTransientDatum(value, type);
  if (isError(diff)) return diff;
  const datum = applyDiff(before, diff, type);
  const count = countOf(datum, type);
  if (count >= type.min && count <= type.max) return datum;
  // Word for word, its slip included.
  return plainError('Datum crated by diff has size error');
}

/** A database of the new schema with all of the old content that fits into it. */
export function convertDatabase(
  from: Database,
  schema: Schema,
  uuids: UuidSource,
): Database | OvsdbError {
  const to = new Database(schema);
  const draft = new Draft(to, uuids);
  for (const [name, source] of from.tables) {
    const target = to.tables.get(name);
    if (target === undefined) continue;
    for (const row of source.rows()) {
      const values = convertRow(row, source, target);
      if (isError(values)) return values;
      draft.insert(target, createRow(target.schema, row.uuid, uuids(), values));
    }
  }
  const changes = precommit(draft);
  if (isError(changes)) return changes;
  if (changes !== null) to.apply(changes);
  return to;
}

function convertRow(row: Row, source: Table, target: Table): Map<number, Datum> | OvsdbError {
  const values = new Map<number, Datum>();
  for (const { name, index, type } of source.schema.columns.slice(STANDARD_COLUMNS)) {
    const column = target.schema.byName.get(name);
    if (column === undefined) continue;
    const datum = parseDatum(datumToJson(row.datum(index), type), column.type, null);
    if (isError(datum)) return datum;
    values.set(column.index, datum);
  }
  return values;
}
