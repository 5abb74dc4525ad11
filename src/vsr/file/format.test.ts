import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isZero, readSafeU64 } from '../../stdx/index.ts';
import { createChecksum, headerValid, PrepareOffset } from '../../wire/index.ts';
import { formatWrites, recoveredViewOf } from './format.ts';
import {
  fixedSize,
  GEOMETRY_DEVELOPMENT,
  headerOffset,
  prepareOffset,
  SUPERBLOCK_AREA_SIZE,
} from './geometry.ts';
import { readSuperblock } from './superblock-codec.ts';

const checksum = createChecksum();

test('the writes cover the fixed part exactly once, superblock last', () => {
  const geometry = GEOMETRY_DEVELOPMENT;
  const cluster = new Uint8Array(16).fill(3);
  const replicaId = new Uint8Array(16).fill(5);
  const file = new Uint8Array(fixedSize(geometry));
  const covered = new Uint8Array(file.length / 4096);
  const offsets: number[] = [];
  const options = { cluster, replica: 0, replicaCount: 1, replicaId, geometry, release: 0x1109 };
  for (const { offset, bytes } of formatWrites(options, checksum)) {
    assert.equal(offset % 4096, 0);
    assert.equal(bytes.length % 4096, 0);
    offsets.push(offset);
    file.set(bytes, offset);
    for (let i = 0; i < bytes.length / 4096; i++) covered[offset / 4096 + i]!++;
  }
  assert.ok(covered.every((count) => count === 1));
  assert.deepEqual(offsets.slice(-4), [0, 16_384, 32_768, 49_152]);
  for (let slot = 0; slot < geometry.slots; slot++) {
    for (const at of [headerOffset(geometry, slot), prepareOffset(geometry, slot)]) {
      assert.ok(headerValid(file, checksum, at));
      assert.equal(readSafeU64(file, at + PrepareOffset.op), slot);
      assert.equal(file[at + PrepareOffset.operation], slot === 0 ? 1 : 0);
      assert.ok(isZero(file, at + 256, 4096 - 256));
    }
  }
  const read = readSuperblock(file.subarray(0, SUPERBLOCK_AREA_SIZE), checksum);
  assert.ok(read.ok);
  assert.deepEqual(read.superblock.cluster, cluster);
  const stamped = replicaId.slice().fill(0, 0, 4);
  assert.deepEqual(read.superblock.replicaId, stamped, 'no view: it was formatted');
  assert.deepEqual(read.superblock.geometry, geometry);
  assert.equal(read.superblock.view, 0);
  assert.equal(read.superblock.isRecovered, false);
  assert.deepEqual(read.superblock.viewHeaders, []);
  assert.deepEqual(read.superblock.members.subarray(0, 16), stamped);
  assert.ok(isZero(read.superblock.members, 16, 80));
  assert.equal(read.superblock.checkpoint.op, 0);
  const root = file.slice(prepareOffset(geometry, 0), prepareOffset(geometry, 0) + 16);
  assert.deepEqual(read.superblock.checkpoint.prepareChecksum, root);
});

test('a file that replaces a lost one says so, and in which view it begins', () => {
  const id = new Uint8Array(16).fill(5);
  const options = {
    cluster: id,
    replica: 2,
    replicaCount: 3,
    replicaId: id,
    geometry: GEOMETRY_DEVELOPMENT,
    release: 0x1109,
    isRecovered: true,
    view: 12,
  };
  const file = new Uint8Array(SUPERBLOCK_AREA_SIZE);
  for (const { offset, bytes } of formatWrites(options, checksum)) {
    if (offset < file.length) file.set(bytes, offset);
  }
  const read = readSuperblock(file, checksum);
  assert.ok(read.ok);
  assert.equal(read.superblock.isRecovered, true);
  assert.equal(read.superblock.view, 12);
  assert.equal(read.superblock.logView, 0);
  assert.equal(recoveredViewOf(read.superblock.replicaId), 12);
  assert.deepEqual(read.superblock.replicaId.subarray(4), id.subarray(4));
  assert.deepEqual(read.superblock.members.subarray(32, 48), read.superblock.replicaId);
  assert.ok(isZero(read.superblock.members, 0, 32));
});
