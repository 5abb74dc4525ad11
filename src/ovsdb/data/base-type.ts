/**
 * Base types (RFC 7047 §3.2, <base-type>): an atomic type with its constraints. A reference is a
 * uuid with a table; whether the row exists is checked when a transaction commits, not here.
 */
import { formatReal } from '../json/real.ts';
import { encodeUtf8, sequenceLength } from '../json/utf8.ts';
import {
  INT64_MAX,
  INT64_MIN,
  type Integer,
  isInteger,
  type Json,
  type JsonObject,
  RawJson,
} from '../json/value.ts';
import { type Atom, type AtomicType, atomicTypes, compareAtoms } from './atom.ts';
import { atomToText } from './atom-text.ts';
import { constraintViolation, isError, type OvsdbError, syntaxError } from './error.ts';
import { MemberParser } from './member-parser.ts';

/** What the original takes for "no limit" where a count is an unsigned 32-bit number. */
export const UNLIMITED = 0xffff_ffff;

export type ReferenceKind = 'strong' | 'weak';

export interface Reference {
  readonly table: string;
  readonly kind: ReferenceKind;
}

export interface BaseType {
  readonly type: AtomicType;
  /** Allowed atoms, sorted. Excludes the other constraints. */
  readonly allowed: readonly Atom[] | null;
  /** Integer or real, inclusive; `null`: none. */
  readonly min: Integer | null;
  readonly max: Integer | null;
  /** Characters of a string, inclusive. */
  readonly minLength: number;
  /** {@link UNLIMITED}: none. */
  readonly maxLength: number;
  readonly reference: Reference | null;
}

export function plainBaseType(type: AtomicType): BaseType {
  return {
    type,
    allowed: null,
    min: null,
    max: null,
    minLength: 0,
    maxLength: UNLIMITED,
    reference: null,
  };
}

export function isConstrained(base: BaseType): boolean {
  return (
    base.allowed !== null ||
    base.min !== null ||
    base.max !== null ||
    base.minLength !== 0 ||
    base.maxLength !== UNLIMITED ||
    base.reference !== null
  );
}

export function isStrong(base: BaseType | null): boolean {
  return base?.reference?.kind === 'strong';
}

export function isWeak(base: BaseType | null): boolean {
  return base?.reference?.kind === 'weak';
}

export function parseAtomicType(json: Json): AtomicType | OvsdbError {
  if (typeof json !== 'string') return syntaxError(json, 'atomic-type expected');
  const type = atomicTypes.find((name) => name === json);
  return type ?? syntaxError(json, `"${json}" is not an atomic-type`);
}

/** Reads the sorted, distinct atoms of an enumeration: a dependency that would be a circle. */
type AtomsParser = (json: Json, type: AtomicType) => readonly Atom[] | OvsdbError;

export function parseBaseType(json: Json, parseAtoms: AtomsParser): BaseType | OvsdbError {
  if (typeof json === 'string') {
    const type = parseAtomicType(json);
    return isError(type) ? type : plainBaseType(type);
  }
  const parser = new MemberParser(json, 'ovsdb type');
  const typeName = parser.string('type');
  if (parser.error !== null || typeName === undefined) return parser.finish() as OvsdbError;
  const type = parseAtomicType(typeName);
  if (isError(type)) return type;
  const constraints = parseConstraints(parser, type, parseAtoms);
  const problem = parser.finish();
  if (isError(constraints)) return constraints;
  return problem ?? { ...plainBaseType(type), ...constraints };
}

function parseConstraints(
  parser: MemberParser,
  type: AtomicType,
  parseAtoms: AtomsParser,
): Partial<BaseType> | OvsdbError {
  const allowedJson = parser.optionalAny('enum');
  if (allowedJson !== undefined) {
    const allowed = parseAtoms(allowedJson, type);
    return isError(allowed) ? allowed : { allowed };
  }
  switch (type) {
    case 'integer':
      return range(parser, 'Integer', (name) => parser.optionalInteger(name));
    case 'real':
      return range(parser, 'Real', (name) => asReal(parser.optionalNumber(name)));
    case 'string':
      return parseLengths(parser);
    case 'uuid':
      return parseReference(parser);
    case 'boolean':
      return {};
  }
}

function asReal(value: Integer | undefined): number | undefined {
  return value === undefined ? undefined : Number(value);
}

function range(
  parser: MemberParser,
  suffix: string,
  member: (name: string) => Integer | undefined,
): Partial<BaseType> | OvsdbError {
  const min = member(`min${suffix}`) ?? null;
  const max = member(`max${suffix}`) ?? null;
  if (min !== null && max !== null && min > max) {
    return syntaxError(parser.json, `min${suffix} exceeds max${suffix}`);
  }
  return { min: isBottom(min) ? null : min, max: isTop(max) ? null : max };
}

/** A limit that all values keep is no limit, and is not written. */
function isBottom(limit: Integer | null): boolean {
  return limit === INT64_MIN || limit === -Number.MAX_VALUE;
}

function isTop(limit: Integer | null): boolean {
  return limit === INT64_MAX || limit === Number.MAX_VALUE;
}

function parseLengths(parser: MemberParser): Partial<BaseType> | OvsdbError {
  const minLength = parseLength(parser, 'minLength', 0);
  if (isError(minLength)) return minLength;
  const maxLength = parseLength(parser, 'maxLength', UNLIMITED);
  if (isError(maxLength)) return maxLength;
  if (minLength > maxLength) return syntaxError(parser.json, 'minLength exceeds maxLength');
  return { minLength, maxLength };
}

