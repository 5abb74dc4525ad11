import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng, writeSafeU64 } from '../../stdx/index.ts';
import {
  bodyValid,
  createChecksum,
  HEADER_SIZE,
  headerValid,
  PeerOffset,
  PrepareOffset,
  readSize,
  sealBody,
  sealHeader,
} from '../../wire/index.ts';
import type { Vote } from './log-selection.ts';
import {
  decodeVote,
  encodeVote,
  isBlank,
  VOTE_SIZE_MAX,
  voteProblem,
  writeBlank,
} from './vote-codec.ts';
import { sealedHeader } from './vote-test-helper.ts';

const checksum = createChecksum();
const author = { cluster: new Uint8Array(16).fill(1), view: 9, replica: 2, release: 1 };

/** Headers of ops 10 … 10 + count − 1, descending. */
function headersDown(count: number): Uint8Array[] {
  const headers: Uint8Array[] = [];
  let parent: Uint8Array = new Uint8Array(16);
  for (let op = 10; op < 10 + count; op++) {
    const header = sealedHeader({ op, view: op >> 2, commit: op - 3, parent }, checksum);
    headers.unshift(header);
    parent = header.subarray(0, 16);
  }
  return headers;
}

const good: Vote = {
  replica: 2,
  logView: 5,
  op: 18,
  commitMin: 8,
  commitMax: 9,
  checkpointOp: 7,
  headers: headersDown(9),
  present: 0x1f0,
  nack: 0x011,
};

test('what is written is what is read', () => {
  const prng = new Prng(1);
  const bytes = new Uint8Array(VOTE_SIZE_MAX);
  for (let round = 0; round < 200; round++) {
    const count = prng.between(1, 9);
    const headers = headersDown(count).map((header) => (prng.chance(1, 4) ? null : header));
    const known = headers.reduce((bits, header, i) => bits | (header === null ? 0 : 1 << i), 0);
    const commitMax = prng.between(10, 30);
    const value: Vote = {
      ...good,
      op: 9 + count,
      commitMin: Math.min(commitMax, 9 + count),
      commitMax,
      headers,
      present: prng.u32() & known,
      nack: prng.u32() & ((1 << count) - 1),
    };
    bytes.fill(0xee);
    encodeVote(bytes, author, value, checksum);
    assert.equal(readSize(bytes), HEADER_SIZE * (count + 1));
    assert.ok(headerValid(bytes, checksum) && bodyValid(bytes, checksum));
    assert.deepEqual(decodeVote(bytes, checksum), { ok: true, vote: value });
  }
});

test('a blank is nothing but an op', () => {
  const blank = new Uint8Array(HEADER_SIZE).fill(3);
  writeBlank(blank, 77);
  assert.ok(isBlank(blank));
  assert.ok(!isBlank(good.headers[0]!));
  for (let at = 0; at < HEADER_SIZE; at++) {
    const changed = blank.slice();
    changed[at]! ^= 1;
    const isOp = at >= PrepareOffset.op && at < PrepareOffset.op + 8;
    assert.equal(isBlank(changed), isOp, `byte ${at}`);
  }
});

