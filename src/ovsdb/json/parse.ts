/**
 * The exact JSON parser: the original's grammar, limits and error texts. Integers are exact over
 * 64 bits; a number with fraction or exponent whose value is an integer of 64 bits is that integer;
 * of several members with one name the last wins; nesting beyond 1,000 and U+0000 are refused.
 *
 * An error names the place where a lexer that works byte by byte notices it: at the character that
 * ends a number, a keyword or a string, not at its beginning.
 */
import { utf8Length } from './utf8.ts';
import { integerOf, type Json } from './value.ts';

/** Nesting of arrays and objects. */
export const JSON_DEPTH_MAX = 1000;

/** Exponents above this are refused: the original reads them digit by digit into 32 bits. */
const EXPONENT_MAX = 2_147_483_639;

/** The platform copies shorter slices by itself. */
const SLICE_LENGTH_MIN = 13;

/** Smaller reals have fewer digits than others. */
const REAL_NORMAL_MIN = 2.2250738585072014e-308;

export type JsonResult =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly error: string };

/** Parses one array or object with nothing but white space around it. */
export function parseJson(text: string): JsonResult {
  const parser = new Parser(text);
  try {
    return { ok: true, value: parser.document() };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { ok: false, error: place(text, error.position) + error.message };
  }
}

/** Leaves the recursion; never seen outside this file. */
class Refusal extends Error {
  readonly position: number;

  constructor(position: number, message: string) {
    super(message);
    this.position = position;
  }
}

function place(text: string, position: number): string {
  const before = text.slice(0, position);
  const line = before.split('\n').length - 1;
  const column = utf8Length(before.slice(before.lastIndexOf('\n') + 1));
  return `line ${line}, column ${column}, byte ${utf8Length(before)}: `;
}

/** A token's kind, or one of `{}[]:,` itself. */
type Token = 'value' | 'string' | 'end' | string;

class Parser {
  readonly #text: string;
  /** The next character to read. */
  #at: number = 0;
  /** Where an error that the current token causes is noticed. */
  #noticed: number = 0;
  #value: Json = null;
  #depth: number = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): Json {
    const token = this.#next();
    if (token === 'end') this.#fail('empty input stream');
    if (token !== '{' && token !== '[') this.#fail('syntax error at beginning of input');
    const value = this.#nested(token);
    if (this.#next() !== 'end') this.#fail('trailing garbage at end of input');
    return value;
  }

