import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PIPELINE_MAX } from '../../engine/index.ts';
import { HEADER_SIZE, type Message } from '../../wire/index.ts';
import { headerOffset, prepareOffset } from '../file/geometry.ts';
import { JOURNAL_PENDING_MAX, JOURNAL_READS_MAX } from './journal.ts';
import { GEOMETRY, JournalBench } from './log-test-helper.ts';

const bodyAt = (op: number): number => prepareOffset(GEOMETRY, op % GEOMETRY.slots);
const headerAt = (op: number): number => headerOffset(GEOMETRY, op % GEOMETRY.slots);
const offsets = (bench: JournalBench): number[] => bench.flights.map(({ offset }) => offset);

/**
 * What the disk has in the place of an operation: the header behind, and the one before its body.
 */
function onDisk(
  bench: JournalBench,
  op: number,
  prepare: Message,
): [header: boolean, body: boolean] {
  const is = (offset: number): boolean => {
    const bytes = bench.disk.get(offset);
    if (bytes === undefined) return false;
    return Buffer.compare(bytes.subarray(0, 16), prepare.bytes.subarray(0, 16)) === 0;
  };
  return [is(headerAt(op)), is(bodyAt(op))];
}

test('the body is written first, then the header; only then it counts', () => {
  const bench = new JournalBench();
  const prepare = bench.make({ op: 1, bodySize: 5000 });
  bench.put(prepare);
  assert.deepEqual(offsets(bench), [bodyAt(1)]);
  assert.ok(bench.journal.isWriting(1, prepare.bytes, 0));
  bench.finish();
  assert.deepEqual(offsets(bench), [headerAt(1)]);
  assert.ok(!bench.log.isClean(1) && bench.durable.length === 0);
  bench.finish();
  assert.deepEqual(bench.durable, [1]);
  assert.ok(bench.log.isClean(1) && !bench.journal.isWriting(1, prepare.bytes, 0));
  assert.deepEqual(onDisk(bench, 1, prepare), [true, true]);
  assert.equal(bench.journal.pending, 0);
  bench.end(prepare);
});

test('behind a prepare and behind a header there are zeros to the end of the sector', () => {
  const bench = new JournalBench();
  const prepare = bench.make({ op: 1, bodySize: 5000 });
  prepare.bytes.fill(0xee, HEADER_SIZE + 5000);
  bench.journal.sector(1).fill(0xee);
  bench.put(prepare);
  bench.finishAll();
  const body = bench.disk.get(bodyAt(1)) as Uint8Array;
  assert.equal(body.length, 8192);
  assert.ok(body.subarray(HEADER_SIZE + 5000).every((byte) => byte === 0));
  const sector = bench.disk.get(headerAt(1)) as Uint8Array;
  assert.equal(sector.length, 4096);
  assert.ok(sector.subarray(HEADER_SIZE).every((byte) => byte === 0));
  bench.end(prepare);
});

test('a pipeline is under way at once, in any order; alone, one after another', () => {
  for (const isSolo of [false, true]) {
    const bench = new JournalBench(isSolo);
    const prepares = Array.from({ length: 12 }, (_, i) => bench.make({ op: 1 + i }));
    for (const prepare of prepares) bench.put(prepare);
    assert.equal(bench.flights.length, isSolo ? 1 : PIPELINE_MAX);
    assert.equal(bench.journal.pending, 12);
    // The youngest first.
    while (bench.flights.length > 0) bench.finish(bench.flights.length - 1);
    const order = prepares.map((_, i) => 1 + i);
    assert.deepEqual(
      bench.durable.toSorted((a, b) => a - b),
      order,
    );
    assert.equal(bench.durable.join() === order.join(), isSolo);
    bench.end(...prepares);
  }
});

