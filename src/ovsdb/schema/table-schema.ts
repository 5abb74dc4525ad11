/**
 * Table schemas (RFC 7047 §3.2, <table-schema>). Two columns exist in every table before the
 * declared ones: _uuid and _version.
 */

import { UNLIMITED } from '../data/base-type.ts';
import { scalarType } from '../data/column-type.ts';
import { isError, type OvsdbError, syntaxError } from '../data/error.ts';
import { isId, MemberParser } from '../data/member-parser.ts';
import { isArray, type Json } from '../json/value.ts';
import { type Column, columnToJson, createColumn, parseColumn } from './column.ts';

export const UUID_COLUMN = 0;
export const VERSION_COLUMN = 1;
/** Columns that every table has. */
export const STANDARD_COLUMNS = 2;

export interface TableSchema {
  readonly name: string;
  /** By index. */
  readonly columns: readonly Column[];
  readonly byName: ReadonlyMap<string, Column>;
  /** {@link UNLIMITED}: none. */
  readonly maxRows: number;
  /** Rows live without references to them. */
  readonly isRoot: boolean;
  /** Of the declaration; no other effect. */
  readonly mutable: boolean;
  /** Sets of columns whose values no two rows may share. */
  readonly indexes: readonly (readonly Column[])[];
}

export function createTableSchema(
  fields: Omit<TableSchema, 'byName' | 'indexes'> & { readonly indexes?: TableSchema['indexes'] },
): TableSchema {
  const byName = new Map(fields.columns.map((column) => [column.name, column]));
  return { indexes: [], ...fields, byName };
}

function standardColumns(): Column[] {
  const type = scalarType('uuid');
  return [
    createColumn({ name: '_uuid', index: UUID_COLUMN, type, mutable: false, persistent: true }),
    createColumn({
      name: '_version',
      index: VERSION_COLUMN,
      type,
      mutable: false,
      persistent: false,
    }),
  ];
}

export function parseTableSchema(json: Json, name: string): TableSchema | OvsdbError {
  const parser = new MemberParser(json, `table schema for table ${name}`);
  const columnsJson = parser.object('columns');
  const mutable = parser.optionalBoolean('mutable') ?? true;
  const maxRowsJson = parser.optionalInteger('maxRows') ?? UNLIMITED;
  const isRoot = parser.optionalBoolean('isRoot') ?? false;
  const indexesJson = parser.optionalArray('indexes') ?? [];
  const problem = parser.finish();
  if (problem !== null || columnsJson === undefined) return problem as OvsdbError;
  if (maxRowsJson <= 0) return syntaxError(json, 'maxRows must be at least 1');
  const maxRows = maxRowsJson > UNLIMITED ? UNLIMITED : Number(maxRowsJson);

  const columns = standardColumns();
  if (Object.keys(columnsJson).length === 0) {
    return syntaxError(json, 'table must have at least one column');
  }
  for (const [columnName, columnJson] of Object.entries(columnsJson)) {
    const column =
      checkName(columnName, json) ?? parseColumn(columnJson, columnName, columns.length);
    if (isError(column)) return column;
    columns.push(column);
  }
  const schema = createTableSchema({ name, columns, maxRows, isRoot, mutable });
  const indexes = parseIndexes(indexesJson, schema, json);
  return isError(indexes) ? indexes : { ...schema, indexes };
}

/** Declared tables and columns may not look like built-in ones. */
export function checkName(name: string, subject: Json): OvsdbError | null {
  if (name.startsWith('_')) {
    return syntaxError(subject, 'names beginning with "_" are reserved');
  }
  return isId(name) ? null : syntaxError(subject, 'name must be a valid id');
}

function parseIndexes(
  json: readonly Json[],
  schema: TableSchema,
  subject: Json,
): Column[][] | OvsdbError {
  const indexes: Column[][] = [];
  for (const element of json) {
    const columns = parseColumnSet(element, schema);
    if (isError(columns)) return columns;
    if (columns.length === 0) {
      return syntaxError(subject, 'index must have at least one column');
    }
    const ephemeral = columns.find((column) => !column.persistent);
    if (ephemeral !== undefined) {
      const details = `ephemeral columns (such as ${ephemeral.name}) may not be indexed`;
      return syntaxError(subject, details);
    }
    indexes.push(columns);
  }
  return indexes;
}

/** An array of distinct names of columns; absent: all columns, by index. */
export function parseColumnSet(json: Json | undefined, schema: TableSchema): Column[] | OvsdbError {
  if (json === undefined) return [...schema.columns];
  const expected = syntaxError(json, 'array of distinct column names expected');
  if (!isArray(json)) return expected;
  const columns = new Set<Column>();
  for (const name of json) {
    if (typeof name !== 'string') return expected;
    const column = schema.byName.get(name);
    if (column === undefined) return syntaxError(json, `${name} is not a valid column name`);
    if (columns.has(column)) return expected;
    columns.add(column);
  }
  return [...columns];
}

/** `defaultIsRoot`: what readers assume of a table that does not say. */
export function tableSchemaToJson(schema: TableSchema, defaultIsRoot: boolean): Json {
  const json: { [member: string]: Json } = {};
  if (!schema.mutable) json['mutable'] = false;
  if (schema.isRoot !== defaultIsRoot) json['isRoot'] = schema.isRoot;
  const declared = schema.columns.slice(STANDARD_COLUMNS);
  json['columns'] = Object.fromEntries(
    declared.map((column) => [column.name, columnToJson(column)]),
  );
  if (schema.maxRows !== UNLIMITED) json['maxRows'] = schema.maxRows;
  if (schema.indexes.length > 0) {
    json['indexes'] = schema.indexes.map((index) => index.map((column) => column.name));
  }
  return json;
}
