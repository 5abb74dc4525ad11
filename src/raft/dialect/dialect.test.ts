import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Prng } from '../../stdx/index.ts';
import { HEADER_SIZE, type Message, readSize } from '../../wire/index.ts';
import type { AppendRequest, Msg } from '../message.ts';
import { Assemblies } from './assembly.ts';
import { appendBytesMax } from './dialect.ts';
import { type Frame, newFrame, readFrame, sealFrame } from './frame.ts';
import { messageSize, writeMessage } from './message-codec.ts';
import { anyMessage } from './samples-test-helper.ts';
import { appendOf, CLUSTER, dataEntry, installOf, UNIT, World } from './world-test-helper.ts';

test('dialect: what the engine sends is what the other engine is told', () => {
  fc.assert(
    fc.property(fc.array(anyMessage, { maxLength: 8 }), (messages) => {
      const world = new World();
      const sent = messages.filter((one) => one.type !== 'install-snapshot-request');
      for (const message of sent) world.send(0, 1, message);
      world.run(10);
      assert.deepEqual(
        world.received[1].map(({ message }) => message),
        sent,
      );
      world.settle();
    }),
    { numRuns: 300 },
  );
});

test('dialect: an append to several peers is made once', () => {
  const world = new World({ count: 5 });
  const append = appendOf([dataEntry(3, 10, 5000)]);
  for (const peer of [1, 2, 3, 4]) world.send(0, peer, { ...append });
  assert.equal(world.dialects[0].counters.shared, 3);
  assert.equal(world.pools[0].leaked(), 1, 'one frame is kept until the end of the turn');
  world.dialects[0].endTurn();
  world.run(10);
  for (const peer of [1, 2, 3, 4]) assert.deepEqual(world.received[peer][0].message, append);
  world.settle();
});

test('dialect: an append that differs in anything is made anew', () => {
  const entries = [dataEntry(3, 10, 40), dataEntry(3, 11, 40)];
  const base = appendOf(entries);
  const others: AppendRequest<Uint8Array>[] = [
    { ...base, term: 4 },
    { ...base, prevIndex: 8, entries: [dataEntry(3, 9, 4), ...entries] },
    { ...base, prevTerm: 1 },
    { ...base, leaderCommit: 5 },
    { ...base, round: 1 },
    { ...base, entries: entries.slice(0, 1) },
    { ...base, entries: [] },
    { ...base, entries: [dataEntry(3, 10, 41), entries[1]] },
    { ...base, entries: [entries[0], dataEntry(3, 11, 41)] },
  ];
  for (const other of others) {
    const world = new World();
    world.send(0, 1, base);
    world.send(0, 2, other);
    world.run(10);
    assert.deepEqual(world.received[1][0].message, base);
    assert.deepEqual(world.received[2][0].message, other);
    assert.equal(world.dialects[0].counters.shared, 0);
    world.settle();
  }
});

test('dialect: entries are in memory of their own, aligned as machines want it', () => {
  const world = new World();
  const append = appendOf([dataEntry(3, 10, 33), dataEntry(3, 11, 0), dataEntry(3, 12, 600)]);
  world.send(0, 1, append);
  world.run(10);
  // Freed slots are poisoned, so a view of one would show.
  const { message } = world.received[1][0];
  assert.deepEqual(message, append);
  assert(message.type === 'append-request');
  for (const entry of message.entries) {
    assert(entry.kind === 'data');
    assert.equal(entry.data.byteOffset % 16, 0);
    assert.notEqual(entry.data.buffer, world.pools[1].memory.buffer);
  }
});

test('dialect: an append that does not fit is cut between entries', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 6000 }), { minLength: 1, maxLength: 12 }), (sizes) => {
      const world = new World({ requestSlots: 30 });
      const entries = sizes.map((size, i) => dataEntry(3, 10 + i, size));
      world.send(0, 1, appendOf(entries));
      world.run(10);
      const appends = world.messages(1, 'append-request') as AppendRequest<Uint8Array>[];
      assert.deepEqual(
        appends.flatMap((append) => append.entries),
        entries,
      );
      let last = { index: 9, term: 2 };
      for (const append of appends) {
        assert.deepEqual({ index: append.prevIndex, term: append.prevTerm }, last);
        last = { index: (append.entries.at(-1) as { index: number }).index, term: 3 };
      }
      const bytes = sizes.reduce((sum, size) => sum + size, 0);
      assert.equal(world.dialects[0].counters.parted, 0);
      assert(appends.length <= 1 + Math.ceil((2 * bytes) / (UNIT - 1000)));
      world.settle();
    }),
    { numRuns: 200 },
  );
});

test('dialect: up to the size that policies are told, one frame is enough', () => {
  for (const count of [1, 2, 31, 32]) {
    const world = new World();
    const size = Math.floor(appendBytesMax(UNIT + HEADER_SIZE) / count);
    const entries = Array.from({ length: count }, (_, i) => dataEntry(3, 10 + i, size));
    world.send(0, 1, appendOf(entries));
    assert.equal(world.kinds.get('message'), 1);
    world.settle();
  }
});

