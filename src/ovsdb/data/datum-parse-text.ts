/**
 * Datums as people type them, the inverse of `datum-text`: atoms separated by spaces or commas, map
 * pairs with `=`, brackets or braces optional unless there is nothing in them, strings quoted where
 * they need it, `a-b` for a range of integers.
 */
import { unescapeText } from '../json/parse.ts';
import { type Integer, integerOf } from '../json/value.ts';
import type { Atom } from './atom.ts';
import { type BaseType, checkAtom } from './base-type.ts';
import { type ColumnType, isMap, typeInEnglish } from './column-type.ts';
import { countOf, type Datum, sortElements, strideOf } from './datum.ts';
import type { Symbols } from './symbols.ts';
import { parseUuid } from './uuid.ts';

/** Integers that one range may stand for. */
const RANGE_MAX = 4096;

/** What is wrong with the text. */
export class TextProblem {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

/** `symbols`: names that begin with @ stand for UUIDs. */
export function datumFromText(
  text: string,
  type: ColumnType,
  symbols: Symbols | null,
): Datum | TextProblem {
  const parser = new TextParser(text, type, symbols);
  const elements = parser.elements();
  if (elements instanceof TextProblem) return elements;
  const count = countOf(elements, type);
  const what = `${text}: ${count} ${isMap(type) ? 'pair(s)' : 'value(s)'} specified but the`;
  if (count < type.min) return new TextProblem(`${what} minimum number is ${type.min}`);
  if (count > type.max) return new TextProblem(`${what} maximum number is ${type.max}`);
  const duplicate = isMap(type) ? 'map contains duplicate key' : 'set contains duplicate value';
  return sortElements(elements, strideOf(type)) ?? new TextProblem(`${text}: ${duplicate}`);
}

const delimiters = ':=, []{}!<>';

class TextParser {
  readonly #text: string;
  readonly #type: ColumnType;
  readonly #symbols: Symbols | null;
  #at: number = 0;

  constructor(text: string, type: ColumnType, symbols: Symbols | null) {
    this.#text = text;
    this.#type = type;
    this.#symbols = symbols;
  }

