/**
 * Errors that clients cause, as values: a tag, which programs look at, and details for people. They
 * become the error objects of RFC 7047 §3.1 with the original's extra member "syntax": the JSON
 * that gave offence, its members sorted.
 */
import { serializeSorted } from '../json/serialize.ts';
import type { Json, JsonObject } from '../json/value.ts';

export class OvsdbError {
  /** Stable; e.g. "constraint violation". */
  readonly tag: string;
  readonly details: string;
  /** Kept as it is and written only when somebody reads it: most of it is never read. */
  readonly #subject: Json | undefined;

  constructor(tag: string, details: string, subject?: Json) {
    this.tag = tag;
    this.details = details;
    this.#subject = subject;
  }

  get syntax(): string | undefined {
    return this.#subject === undefined ? undefined : serializeSorted(this.#subject);
  }

  toJson(): JsonObject {
    const { syntax } = this;
    const common = { error: this.tag, details: this.details };
    return syntax === undefined ? common : { ...common, syntax };
  }

  /** One line for a log or a terminal. */
  toString(): string {
    const { syntax } = this;
    const prefix = syntax === undefined ? '' : `syntax "${syntax}": `;
    return `${prefix}${this.tag}: ${this.details}`;
  }
}

/** An error without a tag of its own. */
export function plainError(details: string): OvsdbError {
  return new OvsdbError('ovsdb error', details);
}

/** `subject` is the JSON that cannot be read; absent when there is none to show. */
export function syntaxError(subject: Json | undefined, details: string): OvsdbError {
  return new OvsdbError('syntax error', details, subject);
}

export function constraintViolation(details: string, subject?: Json): OvsdbError {
  return new OvsdbError('constraint violation', details, subject);
}

export function unknownColumn(subject: Json, column: string, table: string): OvsdbError {
  return new OvsdbError('unknown column', `No column ${column} in table ${table}.`, subject);
}

export function isError<T>(value: T | OvsdbError): value is OvsdbError {
  return value instanceof OvsdbError;
}
