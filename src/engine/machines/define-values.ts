/**
 * Plain JavaScript values as JSON and back, with nothing lost on the way: what JSON does not have
 * (`undefined`, NaN, −0, BigInt, bytes, Map, Set) is written as an object with the key `$`. What
 * cannot come back (functions, symbols, class instances, rings) is refused, never dropped.
 *
 * Keys and members keep the order in which they were added. Sorting them would make equal contents
 * equal bytes whatever their history; but a replica that is restored from such bytes would walk
 * them in another order than one that was there all the time, and answer differently. Replicas have
 * one history, so their order *is* part of the state.
 *
 * Not kept: whether two places hold the same object (each gets its own), gaps in arrays, symbol
 * keys, whether a property is writable.
 */
import { fromHex, toHex } from '../../stdx/index.ts';
import type { Codec } from './define-spec.ts';

/**
 * How deeply arrays, objects, maps and sets may lie within each other; in what comes from outside
 * less, so that it can become part of a state.
 */
export const VALUE_DEPTH_MAX = 256;
export const COMMAND_DEPTH_MAX = 64;

/** A map within a map is three levels deeper in JSON. */
const JSON_DEPTH_FACTOR = 3;
const TAG = '$';
const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The codec of everything that has none of its own. */
export function valueCodec<T>(depthMax: number = VALUE_DEPTH_MAX): Codec<T> {
  return {
    encode: (value) => encodeValue(value, depthMax),
    decode: (bytes) => decodeValue(bytes, depthMax) as T,
  };
}

/** @throws TypeError for a value that could not be read back */
export function encodeValue(value: unknown, depthMax: number = VALUE_DEPTH_MAX): Uint8Array {
  return encoder.encode(JSON.stringify(toJson(value, 'the value', depthMax)));
}

/** @throws TypeError, SyntaxError for anything that {@link encodeValue} does not write */
export function decodeValue(bytes: Uint8Array, depthMax: number = VALUE_DEPTH_MAX): unknown {
  return fromJson(JSON.parse(decoder.decode(bytes)), depthMax * JSON_DEPTH_FACTOR);
}

/** The value itself where JSON has it, else one that stands for it. `depth`: what is left of it. */
function toJson(value: unknown, name: string, depth: number): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0)
        ? value
        : tagged('number', text(value));
    case 'undefined':
      return { [TAG]: 'undefined' };
    case 'bigint':
      return tagged('bigint', String(value));
    case 'object':
      return value === null ? null : objectToJson(value, name, depth - 1);
    default:
      throw new TypeError(`${name} is a ${typeof value}, which cannot be stored`);
  }
}

function objectToJson(value: object, name: string, depth: number): unknown {
  if (depth < 0) throw new TypeError(`${name} lies too deep, or within itself`);
  if (Array.isArray(value)) return arrayToJson(value, depth);
  switch (Object.getPrototypeOf(value)) {
    case Object.prototype:
      return recordToJson(value as { readonly [key: string]: unknown }, depth);
    case null:
      return tagged('bare', entriesToJson(Object.entries(value), depth));
    case Map.prototype:
      return tagged('map', entriesToJson([...(value as Map<unknown, unknown>)], depth));
    case Set.prototype:
      return tagged('set', arrayToJson([...(value as Set<unknown>)], depth));
    case Uint8Array.prototype:
      return tagged('bytes', toHex(value as Uint8Array));
    default:
      throw new TypeError(`${name} is an instance of a class, which cannot be stored`);
  }
}

/** Most arrays and records are JSON already: copied is from the first member on that is not. */
function arrayToJson(values: readonly unknown[], depth: number): readonly unknown[] {
  let copy: unknown[] | null = null;
  for (let i = 0; i < values.length; i++) {
    const json = toJson(values[i], 'a member', depth);
    if (copy === null && json !== values[i]) copy = values.slice(0, i);
    copy?.push(json);
  }
  return copy ?? values;
}

function recordToJson(record: { readonly [key: string]: unknown }, depth: number): unknown {
  const keys = Object.keys(record);
  if (Object.hasOwn(record, TAG)) {
    return tagged('object', entriesToJson(Object.entries(record), depth));
  }
  let copy: [string, unknown][] | null = null;
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    const json = toJson(record[key], key, depth);
    if (copy === null && json !== record[key]) {
      copy = keys.slice(0, i).map((before) => [before, record[before]]);
    }
    copy?.push([key, json]);
  }
  return copy === null ? record : Object.fromEntries(copy);
}

function entriesToJson(entries: readonly (readonly [unknown, unknown])[], depth: number): unknown {
  return entries.map(([key, value]) => [
    toJson(key, 'a key', depth),
    toJson(value, typeof key === 'string' ? key : 'a value', depth),
  ]);
}

function tagged(kind: string, value: unknown): unknown {
  return { [TAG]: kind, v: value };
}

function text(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value);
}

/** In place: what was parsed belongs to nobody else. `depth`: what is left of it. */
function fromJson(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (depth <= 0) throw new TypeError('the value lies too deep');
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) value[i] = fromJson(value[i], depth - 1);
    return value;
  }
  const record = value as { [key: string]: unknown };
  if (Object.hasOwn(record, TAG)) return taggedFromJson(record[TAG], record['v'], depth);
  // Every key is an own property, `__proto__` too, so that assigning reaches no setter.
  for (const key of Object.keys(record)) record[key] = fromJson(record[key], depth - 1);
  return record;
}

function taggedFromJson(kind: unknown, value: unknown, depth: number): unknown {
  switch (kind) {
    case 'undefined':
      return undefined;
    case 'number':
      return numberOf(value);
    case 'bigint':
      if (typeof value === 'string' && /^-?\d+$/.test(value)) return BigInt(value);
      break;
    case 'bytes':
      if (typeof value === 'string' && /^([0-9a-f]{2})*$/.test(value)) return fromHex(value);
      break;
    case 'map':
      return new Map(pairsOf(value, depth));
    case 'set':
      if (Array.isArray(value)) return new Set(fromJson(value, depth - 1) as unknown[]);
      break;
    case 'object':
      return Object.fromEntries(namedPairsOf(value, depth));
    case 'bare':
      return bareOf(namedPairsOf(value, depth));
  }
  throw new TypeError('not a stored value');
}

function numberOf(value: unknown): number {
  switch (value) {
    case '-0':
      return -0;
    case 'NaN':
    case 'Infinity':
    case '-Infinity':
      return Number(value);
    default:
      throw new TypeError('not a stored number');
  }
}

function pairsOf(value: unknown, depth: number): [unknown, unknown][] {
  const pairs = fromJson(value, depth - 1);
  const isPairs =
    Array.isArray(pairs) && pairs.every((pair) => Array.isArray(pair) && pair.length === 2);
  if (!isPairs) throw new TypeError('not stored entries');
  return pairs;
}

function namedPairsOf(value: unknown, depth: number): [string, unknown][] {
  const pairs = pairsOf(value, depth);
  if (!pairs.every(([key]) => typeof key === 'string')) throw new TypeError('not stored keys');
  return pairs as [string, unknown][];
}

function bareOf(pairs: readonly [string, unknown][]): unknown {
  const bare: unknown = Object.create(null);
  for (const [key, value] of pairs) {
    const property = { value, writable: true, enumerable: true, configurable: true };
    Object.defineProperty(bare, key, property);
  }
  return bare;
}
