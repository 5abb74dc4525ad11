/**
 * JSON as OVSDB speaks it (RFC 7047 §3.1): integers are exact over 64 bits, so JavaScript's number
 * is not enough. The rule, everywhere in this room:
 *
 * - a safe integer is a `number`; an integer beyond ±(2^53 − 1) but within 64 bits is a `bigint`;
 *   a bigint never holds a value that a safe number could (so `===` compares integers);
 * - any other `number` is a real: fractions, and integral values beyond 64 bits.
 *
 * What is written already (a cached update, a real that must not be mistaken for an integer) is a
 * {@link RawJson}: it only occurs in values to be serialised, never in parsed ones.
 */

export type Json = null | boolean | number | bigint | string | JsonArray | JsonObject | RawJson;
export type JsonArray = readonly Json[];
export interface JsonObject {
  readonly [member: string]: Json;
}

/** A piece of JSON text to be inserted as it is. */
export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export const INT64_MIN: bigint = -(2n ** 63n);
export const INT64_MAX: bigint = 2n ** 63n - 1n;

/** An integer of at most 64 bits in its one form: number where safe, else bigint. */
export type Integer = number | bigint;

/** The one form of `value`, which must fit into 64 bits; `null` when it does not. */
export function integerOf(value: bigint): Integer | null {
  if (value < INT64_MIN || value > INT64_MAX) return null;
  const narrow = Number(value);
  return Number.isSafeInteger(narrow) ? narrow : value;
}

export function isInteger(json: Json): json is Integer {
  return typeof json === 'bigint' || Number.isSafeInteger(json);
}

export function isNumber(json: Json): json is Integer {
  return typeof json === 'number' || typeof json === 'bigint';
}

export function isArray(json: Json): json is JsonArray {
  return Array.isArray(json);
}

export function isObject(json: Json): json is JsonObject {
  return typeof json === 'object' && json !== null && !isArray(json) && !(json instanceof RawJson);
}

/** A member of an object, its own only; `undefined` when there is none. */
export function memberOf(object: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** How messages name the kind of a value; integers and reals are both "number". */
export function kindOf(json: Json): string {
  if (json === null) return 'null';
  if (typeof json === 'boolean') return String(json);
  if (typeof json === 'string') return 'string';
  if (isNumber(json)) return 'number';
  return isArray(json) ? 'array' : 'object';
}

/** Deep equality; the order of an object's members does not matter. */
export function jsonEqual(a: Json, b: Json): boolean {
  if (a === b) return true;
  if (isArray(a)) {
    if (!isArray(b) || a.length !== b.length) return false;
    return a.every((element, i) => jsonEqual(element, b[i]));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => Object.hasOwn(b, name) && jsonEqual(a[name], b[name]));
}
