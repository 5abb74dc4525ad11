/**
 * Rows that clients write (RFC 7047 §5.1, <row>): an object of some columns.
 */
import type { Datum } from '../data/datum.ts';
import { parseDatum } from '../data/datum-json.ts';
import { isError, type OvsdbError, syntaxError, unknownColumn } from '../data/error.ts';
import type { Symbols } from '../data/symbols.ts';
import { isObject, type Json } from '../json/value.ts';
import type { Column } from '../schema/column.ts';
import type { TableSchema } from '../schema/table-schema.ts';

/** The columns that it mentions, with their values. */
export function parseRow(
  json: Json,
  schema: TableSchema,
  symbols: Symbols | null,
): Map<Column, Datum> | OvsdbError {
  if (!isObject(json)) return syntaxError(json, 'row must be JSON object');
  const values = new Map<Column, Datum>();
  for (const [name, value] of Object.entries(json)) {
    const column = schema.byName.get(name);
    if (column === undefined) return unknownColumn(json, name, schema.name);
    const datum = parseDatum(value, column.type, symbols);
    if (isError(datum)) return datum;
    values.set(column, datum);
  }
  return values;
}

/** The same by index, as rows are made. */
export function byIndex(values: ReadonlyMap<Column, Datum>): Map<number, Datum> {
  return new Map([...values].map(([column, datum]) => [column.index, datum]));
}
