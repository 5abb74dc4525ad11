/** `monitor`, `monitor-cond` and `monitor-cond-since`: tables as they are, and as they change. */
import { isError } from '../../../ovsdb/data/error.ts';
import { parseUuid, UUID_ZERO, type Uuid } from '../../../ovsdb/data/uuid.ts';
import { compareText } from '../../../ovsdb/json/serialize.ts';
import { isArray, type Json, type JsonArray, jsonEqual } from '../../../ovsdb/json/value.ts';
import type { Column } from '../../../ovsdb/schema/column.ts';
import type { Schema } from '../../../ovsdb/schema/schema.ts';
import { STANDARD_COLUMNS, type TableSchema } from '../../../ovsdb/schema/table-schema.ts';
import type { Message } from '../../../ovsdb/server/message.ts';
import { parseCondition } from '../../../ovsdb/transact/condition.ts';
import { ConnectionEnd, type Rpc } from './connection/rpc.ts';
import {
  type ClientContext,
  type Command,
  connectionOf,
  fatalReason,
  type Given,
} from './context.ts';
import { fatal } from './fatal.ts';
import { type Monitored, MonitorPrinter, type MonitorVersion } from './monitor-print.ts';
import { fetchSchema } from './schema-commands.ts';
import { parseJsonArgument, setDbChangeAware } from './transact-commands.ts';

export const monitor: Command = (context, given) =>
  watch(context, given, { version: 1, args: given.args, condition: null, lastId: UUID_ZERO });

export const monitorCond: Command = (context, given) =>
  watchCondition(context, given, 2, given.args, UUID_ZERO);

export const monitorCondSince: Command = (context, given) => {
  const lastId = parseUuid(given.args[0] ?? '');
  return watchCondition(
    context,
    given,
    3,
    lastId === null ? given.args : given.args.slice(1),
    lastId ?? UUID_ZERO,
  );
};

async function watchCondition(
  context: ClientContext,
  given: Given,
  version: 2 | 3,
  args: readonly string[],
  lastId: Uuid,
): Promise<void> {
  const [text, name] = args as readonly [string, string];
  const schema = await fetchSchema(context, given);
  const table = schema.tables.get(name);
  if (table === undefined) fatal(`${given.database} does not have a table named "${name}"`);
  const condition = parseJsonArgument(text);
  const clauses = isArray(condition) ? condition : fatal(notAnArray(condition));
  const parsed = parseCondition(clauses, table as TableSchema, null);
  if (isError(parsed)) fatal(parsed);
  await watch(context, given, { version, args: args.slice(1), condition, lastId });
}

function notAnArray(condition: Json): string {
  return `syntax error: ${JSON.stringify(condition)} is not an array`;
}

interface Watch {
  readonly version: MonitorVersion;
  /** The table, then a list of columns for each request. */
  readonly args: readonly string[];
  readonly condition: Json;
  readonly lastId: Uuid;
}

const methods = { 1: 'monitor', 2: 'monitor_cond', 3: 'monitor_cond_since' } as const;

async function watch(context: ClientContext, given: Given, wanted: Watch): Promise<void> {
  const rpc = connectionOf(given);
  const control = await context.daemon.start();
  const schema = await fetchSchema(context, given);
  const { requests, monitored } = requestsOf(given, schema, wanted);
  await setDbChangeAware(context, rpc);
  const since = wanted.version === 3 ? [wanted.lastId] : [];
  const id = rpc.request(methods[wanted.version], [given.database, null, requests, ...since]);
  const printer = new MonitorPrinter(context, await context.tables(), monitored, wanted.version);
  control?.serve(rpc);
  for (;;) {
    const message = await nextMessage(rpc);
    await control?.unblocked();
    if (take(message, id, printer)) await context.daemon.ready([1, 2]);
    if (message.kind === 'notification' && message.method === 'monitor_canceled') {
      fatal(`${rpc.name}: ${given.database} database was removed`);
    }
  }
}

export async function nextMessage(rpc: Rpc): Promise<Message> {
  try {
    return await rpc.receive();
  } catch (error) {
    if (!(error instanceof ConnectionEnd)) throw error;
    return fatalReason(`${rpc.name}: receive failed`, error);
  }
}

/** Prints what the message says; whether it is the reply that everything begins with. */
function take(message: Message, id: Json, printer: MonitorPrinter): boolean {
  if (message.kind === 'reply' && jsonEqual(message.id, id)) {
    printer.initial(message.content);
    return true;
  }
  if (message.kind === 'notification') printer.notification(message.method, message.params);
  return false;
}

function requestsOf(
  given: Given,
  schema: Schema,
  { args, condition }: Watch,
): { requests: { [table: string]: JsonArray }; monitored: Monitored[] } {
  const [name, ...lists] = args as readonly [string, ...string[]];
  const where = (json: { [member: string]: Json }, i: number): Json =>
    i === 0 && condition !== null ? { ...json, where: condition } : json;
  const requestTable = (table: TableSchema): Monitored & { requests: JsonArray } => {
    const columns: Column[] = [];
    const requests = (lists.length === 0 ? [''] : lists).map((list, i) =>
      where(requestOf(list, given, table, columns), i),
    );
    return { table, columns, requests };
  };
  const server = connectionOf(given).name;
  let tables: TableSchema[];
  if (name === 'ALL') {
    if (condition !== null) fatal('ALL tables are not allowed with condition');
    const names = [...schema.tables.keys()].sort(compareText);
    tables = names.map((one) => schema.tables.get(one) as TableSchema);
  } else {
    const table = schema.tables.get(name);
    if (table === undefined) {
      return fatal(`${server}: ${given.database} does not have a table named "${name}"`);
    }
    tables = [table];
  }
  const monitored = tables.map(requestTable);
  const requests = Object.fromEntries(monitored.map((one) => [one.table.name, one.requests]));
  return { requests, monitored };
}

const selectors = ['initial', 'insert', 'delete', 'modify'] as const;

/** One request out of "column,column,!selector"; its columns are added to `columns`. */
function requestOf(
  list: string,
  given: Given,
  table: TableSchema,
  columns: Column[],
): { [member: string]: Json } {
  const server = connectionOf(given).name;
  const names: string[] = [];
  const add = (column: Column): void => {
    if (columns.includes(column)) {
      fatal(`${server}: column "${column.name}" mentioned multiple times`);
    }
    columns.push(column);
    names.push(column.name);
  };
  const tokens = list.split(',').filter((token) => token !== '');
  const excluded = selectors.filter((selector) => tokens.includes(`!${selector}`));
  for (const token of tokens) {
    if (selectors.some((selector) => token === `!${selector}`)) continue;
    const column = table.byName.get(token);
    if (column !== undefined) add(column);
    else {
      fatal(
        `${server}: table "${table.name}" in ${given.database} does not have a column named "${token}"`,
      );
    }
  }
  if (names.length === 0) for (const column of defaultColumns(table)) add(column);
  if (excluded.length === 0) return { columns: names };
  const select = Object.fromEntries(selectors.map((one) => [one, !excluded.includes(one)]));
  return { columns: names, select };
}

/** All declared ones, sorted, and the version. */
function defaultColumns(table: TableSchema): Column[] {
  const declared = table.columns.slice(STANDARD_COLUMNS);
  declared.sort((a, b) => compareText(a.name, b.name));
  return [...declared, table.byName.get('_version') as Column];
}
