import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Prng, toHex } from '../../stdx/index.ts';
import type { Entry } from '../entry.ts';
import {
  decodeEntries,
  decodeRecord,
  encodeEntries,
  encodeRecord,
  entriesSize,
  headerSize,
  readHeader,
  readRecord,
  recordSize,
  writeHeader,
  writeRecord,
} from './codec.ts';
import { messageSize, readMessage, writeMessage } from './message-codec.ts';
import { anyEntries, anyHeader, anyMessage, anyOfType, anyRecord } from './samples-test-helper.ts';
import { readUtf8, utf8Size, writeUtf8 } from './utf8.ts';

const MARGIN = 5;

test('codec: every record comes back the same, from any offset', () => {
  fc.assert(
    fc.property(fc.array(anyRecord, { maxLength: 4 }), (records) => {
      const size = records.reduce((sum, record) => sum + recordSize(record), 0);
      const bytes = new Uint8Array(size + 2 * MARGIN).fill(0xee);
      let offset = MARGIN;
      for (const record of records) offset = writeRecord(record, bytes, offset);
      assert.equal(offset, MARGIN + size);
      assert(bytes.subarray(offset).every((byte) => byte === 0xee));
      let at = MARGIN;
      for (const record of records) {
        const read = readRecord(bytes, at, offset);
        assert.deepEqual(read?.record, record);
        // What is cut off anywhere is no record.
        assert.equal(readRecord(bytes, at, (read?.next ?? 0) - 1), null);
        at = read?.next ?? 0;
      }
      assert.equal(at, offset);
    }),
    { numRuns: 2000 },
  );
});

test('codec: headers and lists of entries come back the same', () => {
  fc.assert(
    fc.property(anyHeader, anyEntries, (header, entries) => {
      const bytes = new Uint8Array(headerSize(header));
      assert.equal(writeHeader(header, bytes, 0), bytes.length);
      assert.deepEqual(readHeader(bytes, 0, bytes.length), { header, next: bytes.length });
      for (let end = 0; end < bytes.length; end++) assert.equal(readHeader(bytes, 0, end), null);
      const encoded = encodeEntries(entries);
      assert.equal(encoded.length, entriesSize(entries));
      assert.deepEqual(decodeEntries(encoded), entries);
      assert.equal(decodeEntries(encoded.subarray(0, encoded.length - 1)), null);
    }),
    { numRuns: 1000 },
  );
});

for (const [type, any] of Object.entries(anyOfType)) {
  test(`codec: ${type} comes back the same, and neither shorter nor longer`, () => {
    fc.assert(
      fc.property(any, (message) => {
        const size = messageSize(message);
        const bytes = new Uint8Array(MARGIN + size + 1);
        assert.equal(writeMessage(message, bytes, MARGIN), MARGIN + size);
        assert.deepEqual(readMessage(bytes, MARGIN, MARGIN + size), message);
        assert.equal(readMessage(bytes, MARGIN, MARGIN + size + 1), null);
        for (let end = MARGIN; end < MARGIN + size; end++) {
          assert.equal(readMessage(bytes, MARGIN, end), null);
        }
      }),
      { numRuns: 300 },
    );
  });
}

test('codec: mutated bytes are refused or read, and what is read can be written', () => {
  const prng = new Prng(7);
  const messages = fc.sample(anyMessage, { numRuns: 500, seed: 7 });
  const records = fc.sample(anyRecord, { numRuns: 500, seed: 8 });
  let refused = 0;
  for (let i = 0; i < 100_000; i++) {
    const isMessage = prng.chance(1, 2);
    const message = prng.pick(messages);
    const record = prng.pick(records);
    const bytes = isMessage ? new Uint8Array(messageSize(message)) : encodeRecord(record);
    if (isMessage) writeMessage(message, bytes, 0);
    const damaged = mutate(bytes, prng);
    if (isMessage) {
      const read = readMessage(damaged, 0, damaged.length);
      if (read === null) refused++;
      else {
        const again = new Uint8Array(messageSize(read));
        writeMessage(read, again, 0);
        assert.deepEqual(again, damaged);
      }
    } else {
      const read = readRecord(damaged, 0, damaged.length);
      if (read === null) refused++;
      else assert.deepEqual(encodeRecord(read.record), damaged.slice(0, read.next));
    }
  }
  assert(refused > 30_000 && refused < 90_000, `${refused} of 100,000 were refused`);
});

