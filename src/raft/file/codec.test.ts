/** The parts of a data file that are pure: heads, frames, the stream, extents. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng, writeU32 } from '../../stdx/index.ts';
import { createChecksum } from '../../wire/index.ts';
import { encodeRecord } from '../dialect/codec.ts';
import type { FileHeader, LogRecord } from '../entry.ts';
import { Extents } from './extents.ts';
import { entry, snapshot } from './file-rig-test-helper.ts';
import {
  FRAME_HEADER_SIZE,
  type FrameHeader,
  frameChecksum,
  frameSize,
  isBodyWhole,
  readFrameHeader,
  sealFrame,
} from './frame.ts';
import { copiesOf, encodeRaftHead, type RaftHead, readRaftHead } from './head-codec.ts';
import { RAFT_GEOMETRY_DEVELOPMENT, RAFT_HEAD_SIZE, raftGeometryProblem } from './layout.ts';
import { StreamReader } from './stream-reader.ts';
import { StreamSource } from './stream-source.ts';

const SECTOR = 4096;
const checksum = createChecksum();

const head: RaftHead = {
  sequence: 2 ** 40,
  release: 7,
  cluster: new Uint8Array(16).fill(1),
  replicaId: new Uint8Array(16).fill(2),
  replica: 6,
  replicaCount: 7,
  geometry: { extentSize: 1_048_576, requestSizeMax: 1_048_576 },
  generation: 12_345,
  firstExtent: 99,
  frames: 3,
};

/** The first bytes of a file with these heads. */
function area(...heads: readonly RaftHead[]): Uint8Array {
  const bytes = new Uint8Array(RAFT_HEAD_SIZE);
  for (const one of heads) {
    for (const copy of copiesOf(one.sequence)) {
      encodeRaftHead(one, bytes.subarray(copy * SECTOR, (copy + 1) * SECTOR), checksum);
    }
  }
  return bytes;
}

test('of two heads the one of the higher sequence counts, in whichever pair', () => {
  for (const sequence of [8, 9]) {
    const newer = { ...head, generation: 5, sequence };
    const older = { ...head, generation: 4, sequence: sequence - 1 };
    const read = readRaftHead(area(newer, older), checksum);
    assert.deepEqual(read, { ok: true, head: newer, damaged: [] });
  }
});

test('a head of another format is told apart from damage, and both from no head', () => {
  const errorOf = (bytes: Uint8Array): string => {
    const read = readRaftHead(bytes, checksum);
    return read.ok ? 'ok' : read.error.kind;
  };
  assert.equal(errorOf(new Uint8Array(0)), 'not-a-data-file');
  assert.equal(errorOf(new Uint8Array(RAFT_HEAD_SIZE)), 'not-a-data-file');
  const whole = area(head, { ...head, sequence: head.sequence + 1 });
  assert.equal(errorOf(whole), 'ok');
  assert.equal(errorOf(whole.subarray(0, 2 * SECTOR)), 'corrupt');
  const other = whole.slice();
  for (let copy = 0; copy < 4; copy++) writeU32(other, copy * SECTOR + 32, 2);
  const read = readRaftHead(other, checksum);
  assert.deepEqual(read, {
    ok: false,
    error: { kind: 'format-version', found: 2, supported: 1 },
  });
});

test('a copy in the place of the other pair is damage', () => {
  const bytes = area(head, { ...head, sequence: head.sequence + 1 });
  bytes.copyWithin(0, 2 * SECTOR, 3 * SECTOR);
  const read = readRaftHead(bytes, checksum);
  assert.ok(read.ok);
  assert.deepEqual(read.damaged, [0]);
});

test('a frame comes back as it was, and no bit of it can change unnoticed', () => {
  const header: FrameHeader = {
    previous: new Uint8Array(16).fill(5),
    file: head.replicaId,
    generation: 2 ** 41,
    head: 2 ** 42,
    number: 77,
    durable: 75,
    length: 5000,
    next: 12,
    continues: true,
  };
  const bytes = new Uint8Array(3 * SECTOR).fill(9);
  const own = sealFrame(header, bytes, checksum);
  assert.equal(frameSize(header.length), 2 * SECTOR);
  assert.deepEqual(readFrameHeader(bytes, 0, checksum), header);
  assert.ok(isBodyWhole(bytes, 0, header.length, checksum));
  assert.deepEqual(frameChecksum(bytes, 0), own);
  assert.equal(bytes[2 * SECTOR - 1], 0, 'padding');
  assert.equal(bytes[2 * SECTOR], 9, 'what follows');
  for (let at = 0; at < FRAME_HEADER_SIZE + header.length; at += at < 130 ? 1 : 97) {
    bytes[at]! ^= 4;
    const read = readFrameHeader(bytes, 0, checksum);
    assert.ok(read === null || !isBodyWhole(bytes, 0, read.length, checksum), `byte ${at}`);
    bytes[at]! ^= 4;
  }
});

