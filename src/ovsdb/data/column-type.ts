/**
 * Column types (RFC 7047 §3.2, <type>): a key, perhaps a value, and how many. A scalar is a set of
 * exactly one; an optional scalar a set of at most one.
 */
import { isInteger, type Json } from '../json/value.ts';
import type { AtomicType } from './atom.ts';
import {
  type BaseType,
  baseTypeToJson,
  isConstrained,
  isStrong,
  isWeak,
  parseBaseType,
  plainBaseType,
  UNLIMITED,
} from './base-type.ts';
import { atomsToJson, parseAtomSet } from './datum-json.ts';
import { isError, type OvsdbError, syntaxError } from './error.ts';
import { MemberParser } from './member-parser.ts';

export interface ColumnType {
  readonly key: BaseType;
  /** Present: a map. */
  readonly value: BaseType | null;
  /** 0 or 1. */
  readonly min: number;
  /** At least 1; {@link UNLIMITED}. */
  readonly max: number;
}

export function scalarType(type: AtomicType): ColumnType {
  return { key: plainBaseType(type), value: null, min: 1, max: 1 };
}

export function isMap(type: ColumnType): boolean {
  return type.value !== null;
}

export function isScalar(type: ColumnType): boolean {
  return type.value === null && type.min === 1 && type.max === 1;
}

export function isOptionalScalar(type: ColumnType): boolean {
  return type.value === null && type.min === 0 && type.max === 1;
}

/** A set that is not a scalar. */
export function isSet(type: ColumnType): boolean {
  return type.value === null && !isScalar(type);
}

export function hasStrongReference(type: ColumnType): boolean {
  return isStrong(type.key) || isStrong(type.value);
}

export function hasWeakReference(type: ColumnType): boolean {
  return isWeak(type.key) || isWeak(type.value);
}

export function parseColumnType(json: Json): ColumnType | OvsdbError {
  if (typeof json === 'string') {
    const key = parseBaseType(json, parseAtomSet);
    return isError(key) ? key : { key, value: null, min: 1, max: 1 };
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    return syntaxError(json, 'ovsdb type expected');
  }
  const parser = new MemberParser(json, 'ovsdb type');
  const keyJson = parser.stringOrObject('key', true);
  const valueJson = parser.stringOrObject('value', false);
  const minJson = parser.optionalInteger('min');
  const maxJson = parser.optionalIntegerOrString('max');
  const problem = parser.finish();
  if (problem !== null || keyJson === undefined) return problem as OvsdbError;
  const key = parseBaseType(keyJson, parseAtomSet);
  if (isError(key)) return key;
  const value = valueJson === undefined ? null : parseBaseType(valueJson, parseAtomSet);
  if (isError(value)) return value;
  const min = parseCount(minJson);
  if (isError(min)) return min;
  const max = maxJson === 'unlimited' ? UNLIMITED : parseCount(maxJson);
  if (isError(max)) return max;
  if (min > 1 || max < 1) return syntaxError(json, 'ovsdb type fails constraint checks');
  return { key, value, min, max };
}

function parseCount(json: Json | undefined): number | OvsdbError {
  if (json === undefined) return 1;
  if (isInteger(json) && json >= 0 && json < UNLIMITED) return Number(json);
  return syntaxError(json, 'bad min or max value');
}

export function columnTypeToJson(type: ColumnType): Json {
  const key = baseTypeToJson(type.key, atomsToJson);
  if (isScalar(type) && !isConstrained(type.key)) return key;
  const json: { [member: string]: Json } = { key };
  if (type.value !== null) json['value'] = baseTypeToJson(type.value, atomsToJson);
  if (type.min !== 1) json['min'] = type.min;
  if (type.max === UNLIMITED) json['max'] = 'unlimited';
  else if (type.max !== 1) json['max'] = type.max;
  return json;
}

/** The type in words, for messages: "set of up to 3 integers". */
export function typeInEnglish(type: ColumnType): string {
  if (isScalar(type)) return type.key.type;
  const kind = isMap(type) ? 'map' : 'set';
  const elements = isMap(type)
    ? `(${type.key.type}, ${type.value?.type}) pairs`
    : `${type.key.type}s`;
  return `${kind} ${countInEnglish(type)} ${elements}`;
}

function countInEnglish({ min, max }: ColumnType): string {
  if (max === UNLIMITED) return min === 0 ? 'of' : `of ${min} or more`;
  return min === 0 ? `of up to ${max}` : `of ${min} to ${max}`;
}
