import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng, U64_ZERO, u64FromNumber, writeSafeU64, writeU32 } from '../../stdx/index.ts';
import { createChecksum, HEADER_SIZE, PrepareOffset, sealHeader } from '../../wire/index.ts';
import { buildPrepare } from '../message.ts';
import {
  GEOMETRY_DEVELOPMENT,
  SUPERBLOCK_AREA_SIZE,
  SUPERBLOCK_COPIES,
  SUPERBLOCK_COPY_SIZE,
} from './geometry.ts';
import {
  encodeSuperblock,
  MANIFEST_CHUNKS_MAX,
  MEMBERS_SIZE,
  readSuperblock,
  type Superblock,
  superblockProblem,
  VIEW_HEADERS_MAX,
} from './superblock-codec.ts';

const checksum = createChecksum();
const fill = (byte: number): Uint8Array => new Uint8Array(16).fill(byte);

const members = new Uint8Array(MEMBERS_SIZE);
members.set(fill(2));

function superblock(
  sequence: number,
  parent: Uint8Array,
  change: Partial<Superblock> = {},
): Superblock {
  return {
    release: 0x1109,
    sequence,
    parent,
    checksum: fill(0),
    cluster: fill(1),
    replicaId: fill(2),
    replica: 0,
    replicaCount: 1,
    geometry: GEOMETRY_DEVELOPMENT,
    view: sequence,
    logView: sequence,
    commitMax: 200,
    fileSize: 7_000_000,
    checkpoint: {
      op: 127,
      timestamp: u64FromNumber(1_000_000_000_123),
      prepareChecksum: fill(3),
      digest: fill(4),
      root: fill(5),
      id: fill(6),
      idParent: fill(7),
      blockCount: 2,
      manifest: [{ offset: 8192 * sequence, size: 64, checksum: fill(8) }],
    },
    members,
    isRecovered: false,
    viewHeaders: [],
    ...change,
  };
}

/** The header of a prepare, as far as a superblock looks at it. */
function prepareHeader(op: number, view: number): Uint8Array {
  const bytes = new Uint8Array(HEADER_SIZE);
  const author = { cluster: fill(1), view, replica: 0, release: 0x1109 };
  const position = { op, parent: fill(3), checkpointId: fill(4), commit: 0, timestamp: U64_ZERO };
  buildPrepare(bytes, 128, author, position, checksum);
  return bytes;
}

function encoded(value: Superblock): Uint8Array {
  const bytes = new Uint8Array(SUPERBLOCK_COPY_SIZE);
  encodeSuperblock(value, bytes, checksum);
  return bytes;
}

function area(copies: readonly (Uint8Array | null)[]): Uint8Array {
  const bytes = new Uint8Array(SUPERBLOCK_AREA_SIZE).fill(0xcd);
  copies.forEach((copy, i) => {
    if (copy !== null) bytes.set(copy, i * SUPERBLOCK_COPY_SIZE);
  });
  return bytes;
}

const oldRecord = superblock(5, fill(9));
const oldCopy = encoded(oldRecord);
const newRecord = superblock(6, oldCopy.slice(0, 16));
const newCopy = encoded(newRecord);
/** The beginning of the new copy over the old one. */
const tornCopy = oldCopy.slice();
tornCopy.set(newCopy.subarray(0, 100));

const sequenceOf = (bytes: Uint8Array): number | string => {
  const read = readSuperblock(bytes, checksum);
  return read.ok ? read.superblock.sequence : read.error.kind;
};

test('what is written is what is read', () => {
  const prng = new Prng(3);
  for (let round = 0; round < 200; round++) {
    const random16 = (): Uint8Array => {
      const bytes = new Uint8Array(16);
      prng.fill(bytes);
      return bytes;
    };
    const chunks = round === 0 ? MANIFEST_CHUNKS_MAX : prng.below(5);
    const others = new Uint8Array(MEMBERS_SIZE);
    prng.fill(others.subarray(0, 48));
    others.set(fill(2), 16);
    const headers = round === 0 ? VIEW_HEADERS_MAX : prng.below(VIEW_HEADERS_MAX + 1);
    const logView = prng.below(1000);
    const record = superblock(1 + prng.u32(), random16(), {
      view: logView + prng.u32(),
      logView,
      cluster: random16(),
      replica: 1,
      replicaCount: 3,
      members: others,
      isRecovered: prng.below(2) === 1,
      viewHeaders: Array.from({ length: headers }, (_, i) => prepareHeader(500 - i, logView)),
      checkpoint: {
        ...oldRecord.checkpoint,
        op: 64 * prng.below(1000) + 63,
        root: random16(),
        manifest: Array.from({ length: chunks }, () => ({
          offset: 4096 * prng.u32(),
          size: prng.u32(),
          checksum: random16(),
        })),
      },
      commitMax: 64 * 1000 + 63,
    });
    const copy = encoded(record);
    const read = readSuperblock(area([copy, copy, copy, copy]), checksum);
    assert.ok(read.ok);
    assert.deepEqual(read.superblock, { ...record, checksum: copy.slice(0, 16) });
    assert.deepEqual(read.stale, []);
  }
});

test('any two copies may be lost', () => {
  for (let a = 0; a < SUPERBLOCK_COPIES; a++) {
    for (let b = 0; b < SUPERBLOCK_COPIES; b++) {
      const copies = Array.from({ length: 4 }, (_, i) => (i === a || i === b ? null : oldCopy));
      const read = readSuperblock(area(copies), checksum);
      assert.ok(read.ok && read.superblock.sequence === 5);
      assert.deepEqual(new Set(read.stale), new Set([a, b]));
    }
  }
  assert.equal(sequenceOf(area([oldCopy, null, null, null])), 'corrupt');
  assert.equal(sequenceOf(area([null, null, null, null])), 'not-a-data-file');
});