function parseLength(parser: MemberParser, name: string, otherwise: number): number | OvsdbError {
  const value = parser.optionalInteger(name);
  if (value === undefined) return otherwise;
  if (value < 0 || value > UNLIMITED) {
    return syntaxError(value, `${name} out of valid range 0 to ${UNLIMITED}`);
  }
  return Number(value);
}

function parseReference(parser: MemberParser): Partial<BaseType> | OvsdbError {
  const table = parser.optionalId('refTable');
  if (table === undefined) return {};
  const kind = parser.optionalId('refType') ?? 'strong';
  if (kind !== 'strong' && kind !== 'weak') {
    const details = `refType must be "strong" or "weak" (not "${kind}")`;
    return syntaxError(parser.json, details);
  }
  return { reference: { table, kind } };
}

/** `enumToJson` writes the allowed atoms. */
export function baseTypeToJson(
  base: BaseType,
  enumToJson: (atoms: readonly Atom[], type: AtomicType) => Json,
): Json {
  if (!isConstrained(base)) return base.type;
  const json: { [member: string]: Json } = { type: base.type };
  if (base.allowed !== null) json['enum'] = enumToJson(base.allowed, base.type);
  const suffix = base.type === 'integer' ? 'Integer' : 'Real';
  if (base.min !== null) json[`min${suffix}`] = limitToJson(base.min, base.type);
  if (base.max !== null) json[`max${suffix}`] = limitToJson(base.max, base.type);
  if (base.minLength !== 0) json['minLength'] = base.minLength;
  if (base.maxLength !== UNLIMITED) json['maxLength'] = base.maxLength;
  if (base.reference !== null) {
    json['refTable'] = base.reference.table;
    if (base.reference.kind === 'weak') json['refType'] = 'weak';
  }
  return json satisfies JsonObject;
}

function limitToJson(limit: Integer, type: AtomicType): Json {
  return type === 'real' && isInteger(limit) ? new RawJson(formatReal(Number(limit))) : limit;
}

/** `null` when `atom` is allowed; references are not looked at. */
export function checkAtom(atom: Atom, base: BaseType): OvsdbError | null {
  if (base.allowed !== null && !base.allowed.some((one) => compareAtoms(one, atom) === 0)) {
    const allowed = base.allowed.map((one) => atomToText(one, base.type)).join(', ');
    const text = atomToText(atom, base.type);
    return constraintViolation(`${text} is not one of the allowed values ([${allowed}])`);
  }
  if (base.type === 'string') return checkString(atom as string, base);
  if (base.min === null && base.max === null) return null;
  return checkRange(atom as Integer, base);
}

function checkRange(atom: Integer, { type, min, max }: BaseType): OvsdbError | null {
  if ((min === null || atom >= min) && (max === null || atom <= max)) return null;
  const show = (value: Integer | null): string => atomToText(value as Integer, type);
  const [value, low, high] = [show(atom), show(min ?? 0), show(max ?? 0)];
  if (min !== null && max !== null) {
    return constraintViolation(`${value} is not in the valid range ${low} to ${high} (inclusive)`);
  }
  return constraintViolation(
    min !== null
      ? `${value} is less than minimum allowed value ${low}`
      : `${value} is greater than maximum allowed value ${high}`,
  );
}

function checkString(text: string, base: BaseType): OvsdbError | null {
  if (!text.isWellFormed()) return constraintViolation(badUtf8(text));
  if (base.minLength === 0 && text.length <= base.maxLength) return null;
  const length = characters(text);
  if (length < base.minLength) {
    return constraintViolation(
      `"${text}" length ${length} is less than minimum allowed length ${base.minLength}`,
    );
  }
  if (length <= base.maxLength) return null;
  return constraintViolation(
    `"${text}" length ${length} is greater than maximum allowed length ${base.maxLength}`,
  );
}

function characters(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** Names the bytes up to the one that does not fit. */
function badUtf8(text: string): string {
  const bytes = encodeUtf8(text);
  let start = 0;
  while (sequenceLength(bytes, start) > 0) start += sequenceLength(bytes, start);
  let end = start + 1;
  const expected = bytes[start] >= 0xf0 ? 4 : bytes[start] >= 0xe0 ? 3 : 2;
  if (bytes[start] >= 0xc2 && bytes[start] <= 0xf4) {
    // Grows while what there is could be completed to a sequence.
    while (end - start < expected && completable(bytes.subarray(start, end), expected)) end += 1;
  }
  const shown = Array.from({ length: end - start }, (_, i) => bytes[start + i] ?? 0);
  const hex = shown.map((byte) => ` 0x${byte.toString(16).padStart(2, '0')}`).join('');
  return `not a valid UTF-8 string: invalid UTF-8 sequence${hex}`;
}

function completable(prefix: Uint8Array, length: number): boolean {
  const seconds = prefix.length > 1 ? [prefix[1]] : [0x80, 0x90, 0xa0];
  return seconds.some((second) => {
    const candidate = Uint8Array.from({ length }, (_, i) => prefix[i] ?? 0x80);
    candidate[1] = second;
    return sequenceLength(candidate, 0) === length;
  });
}