test('dialect: one entry larger than a slot goes in parts, whatever happens to them', () => {
  const big = appendOf([dataEntry(3, 10, 3 * UNIT)]);
  const seen = { whole: 0, lost: 0 };
  for (let seed = 1; seed <= 200; seed++) {
    const world = new World({ seed, lost: 10, doubled: 20, delayMs: 8 });
    world.send(0, 1, big);
    world.send(1, 0, big);
    world.run(20);
    const received = world.received[1].map(({ message }) => message);
    // Doubled parts may make it come twice.
    for (const message of received) assert.deepEqual(message, big);
    if (received.length > 0) seen.whole++;
    else seen.lost++;
    // What is left of a message that was lost does not disturb the next.
    const next = appendOf([dataEntry(3, 11, 3 * UNIT)], { round: 1 });
    world.send(0, 1, next);
    world.run(40);
    for (const { message } of world.received[1]) {
      assert(message.type === 'append-request');
      assert.deepEqual(message.entries, message.round === 1 ? next.entries : big.entries);
    }
    world.settle();
  }
  assert(seen.whole > 50 && seen.lost > 20, JSON.stringify(seen));
});

test('dialect: parts from before a link was lost are not waited for', () => {
  const [unit, total] = [2048, 3000];
  const part = (offset: number): Frame => {
    return { kind: 'message', flags: 0, id: 7, unit, offset, total };
  };
  const bytes = new Uint8Array(unit);
  for (const isLost of [false, true]) {
    const assemblies = new Assemblies();
    assert.equal(assemblies.add(1, part(0), bytes, 0), null);
    if (isLost) assemblies.forget(1);
    assert.equal(assemblies.add(1, part(unit), bytes, 0)?.length, isLost ? undefined : total);
  }
});

test('dialect: what finds no slot, or is too large, is dropped and counted', () => {
  const world = new World({ requestSlots: 1 });
  world.send(0, 1, appendOf([dataEntry(3, 10, 3 * UNIT)]));
  assert.equal(world.dialects[0].counters.droppedNoSlot, 1);
  world.settle();
  world.send(0, 1, appendOf([dataEntry(3, 10, 3_000_000)]));
  assert.equal(world.dialects[0].counters.droppedTooLarge, 1);
  world.settle();
  world.run(10);
  assert.equal(world.received[1].length, 0);
});

test('dialect: frames that nobody of ours sends are counted and dropped', () => {
  const world = new World();
  const frames: Uint8Array[] = [];
  const messages: Msg<Uint8Array>[] = [
    appendOf([dataEntry(3, 10, 300)]),
    { type: 'vote-reply', term: 3, vote: '1', isPreVote: false },
  ];
  for (const message of messages) frames.push(frameOf(world, message));
  const prng = new Prng(5);
  const { counters } = world.dialects[1];
  for (let i = 0; i < 20_000; i++) {
    const bytes = prng.pick(frames).slice();
    // Where the frame's own fields are, where the message is, or in its size.
    const at = prng.pick([prng.between(114, 160), prng.between(116, 255), prng.between(256, 300)]);
    bytes[at] = prng.chance(1, 2) ? prng.below(256) : bytes[at] ^ (1 << prng.below(8));
    world.deliver(0, 1, bytes.slice(0, readSize(bytes)));
  }
  assert(counters.malformed > 10_000, `${counters.malformed}`);
  assert(counters.received - counters.malformed > 1000);
  world.settle();
});

test('dialect: a part lies where parts may lie', () => {
  const world = new World();
  for (const [offset, size, isRight] of [
    [0, 2048, true],
    [2048, 952, true],
    [2049, 951, false],
    [1, 2048, false],
    [4096, 1, false],
    [2048, 951, false],
    [2048, 953, false],
  ] as const) {
    const options = { pool: world.pools[1], cluster: CLUSTER, replica: 0, release: 1 };
    const fields = { kind: 'message', flags: 0, unit: 2048, id: 9, offset, total: 3000 } as const;
    const frame = newFrame(options, fields, size) as Message;
    sealFrame(options, frame);
    assert.equal(readFrame(frame.bytes, 0) !== null, isRight, `${offset} ${size}`);
    world.pools[1].release(frame);
  }
});

test('dialect: a frame from another replica than the link proves is none', () => {
  const world = new World();
  const bytes = frameOf(world, { type: 'become-leader', term: 9 });
  assert.notEqual(readFrame(bytes, 0), null);
  world.deliver(2, 1, bytes);
  assert.equal(world.dialects[1].counters.malformed, 1);
  assert.equal(world.received[1].length, 0);
});

test('dialect: a snapshot does not come as a message', () => {
  for (const [message, malformed] of [
    [installOf(20, null), 1],
    [{ type: 'become-leader', term: 9 }, 0],
  ] as const) {
    const world = new World();
    const options = { pool: world.pools[1], cluster: CLUSTER, replica: 0, release: 1 };
    const total = messageSize(message);
    const fields = { kind: 'message', flags: 0, unit: UNIT, id: 0, offset: 0, total } as const;
    const frame = newFrame(options, fields, total) as Message;
    writeMessage(message, frame.bytes, HEADER_SIZE);
    sealFrame(options, frame);
    world.dialects[1].onMessage(0, frame);
    assert.equal(world.dialects[1].counters.malformed, malformed);
  }
});

/** The frame of a message that fits into one. */
function frameOf(world: World, message: Msg<Uint8Array>): Uint8Array {
  let bytes = new Uint8Array(0);
  const catcher = new World({ filter: () => false });
  const { dialects, pools } = catcher;
  const pool = pools[0];
  const release = pool.release.bind(pool);
  pool.release = (one) => {
    if (bytes.length === 0) bytes = one.bytes.slice(0, readSize(one.bytes));
    release(one);
  };
  dialects[0].tick(world.nowMs);
  dialects[0].send(1, message);
  return bytes;
}
