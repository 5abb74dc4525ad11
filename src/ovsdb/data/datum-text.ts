/**
 * Datums as people write them: `[a, b]`, `{key=value}`, a scalar bare. Used in messages, and by
 * command lines that print columns.
 */
import { atomToText } from './atom-text.ts';
import type { ColumnType } from './column-type.ts';
import { type Datum, strideOf } from './datum.ts';

export function datumToText(datum: Datum, type: ColumnType): string {
  const isMap = type.value !== null;
  const parts: string[] = [];
  for (let i = 0; i < datum.length; i += strideOf(type)) {
    const key = atomToText(datum[i], type.key.type);
    parts.push(type.value === null ? key : `${key}=${atomToText(datum[i + 1], type.value.type)}`);
  }
  const text = parts.join(', ');
  if (type.max === 1 && datum.length > 0) return text;
  return isMap ? `{${text}}` : `[${text}]`;
}

/** Joins as English does: a; a and b; a, b, and c. */
export function englishList(parts: readonly string[]): string {
  if (parts.length <= 2) return parts.join(' and ');
  return `${parts.slice(0, -1).join(', ')}, and ${parts[parts.length - 1]}`;
}
