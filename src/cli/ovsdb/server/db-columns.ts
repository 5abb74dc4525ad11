/**
 * `db:DATABASE,TABLE,COLUMN`: a target or a file name that is looked up in a database, and again
 * whenever that changes.
 */
import type { Column, Database, Row, Table } from '../../../ovsdb/index.ts';
import { isInteger } from '../../../ovsdb/index.ts';
import type { RemoteOptions } from './backend.ts';

/** By name; `null`: there is such a database, but its content is not known yet. */
export type Databases = ReadonlyMap<string, Database | null>;

export interface ColumnPlace {
  readonly databaseName: string;
  readonly database: Database;
  readonly table: Table;
  readonly column: Column;
}

export const MAX_BACKOFF_MS = 8_000;
/** The class of service of control traffic. */
export const DSCP_DEFAULT = 48;

export function isDatabaseName(target: string): boolean {
  return target.startsWith('db:');
}

export function defaultOptions(): RemoteOptions {
  return {
    maxBackoffMs: MAX_BACKOFF_MS,
    inactivityProbeMs: null,
    readOnly: false,
    role: '',
    dscp: DSCP_DEFAULT,
  };
}

/** The column, what is wrong in words, or `null`: nothing is wrong, but nothing is known yet. */
export function findColumn(databases: Databases, name: string): ColumnPlace | string | null {
  const tokens = name
    .slice('db:'.length)
    .split(',')
    .filter((token) => token !== '');
  const [databaseName, tableName, columnName] = tokens;
  if (databaseName === undefined || tableName === undefined || columnName === undefined) {
    return `"${name}": invalid syntax`;
  }
  const database = databases.get(databaseName);
  if (database === undefined) return `"${name}": no database named ${databaseName}`;
  if (database === null) return null;
  const table = database.tables.get(tableName);
  if (table === undefined) return `"${name}": no table named ${tableName}`;
  const column = table.schema.byName.get(columnName);
  if (column === undefined) {
    return `"${name}": table "${tableName}" has no column "${columnName}"`;
  }
  return { databaseName, database, table, column };
}

/**
 * The first text in the column that is not empty, `null` when there is none. A name that is no
 * `db:` stands for itself.
 */
export function findText(
  databases: Databases,
  name: string | null,
  problems: string[],
): string | null {
  if (name === null || !isDatabaseName(name)) return name;
  const place = findColumn(databases, name);
  if (place === null) return null;
  if (typeof place === 'string') {
    problems.push(place);
    return null;
  }
  const { table, column } = place;
  if (column.type.key.type !== 'string' || column.type.value !== null) {
    const where = `table "${table.schema.name}" column "${column.name}"`;
    problems.push(`"${name}": ${where} is not string or set of strings`);
    return null;
  }
  for (const row of table.rows()) {
    for (const atom of row.datum(column.index)) if (atom !== '') return String(atom);
  }
  return null;
}

/** What the remotes are that the column names, with their options. */
export function findRemotes(
  databases: Databases,
  name: string,
  problems: string[],
): Map<string, RemoteOptions> {
  const found = new Map<string, RemoteOptions>();
  const place = findColumn(databases, name);
  if (typeof place === 'string') problems.push(place);
  if (place === null || typeof place === 'string') return found;
  for (const row of place.table.rows()) {
    if (place.column.type.value !== null) break;
    if (place.column.type.key.type === 'string') {
      for (const atom of row.datum(place.column.index)) {
        if (!found.has(String(atom))) found.set(String(atom), defaultOptions());
      }
    }
  }
  for (const { table, row } of referredRows(place)) {
    const target = textIn(table, row, 'target');
    if (target !== null) found.set(target, optionsIn(table, row));
  }
  return found;
}

/** The rows that a column of references leads to, each once. */
export function referredRows({ database, table, column }: ColumnPlace): {
  readonly table: Table;
  readonly row: Row;
}[] {
  const { key, value } = column.type;
  if (key.type !== 'uuid' || key.reference === null || value !== null) return [];
  const target = database.table(key.reference.table);
  const rows = new Set<Row>();
  for (const row of table.rows()) {
    for (const atom of row.datum(column.index)) {
      const referred = target.row(atom as string);
      if (referred !== null) rows.add(referred);
    }
  }
  return [...rows].map((row) => ({ table: target, row }));
}

/** As the row of a Manager or Connection has them, as far as its table has such columns. */
function optionsIn(table: Table, row: Row): RemoteOptions {
  const dscp = Number.parseInt(mapValueIn(table, row, 'other_config', 'dscp') ?? '', 10);
  return {
    maxBackoffMs: integerIn(table, row, 'max_backoff') ?? MAX_BACKOFF_MS,
    inactivityProbeMs: integerIn(table, row, 'inactivity_probe'),
    readOnly: scalarIn(table, row, 'read_only', 'boolean') === true,
    role: textIn(table, row, 'role') ?? '',
    dscp: dscp >= 0 && dscp <= 63 ? dscp : DSCP_DEFAULT,
  };
}

/** The only value of a column with at most one; `null`: it has none, or there is no such column. */
function scalarIn(table: Table, row: Row, name: string, type: string): unknown {
  const column = table.schema.byName.get(name);
  if (column === undefined || column.type.key.type !== type || column.type.value !== null) {
    return null;
  }
  const datum = row.datum(column.index);
  return column.type.max === 1 && datum.length === 1 ? datum[0] : null;
}

export function textIn(table: Table, row: Row, name: string): string | null {
  const atom = scalarIn(table, row, name, 'string');
  return typeof atom === 'string' ? atom : null;
}

function integerIn(table: Table, row: Row, name: string): number | null {
  const atom = scalarIn(table, row, name, 'integer');
  return typeof atom === 'number' && isInteger(atom) ? atom : null;
}

function mapValueIn(table: Table, row: Row, name: string, key: string): string | null {
  const column = table.schema.byName.get(name);
  if (column === undefined || column.type.value?.type !== 'string') return null;
  const datum = row.datum(column.index);
  for (let i = 0; i + 1 < datum.length; i += 2) if (datum[i] === key) return String(datum[i + 1]);
  return null;
}
