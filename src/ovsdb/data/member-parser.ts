/**
 * Reads the members of an object one by one, and complains once: about what is missing, of the
 * wrong kind, or not allowed. The first problem stays; reading goes on, callers check at the end.
 */
import {
  isArray,
  isInteger,
  isNumber,
  isObject,
  type Json,
  type JsonArray,
  type JsonObject,
  memberOf,
} from '../json/value.ts';
import { type OvsdbError, syntaxError } from './error.ts';

/** A letter or underscore, then letters, digits and underscores (RFC 7047 §3.1, <id>). */
export function isId(text: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(text);
}

type Accepts = (json: Json) => boolean;

const isString: Accepts = (json) => typeof json === 'string';
const isBoolean: Accepts = (json) => typeof json === 'boolean';
const isIdString: Accepts = (json) => typeof json === 'string' && isId(json);

export class MemberParser {
  readonly json: JsonObject | undefined;
  readonly #what: string;
  readonly #used: Set<string> = new Set();
  #error: OvsdbError | null = null;

  /** `what` completes "Parsing … failed". */
  constructor(json: Json, what: string) {
    this.#what = what;
    this.json = isObject(json) ? json : undefined;
    if (this.json === undefined) this.raise('Object expected.');
  }

  get error(): OvsdbError | null {
    return this.#error;
  }

  raise(message: string): void {
    this.#error ??= syntaxError(this.json, `Parsing ${this.#what} failed: ${message}`);
  }

  id(name: string): string | undefined {
    return this.#member(name, isIdString, true) as string | undefined;
  }

  optionalId(name: string): string | undefined {
    return this.#member(name, isIdString, false) as string | undefined;
  }

  string(name: string): string | undefined {
    return this.#member(name, isString, true) as string | undefined;
  }

  optionalString(name: string): string | undefined {
    return this.#member(name, isString, false) as string | undefined;
  }

  boolean(name: string): boolean | undefined {
    return this.#member(name, isBoolean, true) as boolean | undefined;
  }

  optionalBoolean(name: string): boolean | undefined {
    return this.#member(name, isBoolean, false) as boolean | undefined;
  }

  optionalInteger(name: string): number | bigint | undefined {
    return this.#member(name, isInteger, false) as number | bigint | undefined;
  }

  optionalNumber(name: string): number | bigint | undefined {
    return this.#member(name, isNumber, false) as number | bigint | undefined;
  }

  array(name: string): JsonArray | undefined {
    return this.#member(name, isArray, true) as JsonArray | undefined;
  }

  optionalArray(name: string): JsonArray | undefined {
    return this.#member(name, isArray, false) as JsonArray | undefined;
  }

  object(name: string): JsonObject | undefined {
    return this.#member(name, isObject, true) as JsonObject | undefined;
  }

  optionalObject(name: string): JsonObject | undefined {
    return this.#member(name, isObject, false) as JsonObject | undefined;
  }

  /** A string or an object, as types are written. */
  stringOrObject(name: string, required: boolean): Json | undefined {
    return this.#member(name, (json) => isString(json) || isObject(json), required);
  }

  optionalIntegerOrString(name: string): Json | undefined {
    return this.#member(name, (json) => isString(json) || isInteger(json), false);
  }

  optionalAny(name: string): Json | undefined {
    return this.#member(name, () => true, false);
  }

  /** The first problem; also any member that nobody asked for is one. */
  finish(): OvsdbError | null {
    if (this.#error !== null || this.json === undefined) return this.#error;
    const unused = Object.keys(this.json).filter((name) => !this.#used.has(name));
    if (unused.length === 1) this.raise(`Member '${unused[0]}' is present but not allowed here.`);
    else if (unused.length > 1) {
      const others = `${unused.length - 1} other member${unused.length > 2 ? 's' : ''}`;
      this.raise(`Member '${unused[0]}' and ${others} are present but not allowed here.`);
    }
    return this.#error;
  }

  #member(name: string, accepts: Accepts, required: boolean): Json | undefined {
    if (this.json === undefined) return undefined;
    const value = memberOf(this.json, name);
    if (value === undefined) {
      if (required) this.raise(`Required '${name}' member is missing.`);
      return undefined;
    }
    if (!accepts(value)) {
      this.raise(`Type mismatch for member '${name}'.`);
      return undefined;
    }
    this.#used.add(name);
    return value;
  }
}
