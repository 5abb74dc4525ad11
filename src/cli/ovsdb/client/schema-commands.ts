/** Commands about what databases there are and what they are made of. */
import { columnTypeToJson } from '../../../ovsdb/data/column-type.ts';
import { isError } from '../../../ovsdb/data/error.ts';
import type { Column } from '../../../ovsdb/schema/column.ts';
import { parseSchema, type Schema, schemaToJson } from '../../../ovsdb/schema/schema.ts';
import { STANDARD_COLUMNS, type TableSchema } from '../../../ovsdb/schema/table-schema.ts';
import {
  ask,
  type ClientContext,
  type Command,
  connectionOf,
  type Given,
  printJson,
} from './context.ts';
import { fatal } from './fatal.ts';
import { hashOrder } from './format/hash-order.ts';
import type { Cell } from './format/table.ts';

/** The schema of the command's database. */
export async function fetchSchema(context: ClientContext, given: Given): Promise<Schema> {
  const json = await ask(context, connectionOf(given), 'get_schema', [given.database]);
  const schema = parseSchema(json);
  return isError(schema) ? fatal(schema) : schema;
}

/** Tables in the order in which the original goes through those of a schema that it received. */
export function tablesInOrder(schema: Schema): TableSchema[] {
  const names = hashOrder(hashOrder([...schema.tables.keys()]));
  return names.map((name) => schema.tables.get(name) as TableSchema);
}

/** The same of columns; _uuid and _version were there before the declared ones. */
export function columnsInOrder(table: TableSchema): Column[] {
  const names = table.columns.map(({ name }) => name);
  const own = hashOrder(names.slice(STANDARD_COLUMNS));
  const order = hashOrder([...names.slice(0, STANDARD_COLUMNS), ...own]);
  return order.map((name) => table.byName.get(name) as Column);
}

export const getSchema: Command = async (context, given) => {
  printJson(context, schemaToJson(await fetchSchema(context, given)));
};

export const getSchemaVersion: Command = async (context, given) => {
  context.output.print(`${(await fetchSchema(context, given)).version}\n`);
};

export const getSchemaCksum: Command = async (context, given) => {
  context.output.print(`${(await fetchSchema(context, given)).cksum}\n`);
};

export const listTables: Command = async (context, given) => {
  const schema = await fetchSchema(context, given);
  const rows = tablesInOrder(schema).map(({ name }) => [{ text: name }]);
  (await context.tables()).print({ headings: ['Table'], rows });
};

export const listColumns: Command = async (context, given) => {
  const schema = await fetchSchema(context, given);
  const [only] = given.args;
  const tables = tablesInOrder(schema).filter(({ name }) => only === undefined || name === only);
  const rows = tables.flatMap((table) =>
    columnsInOrder(table).map((column): Cell[] => [
      ...(only === undefined ? [{ text: table.name }] : []),
      { text: column.name },
      { json: columnTypeToJson(column.type) },
    ]),
  );
  const headings = [...(only === undefined ? ['Table'] : []), 'Column', 'Type'];
  (await context.tables()).print({ headings, rows });
};