test('codec: what contradicts itself is no message', () => {
  const entry = (term: number, index: number): Entry<Uint8Array> => ({
    kind: 'noop',
    term,
    index,
  });
  const base = { type: 'append-request', leaderCommit: 0, round: 0 } as const;
  for (const [term, prevTerm, prevIndex, entries] of [
    [5, 6, 9, []],
    [5, 4, 9, [entry(5, 11)]],
    [5, 4, 9, [entry(3, 10)]],
    [5, 4, 9, [entry(5, 10), entry(5, 12)]],
    [5, 4, 9, [entry(5, 10), entry(4, 11)]],
    [5, 4, 9, [entry(6, 10)]],
  ] as const) {
    const message = { ...base, term, prevTerm, prevIndex, entries };
    const bytes = new Uint8Array(messageSize(message));
    writeMessage(message, bytes, 0);
    assert.equal(readMessage(bytes, 0, bytes.length), null);
  }
});

test('codec: no server has no name, and none has two addresses', () => {
  const names = (...pairs: readonly (readonly [string, string])[]): Uint8Array =>
    encodeRecord({
      type: 'entry',
      entry: { term: 1, index: 2, kind: 'config', servers: new Map(pairs) },
    });
  const bytes = names(['a', 'x'], ['b', 'y']);
  assert.notEqual(decodeRecord(bytes), null);
  const at = bytes.lastIndexOf(0x62);
  const twice = bytes.slice();
  twice[at] = 0x61;
  assert.equal(decodeRecord(twice), null);
  const nameless = [...bytes.slice(0, at - 2), 0, 0, ...bytes.slice(at + 1)];
  assert.equal(decodeRecord(new Uint8Array(nameless)), null);
  const vote = encodeRecord({ type: 'vote', term: 1, vote: 'a' });
  assert.equal(decodeRecord(new Uint8Array([...vote.slice(0, 9), 0, 0])), null);
});

test('codec: the bytes are what they have always been', () => {
  const data = new Uint8Array([1, 2, 3]);
  const entry = { term: 2, index: 0x1_0000_0003, kind: 'data', eid: 'é', data, size: 3 } as const;
  for (const [record, expected] of [
    [{ type: 'term', term: 7 }, '000700000000000000'],
    [{ type: 'vote', term: 7, vote: '2' }, '010700000000000000010032'],
    [{ type: 'leader', term: 7, leader: '2' }, '020700000000000000010032'],
    [
      { type: 'entry', entry },
      '03010200000000000000' + '0300000001000000' + '0200c3a9' + '03000000010203',
    ],
    [{ type: 'commit', index: 9 }, '040900000000000000'],
    [{ type: 'note', note: 'left' }, '0500'],
  ] as const) {
    assert.equal(toHex(encodeRecord(record)), expected);
    assert.deepEqual(decodeRecord(encodeRecord(record)), record);
  }
  const reply = { type: 'vote-reply', term: 3, vote: '1', isPreVote: true } as const;
  const bytes = new Uint8Array(messageSize(reply));
  writeMessage(reply, bytes, 0);
  assert.equal(toHex(bytes), '04030000000000000001003101');
});

test('codec: text is what a strict decoder of the platform says it is', () => {
  const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const encoder = new TextEncoder();
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 20 }), (text) => {
      const bytes = new Uint8Array(utf8Size(text));
      assert.equal(writeUtf8(bytes, 0, text), bytes.length);
      assert.deepEqual(bytes, encoder.encode(text));
      assert.equal(readUtf8(bytes, 0, bytes.length), text);
    }),
    { numRuns: 2000 },
  );
  const prng = new Prng(3);
  const seen = { good: 0, bad: 0 };
  for (let i = 0; i < 20_000; i++) {
    const bytes = new Uint8Array(prng.between(1, 4));
    prng.fill(bytes);
    // Random bytes are hardly ever UTF-8.
    for (let k = 1; k < bytes.length; k++) if (prng.chance(3, 4)) bytes[k] = 0x80 | prng.below(64);
    if (prng.chance(1, 3)) bytes[0] = prng.pick([0xc1, 0xc2, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xf5]);
    const ours = readUtf8(bytes, 0, bytes.length);
    if (ours === null) {
      seen.bad++;
      assert.throws(() => strict.decode(bytes));
    } else {
      seen.good++;
      assert.equal(ours, strict.decode(bytes));
    }
  }
  assert(seen.good > 1000 && seen.bad > 1000);
  assert.throws(() => utf8Size('a\ud800b'), /surrogate/);
});

/** One or two bytes changed, some cut off, or some put in. */
function mutate(bytes: Uint8Array, prng: Prng): Uint8Array {
  const kind = prng.below(4);
  if (kind === 0) return bytes.slice(0, prng.below(bytes.length + 1));
  const result = kind === 1 ? new Uint8Array(bytes.length + prng.between(1, 9)) : bytes.slice();
  if (kind === 1) {
    prng.fill(result);
    result.set(bytes.subarray(0, prng.below(bytes.length + 1)));
    return result;
  }
  for (let i = 0; i <= prng.below(2); i++) {
    const at = prng.below(result.length);
    result[at] = prng.chance(1, 2) ? prng.below(256) : result[at] ^ (1 << prng.below(8));
  }
  return result;
}