  #fail(message: string, position: number = this.#noticed): never {
    throw new Refusal(position, message);
  }

  #nested(opening: string): Json {
    if (this.#depth >= JSON_DEPTH_MAX) {
      this.#fail(`input exceeds maximum nesting depth ${JSON_DEPTH_MAX}`);
    }
    this.#depth += 1;
    const value = opening === '{' ? this.#object() : this.#array();
    this.#depth -= 1;
    return value;
  }

  #array(): Json {
    const elements: Json[] = [];
    let token = this.#next();
    if (token === ']') return elements;
    for (;;) {
      elements.push(this.#valueOf(token));
      token = this.#next();
      if (token === ']') return elements;
      if (token !== ',') this.#expected(token, "syntax error expecting ']' or ','");
      token = this.#next();
    }
  }

  #object(): Json {
    const members: { [name: string]: Json } = {};
    let token = this.#next();
    if (token === '}') return members;
    for (;;) {
      if (token !== 'string') {
        this.#expected(token, 'syntax error parsing object expecting string');
      }
      const name = this.#value as string;
      token = this.#next();
      if (token !== ':') this.#expected(token, "syntax error parsing object expecting ':'");
      setMember(members, name, this.#valueOf(this.#next()));
      token = this.#next();
      if (token === '}') return members;
      if (token !== ',') this.#expected(token, "syntax error expecting '}' or ','");
      token = this.#next();
    }
  }

  #valueOf(token: Token): Json {
    if (token === '{' || token === '[') return this.#nested(token);
    if (token !== 'value' && token !== 'string') {
      this.#expected(token, 'syntax error expecting value');
    }
    return this.#value;
  }

  #expected(token: Token, message: string): never {
    this.#fail(token === 'end' ? 'unexpected end of input' : message);
  }

  /** Reads a token; values are left in `#value`. */
  #next(): Token {
    const text = this.#text;
    let at = this.#at;
    let code = text.charCodeAt(at);
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) {
      code = text.charCodeAt(++at);
    }
    this.#at = at;
    this.#noticed = at;
    if (at >= text.length) return 'end';
    if (code === 0x22) return this.#string(at);
    if (code === 0x2d || (code >= 0x30 && code <= 0x39)) return this.#number(at);
    if (code >= 0x61 && code <= 0x7a) return this.#keyword(at);
    const character = text[at];
    if (!'{}[]:,'.includes(character)) this.#fail(invalidCharacter(text, at));
    this.#at = at + 1;
    return character;
  }

  #keyword(start: number): Token {
    let end = start;
    while (/[A-Za-z]/.test(this.#text.charAt(end))) end += 1;
    this.#at = end;
    this.#noticed = end;
    const word = this.#text.slice(start, end);
    if (word === 'true') this.#value = true;
    else if (word === 'false') this.#value = false;
    else if (word === 'null') this.#value = null;
    else this.#fail(`invalid keyword '${word}'`);
    return 'value';
  }

  #number(start: number): Token {
    let end = start;
    while (end < this.#text.length && '.0123456789eE-+'.includes(this.#text[end])) end += 1;
    this.#at = end;
    this.#noticed = end;
    const number = parseNumber(this.#text.slice(start, end));
    if (typeof number === 'string') this.#fail(number);
    this.#value = number;
    return 'value';
  }

  #string(start: number): Token {
    const text = this.#text;
    let escaped = false;
    let at = start + 1;
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === 0x22) break;
      if (code === 0x5c) {
        escaped = true;
        at += 1;
      } else if (code < 0x20) {
        const hex = code.toString(16).toUpperCase().padStart(4, '0');
        this.#fail(`U+${hex} must be escaped in quoted string`, at);
      }
    }
    if (at >= text.length) {
      this.#fail('unexpected end of input in quoted string', text.length);
    }
    this.#at = at + 1;
    this.#noticed = at;
    const raw = text.slice(start + 1, at);
    const cooked = escaped ? unescapeText(raw) : { text: raw };
    if ('error' in cooked) this.#fail(cooked.error);
    this.#value = owned(cooked.text);
    return 'string';
  }
}

/**
 * The platform's slices keep the text that they are slices of: one value kept in a row would keep
 * the whole message. So it is copied, by way of a text that is hardly longer than itself.
 */
function owned(text: string): string {
  return text.length < SLICE_LENGTH_MIN ? text : ` ${text}`.slice(1);
}

/** As an own member, whatever its name. */
function setMember(members: { [name: string]: Json }, name: string, value: Json): void {
  if (name !== '__proto__') members[name] = value;
  else {
    const how = { value, enumerable: true, configurable: true, writable: true };
    Object.defineProperty(members, name, how);
  }
}

function invalidCharacter(text: string, at: number): string {
  const code = text.codePointAt(at) as number;
  if (code >= 0x20 && code < 0x7f) return `invalid character '${text[at]}'`;
  const byte = code < 0x80 ? code : firstByte(code);
  return `invalid character U+${byte.toString(16).padStart(4, '0')}`;
}

/** The lexer sees bytes: of a longer character it names the first. */
function firstByte(code: number): number {
  if (code >= 0xdc80 && code <= 0xdcff) return code - 0xdc00;
  if (code < 0x800) return 0xc0 | (code >> 6);
  return code < 0x1_0000 ? 0xe0 | (code >> 12) : 0xf0 | (code >> 18);
}

const numberGrammar = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?)(\d+))?$/;

