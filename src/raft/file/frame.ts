/**
 * A frame: a header of 128 bytes and a piece of the stream, padded to whole sectors. Its header has
 * a checksum of its own, so that a frame whose body is damaged still tells what it was; the body's
 * is in the header. Each frame names the header checksum of the one before it: a frame that some
 * earlier life left behind follows another one, since every life writes under a head of its own.
 *
 * `durable` is what tells damage from a torn end: a frame says up to which number all before it
 * were durable when it was made. Whoever reads that and lacks one of those has lost something.
 */
import { SECTOR_SIZE } from '../../engine/index.ts';
import {
  assert,
  bytesEqual,
  isZero,
  readSafeU64,
  readU32,
  writeSafeU64,
  writeU32,
} from '../../stdx/index.ts';
import { CHECKSUM_SIZE, type Checksum } from '../../wire/index.ts';
import { EXTENTS_MAX } from './layout.ts';

export const FRAME_HEADER_SIZE = 128;

const At = {
  checksum: 0,
  bodyChecksum: 16,
  previous: 32,
  /** The replica id: not known to clients, so that nothing they send can pass for a frame. */
  file: 48,
  generation: 64,
  head: 72,
  number: 80,
  durable: 88,
  length: 96,
  next: 100,
  flags: 104,
} as const;
const FLAG_CONTINUES = 1;
const RESERVED = 108;

export interface FrameHeader {
  /** Header checksum of the frame before; zero for the first. */
  readonly previous: Uint8Array;
  readonly file: Uint8Array;
  readonly generation: number;
  /** Sequence of the head under which it was written. */
  readonly head: number;
  /** From 1, without a gap. */
  readonly number: number;
  /** All frames of the generation up to this number were durable before. */
  readonly durable: number;
  /** Bytes of the body. */
  readonly length: number;
  /** The extent that follows this one; the same in all frames of an extent. */
  readonly next: number;
  /** The body goes on where the frame before ended; otherwise it begins with a new item. */
  readonly continues: boolean;
}

/** Bytes that a frame with such a body takes on disk. */
export function frameSize(length: number): number {
  return Math.ceil((FRAME_HEADER_SIZE + length) / SECTOR_SIZE) * SECTOR_SIZE;
}

/**
 * Seals the frame whose body already lies behind the header's place in `target`; clears the
 * padding. Returns a copy of the header's checksum.
 */
export function sealFrame(header: FrameHeader, target: Uint8Array, checksum: Checksum): Uint8Array {
  const { length } = header;
  const size = frameSize(length);
  assert(length > 0 && size <= target.length, 'sealFrame: no room');
  assert(header.durable < header.number, 'sealFrame: durable before it was made');
  target.fill(0, 0, FRAME_HEADER_SIZE);
  target.fill(0, FRAME_HEADER_SIZE + length, size);
  target.set(header.previous, At.previous);
  target.set(header.file, At.file);
  writeSafeU64(target, At.generation, header.generation);
  writeSafeU64(target, At.head, header.head);
  writeSafeU64(target, At.number, header.number);
  writeSafeU64(target, At.durable, header.durable);
  writeU32(target, At.length, length);
  writeU32(target, At.next, header.next);
  target[At.flags] = header.continues ? FLAG_CONTINUES : 0;
  checksum.digest(target, FRAME_HEADER_SIZE, length, target, At.bodyChecksum);
  const start = At.bodyChecksum;
  checksum.digest(target, start, FRAME_HEADER_SIZE - start, target, At.checksum);
  return target.slice(At.checksum, At.checksum + CHECKSUM_SIZE);
}

/** Any frame's header at `offset`, of whatever file; `null`: there is none. */
export function readFrameHeader(
  bytes: Uint8Array,
  offset: number,
  checksum: Checksum,
): FrameHeader | null {
  if (offset + SECTOR_SIZE > bytes.length) return null;
  // Most of what is looked at was never written: spares the checksum.
  if (isZero(bytes, offset, CHECKSUM_SIZE)) return null;
  const start = offset + At.bodyChecksum;
  const size = FRAME_HEADER_SIZE - At.bodyChecksum;
  checksum.digest(bytes, start, size, computed, 0);
  if (!bytesEqual(computed, 0, bytes, offset + At.checksum, CHECKSUM_SIZE)) return null;
  const flags = bytes[offset + At.flags];
  if (flags > FLAG_CONTINUES || !isZero(bytes, offset + RESERVED, 20)) return null;
  const header: FrameHeader = {
    previous: bytes.slice(offset + At.previous, offset + At.previous + CHECKSUM_SIZE),
    file: bytes.slice(offset + At.file, offset + At.file + 16),
    generation: readSafeU64(bytes, offset + At.generation) ?? 0,
    head: readSafeU64(bytes, offset + At.head) ?? 0,
    number: readSafeU64(bytes, offset + At.number) ?? 0,
    durable: readSafeU64(bytes, offset + At.durable) ?? 0,
    length: readU32(bytes, offset + At.length),
    next: readU32(bytes, offset + At.next),
    continues: flags === FLAG_CONTINUES,
  };
  if (header.number < 1 || header.durable >= header.number) return null;
  return header.length < 1 || header.next >= EXTENTS_MAX ? null : header;
}

/** Whether the body of the frame at `offset` is what its header says. */
export function isBodyWhole(
  bytes: Uint8Array,
  offset: number,
  length: number,
  checksum: Checksum,
): boolean {
  const start = offset + FRAME_HEADER_SIZE;
  if (start + length > bytes.length) return false;
  checksum.digest(bytes, start, length, computed, 0);
  return bytesEqual(computed, 0, bytes, offset + At.bodyChecksum, CHECKSUM_SIZE);
}

/** The header's checksum: what the next frame names. */
export function frameChecksum(bytes: Uint8Array, offset: number): Uint8Array {
  return bytes.slice(offset + At.checksum, offset + At.checksum + CHECKSUM_SIZE);
}

/** Scratch of this module; nothing is kept in it from one call to the next. */
const computed = new Uint8Array(CHECKSUM_SIZE);