test('headers of slots in a row go in one write, over the end of the ring in two', () => {
  for (const first of [1, GEOMETRY.slots - 4]) {
    const bench = new JournalBench();
    const ops = Array.from({ length: PIPELINE_MAX }, (_, i) => first + i);
    const prepares = ops.map((op) => bench.make({ op }));
    for (const prepare of prepares) bench.put(prepare);
    const headers = (): number[] =>
      bench.flights.flatMap((flight) =>
        flight.type === 'write' && flight.offset < bodyAt(0) ? [flight.bytes.length] : [],
      );
    // The first body: its header goes alone. The others are durable before that is.
    bench.finish();
    assert.deepEqual(headers(), [4096]);
    while (bench.flights[0] !== undefined && bench.flights[0].offset >= bodyAt(0)) bench.finish();
    assert.deepEqual(headers(), [4096]);
    bench.finish();
    assert.deepEqual(bench.durable, [first]);
    const isSplit = first !== 1;
    assert.deepEqual(headers(), [(isSplit ? 3 : 7) * 4096]);
    bench.finish();
    if (isSplit) bench.finish();
    assert.deepEqual(bench.durable, ops);
    assert.deepEqual(bench.flights, []);
    for (const [i, prepare] of prepares.entries()) {
      assert.equal(
        Buffer.compare(
          bench.journal.sector((first + i) % GEOMETRY.slots).subarray(0, 256),
          prepare.bytes.subarray(0, 256),
        ),
        0,
      );
    }
    bench.end(...prepares);
  }
});

test('no more are taken than it can hold', () => {
  const bench = new JournalBench();
  const prepares: Message[] = [];
  for (let op = 1; bench.journal.canWrite; op++) {
    prepares.push(bench.make({ op }));
    bench.put(prepares[op - 1] as Message);
  }
  assert.equal(prepares.length, JOURNAL_PENDING_MAX);
  // What is handed over twice is written once.
  bench.put(prepares[3] as Message);
  assert.equal(bench.journal.pending, JOURNAL_PENDING_MAX);
  bench.finishAll();
  assert.equal(bench.durable.length, JOURNAL_PENDING_MAX);
  bench.end(...prepares);
});

test('what is not wanted any more does not become durable, at whatever point of its way', () => {
  // Steps of the disk before the log changes.
  for (const done of [0, 1]) {
    const bench = new JournalBench();
    const [a, b] = [bench.make({ op: 1, fill: 1 }), bench.make({ op: 1, view: 2 })];
    bench.put(a);
    for (let i = 0; i < done; i++) bench.finish();
    bench.put(b);
    assert.equal(bench.flights.length, 1, 'never two writes to one slot');
    bench.finish();
    assert.deepEqual(bench.durable, []);
    assert.ok(!bench.log.isClean(1));
    assert.deepEqual(offsets(bench), [bodyAt(1)]);
    bench.finishAll();
    assert.deepEqual(bench.durable, [1]);
    assert.ok(bench.log.isClean(1) && bench.log.has(1, b.bytes, 0));
    assert.deepEqual(onDisk(bench, 1, b), [true, true]);
    bench.end(a, b);
  }
});

test('what waits for its slot and is not wanted any more is never written', () => {
  const bench = new JournalBench();
  const [a, b, c] = [1, 2, 3].map((view) => bench.make({ op: 1, view })) as [
    Message,
    Message,
    Message,
  ];
  bench.put(a);
  bench.put(b);
  bench.put(c);
  bench.finishAll();
  assert.deepEqual(bench.durable, [1]);
  assert.deepEqual(onDisk(bench, 1, c), [true, true]);
  bench.end(a, b, c);
});

test('a slot that is written A, B, A ends with A on the disk when A is said to be there', () => {
  // Steps of the disk before the log goes to B, and between that and back to A.
  for (const first of [0, 1, 2]) {
    for (const second of [0, 1, 2, 3]) {
      const bench = new JournalBench();
      const [a, b] = [bench.make({ op: 1, bodySize: 9 }), bench.make({ op: 1, view: 2 })];
      const finish = (count: number): void => {
        for (let i = 0; i < count && bench.flights.length > 0; i++) bench.finish();
      };
      bench.put(a);
      finish(first);
      bench.put(b);
      finish(second);
      const before = bench.durable.length;
      bench.put(a);
      while (bench.flights.length > 0) {
        assert.ok(!bench.log.isClean(1), 'not before it is');
        bench.finish();
      }
      assert.ok(bench.log.isClean(1) && bench.durable.length === before + 1);
      assert.deepEqual(onDisk(bench, 1, a), [true, true], `after ${first} and ${second}`);
      bench.end(a, b);
    }
  }
});