  elements(): Atom[] | TextProblem {
    const [open, close] = isMap(this.#type) ? ['{', '}'] : ['[', ']'];
    this.#skipSpaces();
    if (this.#atEnd()) {
      const kind = isMap(this.#type) ? 'map' : 'set';
      return new TextProblem(`use "${open}${close}" to specify the empty ${kind}`);
    }
    const enclosed = this.#peek() === open;
    if (enclosed) this.#skip();
    const elements: Atom[] = [];
    while (!this.#atEnd() && !(enclosed && this.#peek() === close)) {
      const problem = this.#element(elements);
      if (problem !== null) return problem;
    }
    if (!enclosed) return elements;
    if (this.#atEnd()) return this.#problem(`missing "${close}" at end of data`);
    this.#skip();
    return this.#atEnd() ? elements : this.#problem(`trailing garbage after "${close}"`);
  }

  #element(elements: Atom[]): TextProblem | null {
    if (delimiters.includes(this.#peek())) {
      const english = typeInEnglish(this.#type);
      return this.#problem(`unexpected "${this.#peek()}" parsing ${english}`);
    }
    const start = this.#at;
    const token = this.#token();
    if (token instanceof TextProblem) return token;
    const { key, value } = this.#type;
    const keys = value === null ? readRange(token, key) : null;
    if (keys instanceof TextProblem) return keys;
    if (keys !== null) elements.push(...keys);
    else {
      const problem = this.#atom(token, key, elements);
      if (problem !== null) return problem;
    }
    if (value !== null) {
      this.#skipSpaces();
      if (this.#peek() !== '=') {
        const rest = this.#text.slice(start);
        return new TextProblem(`${rest}: syntax error at "${this.#peek()}" expecting "="`);
      }
      this.#skip();
      const valueToken = this.#token();
      if (valueToken instanceof TextProblem) return valueToken;
      const problem = this.#atom(valueToken, value, elements);
      if (problem !== null) return problem;
    }
    this.#skipSpaces();
    if (this.#peek() === ',') this.#skip();
    return null;
  }

  /** Up to a delimiter that is neither escaped nor quoted; quotes stay. */
  #token(): string | TextProblem {
    const rest = this.#text.slice(this.#at);
    let token = '';
    let quoted = false;
    for (; !this.#atEnd(); this.#at++) {
      const character = this.#peek();
      if (character === '\\') {
        if (quoted) token += '\\';
        this.#at += 1;
        if (this.#atEnd()) return new TextProblem(`${rest}: backslash at end of argument`);
        token += this.#peek();
        continue;
      }
      if (!quoted && delimiters.includes(character)) break;
      token += character;
      if (character === '"') quoted = !quoted;
    }
    const problem = `${rest}: quoted string extends past end of argument`;
    return quoted ? new TextProblem(problem) : token;
  }

  #atom(token: string, base: BaseType, elements: Atom[]): TextProblem | null {
    const atom = readAtom(token, base, this.#symbols);
    if (atom instanceof TextProblem) return atom;
    const problem = checkAtom(atom, base);
    if (problem !== null) return new TextProblem(problem.toString());
    elements.push(atom);
    return null;
  }

  #peek(): string {
    return this.#text.charAt(this.#at);
  }

  #atEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  #skip(): void {
    this.#at += 1;
    this.#skipSpaces();
  }

  #skipSpaces(): void {
    while (/\s/.test(this.#peek())) this.#at += 1;
  }

  #problem(message: string): TextProblem {
    return new TextProblem(`${this.#text}: ${message}`);
  }
}

/** The integers of `a-b`; `null`: not a range. */
function readRange(token: string, base: BaseType): Integer[] | TextProblem | null {
  const match = base.type === 'integer' ? /^([+-]?\d+)-([+-]?\d+)$/.exec(token) : null;
  const [first, last] =
    match === null ? [null, null] : [readInteger(match[1]), readInteger(match[2])];
  if (first === null || last === null) return null;
  if (last < first) {
    return new TextProblem(`"${token}" is not a valid range. Range end cannot be before start.`);
  }
  if (BigInt(last) - BigInt(first) >= RANGE_MAX) {
    const problem = checkAtom(first, base) ?? checkAtom(last, base);
    return new TextProblem(
      problem?.toString() ??
        `constraint violation: Range "${first}-${last}" is too big. ` +
          `Maximum allowed size is ${RANGE_MAX}.`,
    );
  }
  const integers: Integer[] = [];
  for (let i = BigInt(first); i <= BigInt(last); i++) {
    const integer = integerOf(i) as Integer;
    const problem = checkAtom(integer, base);
    if (problem !== null) return new TextProblem(problem.toString());
    integers.push(integer);
  }
  return integers;
}

function readInteger(text: string): Integer | null {
  return /^[+-]?\d+$/.test(text) ? integerOf(BigInt(text.replace(/^\+/, ''))) : null;
}

const truths = ['true', 'yes', 'on', '1'];
const falsehoods = ['false', 'no', 'off', '0'];

function readAtom(token: string, base: BaseType, symbols: Symbols | null): Atom | TextProblem {
  switch (base.type) {
    case 'integer':
      return readInteger(token) ?? new TextProblem(`"${token}" is not a valid integer or range`);
    case 'real': {
      const real = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(token) ? Number(token) : null;
      if (real !== null && Number.isFinite(real)) return real + 0;
      return new TextProblem(`"${token}" is not a valid real number`);
    }
    case 'boolean':
      if (truths.includes(token)) return true;
      if (falsehoods.includes(token)) return false;
      return new TextProblem(`"${token}" is not a valid boolean (use "true" or "false")`);
    case 'string':
      return readString(token);
    case 'uuid':
      if (token.startsWith('@') && symbols !== null) return symbols.resolve(token);
      return parseUuid(token) ?? new TextProblem(`"${token}" is not a valid UUID`);
  }
}

function readString(token: string): string | TextProblem {
  if (token === '') {
    const advice = 'use "" to represent the empty string';
    return new TextProblem(`An empty string is not valid as input; ${advice}`);
  }
  if (!token.startsWith('"')) return token;
  if (token.length < 2 || !token.endsWith('"')) {
    return new TextProblem(`${token}: missing quote at end of quoted string`);
  }
  const unescaped = unescapeText(token.slice(1, -1));
  return 'error' in unescaped ? new TextProblem(`${token}: ${unescaped.error}`) : unescaped.text;
}