/** All of a source in bodies of sizes by chance. */
function bodiesOf(source: StreamSource, prng: Prng): { body: Uint8Array; continues: boolean }[] {
  const bodies: { body: Uint8Array; continues: boolean }[] = [];
  while (source.has(Number.MAX_SAFE_INTEGER)) {
    const target = new Uint8Array(1 + prng.below(prng.pick([6, 40, 3000, 100_000])));
    const continues = source.isInside;
    const end = source.fill(target, 0, Number.MAX_SAFE_INTEGER);
    if (end > 0) bodies.push({ body: target.subarray(0, end), continues });
  }
  return bodies;
}

const headers: readonly FileHeader<Uint8Array>[] = [
  snapshot(3, null),
  snapshot(4, 0),
  snapshot(5, 10_000),
  { type: 'joining', remotes: ['tcp:a:1'] },
];

test('a stream survives any cut, and the loss of its end anywhere', () => {
  for (let seed = 0; seed < 300; seed++) {
    const prng = new Prng(seed);
    const source = new StreamSource();
    const header = prng.pick(headers);
    const records: LogRecord<Uint8Array>[] = [];
    source.addHeader(1, header, []);
    for (let seq = 2; seq < 8; seq++) {
      const added = Array.from({ length: prng.below(4) }, () => {
        return entry(records.length + prng.below(9) + 1, prng.pick([0, 1, 30, 5000]));
      });
      records.push(...added);
      source.add(seq, added);
    }
    const bodies = bodiesOf(source, prng);
    assert.equal(source.seqTaken, 7);
    const whole = new StreamReader();
    for (const { body, continues } of bodies) assert.ok(whole.push(body, continues));
    assert.deepEqual(whole.header, header);
    assert.deepEqual(whole.records.map(encodeRecord), records.map(encodeRecord));
    const cut = prng.below(bodies.length + 1);
    const reader = new StreamReader();
    for (const { body, continues } of bodies.slice(0, cut)) assert.ok(reader.push(body, continues));
    const count = reader.records.length;
    assert.deepEqual(reader.records.map(encodeRecord), records.slice(0, count).map(encodeRecord));
    if (reader.header === null) continue;
    // The next life does not go on where this one broke off.
    const again = new StreamSource();
    again.add(1, [entry(1000, 100)]);
    for (const { body, continues } of bodiesOf(again, prng)) {
      assert.ok(reader.push(body, continues));
    }
    assert.equal(reader.records.length, count + 1);
    assert.deepEqual(encodeRecord(reader.records[count]!), encodeRecord(entry(1000, 100)));
  }
});

test('bytes that are no stream are refused, and make no room for what they claim', () => {
  const prng = new Prng(1);
  const source = new StreamSource();
  source.addHeader(1, snapshot(3, 10), []);
  const front = new Uint8Array(SECTOR);
  const size = source.fill(front, 0, 1);
  for (let round = 0; round < 2000; round++) {
    const body = new Uint8Array(1 + prng.below(50));
    prng.fill(body);
    const reader = new StreamReader();
    reader.push(front.subarray(0, size), false);
    assert.ok(reader.header !== null);
    const isTaken = reader.push(body, false);
    assert.ok(!isTaken || reader.records.length === 0);
  }
  assert.equal(new StreamReader().push(new Uint8Array(8), true), false, 'goes on from nothing');
  const huge = new Uint8Array(8).fill(0xff);
  assert.equal(new StreamReader().push(huge, false), false);
});

test('extents: always the lowest that is free', () => {
  const prng = new Prng(5);
  const extents = new Extents();
  const used = new Set<number>();
  for (let round = 0; round < 5000; round++) {
    if (prng.chance(11, 20) || used.size === 0) {
      let expected = 0;
      while (used.has(expected)) expected++;
      assert.equal(extents.allocate(), expected);
      used.add(expected);
    } else {
      const extent = prng.pick([...used]);
      extents.free(extent);
      used.delete(extent);
    }
    assert.equal(extents.count, used.size);
  }
});

test('geometries that make no sense are named', () => {
  const change = (part: object): string | null =>
    raftGeometryProblem({ ...RAFT_GEOMETRY_DEVELOPMENT, ...part });
  assert.equal(change({}), null);
  assert.equal(change({ extentSize: 5000 }), 'extent size');
  assert.equal(change({ extentSize: 4096 }), 'extent size');
  assert.equal(change({ extentSize: 2_097_152 }), 'extent size');
  assert.equal(change({ requestSizeMax: 100 }), 'limit');
  assert.equal(change({ requestSizeMax: 2_097_152 }), 'limit');
});
