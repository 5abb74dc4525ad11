/**
 * The manifest of a checkpoint: every block by name, with its place, size and checksum, in
 * ascending order of (kind, index). It is cut into pieces of 256 KiB at most; the superblock names
 * the pieces.
 */
import { BLOCK_SIZE_MAX, SECTOR_SIZE } from '../../engine/index.ts';
import { assert, readU16, readU32, writeU16, writeU32 } from '../../stdx/index.ts';

export interface Place {
  /** In the file; a multiple of 4096. */
  readonly offset: number;
  /** Bytes that count, 1 … 256 KiB; on disk they are padded with zeros to whole sectors. */
  readonly size: number;
  /** Of these bytes; 16 bytes. */
  readonly checksum: Uint8Array;
}

export interface ManifestEntry extends Place {
  readonly kind: number;
  readonly index: number;
}

const ENTRY_SIZE = 32;
/** Entries of a full piece. */
export const ENTRIES_PER_CHUNK: number = BLOCK_SIZE_MAX / ENTRY_SIZE;

/** A block's name as one number, in the order of (kind, index). */
export function blockKey(kind: number, index: number): number {
  assert(Number.isInteger(kind) && kind >= 0 && kind <= 0xffff, 'blockKey: bad kind');
  assert(Number.isInteger(index) && index >= 0 && index <= 0xffff_ffff, 'blockKey: bad index');
  return kind * 0x1_0000_0000 + index;
}

export function keyKind(key: number): number {
  return Math.floor(key / 0x1_0000_0000);
}

export function keyIndex(key: number): number {
  return key >>> 0;
}

/** Writes one entry; returns the offset after it. */
export function encodeEntry(target: Uint8Array, offset: number, key: number, place: Place): number {
  assert(offset + ENTRY_SIZE <= target.length, 'encodeEntry: no room');
  assert(place.offset % SECTOR_SIZE === 0, 'encodeEntry: a place is not aligned');
  writeU16(target, offset, keyKind(key));
  writeU16(target, offset + 2, 0);
  writeU32(target, offset + 4, keyIndex(key));
  writeU32(target, offset + 8, place.offset / SECTOR_SIZE);
  writeU32(target, offset + 12, place.size);
  target.set(place.checksum, offset + 16);
  return offset + ENTRY_SIZE;
}

/** The entries of one piece; `null` when the bytes cannot be one. */
export function decodeChunk(bytes: Uint8Array): ManifestEntry[] | null {
  if (bytes.length % ENTRY_SIZE !== 0) return null;
  const entries: ManifestEntry[] = [];
  for (let offset = 0; offset < bytes.length; offset += ENTRY_SIZE) {
    const size = readU32(bytes, offset + 12);
    if (size < 1 || size > BLOCK_SIZE_MAX) return null;
    entries.push({
      kind: readU16(bytes, offset),
      index: readU32(bytes, offset + 4),
      offset: readU32(bytes, offset + 8) * SECTOR_SIZE,
      size,
      checksum: bytes.slice(offset + 16, offset + 32),
    });
  }
  return entries;
}
