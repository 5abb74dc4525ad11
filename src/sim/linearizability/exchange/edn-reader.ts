/**
 * A reader of the part of EDN that histories are made of: nil, booleans, numbers, strings,
 * keywords, vectors, lists, maps, comments and discarded forms. Tags before maps and vectors are
 * dropped (they name the record that a map was); whatever else there is in EDN is refused by name.
 *
 * Keywords become strings with their colon, so names of fields read `:process`.
 */
import { HistoryError, type HistoryErrorCode } from '../history-error.ts';
import { VALUE_DEPTH_MAX } from '../limits.ts';
import { KEYWORD, type Value } from './value.ts';

/** A value, in an event, in a vector of them. */
const DEPTH_MAX: number = VALUE_DEPTH_MAX + 2;
const BLANK = /[\s,]*/y;
/** What ends a token. */
const TOKEN = /[^\s,;"()[\]{}]+/y;
const INTEGER = /^[+-]?\d+N?$/;
const DECIMAL = /^[+-]?\d+(\.\d*)?([eE][+-]?\d+)?M?$/;
const ESCAPE = /\\(u[0-9a-fA-F]{4}|.)/gs;
const ESCAPES: { readonly [letter: string]: string } = {
  n: '\n',
  t: '\t',
  r: '\r',
  b: '\b',
  f: '\f',
  '\\': '\\',
  '"': '"',
};

export class EdnReader {
  readonly #text: string;
  #at: number = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** The next value; `undefined`: there is none. Throws a `HistoryError` with an offset. */
  next(): Value | undefined {
    this.#skip(0);
    return this.#at === this.#text.length ? undefined : this.#value(0);
  }

  #value(depth: number): Value {
    this.#skip(depth);
    const start = this.#at;
    switch (this.#text[start]) {
      case undefined:
        throw this.#error('syntax', 'the text ends where a value is wanted', start);
      case '[':
        return this.#list(']', depth);
      case '(':
        return this.#list(')', depth);
      case '{':
        return this.#map(depth);
      case '"':
        return this.#string();
      case '#':
        return this.#tagged(depth);
      case ']':
      case ')':
      case '}':
        throw this.#error('syntax', `nothing is open that "${this.#text[start]}" closes`, start);
      default:
        return this.#atom();
    }
  }

  #list(close: string, depth: number): Value[] {
    const start = this.#enter(depth);
    const values: Value[] = [];
    for (;;) {
      this.#skip(depth);
      if (this.#text[this.#at] === close) break;
      if (this.#at === this.#text.length) throw this.#error('syntax', `no "${close}"`, start);
      values.push(this.#value(depth + 1));
    }
    this.#at++;
    return values;
  }

  #map(depth: number): Value {
    const start = this.#at;
    const values = this.#list('}', depth);
    if (values.length % 2 !== 0) throw this.#error('syntax', 'a map has a key too many', start);
    const entries = new Map<string, Value>();
    for (let i = 0; i < values.length; i += 2) {
      const key = values[i]!;
      if (typeof key !== 'string') {
        throw this.#error('unsupported', 'a key that is no keyword and no string', start);
      }
      if (entries.has(key)) throw this.#error('syntax', `a map has ${key} twice`, start);
      entries.set(key, values[i + 1]!);
    }
    return Object.fromEntries(entries);
  }

  #string(): string {
    const start = this.#at;
    let end = start + 1;
    while (end < this.#text.length && this.#text[end] !== '"') {
      end += this.#text[end] === '\\' ? 2 : 1;
    }
    if (end >= this.#text.length) throw this.#error('syntax', 'a string has no end', start);
    this.#at = end + 1;
    const text = this.#text.slice(start + 1, end);
    if (!text.includes('\\')) return text;
    return text.replaceAll(ESCAPE, (_, code: string) => {
      if (code.length === 5) return String.fromCharCode(Number.parseInt(code.slice(1), 16));
      const letter = ESCAPES[code];
      if (letter !== undefined) return letter;
      throw this.#error('syntax', `a string with the unknown escape "\\${code}"`, start);
    });
  }

  #tagged(depth: number): Value {
    const start = this.#at;
    this.#at++;
    const following = this.#text[this.#at];
    if (following === '{') throw this.#error('unsupported', 'a set', start);
    const tag = this.#token();
    if (tag === '') throw this.#error('syntax', '"#" without a tag', start);
    this.#skip(depth);
    const next = this.#text[this.#at];
    if (next === '{' || next === '[') return this.#value(depth);
    throw this.#error('unsupported', `tag #${tag} before something other than a map`, start);
  }

  #atom(): Value {
    const start = this.#at;
    const token = this.#token();
    switch (token) {
      case 'nil':
        return null;
      case 'true':
        return true;
      case 'false':
        return false;
      default:
        break;
    }
    if (token.startsWith(':')) {
      if (KEYWORD.test(token)) return token;
      throw this.#error('syntax', `${token} is no keyword`, start);
    }
    if (INTEGER.test(token)) {
      const value = Number(token.replace('N', ''));
      if (Number.isSafeInteger(value)) return value + 0;
      throw this.#error('unsupported', `${token} is no safe integer`, start);
    }
    if (DECIMAL.test(token)) {
      const value = Number(token.replace('M', ''));
      if (Number.isFinite(value)) return value;
    }
    throw this.#error('unsupported', `${token} is no value of a history`, start);
  }

  #token(): string {
    TOKEN.lastIndex = this.#at;
    const token = TOKEN.exec(this.#text)?.[0] ?? '';
    this.#at += token.length;
    return token;
  }

  /** Blanks, comments and what `#_` discards. */
  #skip(depth: number): void {
    for (;;) {
      BLANK.lastIndex = this.#at;
      this.#at += BLANK.exec(this.#text)?.[0].length ?? 0;
      if (this.#text[this.#at] === ';') {
        const end = this.#text.indexOf('\n', this.#at);
        this.#at = end === -1 ? this.#text.length : end + 1;
      } else if (this.#text.startsWith('#_', this.#at)) {
        this.#enterDiscarded(depth);
      } else {
        return;
      }
    }
  }

  #enterDiscarded(depth: number): void {
    this.#checkDepth(depth);
    this.#at += 2;
    this.#value(depth + 1);
  }

  /** Over an opening bracket; returns where it is. */
  #enter(depth: number): number {
    this.#checkDepth(depth);
    return this.#at++;
  }

  #checkDepth(depth: number): void {
    if (depth <= DEPTH_MAX) return;
    throw this.#error('limit', `deeper than ${DEPTH_MAX} collections`, this.#at);
  }

  #error(code: HistoryErrorCode, message: string, offset: number): HistoryError {
    return new HistoryError(code, message, { offset });
  }
}
