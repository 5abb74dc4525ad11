/**
 * Rows as JSON text. What leaves a server is mostly rows, so this is where its time goes: the
 * platform's serialiser is several times faster than one in the language, and right for everything
 * but reals (which print 15 digits) and integers beyond 53 bits (which it refuses).
 */
import { serialize } from '../json/serialize.ts';
import type { Column } from '../schema/column.ts';
import { type Row, rowToJson } from './row.ts';

/** A writer of rows with these columns. */
export function rowWriter(columns: readonly Column[]): (row: Row) => string {
  const reals = columns.some(({ type }) => type.key.type === 'real' || type.value?.type === 'real');
  if (reals) return (row) => serialize(rowToJson(row, columns));
  return (row) => {
    const json = rowToJson(row, columns);
    try {
      return JSON.stringify(json);
    } catch {
      // An integer beyond 53 bits.
      return serialize(json);
    }
  };
}
