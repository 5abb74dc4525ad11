/**
 * Database schemas (RFC 7047 §3.2, <database-schema>): read, checked as a whole, and written.
 */

import { type BaseType, isStrong } from '../data/base-type.ts';
import { isError, type OvsdbError, syntaxError } from '../data/error.ts';
import { MemberParser } from '../data/member-parser.ts';
import type { Json } from '../json/value.ts';
import { jsonEqual } from '../json/value.ts';
import type { Column } from './column.ts';
import {
  checkName,
  parseTableSchema,
  STANDARD_COLUMNS,
  type TableSchema,
  tableSchemaToJson,
} from './table-schema.ts';

export interface Schema {
  readonly name: string;
  /** x.y.z; empty in very old databases. */
  readonly version: string;
  /** Free text, empty when absent. */
  readonly cksum: string;
  readonly tables: ReadonlyMap<string, TableSchema>;
}

export function isVersion(text: string): boolean {
  return /^\d+\.\d+\.\d+$/.test(text);
}

export function parseSchema(json: Json): Schema | OvsdbError {
  const parser = new MemberParser(json, 'database schema');
  const name = parser.id('name');
  const version = parser.optionalString('version');
  const cksum = parser.optionalString('cksum') ?? '';
  const tablesJson = parser.object('tables');
  const problem = parser.finish();
  if (problem !== null || name === undefined || tablesJson === undefined) {
    return problem as OvsdbError;
  }
  if (version !== undefined && !isVersion(version)) {
    return syntaxError(json, `schema version "${version}" not in format x.y.z`);
  }
  const tables = new Map<string, TableSchema>();
  for (const [tableName, tableJson] of Object.entries(tablesJson)) {
    const table = checkName(tableName, json) ?? parseTableSchema(tableJson, tableName);
    if (isError(table)) return table;
    tables.set(tableName, table);
  }
  const rooted = withRoots(tables);
  const checked = withReferences(rooted);
  return isError(checked) ? checked : { name, version: version ?? '', cksum, tables: checked };
}

type Tables = ReadonlyMap<string, TableSchema>;

/** Schemas from before garbage collection name no root: then every table is one. */
function withRoots(tables: Tables): Tables {
  if ([...tables.values()].some((table) => table.isRoot)) return tables;
  return mapTables(tables, (table) => ({ ...table, isRoot: true }));
}

/**
 * Checks that referenced tables exist. A strong reference to a row of a non-root table may be all
 * that keeps the row alive, so its column is kept on disk whatever it says.
 */
function withReferences(tables: Tables): Tables | OvsdbError {
  for (const table of tables.values()) {
    for (const column of table.columns) {
      const problem =
        checkReference(tables, column, column.type.key, 'key') ??
        checkReference(tables, column, column.type.value, 'value');
      if (problem !== null) return problem;
    }
  }
  const keepsAlive = (base: BaseType | null): boolean =>
    isStrong(base) && tables.get(base?.reference?.table ?? '')?.isRoot === false;
  const persist = (column: Column): Column =>
    keepsAlive(column.type.key) || keepsAlive(column.type.value)
      ? { ...column, persistent: true }
      : column;
  return mapTables(tables, (table) => withColumns(table, persist));
}

function checkReference(
  tables: Tables,
  column: Column,
  base: BaseType | null,
  part: string,
): OvsdbError | null {
  const table = base?.reference?.table;
  if (table === undefined || tables.has(table)) return null;
  const details = `column ${column.name} ${part} refers to undefined table ${table}`;
  return syntaxError(undefined, details);
}

function mapTables(tables: Tables, change: (table: TableSchema) => TableSchema): Tables {
  return new Map([...tables].map(([name, table]) => [name, change(table)]));
}

/** The table with its columns changed, the same in its indexes. */
function withColumns(table: TableSchema, change: (column: Column) => Column): TableSchema {
  const columns = table.columns.map(change);
  const byName = new Map(columns.map((column) => [column.name, column]));
  const indexes = table.indexes.map((index) => index.map(({ index: i }) => columns[i]));
  return { ...table, columns, byName, indexes };
}

/** "isRoot" is only written where some tables are roots and some are not. */
export function schemaToJson(schema: Schema): Json {
  const tables = [...schema.tables.values()];
  const allRoot = tables.every((table) => table.isRoot);
  const json: { [member: string]: Json } = { name: schema.name };
  if (schema.version !== '') json['version'] = schema.version;
  if (schema.cksum !== '') json['cksum'] = schema.cksum;
  json['tables'] = Object.fromEntries(
    tables.map((table) => [table.name, tableSchemaToJson(table, allRoot)]),
  );
  return json;
}

export function schemasEqual(a: Schema, b: Schema): boolean {
  return jsonEqual(schemaToJson(a), schemaToJson(b));
}

function isEphemeral(column: Column): boolean {
  return column.index >= STANDARD_COLUMNS && !column.persistent;
}

/** A cluster keeps everything: why it cannot take this schema, or `null`. */
export function checkNoEphemeral(schema: Schema): OvsdbError | null {
  for (const table of schema.tables.values()) {
    const column = table.columns.find(isEphemeral);
    if (column === undefined) continue;
    const details =
      `Table ${table.name} column ${column.name} is ephemeral but ` +
      'clustered databases do not support ephemeral columns.';
    return syntaxError(undefined, details);
  }
  return null;
}

/** The schema with every column persistent, and the columns that had to change. */
export function persistEphemeral(schema: Schema): {
  schema: Schema;
  changed: { table: string; column: string }[];
} {
  const changed = [...schema.tables.values()].flatMap((table) =>
    table.columns.filter(isEphemeral).map(({ name }) => ({ table: table.name, column: name })),
  );
  const persist = (column: Column): Column =>
    isEphemeral(column) ? { ...column, persistent: true } : column;
  const tables = mapTables(schema.tables, (table) => withColumns(table, persist));
  return { schema: { ...schema, tables }, changed };
}
