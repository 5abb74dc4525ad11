import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng, writeU32 } from '../../stdx/index.ts';
import { type CheckpointReference, MANIFEST_CHUNKS_MAX } from '../file/superblock-codec.ts';
import {
  CHECKPOINT_MESSAGE_MAX,
  decodeCheckpoint,
  encodeCheckpoint,
} from './checkpoint-message.ts';

const prng = new Prng(4);

function bytes(): Uint8Array {
  const target = new Uint8Array(16);
  prng.fill(target);
  return target;
}

function reference(chunks: number): CheckpointReference {
  return {
    op: prng.below(1_000_000),
    timestamp: { hi: prng.u32(), lo: prng.u32() },
    prepareChecksum: bytes(),
    digest: bytes(),
    root: bytes(),
    id: bytes(),
    idParent: bytes(),
    blockCount: prng.below(100_000),
    manifest: Array.from({ length: chunks }, () => {
      return {
        offset: 4096 * prng.below(1 << 30),
        size: 1 + prng.below(262_144),
        checksum: bytes(),
      };
    }),
  };
}

test('a checkpoint comes out as it went in, whatever was in the buffer', () => {
  for (const chunks of [0, 1, 2, 17, MANIFEST_CHUNKS_MAX]) {
    const checkpoint = reference(chunks);
    const target = new Uint8Array(CHECKPOINT_MESSAGE_MAX).fill(0xee);
    const size = encodeCheckpoint(checkpoint, target);
    assert.deepEqual(decodeCheckpoint(target.subarray(0, size)), checkpoint);
  }
});

test('bytes of another length, or too many pieces, are none', () => {
  const target = new Uint8Array(CHECKPOINT_MESSAGE_MAX);
  const size = encodeCheckpoint(reference(3), target);
  for (const length of [0, 1, 111, size - 1, size + 1, size - 32]) {
    assert.equal(decodeCheckpoint(target.subarray(0, length)), null, `${length}`);
  }
  const many = new Uint8Array(CHECKPOINT_MESSAGE_MAX + 32);
  encodeCheckpoint(reference(MANIFEST_CHUNKS_MAX), many);
  writeU32(many, 100, MANIFEST_CHUNKS_MAX + 1);
  assert.equal(decodeCheckpoint(many), null);
});

test('what is decoded does not change with the buffer', () => {
  const target = new Uint8Array(CHECKPOINT_MESSAGE_MAX);
  const checkpoint = reference(2);
  const size = encodeCheckpoint(checkpoint, target);
  const decoded = decodeCheckpoint(target.subarray(0, size));
  target.fill(0);
  assert.deepEqual(decoded, checkpoint);
});
