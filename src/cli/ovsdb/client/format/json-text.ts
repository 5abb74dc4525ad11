/**
 * JSON text as the programs print it: members sorted by their bytes, or in the order of the
 * original's hash tables; on one line, or "pretty", two columns a level, in the original's way,
 * which leaves closing brackets where they fall.
 */
import { formatReal } from '../../../../ovsdb/json/real.ts';
import { compareText, quote } from '../../../../ovsdb/json/serialize.ts';
import { isArray, type Json, type JsonObject, RawJson } from '../../../../ovsdb/json/value.ts';
import { hashOrder } from './hash-order.ts';

/** How the names of an object's members are put in order. */
export type MemberOrder = (names: string[], object: JsonObject) => readonly string[];

export const sortedMembers: MemberOrder = (names) => names.sort(compareText);

export interface JsonStyle {
  readonly order: MemberOrder;
  readonly pretty: boolean;
}

const COLUMNS_PER_LEVEL = 2;

export function jsonText(json: Json, style: JsonStyle): string {
  return write(json, style, 0);
}

/** On one line, members in the order of the original's hash tables: so in most messages. */
export function hashedText(json: Json): string {
  return write(json, { order: hashOrder, pretty: false }, 0);
}

/** On one line, members sorted. */
export function sortedText(json: Json): string {
  return write(json, { order: sortedMembers, pretty: false }, 0);
}

function write(json: Json, style: JsonStyle, depth: number): string {
  switch (typeof json) {
    case 'string':
      return quote(json);
    case 'number':
      return Number.isSafeInteger(json) ? String(json) : formatReal(json);
    case 'bigint':
    case 'boolean':
      return String(json);
    default:
      if (json === null) return 'null';
      if (json instanceof RawJson) return json.text;
      return isArray(json)
        ? writeArray(json, style, depth + 1)
        : writeObject(json as JsonObject, style, depth + 1);
  }
}

function lineBreak({ pretty }: JsonStyle, depth: number): string {
  return pretty ? `\n${' '.repeat(COLUMNS_PER_LEVEL * depth)}` : '';
}

function writeArray(array: readonly Json[], style: JsonStyle, depth: number): string {
  if (array.length === 0) return '[]';
  const separator = lineBreak(style, depth);
  return `[${separator}${array.map((one) => write(one, style, depth)).join(`,${separator}`)}]`;
}

function writeObject(object: JsonObject, style: JsonStyle, depth: number): string {
  const separator = lineBreak(style, depth);
  const colon = style.pretty ? ': ' : ':';
  const members = style
    .order(Object.keys(object), object)
    .map((name) => `${quote(name)}${colon}${write(object[name] as Json, style, depth)}`);
  return `{${separator}${members.join(`,${separator}`)}}`;
}
