/** `dump`: every row of tables, columns and rows sorted, so that outputs can be compared. */
import { type BaseType, plainBaseType, UNLIMITED } from '../../../ovsdb/data/base-type.ts';
import type { ColumnType } from '../../../ovsdb/data/column-type.ts';
import { compareDatums, type Datum } from '../../../ovsdb/data/datum.ts';
import { datumToJson, parseDatum } from '../../../ovsdb/data/datum-json.ts';
import { isError } from '../../../ovsdb/data/error.ts';
import { compareText } from '../../../ovsdb/json/serialize.ts';
import {
  isArray,
  isObject,
  type Json,
  type JsonArray,
  memberOf,
} from '../../../ovsdb/json/value.ts';
import type { Column } from '../../../ovsdb/schema/column.ts';
import type { Schema } from '../../../ovsdb/schema/schema.ts';
import type { TableSchema } from '../../../ovsdb/schema/table-schema.ts';
import { ask, type ClientContext, type Command, connectionOf } from './context.ts';
import { fatal } from './fatal.ts';
import { hashedText } from './format/json-text.ts';
import { columnsInOrder, fetchSchema } from './schema-commands.ts';

interface Wanted {
  readonly table: TableSchema;
  readonly columns: readonly Column[];
}

export const dump: Command = async (context, given) => {
  const schema = await fetchSchema(context, given);
  const wanted = wantedTables(schema, given.args);
  const operations = wanted.map(({ table, columns }): Json => {
    return { op: 'select', table: table.name, where: [], columns: columns.map(({ name }) => name) };
  });
  const params = [given.database, ...operations];
  const results = await ask(context, connectionOf(given), 'transact', params);
  if (!isArray(results) || results.length !== wanted.length) {
    fatal(`reply is not array of ${wanted.length} elements: ${hashedText(results)}`);
  }
  for (const [i, one] of wanted.entries()) {
    await dumpTable(context, one, rowsOf(one.table.name, (results as JsonArray)[i] as Json));
  }
};

function wantedTables(schema: Schema, args: readonly string[]): Wanted[] {
  const [tableName, ...columnNames] = args;
  if (tableName === undefined) {
    const names = [...schema.tables.keys()].sort(compareText);
    return names.map((name) => allColumns(schema.tables.get(name) as TableSchema));
  }
  const table = schema.tables.get(tableName);
  if (table === undefined) return fatal(`No table "${tableName}" found.`);
  if (columnNames.length === 0) return [allColumns(table)];
  const columns = columnNames.map(
    (name) => table.byName.get(name) ?? fatal(`Table "${tableName}" has no column ${name}.`),
  );
  return [{ table, columns: columns.filter(({ name }) => name !== '_version') }];
}

function allColumns(table: TableSchema): Wanted {
  const columns = columnsInOrder(table).filter(({ name }) => name !== '_version');
  return { table, columns };
}

/** The rows in the result of a select. */
export function rowsOf(table: string, result: Json): JsonArray {
  const rows = isObject(result) ? memberOf(result, 'rows') : undefined;
  if (rows !== undefined && isArray(rows)) return rows;
  const text = hashedText(result);
  return fatal(`${table} table reply is not an object with a "rows" member array: ${text}`);
}

async function dumpTable(
  context: ClientContext,
  { table, columns: any }: Wanted,
  rows: JsonArray,
): Promise<void> {
  const columns = [...any].sort((a, b) => compareText(a.name, b.name));
  const data = rows.map((row, y) => columns.map((column) => datumOf(table.name, column, row, y)));
  data.sort((a, b) => compareRows(a, b, columns));
  (await context.tables()).print({
    caption: `${table.name} table`,
    headings: columns.map(({ name }) => name),
    rows: data.map((row) =>
      row.map((datum, x) => {
        const { type } = columns[x] as Column;
        return { json: datumToJson(datum, type), type };
      }),
    ),
  });
}

function datumOf(table: string, column: Column, row: Json, y: number): Datum {
  if (!isObject(row)) {
    return fatal(`row ${y} in table ${table} response is not a JSON object: ${hashedText(row)}`);
  }
  const json = memberOf(row, column.name);
  if (json === undefined) {
    return fatal(`row ${y} in table ${table} response lacks ${column.name} column`);
  }
  const datum = parseDatum(json, withoutConstraints(column.type), null);
  return isError(datum) ? fatal(datum) : datum;
}

function withoutConstraints({ key, value }: ColumnType): ColumnType {
  const plain = (base: BaseType): BaseType => plainBaseType(base.type);
  const values = value === null ? null : plain(value);
  return { key: plain(key), value: values, min: 0, max: UNLIMITED };
}

/** UUIDs, which chance draws, are looked at last, so that the order says something. */
function compareRows(a: readonly Datum[], b: readonly Datum[], columns: readonly Column[]): number {
  for (const last of [false, true]) {
    for (const [x, { type }] of columns.entries()) {
      if ((type.key.type === 'uuid') !== last) continue;
      const order = compareDatums(a[x] as Datum, b[x] as Datum, type);
      if (order !== 0) return order;
    }
  }
  return 0;
}
