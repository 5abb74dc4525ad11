/**
 * A checkpoint as one replica tells another: what it is, and where its manifest lies in the file of
 * the one that tells. Everything else is asked for by place.
 */
import {
  assert,
  readSafeU64,
  readU32,
  readU64,
  writeSafeU64,
  writeU32,
  writeU64,
} from '../../stdx/index.ts';
import type { CheckpointReference, ChunkReference } from '../file/superblock-codec.ts';
import { MANIFEST_CHUNKS_MAX } from '../file/superblock-codec.ts';

const At = {
  op: 0,
  timestamp: 8,
  prepareChecksum: 16,
  digest: 32,
  root: 48,
  id: 64,
  idParent: 80,
  blockCount: 96,
  chunkCount: 100,
  chunks: 112,
} as const;
/** offset 8, size 4, zero 4, checksum 16. */
const CHUNK_SIZE = 32;

/** Bytes that {@link encodeCheckpoint} writes at most. */
export const CHECKPOINT_MESSAGE_MAX: number = At.chunks + MANIFEST_CHUNKS_MAX * CHUNK_SIZE;

/** Returns the number of bytes written. */
export function encodeCheckpoint(checkpoint: CheckpointReference, target: Uint8Array): number {
  const size = At.chunks + checkpoint.manifest.length * CHUNK_SIZE;
  assert(size <= target.length, 'encodeCheckpoint: no room');
  target.fill(0, 0, size);
  writeSafeU64(target, At.op, checkpoint.op);
  writeU64(target, At.timestamp, checkpoint.timestamp);
  target.set(checkpoint.prepareChecksum, At.prepareChecksum);
  target.set(checkpoint.digest, At.digest);
  target.set(checkpoint.root, At.root);
  target.set(checkpoint.id, At.id);
  target.set(checkpoint.idParent, At.idParent);
  writeU32(target, At.blockCount, checkpoint.blockCount);
  writeU32(target, At.chunkCount, checkpoint.manifest.length);
  checkpoint.manifest.forEach((chunk, i) => {
    const offset = At.chunks + i * CHUNK_SIZE;
    writeSafeU64(target, offset, chunk.offset);
    writeU32(target, offset + 8, chunk.size);
    target.set(chunk.checksum, offset + 16);
  });
  return size;
}

/** `null` when the bytes cannot be one. Copies what it keeps. */
export function decodeCheckpoint(bytes: Uint8Array): CheckpointReference | null {
  if (bytes.length < At.chunks) return null;
  const chunkCount = readU32(bytes, At.chunkCount);
  const isSized = bytes.length === At.chunks + chunkCount * CHUNK_SIZE;
  const op = readSafeU64(bytes, At.op);
  if (op === null || chunkCount > MANIFEST_CHUNKS_MAX || !isSized) return null;
  const manifest: ChunkReference[] = [];
  for (let at: number = At.chunks; at < bytes.length; at += CHUNK_SIZE) {
    const offset = readSafeU64(bytes, at);
    if (offset === null) return null;
    const checksum = bytes.slice(at + 16, at + 32);
    manifest.push({ offset, size: readU32(bytes, at + 8), checksum });
  }
  return {
    op,
    timestamp: readU64(bytes, At.timestamp),
    prepareChecksum: bytes.slice(At.prepareChecksum, At.prepareChecksum + 16),
    digest: bytes.slice(At.digest, At.digest + 16),
    root: bytes.slice(At.root, At.root + 16),
    id: bytes.slice(At.id, At.id + 16),
    idParent: bytes.slice(At.idParent, At.idParent + 16),
    blockCount: readU32(bytes, At.blockCount),
    manifest,
  };
}
