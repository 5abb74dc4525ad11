/** Rows as JavaScript values, made from JSON and differences, and turned into JSON again. */
import {
  type Atom,
  applyDiff,
  type Column,
  type ColumnType,
  type Datum,
  datumToJson,
  isError,
  isObject,
  type Json,
  type JsonObject,
  memberOf,
  type OvsdbError,
  parseDatum,
  parseTransientDatum,
  type TableSchema,
  type Uuid,
} from '../../ovsdb/index.ts';
import { OvsdbClientError, OvsdbErrorCode } from './errors.ts';
import type { AtomValue, ColumnValue } from './schema-types.ts';

/** Immutable; `_uuid` and the columns that are watched. */
export type AnyRow = { readonly _uuid: Uuid } & { readonly [column: string]: ColumnValue };

type Draft = { [column: string]: ColumnValue };

export function valueFrom(datum: Datum, type: ColumnType): ColumnValue {
  if (type.value !== null) {
    const map = new Map<AtomValue, AtomValue>();
    for (let i = 0; i < datum.length; i += 2) map.set(datum[i] as Atom, datum[i + 1] as Atom);
    return map;
  }
  if (type.max > 1) return datum;
  return datum.length === 0 ? null : (datum[0] as Atom);
}

/** The inverse, of values made by {@link valueFrom}: they are sorted. */
export function datumOf(value: ColumnValue | undefined): Datum {
  if (value === null || value === undefined) return [];
  if (value instanceof Map) return [...value].flat();
  return Array.isArray(value) ? value : [value as Atom];
}

/** A row out of all of its columns; those that are absent have their default values. */
export function readRow(uuid: Uuid, json: Json, columns: readonly Column[]): AnyRow {
  const object = objectOf(json);
  const row: Draft = { _uuid: uuid };
  for (const { name, type, initial } of columns) {
    const value = memberOf(object, name);
    row[name] = valueFrom(
      value === undefined ? initial : checked(parseDatum(value, type, null)),
      type,
    );
  }
  return Object.freeze(row) as AnyRow;
}

/** The row after differences in some columns. */
export function changeRow(before: AnyRow, json: Json, columns: readonly Column[]): AnyRow {
  const object = objectOf(json);
  const row: Draft = { ...before };
  for (const { name, type } of columns) {
    const value = memberOf(object, name);
    if (value === undefined) continue;
    const diff = checked(parseTransientDatum(value, type));
    row[name] = valueFrom(applyDiff(datumOf(before[name]), diff, type), type);
  }
  return Object.freeze(row) as AnyRow;
}

export function rowsEqual(a: AnyRow, b: AnyRow, columns: readonly Column[]): boolean {
  return columns.every(({ name }) => {
    const one = datumOf(a[name]);
    const other = datumOf(b[name]);
    return one.length === other.length && one.every((atom, i) => atom === other[i]);
  });
}

/** A column value of anybody's making as JSON; what the column cannot hold is refused. */
export function valueToJson(value: ColumnValue, { name, type }: Column): Json {
  const problem = (details: string): never => {
    throw new OvsdbClientError(OvsdbErrorCode.schema, `column ${name}: ${details}`);
  };
  const isMap = value instanceof Map;
  if (isMap !== (type.value !== null)) problem(isMap ? 'is no map' : 'a Map is wanted');
  const atoms = [...(isMap ? [...value].flat() : datumOf(value))];
  const json = datumToJson(atoms, type);
  const datum = parseDatum(json, type, null);
  if (isError(datum)) return problem(datum.toString());
  return datumToJson(datum, type);
}

/** Columns' values as the "row" of an insert or an update. */
export function valuesToJson(values: object, schema: TableSchema): JsonObject {
  const row: { [column: string]: Json } = {};
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) continue;
    const column = schema.byName.get(name);
    if (column === undefined) {
      const message = `table ${schema.name} has no column ${name}`;
      throw new OvsdbClientError(OvsdbErrorCode.schema, message);
    }
    row[name] = valueToJson(value as ColumnValue, column);
  }
  return row;
}

function objectOf(json: Json): JsonObject {
  if (isObject(json)) return json;
  throw new OvsdbClientError(OvsdbErrorCode.protocol, 'a row of an update is not an object');
}

function checked(datum: Datum | OvsdbError): Datum {
  if (!isError(datum)) return datum;
  throw new OvsdbClientError(OvsdbErrorCode.protocol, `an update cannot be read: ${datum}`);
}
