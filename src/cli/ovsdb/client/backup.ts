/**
 * `backup` and `restore`: a database as a standalone file on standard output, and back from
 * standard input, in one transaction. Row UUIDs do not survive a restore.
 */
import { isatty } from 'node:tty';
import { plainBaseType } from '../../../ovsdb/data/base-type.ts';
import { parseAtom } from '../../../ovsdb/data/datum-json.ts';
import { isError } from '../../../ovsdb/data/error.ts';
import { encodeRecord } from '../../../ovsdb/file/frame.ts';
import {
  isArray,
  isObject,
  type Json,
  type JsonArray,
  type JsonObject,
  memberOf,
} from '../../../ovsdb/json/value.ts';
import { type Schema, schemasEqual, schemaToJson } from '../../../ovsdb/schema/schema.ts';
import { ask, type ClientContext, type Command, connectionOf } from './context.ts';
import { rowsOf } from './dump.ts';
import { fatal } from './fatal.ts';
import { hashOrder } from './format/hash-order.ts';
import { hashedText, type JsonStyle, jsonText, sortedText } from './format/json-text.ts';
import { columnsInOrder, fetchSchema, tablesInOrder } from './schema-commands.ts';

const STDIN = 0;
const STDOUT = 1;

export const backup: Command = async (context, given) => {
  if (isatty(STDOUT)) {
    fatal('not writing backup to a terminal; please redirect stdout to a file');
  }
  const schema = await fetchSchema(context, given);
  const tables = tablesInOrder(schema);
  const selects = tables.map((table): Json => {
    const columns = columnsInOrder(table).filter(({ persistent }) => persistent);
    return { op: 'select', table: table.name, where: [], columns: columns.map(({ name }) => name) };
  });
  const results = await ask(context, connectionOf(given), 'transact', [given.database, ...selects]);
  const sha1 = await sha1Function();
  const ordered = new Set<JsonObject>();
  const style: JsonStyle = {
    order: (names, object) => (ordered.has(object) ? names : hashOrder(names)),
    pretty: false,
  };
  const write = (json: Json): void =>
    context.output.write(encodeRecord('JSON', jsonText(json, style), sha1));
  write(schemaInOrder(schema));
  if (!isArray(results) || results.length !== tables.length) {
    fatal(`reply is not array of ${tables.length} elements: ${hashedText(results)}`);
  }
  const record: { [member: string]: Json } = {};
  for (const [i, { name }] of tables.entries()) {
    const rows = rowsOf(name, (results as readonly Json[])[i] as Json);
    if (rows.length === 0) continue;
    const entries = rows.map((row) => backupRow(name, row));
    for (const [, row] of entries) ordered.add(row);
    record[name] = Object.fromEntries(entries);
  }
  record['_comment'] = 'produced by "ovsdb-client backup"';
  record['_is_diff'] = true;
  record['_date'] = Date.now();
  write(record);
};

async function sha1Function(): Promise<(bytes: Uint8Array) => string> {
  const { hash } = await import('node:crypto');
  return (bytes) => hash('sha1', bytes, 'hex');
}

/** Tables and columns were put into other tables on their way. */
function schemaInOrder(schema: Schema): Json {
  const json = schemaToJson(schema) as JsonObject;
  const tablesJson = json['tables'] as JsonObject;
  const tables = tablesInOrder(schema).map((table): [string, Json] => {
    const tableJson = tablesJson[table.name] as JsonObject;
    const columnsJson = tableJson['columns'] as JsonObject;
    const names = columnsInOrder(table)
      .map(({ name }) => name)
      .filter((name) => name in columnsJson);
    const columns = Object.fromEntries(names.map((name) => [name, columnsJson[name] as Json]));
    return [table.name, { ...tableJson, columns }];
  });
  return { ...json, tables: Object.fromEntries(tables) };
}

/** A row's UUID and the rest of it, in the order that it had with it. */
function backupRow(table: string, row: Json): [string, JsonObject] {
  if (!isObject(row)) return fatal(`${table} table reply row is not an object: ${hashedText(row)}`);
  const uuidJson = memberOf(row, '_uuid');
  if (uuidJson === undefined) {
    return fatal(`${table} table reply row lacks _uuid member: ${hashedText(row)}`);
  }
  const uuid = parseAtom(uuidJson, plainBaseType('uuid'), null);
  if (isError(uuid)) return fatal(uuid);
  const names = hashOrder(Object.keys(row)).filter((name) => name !== '_uuid');
  return [uuid as string, Object.fromEntries(names.map((name) => [name, row[name] as Json]))];
}

export const restore: Command = async (context, given) => {
  if (isatty(STDIN)) {
    fatal('not reading backup from a terminal; please redirect stdin from a file');
  }
  const { readBackup, restoreOperations } = await import('./restore.ts');
  const database = readBackup();
  checkSchemas(context, database.schema, await fetchSchema(context, given));
  const params = [database.schema.name, ...restoreOperations(database)];
  const results = await ask(context, connectionOf(given), 'transact', params);
  checkTransactionResults(results);
};

function checkSchemas(context: ClientContext, own: Schema, online: Schema): void {
  if (schemasEqual(own, online)) return;
  const difference =
    own.version === online.version
      ? `backup schema and database schema are both version ${own.version} but still differ`
      : `backup schema has version "${own.version}" but database schema has version "${online.version}"`;
  if (!context.force) {
    fatal(
      `${difference} (use --force to override differences, or "ovsdb-client convert" to change the schema)`,
    );
  }
  context.inform('ovsdb_client', difference);
}

/** Ends the program when one of a transaction's operations failed. */
export function checkTransactionResults(results: Json): void {
  if (!isArray(results)) fatal('result is not array');
  for (const result of results as JsonArray) {
    if (!isObject(result)) fatal('result array element is not object');
    if (memberOf(result as JsonObject, 'error') !== undefined) {
      fatal(`server returned error reply: ${sortedText(result)}`);
    }
  }
}
