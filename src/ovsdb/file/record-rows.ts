/**
 * A large record row by row. The record of a whole database is one JSON object of any size; taken
 * as one it would have to fit into one string, and be in memory as text, as values and as rows at
 * the same time. So its bytes are cut where tables and rows begin and end, and each row is parsed
 * by itself.
 *
 * What is cut has the right hash, so it is what somebody wrote; should its form surprise all the
 * same, the cutter gives up and the exact parser is asked.
 */
import { parseJson } from '../json/parse.ts';
import { decodeUtf8 } from '../json/utf8.ts';
import type { Json } from '../json/value.ts';

export interface RecordRow {
  readonly table: string;
  readonly uuid: string;
  readonly row: Json;
}

/** A member that is no table: `_date`, `_comment` … */
export interface RecordNote {
  readonly name: string;
  readonly value: Json;
}

export type RecordPart = RecordRow | RecordNote;

/** Thrown out of the generator: the record has another form than {table: {uuid: row}}. */
export class UnusualRecord extends Error {}

/** Digits in a row up to which every integer is safe. */
const PLAIN_DIGITS_MAX = 15;

const byteOf = {
  quote: 0x22,
  backslash: 0x5c,
  colon: 0x3a,
  comma: 0x2c,
  openBrace: 0x7b,
  closeBrace: 0x7d,
  openBracket: 0x5b,
  closeBracket: 0x5d,
} as const;

/** The parts of a record, in their order. @throws UnusualRecord */
export function* partsOfRecord(body: Uint8Array): Generator<RecordPart> {
  const cutter = new Cutter(body);
  cutter.expect(byteOf.openBrace);
  while (cutter.member()) {
    const name = cutter.key();
    if (cutter.peek() !== byteOf.openBrace) {
      yield { name, value: cutter.value() };
      continue;
    }
    cutter.expect(byteOf.openBrace);
    while (cutter.member()) {
      const uuid = cutter.key();
      yield { table: name, uuid, row: cutter.value() };
    }
  }
}

class Cutter {
  readonly #bytes: Uint8Array;
  #at: number = 0;
  /** The next backslash from where it was last looked for. */
  #backslash: number = -1;
  /** Whether an object has just been opened. */
  #first: boolean = false;
  /** Whether a string that was gone past has a \u in it. */
  #sawUnicode: boolean = false;
  /** Whether the last string has an escape in it: V8 misreads some names with one. */
  #sawEscape: boolean = false;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** The next byte that is no white space. */
  peek(): number {
    let byte = this.#bytes[this.#at];
    while (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) {
      byte = this.#bytes[++this.#at];
    }
    return byte ?? -1;
  }

  expect(byte: number): void {
    if (this.peek() !== byte) throw new UnusualRecord();
    this.#at += 1;
    this.#first = byte === byteOf.openBrace;
  }

  /** Goes to the next member of the object; false: past its end. */
  member(): boolean {
    const first = this.#first;
    this.#first = false;
    const byte = this.peek();
    if (byte === byteOf.closeBrace) {
      this.#at += 1;
      return false;
    }
    if (!first) this.expect(byteOf.comma);
    return true;
  }

  /** The member's name, and past its colon. */
  key(): string {
    if (this.peek() !== byteOf.quote) throw new UnusualRecord();
    const start = this.#at + 1;
    this.#at = this.#stringEnd(start);
    const text = decodeUtf8(this.#bytes.subarray(start, this.#at - 1));
    this.expect(byteOf.colon);
    return text.includes('\\') ? (parseText(`"${text}"`, false) as string) : text;
  }

  value(): Json {
    this.peek();
    const start = this.#at;
    this.#sawUnicode = false;
    const plain = this.#skip() && !this.#sawUnicode;
    return parseText(decodeUtf8(this.#bytes.subarray(start, this.#at)), plain);
  }

  /** Goes past a value; true: no number in it that the platform's parser would read otherwise. */
  #skip(): boolean {
    const bytes = this.#bytes;
    let at = this.#at;
    let depth = 0;
    let digits = 0;
    let plain = true;
    for (; at < bytes.length; at++) {
      const byte = bytes[at];
      if (byte === byteOf.quote) {
        const end = this.#stringEnd(at + 1);
        at = end - 1;
        digits = 0;
      } else if (byte >= 0x30 && byte <= 0x39) {
        if (++digits > PLAIN_DIGITS_MAX) plain = false;
        continue;
      } else if (byte === byteOf.openBrace || byte === byteOf.openBracket) depth += 1;
      else if (byte === byteOf.closeBrace || byte === byteOf.closeBracket) {
        if (depth === 0) break;
        depth -= 1;
      } else if (byte === byteOf.comma) {
        if (depth === 0) break;
      } else if (byte === byteOf.colon) {
        if (this.#sawEscape) plain = false;
      } else if (byte === 0x2e || byte === 0x2d || byte === 0x45) plain = false;
      else if (byte === 0x65 && digits > 0) plain = false;
      digits = 0;
    }
    this.#at = at;
    return plain;
  }

  /** Behind the quote that ends the string whose content begins at `from`. */
  #stringEnd(from: number): number {
    const bytes = this.#bytes;
    this.#sawEscape = false;
    for (let at = from; ; ) {
      const quote = bytes.indexOf(byteOf.quote, at);
      if (quote === -1) throw new UnusualRecord();
      if (this.#backslash < at) this.#backslash = this.#findBackslash(at);
      if (this.#backslash > quote) return quote + 1;
      this.#sawEscape = true;
      if (bytes[this.#backslash + 1] === 0x75) this.#sawUnicode = true;
      at = this.#backslash + 2;
    }
  }

  /** The first from `at` on. */
  #findBackslash(at: number): number {
    const found = this.#bytes.indexOf(byteOf.backslash, at);
    return found === -1 ? this.#bytes.length : found;
  }
}

function parseText(text: string, plain: boolean): Json {
  if (plain) {
    try {
      return JSON.parse(text) as Json;
    } catch {
      // The exact parser decides.
    }
  }
  const result = parseJson(`[${text}]`);
  if (!result.ok) throw new UnusualRecord();
  const values = result.value as readonly Json[];
  if (values.length !== 1) throw new UnusualRecord();
  return values[0];
}