/** The number of a lexed text, or what is wrong with it. */
function parseNumber(text: string): number | bigint | string {
  const match = numberGrammar.exec(text);
  if (match === null) return numberProblem(text);
  const [, sign, whole, fraction = '', exponentSign, exponentDigits = '0'] = match;
  if (fraction === '' && match[5] === undefined && text.length < 16) return 0 + Number(text);
  const exponent = Number(exponentDigits) * (exponentSign === '-' ? -1 : 1);
  const digits = (whole + fraction).replace(/^0+/, '');
  if (Number(exponentDigits) > EXPONENT_MAX) return 'exponent outside valid range';
  const integer = exactInteger(sign, digits, exponent - fraction.length);
  if (integer !== null) return integer;
  const real = Number(text);
  if (!Number.isFinite(real)) return 'number outside valid range';
  if (real === 0) return 0;
  // C's strtod calls it an underflow, unless nothing at all is left.
  return Math.abs(real) < REAL_NORMAL_MIN ? 'number outside valid range' : real;
}

/** digits × 10^power, when that is an integer of 64 bits. */
function exactInteger(sign: string, digits: string, power: number): number | bigint | null {
  const significant = digits.replace(/0+$/, '');
  const zeros = digits.length - significant.length + power;
  // 64 bits are at most 19 digits.
  if (significant === '' || zeros < 0 || significant.length + zeros > 19) {
    return significant === '' ? 0 : null;
  }
  return integerOf(BigInt(sign + significant + '0'.repeat(zeros)));
}

function numberProblem(text: string): string {
  const at = /^-?/.exec(text)?.[0].length ?? 0;
  const rest = text.slice(at);
  if (/^0\d/.test(rest)) return 'leading zeros not allowed';
  if (!/^\d/.test(rest)) return "'-' must be followed by digit";
  const [whole] = /^\d+/.exec(rest) as RegExpExecArray;
  let tail = rest.slice(whole.length);
  if (tail.startsWith('.')) {
    if (!/^\.\d/.test(tail)) return 'decimal point must be followed by digit';
    tail = tail.replace(/^\.\d+/, '');
  }
  if (/^[eE]/.test(tail) && !/^[eE][+-]?\d/.test(tail)) {
    return 'exponent must contain at least one digit';
  }
  return 'syntax error in number';
}

const simpleEscapes: { readonly [letter: string]: string } = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

/** The text between two quotes without its escapes. */
export function unescapeText(raw: string): { text: string } | { error: string } {
  let text = '';
  for (let at = 0; at < raw.length; ) {
    const backslash = raw.indexOf('\\', at);
    const stretch = backslash === -1 ? raw.slice(at) : raw.slice(at, backslash);
    if (stretch.includes('"')) return { error: 'quoted string may not include unescaped "' };
    text += stretch;
    if (backslash === -1) break;
    const letter = String.fromCodePoint(raw.codePointAt(backslash + 1) ?? 0);
    if (backslash + 1 >= raw.length) return { error: 'quoted string may not end with backslash' };
    at = backslash + 2;
    const simple = Object.hasOwn(simpleEscapes, letter) ? simpleEscapes[letter] : null;
    if (simple !== null) text += simple;
    else if (letter !== 'u') return { error: `bad escape \\${letter}` };
    else {
      const unit = unescapeUnicode(raw, at);
      if ('error' in unit) return unit;
      text += unit.text;
      at = unit.end;
    }
  }
  return { text };
}

function unescapeUnicode(
  raw: string,
  at: number,
): { text: string; end: number } | { error: string } {
  const first = fourHex(raw, at);
  if (typeof first === 'string') return { error: first };
  if (first < 0xd800 || first > 0xdbff) return { text: String.fromCharCode(first), end: at + 4 };
  if (raw.slice(at + 4, at + 6) !== '\\u') return { error: 'malformed escaped surrogate pair' };
  const second = fourHex(raw, at + 6);
  if (typeof second === 'string') return { error: second };
  if (second < 0xdc00 || second > 0xdfff) {
    return { error: 'second half of escaped surrogate pair is not trailing surrogate' };
  }
  return { text: String.fromCharCode(first, second), end: at + 10 };
}

function fourHex(raw: string, at: number): number | string {
  const digits = raw.slice(at, at + 4);
  if (digits.length < 4) return 'quoted string ends within \\u escape';
  if (!/^[0-9a-fA-F]{4}$/.test(digits)) return 'malformed \\u escape';
  const value = Number.parseInt(digits, 16);
  return value === 0 ? 'null bytes not supported in quoted strings' : value;
}
