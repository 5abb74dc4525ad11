/**
 * A replica's state at one operation as one piece of bytes: what a Raft snapshot holds. All blocks
 * of the machine and of the client sessions, ascending by kind and index, each with its checksum.
 *
 * | at | what |
 * |---|---|
 * | 0 | u32 version, u32 blocks, u64 op, u64 timestamp, digest 16, zero 24 |
 * | 64 | per block: u32 kind, index, size, zero, checksum 16; bytes, to a multiple of 16 |
 *
 * Little-endian. Reading checks the form only; checksums are compared when a block is put back.
 */
import { BLOCK_SIZE_MAX } from '../../engine/index.ts';
import {
  assert,
  readSafeU64,
  readU32,
  readU64,
  type U64,
  writeSafeU64,
  writeU32,
  writeU64,
} from '../../stdx/index.ts';

const VERSION = 1;
/** Bytes before the first block. */
export const SNAPSHOT_HEAD_SIZE = 64;
/** Bytes before the bytes of a block. */
export const BLOCK_HEAD_SIZE = 32;
/** Blocks begin at multiples of this, so that a machine may read words. */
const ALIGNMENT = 16;
/** Kinds are 16 bits. */
const KIND_MAX = 0xffff;

const Head = { version: 0, count: 4, op: 8, timestamp: 16, digest: 24, reserved: 40 } as const;
const BlockHead = { kind: 0, index: 4, size: 8, zero: 12, checksum: 16 } as const;

export interface StoredBlock {
  readonly kind: number;
  readonly index: number;
  /** 1 … BLOCK_SIZE_MAX bytes. */
  readonly bytes: Uint8Array;
  /** 16 bytes: MAC of `bytes`. */
  readonly checksum: Uint8Array;
}

export interface SnapshotPoint {
  /** The last operation in it. */
  readonly op: number;
  readonly timestamp: U64;
  /** 16 bytes. */
  readonly digest: Uint8Array;
}

export interface SnapshotData extends SnapshotPoint {
  /** Views of the bytes that were read. */
  readonly blocks: readonly StoredBlock[];
}

/** Bytes that a block takes with its head. */
export function storedSize(size: number): number {
  return BLOCK_HEAD_SIZE + Math.ceil(size / ALIGNMENT) * ALIGNMENT;
}

/** `bytes` are zero. */
export function writeSnapshotHead(bytes: Uint8Array, point: SnapshotPoint, count: number): void {
  writeU32(bytes, Head.version, VERSION);
  writeU32(bytes, Head.count, count);
  writeSafeU64(bytes, Head.op, point.op);
  writeU64(bytes, Head.timestamp, point.timestamp);
  assert(point.digest.length === 16, 'writeSnapshotHead: a digest has 16 bytes');
  bytes.set(point.digest, Head.digest);
}

/** Writes a block into bytes that are zero; returns it as it is there. */
export function writeBlock(bytes: Uint8Array, offset: number, block: StoredBlock): StoredBlock {
  const { kind, index } = block;
  const size = block.bytes.length;
  assert(size > 0 && size <= BLOCK_SIZE_MAX, 'writeBlock: size of a block');
  assert(offset % ALIGNMENT === 0, 'writeBlock: not aligned');
  writeU32(bytes, offset + BlockHead.kind, kind);
  writeU32(bytes, offset + BlockHead.index, index);
  writeU32(bytes, offset + BlockHead.size, size);
  bytes.set(block.checksum, offset + BlockHead.checksum);
  bytes.set(block.bytes, offset + BLOCK_HEAD_SIZE);
  return blockAt(bytes, offset, size);
}

/** Takes the bytes apart; `null` when they are not of this form. */
export function readSnapshotData(bytes: Uint8Array): SnapshotData | null {
  if (bytes.length < SNAPSHOT_HEAD_SIZE || readU32(bytes, Head.version) !== VERSION) return null;
  const op = readSafeU64(bytes, Head.op);
  const count = readU32(bytes, Head.count);
  if (op === null || count > bytes.length / BLOCK_HEAD_SIZE) return null;
  const blocks: StoredBlock[] = [];
  let offset = SNAPSHOT_HEAD_SIZE;
  let keyBefore = -1;
  for (let i = 0; i < count; i++) {
    if (offset + BLOCK_HEAD_SIZE > bytes.length) return null;
    const size = readU32(bytes, offset + BlockHead.size);
    if (size === 0 || size > BLOCK_SIZE_MAX) return null;
    if (offset + storedSize(size) > bytes.length) return null;
    const block = blockAt(bytes, offset, size);
    const key = blockKey(block.kind, block.index);
    if (block.kind > KIND_MAX || key <= keyBefore) return null;
    keyBefore = key;
    blocks.push(block);
    offset += storedSize(size);
  }
  if (offset !== bytes.length) return null;
  const digest = bytes.slice(Head.digest, Head.reserved);
  return { op, timestamp: readU64(bytes, Head.timestamp), digest, blocks };
}

/** One number for the name of a block, in the order in which blocks are put back. */
export function blockKey(kind: number, index: number): number {
  return kind * 0x1_0000_0000 + index;
}

function blockAt(bytes: Uint8Array, offset: number, size: number): StoredBlock {
  const at = offset + BLOCK_HEAD_SIZE;
  return {
    kind: readU32(bytes, offset + BlockHead.kind),
    index: readU32(bytes, offset + BlockHead.index),
    bytes: bytes.subarray(at, at + size),
    checksum: bytes.subarray(offset + BlockHead.checksum, at),
  };
}
