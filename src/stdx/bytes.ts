/** Bytes: little-endian numbers, comparison and hexadecimal, for codecs and tests. */
import { assert } from './assert.ts';
import type { U64 } from './u64.ts';

export function readU16(bytes: Uint8Array, offset: number): number {
  return bytes[offset] | (bytes[offset + 1] << 8);
}

export function readU32(bytes: Uint8Array, offset: number): number {
  return (
    (bytes[offset] |
      (bytes[offset + 1] << 8) |
      (bytes[offset + 2] << 16) |
      (bytes[offset + 3] << 24)) >>>
    0
  );
}

export function readU64(bytes: Uint8Array, offset: number): U64 {
  return { hi: readU32(bytes, offset + 4), lo: readU32(bytes, offset) };
}

/** A 64-bit field that the protocol keeps below 2^53; `null` when the bytes hold more. */
export function readSafeU64(bytes: Uint8Array, offset: number): number | null {
  const hi = readU32(bytes, offset + 4);
  return hi < 0x20_0000 ? hi * 0x1_0000_0000 + readU32(bytes, offset) : null;
}

export function writeU16(bytes: Uint8Array, offset: number, value: number): void {
  bytes[offset] = value;
  bytes[offset + 1] = value >>> 8;
}

export function writeU32(bytes: Uint8Array, offset: number, value: number): void {
  bytes[offset] = value;
  bytes[offset + 1] = value >>> 8;
  bytes[offset + 2] = value >>> 16;
  bytes[offset + 3] = value >>> 24;
}

export function writeU64(bytes: Uint8Array, offset: number, value: U64): void {
  writeU32(bytes, offset, value.lo);
  writeU32(bytes, offset + 4, value.hi);
}

/** A safe non-negative integer as 64-bit little-endian. */
export function writeSafeU64(bytes: Uint8Array, offset: number, value: number): void {
  assert(Number.isSafeInteger(value) && value >= 0, 'writeSafeU64: not a safe integer');
  writeU32(bytes, offset, value >>> 0);
  writeU32(bytes, offset + 4, Math.floor(value / 0x1_0000_0000));
}

/** Equal contents of `length` bytes at two places. */
export function bytesEqual(
  a: Uint8Array,
  aOffset: number,
  b: Uint8Array,
  bOffset: number,
  length: number,
): boolean {
  for (let i = 0; i < length; i++) {
    if (a[aOffset + i] !== b[bOffset + i]) return false;
  }
  return true;
}

export function isZero(bytes: Uint8Array, offset: number, length: number): boolean {
  for (let i = 0; i < length; i++) {
    if (bytes[offset + i] !== 0) return false;
  }
  return true;
}

export function toHex(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += byte.toString(16).padStart(2, '0');
  return text;
}

export function fromHex(text: string): Uint8Array {
  assert(text.length % 2 === 0, 'fromHex: odd length');
  const bytes = new Uint8Array(text.length / 2);
  for (let i = 0; i < bytes.length; i++) {
    const byte = Number.parseInt(text.slice(2 * i, 2 * i + 2), 16);
    assert(!Number.isNaN(byte), 'fromHex: not hexadecimal');
    bytes[i] = byte;
  }
  return bytes;
}
