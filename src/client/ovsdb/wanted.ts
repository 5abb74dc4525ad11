/** Which tables, columns and rows a monitor is asked to watch. */
import { isError, type JsonArray, parseCondition, type Schema } from '../../ovsdb/index.ts';
import { OvsdbClientError, OvsdbErrorCode } from './errors.ts';
import type { WatchedTable } from './replica.ts';
import type { SchemaShape, TableName } from './schema-types.ts';

/** `true`: all columns; names; or names and conditions. */
export type TableRequest<Column extends string = string> =
  | true
  | readonly Column[]
  | {
      readonly columns?: readonly Column[];
      /** Clauses of RFC 7047's <condition>: rows for which any holds. */
      readonly where?: JsonArray;
    };

type ColumnName<S extends SchemaShape, T extends TableName<S>> = keyof S['tables'][T]['columns'] &
  string;

export type MonitorRequests<S extends SchemaShape> = {
  readonly [T in TableName<S>]?: TableRequest<ColumnName<S, T>>;
};

export interface Wanted {
  /** `null`: all. */
  readonly columns: readonly string[] | null;
  /** `null`: all rows. */
  readonly where: JsonArray | null;
}

export function wantedTables(requests: {
  readonly [table: string]: TableRequest | undefined;
}): Map<string, Wanted> {
  const wanted = new Map<string, Wanted>();
  for (const [table, request] of Object.entries(requests)) {
    if (request === undefined) continue;
    if (request === true) wanted.set(table, { columns: null, where: null });
    else if (isList(request)) wanted.set(table, { columns: request, where: null });
    else wanted.set(table, { columns: request.columns ?? null, where: request.where ?? null });
  }
  return wanted;
}

function isList(request: TableRequest): request is readonly string[] {
  return Array.isArray(request);
}

/** What is wanted, in terms of a server's schema; an error when that has no such thing. */
export function watchedTables(
  schema: Schema,
  wanted: ReadonlyMap<string, Wanted>,
): WatchedTable[] | OvsdbClientError {
  const watched: WatchedTable[] = [];
  for (const [name, { columns, where }] of wanted) {
    const table = schema.tables.get(name);
    if (table === undefined) return schemaError(`database ${schema.name} has no table ${name}`);
    const declared = table.columns.filter((column) => !column.name.startsWith('_'));
    const chosen = columns === null ? declared : columns.map((one) => table.byName.get(one));
    const missing = chosen.indexOf(undefined);
    if (missing >= 0) return schemaError(`table ${name} has no column ${columns?.[missing]}`);
    const condition = parseCondition(where ?? [], table, null);
    if (isError(condition)) return schemaError(`the condition of table ${name}: ${condition}`);
    watched.push({ name, columns: chosen as WatchedTable['columns'] });
  }
  return watched;
}

function schemaError(message: string): OvsdbClientError {
  return new OvsdbClientError(OvsdbErrorCode.schema, message);
}
