/**
 * JSON text of a value, on one line. Objects keep the order of their members, or have them sorted
 * by their UTF-8 bytes: the form in which the original quotes JSON inside messages and keeps
 * schemas.
 */
import { formatReal } from './real.ts';
import { isArray, type Json, type JsonObject, RawJson } from './value.ts';

/** As compact text; the result of a parsed value parses to an equal value (reals: 15 digits). */
export function serialize(json: Json): string {
  return isPlain(json) ? JSON.stringify(json) : write(json, false);
}

/** Whether the platform's serialiser, several times faster, writes the same. */
function isPlain(json: Json): boolean {
  switch (typeof json) {
    case 'string':
      return json.isWellFormed();
    case 'number':
      return Number.isSafeInteger(json);
    case 'bigint':
      return false;
    case 'boolean':
      return true;
    default:
      if (json === null) return true;
      if (isArray(json)) return json.every(isPlain);
      return !(json instanceof RawJson) && everyMember(json as JsonObject);
  }
}

function everyMember(object: JsonObject): boolean {
  for (const name of Object.keys(object)) {
    if (!name.isWellFormed() || !isPlain(object[name])) return false;
  }
  return true;
}

/** The same with every object's members in the order of their bytes. */
export function serializeSorted(json: Json): string {
  return write(json, true);
}

function write(json: Json, sorted: boolean): string {
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
      if (isArray(json)) return writeArray(json, sorted);
      return json instanceof RawJson ? json.text : writeObject(json as JsonObject, sorted);
  }
}

function writeArray(array: readonly Json[], sorted: boolean): string {
  let text = '[';
  for (let i = 0; i < array.length; i++) {
    if (i > 0) text += ',';
    text += write(array[i], sorted);
  }
  return `${text}]`;
}

function writeObject(object: JsonObject, sorted: boolean): string {
  const names = Object.keys(object);
  if (sorted) names.sort(compareText);
  let text = '{';
  for (let i = 0; i < names.length; i++) {
    if (i > 0) text += ',';
    text += `${quote(names[i])}:${write(object[names[i]], sorted)}`;
  }
  return `${text}}`;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must be escaped
const mustEscape = /["\\\u0000-\u001f]/;

/** A quoted string; only quotes, backslashes and control characters are escaped. */
export function quote(text: string): string {
  if (!mustEscape.test(text)) return `"${text}"`;
  if (text.isWellFormed()) return JSON.stringify(text);
  // What stands for bytes that are not UTF-8 must not be escaped: it leaves as those bytes.
  return `"${text
    .split(/([\udc80-\udcff])/)
    .map(quotePart)
    .join('')}"`;
}

function quotePart(part: string): string {
  return part.isWellFormed() ? JSON.stringify(part).slice(1, -1) : part;
}

/**
 * The order of strings everywhere in OVSDB: by their UTF-8 bytes. It differs from JavaScript's
 * where a surrogate pair meets a character above it in the basic plane.
 */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return byteOrder(x) - byteOrder(y);
  }
  return a.length - b.length;
}

/** Moves surrogates above the rest of the basic plane. */
function byteOrder(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x1_0000 : unit;
}
