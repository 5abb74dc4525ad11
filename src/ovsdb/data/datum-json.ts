/**
 * Atoms and datums as JSON (RFC 7047 §5.1): a set of exactly one element is written as the bare
 * atom, and read in either form; elements come in any order, and leave sorted.
 */
import { jsonOfReal } from '../json/real.ts';
import { isArray, isInteger, isNumber, type Json, type JsonArray, kindOf } from '../json/value.ts';
import type { Atom, AtomicType } from './atom.ts';
import { type BaseType, checkAtom, plainBaseType, UNLIMITED } from './base-type.ts';
import type { ColumnType } from './column-type.ts';
import { type Datum, sortElements, strideOf } from './datum.ts';
import { isError, type OvsdbError, plainError, syntaxError } from './error.ts';
import { isId } from './member-parser.ts';
import type { Symbols } from './symbols.ts';
import { parseUuid, type Uuid } from './uuid.ts';

/** Reads an atom and checks its constraints. `symbols`: named UUIDs are allowed. */
export function parseAtom(json: Json, base: BaseType, symbols: Symbols | null): Atom | OvsdbError {
  const atom = readAtom(json, base.type, symbols);
  if (isError(atom)) return atom;
  return checkAtom(atom, base) ?? atom;
}

function readAtom(json: Json, type: AtomicType, symbols: Symbols | null): Atom | OvsdbError {
  switch (type) {
    case 'integer':
      if (isInteger(json)) return json;
      break;
    case 'real':
      if (isNumber(json)) return Number(json);
      break;
    case 'boolean':
      if (typeof json === 'boolean') return json;
      break;
    case 'string':
      if (typeof json === 'string') return json;
      break;
    case 'uuid':
      return readUuid(json, symbols);
  }
  return syntaxError(json, `expected ${type}`);
}

function readUuid(json: Json, symbols: Symbols | null): Uuid | OvsdbError {
  const text = unwrap(json, 'uuid', 'string');
  if (!isError(text)) {
    return parseUuid(text as string) ?? syntaxError(json, `"${text}" is not a valid UUID`);
  }
  if (symbols === null) return text;
  const name = unwrap(json, 'named-uuid', 'string');
  if (isError(name)) return text;
  if (!isId(name as string)) {
    return syntaxError(json, 'named-uuid string is not a valid <id>');
  }
  return symbols.resolve(name as string);
}

/** The second element of `[name, value]`, when it is of the wanted kind. */
function unwrap(json: Json, name: string, kind: 'string' | 'array'): Json | OvsdbError {
  if (isArray(json) && json.length === 2 && json[0] === name && kindOf(json[1]) === kind) {
    return json[1];
  }
  return syntaxError(json, `expected ["${name}", <${kind}>]`);
}

export function parseDatum(
  json: Json,
  type: ColumnType,
  symbols: Symbols | null,
): Datum | OvsdbError {
  const elements = readElements(json, type, symbols);
  if (isError(elements)) return elements;
  const sorted = sortElements(elements, strideOf(type));
  if (sorted !== null) return sorted;
  return plainError(type.value === null ? 'set contains duplicate' : 'map contains duplicate key');
}

/** The same however many elements there are, as diffs may have more than a column may hold. */
export function parseTransientDatum(json: Json, type: ColumnType): Datum | OvsdbError {
  return parseDatum(json, { ...type, min: 0, max: UNLIMITED }, null);
}

function readElements(json: Json, type: ColumnType, symbols: Symbols | null): Atom[] | OvsdbError {
  const isMap = type.value !== null;
  if (!isMap && !(isArray(json) && json[0] === 'set')) {
    const atom = parseAtom(json, type.key, symbols);
    return isError(atom) ? atom : [atom];
  }
  const kind = isMap ? 'map' : 'set';
  const inner = unwrap(json, kind, 'array') as JsonArray | OvsdbError;
  if (isError(inner)) return inner;
  if (inner.length < type.min || inner.length > type.max) {
    return syntaxError(json, wrongCount(kind, type, inner.length));
  }
  const elements: Atom[] = [];
  for (const element of inner) {
    const problem = isMap
      ? readPair(element, type, symbols, elements)
      : readOne(element, type.key, symbols, elements);
    if (problem !== null) return problem;
  }
  return elements;
}

function wrongCount(kind: string, { min, max }: ColumnType, count: number): string {
  return min === 1 && max === 1
    ? `${kind} must have exactly one member but ${count} are present`
    : `${kind} must have ${min} to ${max} members but ${count} are present`;
}

function readOne(
  json: Json,
  base: BaseType,
  symbols: Symbols | null,
  elements: Atom[],
): OvsdbError | null {
  const atom = parseAtom(json, base, symbols);
  if (isError(atom)) return atom;
  elements.push(atom);
  return null;
}

function readPair(
  json: Json,
  type: ColumnType,
  symbols: Symbols | null,
  elements: Atom[],
): OvsdbError | null {
  if (!isArray(json) || json.length !== 2) return syntaxError(json, 'expected 2-element array');
  return (
    readOne(json[0], type.key, symbols, elements) ??
    readOne(json[1], type.value as BaseType, symbols, elements)
  );
}

export function atomToJson(atom: Atom, type: AtomicType): Json {
  if (type === 'uuid') return ['uuid', atom];
  return type === 'real' ? jsonOfReal(atom as number) : atom;
}

export function datumToJson(datum: Datum, type: ColumnType): Json {
  const { key, value } = type;
  if (value !== null) {
    const pairs: Json[] = [];
    for (let i = 0; i < datum.length; i += 2) {
      pairs.push([atomToJson(datum[i], key.type), atomToJson(datum[i + 1], value.type)]);
    }
    return ['map', pairs];
  }
  return atomsToJson(datum, key.type);
}

/** A set of atoms; a single one bare. */
export function atomsToJson(atoms: readonly Atom[], type: AtomicType): Json {
  if (atoms.length === 1) return atomToJson(atoms[0], type);
  return ['set', atoms.map((atom) => atomToJson(atom, type))];
}

/** The sorted atoms of an enumeration: one or more. */
export function parseAtomSet(json: Json, type: AtomicType): readonly Atom[] | OvsdbError {
  return parseDatum(json, { key: plainBaseType(type), value: null, min: 1, max: UNLIMITED }, null);
}
