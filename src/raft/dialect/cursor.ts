/**
 * Reading and writing in order, for codecs. A writer asserts, since what it is given is ours; a
 * reader never throws: at the first thing that is wrong it fails, everything after that is zero or
 * empty, and whoever uses it looks at `failed` once, at the end.
 *
 * Numbers are little-endian; 64-bit ones are below 2^53. A string is a u16 with its size in bytes,
 * then UTF-8; the size 0xffff says "none".
 */
import {
  assert,
  readSafeU64,
  readU16,
  readU32,
  writeSafeU64,
  writeU16,
  writeU32,
} from '../../stdx/index.ts';
import { readUtf8, utf8Size, writeUtf8 } from './utf8.ts';

/** Bytes of a number below 2^53, and of the size before a string. */
export const NUMBER_SIZE = 8;
const STRING_HEAD_SIZE = 2;
const STRING_NONE = 0xffff;

export function stringSize(text: string | null): number {
  return STRING_HEAD_SIZE + (text === null ? 0 : utf8Size(text));
}

export class Writer {
  readonly bytes: Uint8Array;
  #offset: number;

  constructor(bytes: Uint8Array, offset: number) {
    this.bytes = bytes;
    this.#offset = offset;
  }

  /** Behind what was written. */
  get offset(): number {
    return this.#offset;
  }

  u8(value: number): void {
    assert((value & 0xff) === value, 'Writer: not a byte');
    this.bytes[this.#take(1)] = value;
  }

  bool(value: boolean): void {
    this.u8(value ? 1 : 0);
  }

  u32(value: number): void {
    assert(value >>> 0 === value, 'Writer: not an unsigned 32-bit integer');
    writeU32(this.bytes, this.#take(4), value);
  }

  number(value: number): void {
    writeSafeU64(this.bytes, this.#take(NUMBER_SIZE), value);
  }

  /** `sizeMax`: bytes; more is an error of whoever made it. */
  string(text: string | null, sizeMax: number): void {
    const start = this.#take(STRING_HEAD_SIZE);
    if (text === null) {
      writeU16(this.bytes, start, STRING_NONE);
      return;
    }
    this.#offset = writeUtf8(this.bytes, this.#offset, text);
    const size = this.#offset - start - STRING_HEAD_SIZE;
    assert(size <= sizeMax, 'Writer: string too long');
    writeU16(this.bytes, start, size);
  }

  /** A u32 with the size, then the bytes. */
  blob(data: Uint8Array): void {
    this.u32(data.length);
    this.bytes.set(data, this.#take(data.length));
  }

  #take(size: number): number {
    const start = this.#offset;
    this.#offset += size;
    assert(this.#offset <= this.bytes.length, 'Writer: no room');
    return start;
  }
}

export class Reader {
  readonly bytes: Uint8Array;
  readonly end: number;
  #offset: number;
  #failed: boolean;

  constructor(bytes: Uint8Array, offset: number, end: number) {
    this.bytes = bytes;
    this.end = end;
    this.#offset = offset;
    this.#failed = offset > end || end > bytes.length;
  }

  /** Behind what was read. */
  get offset(): number {
    return this.#offset;
  }

  get failed(): boolean {
    return this.#failed;
  }

  /** All of it was read, and nothing was wrong. */
  get isDone(): boolean {
    return !this.#failed && this.#offset === this.end;
  }

  fail(): void {
    this.#failed = true;
  }

  u8(): number {
    return this.#take(1) ? this.bytes[this.#offset - 1] : 0;
  }

  /** 0 or 1, nothing else. */
  bool(): boolean {
    const value = this.u8();
    if (value > 1) this.#failed = true;
    return value === 1;
  }

  u32(): number {
    return this.#take(4) ? readU32(this.bytes, this.#offset - 4) : 0;
  }

  /** From `min` to below 2^53. */
  number(min: number = 0): number {
    if (!this.#take(NUMBER_SIZE)) return 0;
    const value = readSafeU64(this.bytes, this.#offset - NUMBER_SIZE);
    if (value !== null && value >= min) return value;
    this.#failed = true;
    return 0;
  }

  /** From `sizeMin` to `sizeMax` bytes. */
  string(sizeMin: number, sizeMax: number): string {
    const text = this.stringOrNull(sizeMin, sizeMax);
    if (text === null) this.#failed = true;
    return text ?? '';
  }

  stringOrNull(sizeMin: number, sizeMax: number): string | null {
    if (!this.#take(STRING_HEAD_SIZE)) return null;
    const size = readU16(this.bytes, this.#offset - STRING_HEAD_SIZE);
    if (size === STRING_NONE) return null;
    if (size < sizeMin || size > sizeMax || !this.#take(size)) {
      this.#failed = true;
      return null;
    }
    const text = readUtf8(this.bytes, this.#offset - size, this.#offset);
    if (text === null) this.#failed = true;
    return text;
  }

  /** A view of the input, not a copy. */
  blob(sizeMax: number): Uint8Array {
    const size = this.u32();
    if (size > sizeMax || !this.#take(size)) {
      this.#failed = true;
      return NOTHING;
    }
    return this.bytes.subarray(this.#offset - size, this.#offset);
  }

  #take(size: number): boolean {
    if (this.#failed || size > this.end - this.#offset) {
      this.#failed = true;
      return false;
    }
    this.#offset += size;
    return true;
  }
}

const NOTHING = new Uint8Array(0);
