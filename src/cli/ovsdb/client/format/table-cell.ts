/** What stands in a cell of a table: a column's value as people write it, bare, or as JSON. */
import type { Atom, AtomicType } from '../../../../ovsdb/data/atom.ts';
import { atomToText } from '../../../../ovsdb/data/atom-text.ts';
import type { ColumnType } from '../../../../ovsdb/data/column-type.ts';
import type { Datum } from '../../../../ovsdb/data/datum.ts';
import { parseDatum } from '../../../../ovsdb/data/datum-json.ts';
import { datumToText } from '../../../../ovsdb/data/datum-text.ts';
import { isError } from '../../../../ovsdb/data/error.ts';
import { sortedText } from './json-text.ts';
import type { Cell } from './table.ts';

/** `bare`: without most punctuation. */
export type CellFormat = 'string' | 'bare' | 'json';

export function cellText(cell: Cell, format: CellFormat): string {
  if (cell.text !== undefined) return cell.text;
  if (cell.json === undefined) return '';
  if (format === 'json' || cell.type === undefined) return sortedText(cell.json);
  // Differences may hold what the column may not: then JSON it is.
  const datum = parseDatum(cell.json, cell.type, null);
  if (isError(datum)) return sortedText(cell.json);
  return format === 'string' ? datumToText(datum, cell.type) : bareText(datum, cell.type);
}

function bareText(datum: Datum, { key, value }: ColumnType): string {
  const parts: string[] = [];
  for (let i = 0; i < datum.length; i += value === null ? 1 : 2) {
    const text = bareAtom(datum[i] as Atom, key.type);
    parts.push(value === null ? text : `${text}=${bareAtom(datum[i + 1] as Atom, value.type)}`);
  }
  return parts.join(' ');
}

function bareAtom(atom: Atom, type: AtomicType): string {
  return type === 'string' ? (atom as string) : atomToText(atom, type);
}
