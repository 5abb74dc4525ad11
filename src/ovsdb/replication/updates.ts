/**
 * What a server tells those who monitor it, turned into changes of a database here: a draft, which
 * the usual checks turn into a change set.
 */
import { applyDiff, countOf, type Datum } from '../data/datum.ts';
import { parseDatum, parseTransientDatum } from '../data/datum-json.ts';
import { isError, OvsdbError, plainError, syntaxError, unknownColumn } from '../data/error.ts';
import { parseUuid, type Uuid, type UuidSource } from '../data/uuid.ts';
import { isObject, type Json, type JsonObject, memberOf } from '../json/value.ts';
import type { Column } from '../schema/column.ts';
import { STANDARD_COLUMNS } from '../schema/table-schema.ts';
import type { Database } from '../store/database.ts';
import { createRow, type Row } from '../store/row.ts';
import type { Table } from '../store/table.ts';
import { Draft } from '../transact/draft.ts';

export interface UpdatesOptions {
  /** 1: of "monitor" (RFC 7047 §4.1.6). 2: of "monitor_cond" and "monitor_cond_since". */
  readonly format: 1 | 2;
  /** Tables of which the updates are the whole content: other rows go. `null`: of none. */
  readonly whole: ((table: string) => boolean) | null;
  readonly uuids: UuidSource;
}

export function draftOfUpdates(
  database: Database,
  updates: Json,
  options: UpdatesOptions,
): Draft | OvsdbError {
  if (!isObject(updates))
    return new OvsdbError('Not a JSON object', '<table-updates> is not object');
  const reader = new UpdatesReader(database, options);
  for (const [name, json] of Object.entries(updates)) {
    const table = database.tables.get(name);
    if (table === undefined) return new OvsdbError('unknown table', `unknown table ${name}`);
    const problem = reader.table(table, json);
    if (problem !== null) return problem;
  }
  if (options.whole !== null) reader.deleteOthers(options.whole);
  return reader.draft;
}

class UpdatesReader {
  readonly draft: Draft;
  readonly #options: UpdatesOptions;
  readonly #seen: Set<Uuid> = new Set();

  constructor(database: Database, options: UpdatesOptions) {
    this.draft = new Draft(database, options.uuids);
    this.#options = options;
  }

  table(table: Table, json: Json): OvsdbError | null {
    if (!isObject(json)) {
      return new OvsdbError('Not a JSON object', '<table-update> for table is not object');
    }
    for (const [text, update] of Object.entries(json)) {
      const uuid = parseUuid(text);
      if (uuid === null) {
        return new OvsdbError('bad row UUID', '<table-update> names must be UUIDs', json);
      }
      if (!isObject(update)) {
        return new OvsdbError('Not a JSON object', '<row-update> is not object');
      }
      this.#seen.add(uuid);
      const problem = this.#row(table, uuid, update);
      if (problem !== null) return problem;
    }
    return null;
  }

  deleteOthers(whole: (table: string) => boolean): void {
    for (const [name, table] of this.draft.database.tables) {
      if (!whole(name)) continue;
      for (const { uuid } of table.rows())
        if (!this.#seen.has(uuid)) this.draft.delete(table, uuid);
    }
  }

  #row(table: Table, uuid: Uuid, update: JsonObject): OvsdbError | null {
    if (this.#options.format === 1) {
      const now = memberOf(update, 'new') ?? null;
      return now === null ? this.#delete(table, uuid) : this.#put(table, uuid, now);
    }
    for (const [kind, json] of Object.entries(update)) {
      switch (kind) {
        case 'initial':
        case 'insert':
          return this.#put(table, uuid, json);
        case 'modify':
          return this.#modify(table, uuid, json);
        case 'delete':
          return this.#delete(table, uuid);
      }
    }
    return syntaxError(update, '<row-update2> has no known member');
  }

  /** What is not there need not be deleted. */
  #delete(table: Table, uuid: Uuid): null {
    if (this.draft.row(table, uuid) !== null) this.draft.delete(table, uuid);
    return null;
  }

  /** The row is this, whatever it was; columns that are not mentioned have their defaults. */
  #put(table: Table, uuid: Uuid, json: Json): OvsdbError | null {
    const values = readRow(table, json, (column, value) => parseDatum(value, column.type, null));
    if (isError(values)) return values;
    const row = createRow(table.schema, uuid, this.#options.uuids(), values);
    if (this.draft.row(table, uuid) === null) {
      this.draft.insert(table, row);
      return null;
    }
    const { columns } = table.schema;
    const all = columns
      .slice(STANDARD_COLUMNS)
      .map(({ index }) => [index, row.datum(index)] as const);
    this.draft.modify(table, (this.draft.row(table, uuid) as Row).with(new Map(all)));
    return null;
  }

  #modify(table: Table, uuid: Uuid, json: Json): OvsdbError | null {
    const row = this.draft.row(table, uuid);
    if (row === null) {
      const details = `row ${uuid} of table ${table.schema.name} is changed but does not exist`;
      return new OvsdbError('consistency violation', details);
    }
    const values = readRow(table, json, (column, value) => readDiff(row, column, value));
    if (isError(values)) return values;
    this.draft.modify(table, row.with(values));
    return null;
  }
}

function readRow(
  table: Table,
  json: Json,
  read: (column: Column, value: Json) => Datum | OvsdbError,
): Map<number, Datum> | OvsdbError {
  if (!isObject(json)) return syntaxError(json, 'row must be JSON object');
  const values = new Map<number, Datum>();
  for (const [name, value] of Object.entries(json)) {
    const column = table.schema.byName.get(name);
    if (column === undefined) return unknownColumn(json, name, table.schema.name);
    if (column.index < STANDARD_COLUMNS) continue;
    const datum = read(column, value);
    if (isError(datum)) return datum;
    values.set(column.index, datum);
  }
  return values;
}

function readDiff(row: Row, { index, type }: Column, value: Json): Datum | OvsdbError {
  const diff = parseTransientDatum(value, type);
  if (isError(diff)) return diff;
  const datum = applyDiff(row.datum(index), diff, type);
  const count = countOf(datum, type);
  if (count >= type.min && count <= type.max) return datum;
  return plainError('Datum crated by diff has size error');
}
