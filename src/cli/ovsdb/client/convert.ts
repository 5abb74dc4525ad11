/** `convert` and `needs-conversion`: bringing a server's database to the schema of a file. */
import { readFileSync } from 'node:fs';
import { glibcErrorText } from '../../../io/append-file/error-text.ts';
import { isError } from '../../../ovsdb/data/error.ts';
import { UUID_ZERO } from '../../../ovsdb/data/uuid.ts';
import { parseJson } from '../../../ovsdb/json/parse.ts';
import { decodeUtf8 } from '../../../ovsdb/json/utf8.ts';
import { memberOf } from '../../../ovsdb/json/value.ts';
import {
  parseSchema,
  persistEphemeral,
  type Schema,
  schemasEqual,
  schemaToJson,
} from '../../../ovsdb/schema/schema.ts';
import { databaseQuery, databaseRow, openDatabase } from './connection/open-database.ts';
import type { Rpc } from './connection/rpc.ts';
import { ask, type ClientContext, type Command } from './context.ts';
import { fatal } from './fatal.ts';
import { fetchSchema } from './schema-commands.ts';
import { setDbChangeAware } from './transact-commands.ts';

export const convert: Command = async (context, { args }) => {
  const { rpc, schema } = await openWithSchema(context, args);
  await setDbChangeAware(context, rpc);
  await ask(context, rpc, 'convert', [schema.name, schemaToJson(schema)]);
  rpc.close();
};

export const needsConversion: Command = async (context, { args }) => {
  const { rpc, schema } = await openWithSchema(context, args);
  const online = await fetchSchema(context, { args, rpc, database: schema.name });
  context.output.print(schemasEqual(schema, online) ? 'no\n' : 'yes\n');
  rpc.close();
};

async function openWithSchema(
  context: ClientContext,
  args: readonly string[],
): Promise<{ rpc: Rpc; schema: Schema }> {
  const path = args[args.length - 1] as string;
  const schema = readSchemaFile(path);
  const { rpc } = await openDatabase(context, 'database', args, 1, schema.name);
  if (!(await isClustered(context, rpc, schema.name))) return { rpc, schema };
  return { rpc, schema: withoutEphemeral(context, schema, path) };
}

/** Of a file that is nothing but JSON; anything else ends the program. */
export function readSchemaFile(path: string): Schema {
  const unreadable = (reason: string): never =>
    fatal(`failed to read schema: "${path}" could not be read as JSON (${reason})`);
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const text = glibcErrorText(error);
    const syscall = (error as NodeJS.ErrnoException).syscall;
    return unreadable(
      syscall === 'open'
        ? `error opening "${path}": ${text}`
        : `error reading JSON stream: ${text}`,
    );
  }
  const json = parseJson(decodeUtf8(bytes));
  if (!json.ok) return unreadable(json.error);
  const schema = parseSchema(json.value);
  if (!isError(schema)) return schema;
  const syntax = schema.syntax === undefined ? '' : `syntax "${schema.syntax}": `;
  const reason = `failed to parse "${path}" as ovsdb schema`;
  return fatal(`${syntax}${schema.tag}: ${reason}: ${schema.details}`);
}

async function isClustered(context: ClientContext, rpc: Rpc, database: string): Promise<boolean> {
  const result = await ask(context, rpc, 'transact', databaseQuery(database));
  const row = databaseRow(context, rpc, result, database, UUID_ZERO);
  return row !== null && memberOf(row, 'model') === 'clustered';
}

function withoutEphemeral(context: ClientContext, schema: Schema, path: string): Schema {
  const { schema: persistent, changed } = persistEphemeral(schema);
  const example = changed[changed.length - 1];
  if (example !== undefined) {
    context.warn(
      'ovsdb',
      `${path}: changed ${changed.length} columns in '${schema.name}' database from ephemeral to ` +
        `persistent, including '${example.column}' column in '${example.table}' table, because ` +
        'clusters do not support ephemeral columns',
    );
  }
  return persistent;
}