test('who is cut off while it is written leaves no trace in the log', () => {
  const bench = new JournalBench();
  const prepares = [1, 2].map((op) => bench.make({ op }));
  for (const prepare of prepares) bench.put(prepare);
  bench.finish();
  bench.step(() => bench.log.truncate(1));
  bench.finishAll();
  assert.deepEqual(bench.durable, [1]);
  assert.equal(bench.log.header(2), null);
  bench.end(...prepares);
});

test('a prepare is read back as it was written', () => {
  const bench = new JournalBench();
  const prepare = bench.make({ op: 1, bodySize: 5000, fill: 3 });
  bench.put(prepare);
  bench.finishAll();
  const read = readBack(bench, 1);
  assert.ok(read !== null);
  const size = HEADER_SIZE + 5000;
  assert.deepEqual(read.bytes.subarray(0, size), prepare.bytes.subarray(0, size));
  bench.pool.release(read);
  bench.end(prepare);
});

/** `meanwhile`: what happens while it is being read. */
function readBack(
  bench: JournalBench,
  op: number,
  meanwhile: () => void = () => {},
): Message | null {
  let result: Message | null | undefined;
  bench.step(() => {
    bench.journal.read(op, (message) => {
      result = message;
    });
  });
  meanwhile();
  bench.finishAll();
  assert.ok(result !== undefined);
  return result;
}

test('damage to header, body or everything shows when it is read, and is remembered', () => {
  for (const [at, length] of [
    [20, 1],
    [HEADER_SIZE + 4000, 1],
    [0, 8192],
  ] as const) {
    const bench = new JournalBench();
    const prepare = bench.make({ op: 1, bodySize: 5000 });
    bench.put(prepare);
    bench.finishAll();
    const bytes = bench.disk.get(bodyAt(1)) as Uint8Array;
    for (let i = at; i < at + length; i++) bytes[i] ^= 0x55;
    assert.ok(readBack(bench, 1) === null);
    assert.deepEqual(bench.damaged, [1]);
    assert.ok(bench.log.isFaulty(1) && !bench.log.isClean(1));
    // It is written again, and whole.
    bench.put(prepare);
    bench.finishAll();
    assert.ok(bench.log.isClean(1) && !bench.log.isFaulty(1));
    const read = readBack(bench, 1);
    assert.ok(read !== null);
    bench.pool.release(read);
    bench.end(prepare);
  }
});

test('a prepare that was replaced while it was read is not damaged', () => {
  const bench = new JournalBench();
  const [a, b] = [bench.make({ op: 1 }), bench.make({ op: 1, view: 2 })];
  bench.put(a);
  bench.finishAll();
  assert.ok(readBack(bench, 1, () => bench.put(b)) === null);
  assert.deepEqual(bench.damaged, []);
  assert.ok(bench.log.isClean(1), 'the other one is there by now');
  bench.end(a, b);
});

test('only so many are read at once', () => {
  const bench = new JournalBench();
  const prepare = bench.make({ op: 1 });
  bench.put(prepare);
  bench.finishAll();
  const results: (Message | null)[] = [];
  bench.step(() => {
    while (bench.journal.canRead) bench.journal.read(1, (message) => results.push(message));
  });
  assert.equal(bench.journal.reading, JOURNAL_READS_MAX);
  bench.finishAll();
  assert.equal(bench.journal.reading, 0);
  assert.equal(results.length, JOURNAL_READS_MAX);
  for (const message of results) bench.pool.release(message as Message);
  bench.end(prepare);
});