test('what a vote must not say', () => {
  const headers = good.headers as readonly Uint8Array[];
  const without = (index: number): (Uint8Array | null)[] =>
    headers.map((header, i) => (i === index ? null : header));
  const other = sealedHeader({ op: 14, view: 3, commit: 11, parent: new Uint8Array(16) }, checksum);
  const unlinked = headers.map((header, i) => (i === 4 ? other : header));
  const reserved = headers[0]!.slice();
  reserved[PrepareOffset.operation] = 0;
  const cases: readonly (readonly [Partial<Vote>, string | null])[] = [
    [{}, null],
    [{ headers: without(3), present: 0 }, null],
    [{ headers: without(0), present: 0 }, null],
    [{ headers: headers.slice(0, 1), commitMax: 18, present: 0, nack: 0 }, null],
    [{ headers: headers.slice(0, 3), commitMax: 16, present: 0, nack: 0 }, null],
    [{ headers: headers.slice(0, 3), commitMax: 15, present: 0, nack: 0 }, 'ends too early'],
    [{ headers: headers.slice(0, 8), present: 0, nack: 0 }, 'ends too early'],
    [{ replica: 6 }, 'replica'],
    [{ logView: -1 }, 'not a number'],
    [{ op: 1.5 }, 'not a number'],
    [{ commitMin: 10 }, 'commit'],
    [{ commitMin: 19, commitMax: 30 }, 'commit'],
    [{ checkpointOp: 9 }, 'commit'],
    [{ headers: [] }, 'header count'],
    [{ headers: [...headers, null] }, 'header count'],
    [{ op: 7, commitMin: 7 }, 'header below the root'],
    [{ op: 17 }, 'header of another op'],
    [{ headers: without(4) }, 'present without a header'],
    [{ present: 1 << 9 }, 'bits without a header'],
    [{ nack: 1 << 9 }, 'bits without a header'],
    [{ nack: -1 }, 'bits without a header'],
    [{ logView: 3 }, 'header of a later view'],
    [{ headers: unlinked }, 'chain'],
    [{ headers: [reserved, ...headers.slice(1)] }, 'header of an empty slot'],
    [{ headers: [headers[0]!.subarray(1), ...headers.slice(1)] }, 'header'],
  ];
  for (const [change, problem] of cases) {
    assert.equal(voteProblem({ ...good, ...change }), problem, JSON.stringify(change));
  }
  assert.throws(() =>
    encodeVote(new Uint8Array(VOTE_SIZE_MAX), author, { ...good, op: 17 }, checksum),
  );
  const sameView = { ...author, view: 5 };
  assert.throws(() => encodeVote(new Uint8Array(VOTE_SIZE_MAX), sameView, good, checksum));
});

/** The message of `good` after a change of its bytes, sealed again. */
function changed(change: (bytes: Uint8Array) => void): Uint8Array {
  const bytes = new Uint8Array(VOTE_SIZE_MAX);
  encodeVote(bytes, author, good, checksum);
  change(bytes);
  sealBody(bytes, checksum);
  sealHeader(bytes, checksum);
  return bytes;
}

test('bytes that are not a vote', () => {
  const at = (index: number): number => HEADER_SIZE * (index + 1);
  const cases: readonly (readonly [(bytes: Uint8Array) => void, string])[] = [
    [(bytes) => writeSafeU64(bytes, 96, HEADER_SIZE), 'size'],
    [(bytes) => writeSafeU64(bytes, 96, 3 * HEADER_SIZE - 8), 'size'],
    [(bytes) => bytes.fill(0xff, PeerOffset.op, PeerOffset.op + 8), 'not a number'],
    [(bytes) => bytes.fill(0xff, PeerOffset.logView, PeerOffset.logView + 8), 'not a number'],
    [(bytes) => writeSafeU64(bytes, PeerOffset.logView, 9), 'no newer view'],
    [(bytes) => writeBlank(bytes.subarray(at(2), at(3)), 15), 'blank for another op'],
    [(bytes) => bytes.fill(9, at(3) + 130, at(3) + 131), 'header checksum'],
    [(bytes) => bytes.fill(0, at(3), at(4)), 'header checksum'],
    [
      (bytes) => {
        bytes[at(3) + 80] = 2;
        sealHeader(bytes.subarray(at(3), at(4)), checksum);
      },
      'cluster',
    ],
    [
      (bytes) => {
        bytes[115] = 77;
      },
      'replica',
    ],
  ];
  for (const [change, problem] of cases) {
    assert.deepEqual(decodeVote(changed(change), checksum), { ok: false, problem });
  }
});

test('no bytes, however spoilt, are taken for another vote than one that could be sent', () => {
  const prng = new Prng(8);
  let accepted = 0;
  for (let round = 0; round < 3000; round++) {
    const bytes = changed((message) => {
      for (let i = prng.between(1, 3); i > 0; i--) {
        const isField = prng.chance(3, 4);
        const at = isField ? prng.between(PeerOffset.op, PeerOffset.bits2 + 3) : prng.below(2560);
        const isFrame = at >= 96 && at < 115;
        if (!isFrame) message[at] = prng.below(isField ? 32 : 256);
      }
    });
    const read = decodeVote(bytes, checksum);
    if (!read.ok) continue;
    accepted++;
    assert.equal(voteProblem(read.vote), null);
  }
  assert.ok(accepted > 20);
});