test('an update torn at any copy leads to the old or to the new record', () => {
  for (let at = 0; at < SUPERBLOCK_COPIES; at++) {
    const copies = [0, 1, 2, 3].map((i) => (i < at ? newCopy : i === at ? tornCopy : oldCopy));
    assert.equal(sequenceOf(area(copies)), at < 2 ? 5 : 6, `torn at copy ${at}`);
    const clean = [0, 1, 2, 3].map((i) => (i < at ? newCopy : oldCopy));
    assert.equal(sequenceOf(area(clean)), at < 2 ? 5 : 6, `cut before copy ${at}`);
  }
  const first = readSuperblock(area([newCopy, oldCopy, oldCopy, oldCopy]), checksum);
  assert.ok(first.ok);
  assert.deepEqual(first.stale, [0]);
});

test('a newer record whose copies are gone is not passed over', () => {
  const later = encoded(superblock(9, fill(0xaa)));
  assert.equal(sequenceOf(area([oldCopy, oldCopy, oldCopy, later])), 'corrupt');
  const fork = encoded(superblock(6, oldCopy.slice(0, 16), { view: 77 }));
  assert.equal(sequenceOf(area([newCopy, newCopy, fork, fork])), 'corrupt');
  const foreign = encoded(superblock(5, fill(9), { cluster: fill(0xbb) }));
  assert.equal(sequenceOf(area([oldCopy, oldCopy, foreign, null])), 'corrupt');
});

test('a single flipped bit spoils a copy, wherever it is', () => {
  const prng = new Prng(11);
  for (let round = 0; round < 500; round++) {
    const bytes = area([oldCopy, oldCopy, oldCopy, oldCopy]);
    const copy = prng.below(4);
    const at = round < 300 ? round : prng.below(SUPERBLOCK_COPY_SIZE);
    const where = copy * SUPERBLOCK_COPY_SIZE + at;
    bytes[where] = bytes[where]! ^ (1 << prng.below(8));
    const read = readSuperblock(bytes, checksum);
    assert.ok(read.ok);
    assert.deepEqual(read.stale, [copy]);
  }
});

test('files of another format version are refused, naming both', () => {
  for (const found of [0, 2, 1000]) {
    const copy = oldCopy.slice();
    writeU32(copy, 32, found);
    // Whether or not that version computes its checksum as this one does.
    for (const isSealed of [false, true]) {
      if (isSealed) checksum.digest(copy, 16, SUPERBLOCK_COPY_SIZE - 16, copy, 0);
      for (const copies of [
        [copy, copy, copy, copy],
        [copy, copy, oldCopy, oldCopy],
      ]) {
        const read = readSuperblock(area(copies), checksum);
        assert.ok(!read.ok);
        assert.deepEqual(read.error, { kind: 'format-version', found, supported: 1 });
      }
      assert.equal(sequenceOf(area([copy, oldCopy, oldCopy, oldCopy])), 5);
    }
  }
});

test('short and foreign files', () => {
  const bytes = area([oldCopy, oldCopy, oldCopy, oldCopy]);
  assert.equal(sequenceOf(bytes.subarray(0, 2 * SUPERBLOCK_COPY_SIZE)), 5);
  assert.equal(sequenceOf(bytes.subarray(0, 2 * SUPERBLOCK_COPY_SIZE - 1)), 'corrupt');
  assert.equal(sequenceOf(bytes.subarray(0, 100)), 'not-a-data-file');
  assert.equal(sequenceOf(new Uint8Array(0)), 'not-a-data-file');
  assert.equal(sequenceOf(new Uint8Array(SUPERBLOCK_AREA_SIZE)), 'not-a-data-file');
});

test('what a superblock must not say', () => {
  const header = prepareHeader(7, 5);
  const reply = header.slice();
  reply[114] = 8;
  sealHeader(reply, checksum);
  const noOp = header.slice();
  writeSafeU64(noOp, PrepareOffset.op, 7);
  noOp.fill(0xff, PrepareOffset.op, PrepareOffset.op + 8);
  const foreign = members.slice();
  foreign.set(fill(3));
  const beyond = members.slice();
  beyond[16] = 1;
  const tooMany = Array.from({ length: VIEW_HEADERS_MAX + 1 }, (_, i) => prepareHeader(90 - i, 5));
  const cases: readonly (readonly [Partial<Superblock>, string | null])[] = [
    [{}, null],
    [{ members: new Uint8Array(MEMBERS_SIZE) }, null],
    [{ members: new Uint8Array(MEMBERS_SIZE - 16) }, 'members size'],
    [{ members: foreign }, 'own member'],
    [{ members: beyond }, 'members beyond the count'],
    [{ members: beyond, replicaCount: 2 }, null],
    [{ viewHeaders: [header] }, null],
    [{ viewHeaders: [prepareHeader(9, 5), header] }, null],
    [{ viewHeaders: tooMany }, 'too many view headers'],
    [{ viewHeaders: [header.subarray(1)] }, 'view header size'],
    [{ viewHeaders: [reply] }, 'view header command'],
    [{ viewHeaders: [prepareHeader(7, 6)] }, 'view header of a later view'],
    [{ viewHeaders: [header, header] }, 'view header order'],
    [{ viewHeaders: [header, prepareHeader(8, 5)] }, 'view header order'],
    [{ viewHeaders: [noOp] }, 'view header order'],
    [{ view: 4 }, 'view'],
    [{ replicaCount: 7 }, 'replica count'],
  ];
  for (const [change, problem] of cases) {
    assert.equal(superblockProblem(superblock(5, fill(9), change)), problem);
  }
});
