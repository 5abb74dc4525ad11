/** Damage, told from what a crash leaves: bits that rot, sectors that were never written, heads. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng } from '../../stdx/index.ts';
import { createChecksum } from '../../wire/index.ts';
import { FileRig } from './file-rig-test-helper.ts';
import { FRAME_HEADER_SIZE, type FrameHeader, readFrameHeader } from './frame.ts';
import {
  APPEND_FRAMES_MAX,
  extentOffset,
  RAFT_HEAD_COPY_SIZE,
  RAFT_HEAD_SIZE,
  readRaftHead,
} from './index.ts';

const SECTOR = 4096;
const checksum = createChecksum();

/** Frames of several sizes over several extents, all of them acknowledged. */
function written(isOneByOne: boolean): FileRig {
  const rig = new FileRig(7, 16_384).open();
  rig.replace(20_000, [100], false);
  rig.settle();
  for (let i = 0; i < 12; i++) {
    rig.append([i % 3 === 0 ? 6000 : 100]);
    rig.requestSync();
    if (isOneByOne) rig.settle();
    rig.advance();
    if (!rig.isIdle) rig.complete();
  }
  rig.settle();
  rig.close();
  return rig;
}

/** Offsets of the frames of the generation in force. */
function framesOf(rig: FileRig): { readonly offset: number; readonly header: FrameHeader }[] {
  const state = rig.look();
  assert.ok(state.ok);
  const frames: { offset: number; header: FrameHeader }[] = [];
  for (let offset = RAFT_HEAD_SIZE; offset < rig.disk.size; offset += SECTOR) {
    const header = readFrameHeader(rig.disk.read(offset, SECTOR), 0, checksum);
    if (header?.generation === state.generation) frames.push({ offset, header });
  }
  return frames.sort((a, b) => a.header.number - b.header.number);
}

test('a rotten frame is damage as soon as a later one knows that it was durable', () => {
  for (const isOneByOne of [true, false]) {
    const rig = written(isOneByOne);
    const { disk } = rig;
    const frames = framesOf(rig);
    const whole = rig.look();
    assert.ok(whole.ok && frames.length > 6);
    const known = Math.max(whole.head.frames, ...frames.map(({ header }) => header.durable));
    assert.ok(known >= frames.length - APPEND_FRAMES_MAX);
    for (const { offset, header } of frames) {
      const end = offset + FRAME_HEADER_SIZE + header.length;
      for (let at = offset; at < end; at += SECTOR) {
        const copy = disk.copy();
        const bytes = copy.read(at, SECTOR);
        bytes[Math.min(SECTOR, end - at) - 1]! ^= 1;
        copy.install(at, bytes);
        rig.disk = copy;
        const state = rig.look();
        if (header.number <= known) assert.equal(state.ok, false, `frame ${header.number}`);
        else assert.ok(state.ok && state.frames === header.number - 1);
      }
    }
  }
});

test('a rotten header is damage, whether its extent holds more or not', () => {
  const rig = written(true);
  const { disk } = rig;
  const frames = framesOf(rig);
  for (const { offset, header } of frames.slice(0, -1)) {
    rig.disk = disk.copy();
    rig.disk.install(offset, new Uint8Array(SECTOR).fill(3));
    assert.equal(rig.look().ok, false, `frame ${header.number}`);
  }
});

test('a head counts the frames of its generation: none may be missing, not even the last', () => {
  const rig = new FileRig(7, 16_384).open();
  rig.replace(null, [20_000, 100], false);
  rig.settle();
  rig.close();
  const { disk } = rig;
  const frames = framesOf(rig);
  assert.equal(frames.length, 2);
  for (const { offset } of frames) {
    rig.disk = disk.copy();
    rig.disk.damage(offset, new Prng(1));
    assert.equal(rig.look().ok, false);
  }
});

test('one rotten copy of the head does no harm, and is made good by the next heads', () => {
  for (let copy = 0; copy < 4; copy++) {
    const rig = written(true);
    rig.disk.damage(copy * RAFT_HEAD_COPY_SIZE, new Prng(copy));
    rig.open();
    assert.equal(rig.corrupt, null);
    rig.replace(null, [1], false);
    rig.settle();
    const read = readRaftHead(rig.disk.read(0, RAFT_HEAD_SIZE), checksum);
    assert.ok(read.ok);
    assert.deepEqual(read.damaged, []);
    rig.close();
  }
});

test('both copies of a head rotten: nobody knows which was newer', () => {
  for (const pair of [0, 1]) {
    const rig = written(true);
    for (const copy of [0, 1]) {
      rig.disk.damage((2 * pair + copy) * RAFT_HEAD_COPY_SIZE, new Prng(copy));
    }
    const state = rig.look();
    assert.ok(!state.ok);
    assert.equal(state.error.kind, 'corrupt');
  }
});

test('frames that were written under a newer head than there is tell that it is lost', () => {
  const rig = new FileRig(7, 16_384).open();
  rig.settle();
  const before = rig.disk.read(0, RAFT_HEAD_SIZE);
  rig.replace(20_000, [100], true);
  rig.settle();
  // Of extents that are not the old head's, the first frame is looked at.
  rig.append([20_000]);
  rig.requestSync();
  rig.settle();
  assert.ok(rig.look().ok);
  rig.disk.install(0, before);
  const state = rig.look();
  assert.ok(!state.ok && state.error.kind === 'corrupt');
  assert.match(state.error.reason, /newest head is lost/);
  rig.close();
});

test('a replica that opens a damaged file refuses it and writes nothing', () => {
  const rig = written(true);
  const [first] = framesOf(rig);
  rig.disk.damage(first!.offset, new Prng(1));
  const { writesIssued } = rig.disk;
  rig.open();
  assert.match(rig.corrupt ?? '', /damaged/);
  assert.equal(rig.disk.writesIssued, writesIssued);
  rig.close();
});

test('what a client sends cannot pass for a frame', () => {
  const rig = written(true);
  const frames = framesOf(rig);
  const last = frames.at(-1)!;
  // A frame of the right generation that knows of more, but of another file.
  const bytes = rig.disk.read(last.offset, SECTOR);
  const forged = bytes.slice();
  forged.fill(0x44, 48, 64);
  forged[80] = 99;
  forged[88] = 98;
  checksum.digest(forged, 16, FRAME_HEADER_SIZE - 16, forged, 0);
  assert.equal(readFrameHeader(forged, 0, checksum)?.durable, 98);
  const state = rig.look();
  assert.ok(state.ok);
  const { extentSize } = rig.geometry;
  rig.disk.install(extentOffset(rig.geometry, Math.ceil(rig.disk.size / extentSize)), forged);
  assert.ok(rig.look().ok);
  // The same with this file's id is taken seriously.
  forged.set(bytes.subarray(48, 64), 48);
  checksum.digest(forged, 16, FRAME_HEADER_SIZE - 16, forged, 0);
  rig.disk.install(extentOffset(rig.geometry, Math.ceil(rig.disk.size / extentSize)), forged);
  assert.equal(rig.look().ok, false);
});
