/**
 * Cuts a JSON-RPC stream into values. The stream has no framing: objects follow one another, with
 * or without white space (RFC 7047 §4), so the end of a value is where its brackets close. Every
 * byte is looked at once, whatever the chunks; a value's chunks are joined once, at its end.
 *
 * While looking, the framer notes whether a value holds anything in which the platform's parser
 * and the exact one could differ (long or unusual numbers, \u escapes, and escapes in names, of
 * which V8 reads some as others: `{"":1,"\"":2}`). Most messages do not, and are parsed four times
 * faster; what the platform refuses is parsed again for the exact error.
 */
import { assert } from '../../stdx/index.ts';
import { JSON_DEPTH_MAX, type JsonResult, parseJson } from './parse.ts';
import { decodeUtf8 } from './utf8.ts';

/** Bytes of one value. Its text must fit into one string of the platform. */
export const JSON_SIZE_MAX: number = 256 * 1024 * 1024;

export interface JsonFramerOptions {
  /** At most {@link JSON_SIZE_MAX}, bytes; a longer value is an error. */
  readonly sizeMax?: number;
}

/** Digits in a row up to which every integer is safe. */
const PLAIN_DIGITS_MAX = 15;

export class JsonFramer {
  readonly #sizeMax: number;
  /** Earlier chunks of the value being received. */
  #chunks: Uint8Array[] = [];
  #size: number = 0;
  #depth: number = 0;
  #inString: boolean = false;
  #escaped: boolean = false;
  /** Whether the last string has an escape in it. */
  #hasEscape: boolean = false;
  #plain: boolean = true;
  #digits: number = 0;
  #failed: JsonResult | null = null;

  constructor(options: JsonFramerOptions = {}) {
    this.#sizeMax = options.sizeMax ?? JSON_SIZE_MAX;
    assert(this.#sizeMax > 0 && this.#sizeMax <= JSON_SIZE_MAX, 'JsonFramer: size limit');
  }

  /** Bytes received of a value that is not complete. */
  get pendingBytes(): number {
    return this.#size;
  }

  /**
   * Takes a chunk, which must not change afterwards, and gives every value that it completes. After
   * an error, always the last result, the stream is lost: close it; nothing more comes out.
   */
  push(chunk: Uint8Array): JsonResult[] {
    const results: JsonResult[] = [];
    if (this.#failed !== null) return results;
    let at = 0;
    while (at < chunk.length) {
      const end = this.#scan(chunk, at);
      if (this.#failed === null && this.#size + (end - at) > this.#sizeMax) {
        this.#fail(`message exceeds ${this.#sizeMax} bytes`);
      }
      if (this.#failed !== null) {
        results.push(this.#failed);
        return results;
      }
      if (this.#depth > 0) {
        this.#keep(chunk.subarray(at, end));
        return results;
      }
      if (this.#started(chunk, end)) results.push(this.#complete(chunk.subarray(at, end)));
      if (this.#failed !== null) return results;
      at = end;
    }
    return results;
  }

  /** Whether what was scanned up to `end` closed a value, rather than being white space. */
  #started(chunk: Uint8Array, end: number): boolean {
    const last = chunk[end - 1];
    return last === 0x7d || last === 0x5d;
  }

  #keep(bytes: Uint8Array): void {
    this.#chunks.push(bytes);
    this.#size += bytes.length;
  }

  #complete(bytes: Uint8Array): JsonResult {
    const result = parseBytes(this.#join(bytes), this.#plain);
    if (!result.ok) this.#failed = result;
    this.#chunks = [];
    this.#size = 0;
    this.#plain = true;
    this.#digits = 0;
    return result;
  }

  #join(last: Uint8Array): Uint8Array {
    if (this.#chunks.length === 0) return last;
    const whole = new Uint8Array(this.#size + last.length);
    let at = 0;
    for (const chunk of this.#chunks) {
      whole.set(chunk, at);
      at += chunk.length;
    }
    whole.set(last, at);
    return whole;
  }

  #fail(error: string): void {
    this.#failed = { ok: false, error };
    this.#chunks = [];
  }

  /** Looks at bytes up to the end of a value or of the chunk; returns where it stopped. */
  #scan(chunk: Uint8Array, from: number): number {
    let at = from;
    while (at < chunk.length) {
      if (this.#inString) {
        at = this.#scanString(chunk, at);
        continue;
      }
      const byte = chunk[at++];
      if (byte >= 0x30 && byte <= 0x39) {
        if (++this.#digits > PLAIN_DIGITS_MAX) this.#plain = false;
        if (this.#depth === 0) return this.#refuseStart(chunk, at);
        continue;
      }
      // An e is part of true and false too; in a number it follows a digit.
      if (byte === 0x65 && this.#digits > 0) this.#plain = false;
      this.#digits = 0;
      if (byte === 0x22) {
        this.#inString = true;
        this.#hasEscape = false;
      } else if (byte === 0x3a) {
        if (this.#hasEscape) this.#plain = false;
      } else if (byte === 0x7b || byte === 0x5b) {
        if (++this.#depth > JSON_DEPTH_MAX) {
          this.#fail(`input exceeds maximum nesting depth ${JSON_DEPTH_MAX}`);
          return at;
        }
      } else if (byte === 0x7d || byte === 0x5d) {
        if (this.#depth === 0) return this.#refuseStart(chunk, at);
        if (--this.#depth === 0) return at;
      } else if (byte === 0x2e || byte === 0x2d || byte === 0x45) this.#plain = false;
      if (this.#depth === 0 && !isSpace(byte)) return this.#refuseStart(chunk, at);
    }
    return at;
  }

  #scanString(chunk: Uint8Array, from: number): number {
    let at = from;
    if (this.#escaped) {
      if (chunk[at] === 0x75) this.#plain = false;
      this.#escaped = false;
      at += 1;
    }
    for (; at < chunk.length; at++) {
      const byte = chunk[at];
      if (byte === 0x22) {
        this.#inString = false;
        return at + 1;
      }
      if (byte === 0x5c) {
        this.#escaped = true;
        this.#hasEscape = true;
        return at + 1;
      }
    }
    return at;
  }

  /** Only arrays and objects can start a value; the exact parser says what is wrong. */
  #refuseStart(chunk: Uint8Array, end: number): number {
    const result = parseJson(decodeUtf8(chunk.subarray(end - 1, end)));
    assert(!result.ok, 'JsonFramer: the parser accepts what the framer refuses');
    this.#failed = result;
    return end;
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** One value in bytes; `plain`: nothing in it that the two parsers would read differently. */
function parseBytes(bytes: Uint8Array, plain: boolean): JsonResult {
  const text = decodeUtf8(bytes);
  if (plain) {
    try {
      return { ok: true, value: JSON.parse(text) };
    } catch {
      // The exact parser says what is wrong, in the original's words.
    }
  }
  return parseJson(text);
}
