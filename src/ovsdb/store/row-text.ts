/**
 * Rows as JSON text. What leaves a server is mostly rows, so this is where its time goes: the
 * platform's serialiser is several times faster than one in the language, and right for everything
 * but reals (which print 15 digits) and integers beyond 53 bits (which it refuses).
 */
import { serialize } from '../json/serialize.ts';
import type { Json } from '../json/value.ts';
import type { Column } from '../schema/column.ts';
import { type Row, rowToJson } from './row.ts';

/** Values of columns, by name. */
export interface RowObject {
  readonly [column: string]: Json;
}

/** A writer of rows with these columns. */
export function rowWriter(columns: readonly Column[]): (row: Row) => string {
  const write = objectWriter(columns);
  return (row) => write(rowToJson(row, columns));
}

/** A writer of objects with some of these columns. */
export function objectWriter(columns: readonly Column[]): (object: RowObject) => string {
  const reals = columns.some(({ type }) => type.key.type === 'real' || type.value?.type === 'real');
  if (reals) return serialize;
  return (object) => {
    try {
      return JSON.stringify(object);
    } catch {
      // An integer beyond 53 bits.
      return serialize(object);
    }
  };
}
