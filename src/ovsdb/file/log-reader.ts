/**
 * Reads a log of records one by one and says, where it cannot go on, whether that is the end of
 * what somebody was writing when the power went (nothing valid follows) or damage (valid records
 * follow, and would be lost by whoever just cut the file here). Error texts are the original's.
 */
import { assert } from '../../stdx/index.ts';
import { type OvsdbError, plainError, syntaxError } from '../data/error.ts';
import { decodeUtf8 } from '../json/utf8.ts';
import { HEADER_SIZE_MAX, type Header, parseHeader, type Sha1 } from './frame.ts';
import { OvsdbIoError } from './io-error.ts';

/** A file, as far as this room needs one. */
export interface LogSource {
  /** Bytes. */
  readonly size: number;
  /** `length` bytes from `offset`, all within the file; valid until the next call. */
  read(offset: number, length: number): Uint8Array;
}

export interface LogReaderOptions {
  readonly source: LogSource;
  /** How messages call the file. */
  readonly name: string;
  readonly sha1: Sha1;
}

/** A record whose frame and hash are right. */
export interface LogRecord {
  /** Of its header, bytes from the start of the file. */
  readonly offset: number;
  /** Behind its last byte. */
  readonly end: number;
  /** The JSON line; valid until the reader is used again. */
  readonly body: Uint8Array;
}

/** The original reads bodies in pieces of this many bytes, which its messages show. */
const PIECE_SIZE = 8192;
/** Bytes that are looked through at once for the next valid record. */
const SEARCH_SIZE = 1024 * 1024;

const lead: Uint8Array = Uint8Array.from('OVSDB ', (c) => c.charCodeAt(0));

/** What kind of log the file is, by its first record; an error when it is none of `magics`. */
export function identifyLog(
  source: LogSource,
  name: string,
  magics: readonly string[] = ['JSON', 'CLUSTER'],
): string | OvsdbError {
  if (source.size === 0) return plainError(`${name}: cannot identify file type`);
  const header = parseHeader(source.read(0, Math.min(HEADER_SIZE_MAX, source.size)));
  if (header === null) return plainError(`${name}: unexpected file format`);
  if (!magics.includes(header.magic)) return plainError(`${name}: cannot identify file type`);
  return header.magic;
}

export class LogReader {
  readonly #source: LogSource;
  readonly #name: string;
  readonly #sha1: Sha1;
  readonly #magic: string;
  #offset: number = 0;

  /** Of a log that {@link identifyLog} knows as one of this kind. */
  constructor(magic: string, { source, name, sha1 }: LogReaderOptions) {
    this.#magic = magic;
    this.#source = source;
    this.#name = name;
    this.#sha1 = sha1;
  }

  /** Where the next record is expected, bytes. */
  get offset(): number {
    return this.#offset;
  }

  /** The next record; `null` at the end of the file. After an error it is the same again. */
  next(): LogRecord | OvsdbError | null {
    const offset = this.#offset;
    if (offset === this.#source.size) return null;
    const header = this.#header(offset);
    if (header === null || header.magic !== this.#magic) return this.#badHeader(offset);
    const bodyOffset = offset + header.size;
    const problem = this.#checkLength(bodyOffset, header.length);
    if (problem !== null) return problem;
    const body = this.#source.read(bodyOffset, header.length);
    const sha1 = this.#sha1(body);
    if (sha1 !== header.sha1) {
      return syntaxError(
        undefined,
        `${this.#where(bodyOffset, header.length)} have SHA-1 hash ${sha1} ` +
          `but should have hash ${header.sha1}`,
      );
    }
    this.#offset = bodyOffset + header.length;
    return { offset, end: this.#offset, body };
  }

  /** What is wrong with the JSON of a record that was read. */
  badBody(record: LogRecord, reason: string): OvsdbError {
    const { length } = record.body;
    return syntaxError(undefined, `${this.#where(record.end - length, length)} ${reason}`);
  }

  /**
   * Where the first valid record behind `offset` begins; `null`: there is none. What damaged one
   * record may have damaged any number of bytes, so every place is tried. A record's JSON cannot
   * hold one: a header ends in a line feed, and JSON writes those as \n.
   */
  findValid(offset: number): number | null {
    for (let at = offset + 1; at < this.#source.size; at += SEARCH_SIZE) {
      const length = Math.min(SEARCH_SIZE + lead.length - 1, this.#source.size - at);
      for (const candidate of leadsIn(this.#source.read(at, length))) {
        if (this.#isValid(at + candidate)) return at + candidate;
      }
    }
    return null;
  }

  #isValid(offset: number): boolean {
    const header = this.#header(offset);
    if (header === null || header.magic !== this.#magic) return false;
    const bodyOffset = offset + header.size;
    if (this.#source.size - bodyOffset < header.length) return false;
    return this.#sha1(this.#source.read(bodyOffset, header.length)) === header.sha1;
  }

  #header(offset: number): Header | null {
    return parseHeader(this.#headerBytes(offset));
  }

  #headerBytes(offset: number): Uint8Array {
    assert(offset < this.#source.size, 'LogReader: a header behind the end');
    return this.#source.read(offset, Math.min(HEADER_SIZE_MAX, this.#source.size - offset));
  }

  #badHeader(offset: number): OvsdbError {
    const bytes = this.#headerBytes(offset);
    const end = bytes.findIndex((byte) => byte === 0x0a || byte === 0);
    const line = decodeUtf8(end === -1 ? bytes : bytes.subarray(0, end));
    const place = `${this.#name}: parse error at offset ${offset}`;
    return syntaxError(undefined, `${place} in header line "${line}"`);
  }

  #checkLength(offset: number, length: number): OvsdbError | null {
    const available = this.#source.size - offset;
    if (available >= length) return null;
    const missing = length - Math.floor(available / PIECE_SIZE) * PIECE_SIZE;
    const details = `${this.#name}: error reading ${missing} bytes starting at offset ${offset}`;
    return new OvsdbIoError(details, 'End of file');
  }

  #where(offset: number, length: number): string {
    return `${this.#name}: ${length} bytes starting at offset ${offset}`;
  }
}

/** Places in `bytes`, ascending, where a header may begin. */
function leadsIn(bytes: Uint8Array): number[] {
  const places: number[] = [];
  for (let at = bytes.indexOf(lead[0]); at !== -1; at = bytes.indexOf(lead[0], at + 1)) {
    if (lead.every((byte, i) => bytes[at + i] === byte)) places.push(at);
  }
  return places;
}
