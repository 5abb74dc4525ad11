import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng, readSafeU64, toHex, u64FromNumber } from '../../stdx/index.ts';
import { createChecksum } from '../../wire/index.ts';
import { Digest } from '../digest.ts';
import { BLOCK_SIZE_MAX } from '../limits.ts';
import { type Block, type Machine, OPERATION_PULSE } from '../machine.ts';
import { COUNTER_ADD, COUNTER_READ, CounterMachine } from './counter.ts';
import {
  KEY_VALUE_CAS,
  KEY_VALUE_DELETE,
  KEY_VALUE_GET,
  KEY_VALUE_PUT,
  KeyValueMachine,
  KeyValueStatus,
  keyValueBody,
  keyValueCasBody,
} from './key-value.ts';

const checksum = createChecksum();
const reply = new Uint8Array(100_000);

const target = new Uint8Array(BLOCK_SIZE_MAX);

function changedBlocks(machine: Machine): Block[] {
  const blocks: Block[] = [];
  machine.cut(1);
  for (let block = machine.slice(target); block !== null; block = machine.slice(target)) {
    blocks.push({ ...block, bytes: block.bytes.slice() });
  }
  return blocks;
}

test('the contract holds for every machine of the room', () => {
  const random = (prng: Prng): [number, Uint8Array] => {
    const key = `k${prng.below(100)}`;
    if (prng.chance(1, 5)) {
      const expected = prng.pick([null, EMPTY, Uint8Array.of(prng.below(3))]);
      return [KEY_VALUE_CAS, keyValueCasBody(key, expected, Uint8Array.of(prng.below(3)))];
    }
    const operation = prng.pick([KEY_VALUE_PUT, KEY_VALUE_PUT, KEY_VALUE_DELETE, KEY_VALUE_GET]);
    const value = new Uint8Array(operation === KEY_VALUE_PUT ? prng.below(300) : 0);
    prng.fill(value);
    return [operation, keyValueBody(key, value, prng.chance(1, 3) ? 1 + prng.below(50) : 0)];
  };
  let ahead = 0;
  const machines: readonly (readonly [() => Machine, (prng: Prng) => [number, Uint8Array]])[] = [
    [
      () => new CounterMachine(),
      (prng) =>
        prng.chance(1, 2) ? [COUNTER_ADD, Uint8Array.of(3, 0, 0, 0)] : [COUNTER_READ, EMPTY],
    ],
    [() => new KeyValueMachine(checksum), random],
  ];
  for (const [make, next] of machines) {
    const prng = new Prng(4);
    const disk = new Map<string, Block>();
    let first = make();
    const twin = make();
    for (let op = 1; op <= 600; op++) {
      const context = { op, timestamp: u64FromNumber(op * 1_000_000) };
      for (const machine of [first, twin]) {
        if (machine.due(context.timestamp)) machine.apply(context, OPERATION_PULSE, EMPTY, reply);
      }
      const [operation, body] = next(prng);
      assert.equal(first.validate(operation, body, 4096), 'valid');
      assert.deepEqual(first.prefetch(operation, body), []);
      assert.equal(first.reserve(operation, body), 0);
      const size = first.apply(context, operation, body, reply);
      const bytes = reply.slice(0, size);
      assert.equal(twin.apply(context, operation, body, reply), size);
      assert.deepEqual(reply.slice(0, size), bytes, 'same operations, same replies');
      assert.equal(toHex(first.root()), toHex(twin.root()));
      const put = (block: Block): void => {
        disk.set(`${block.kind}/${block.index}`, { ...block, bytes: block.bytes.slice() });
      };
      const early = prng.chance(1, 4) ? first.sliceAhead(target) : null;
      if (early !== null) put(early);
      if (early !== null) ahead++;
      if (op % 40 !== 0) continue;
      changedBlocks(first).forEach(put);
      assert.equal(toHex(first.rootOfCut()), toHex(twin.root()), 'the root of the cut');
      assert.deepEqual(changedBlocks(first), [], 'nothing has changed since');
      first = make();
      const byIndex = (a: Block, b: Block): number => a.kind - b.kind || a.index - b.index;
      for (const block of [...disk.values()].sort(byIndex)) {
        if (block.bytes.length > 0) first.restore(block);
      }
      first.restored();
      assert.equal(toHex(first.root()), toHex(twin.root()), 'restored');
    }
  }
  assert.ok(ahead > 20, `${ahead} blocks ahead of a cut`);
});

test('counter: what is accepted', () => {
  const machine = new CounterMachine();
  assert.equal(machine.validate(COUNTER_ADD, Uint8Array.of(1, 2, 3), 4096), 'invalid-body');
  assert.equal(machine.validate(COUNTER_READ, Uint8Array.of(1), 4096), 'invalid-body');
  assert.equal(machine.validate(130, EMPTY, 4096), 'invalid-operation');
  machine.apply(
    { op: 1, timestamp: u64FromNumber(5) },
    COUNTER_ADD,
    Uint8Array.of(9, 0, 0, 0),
    reply,
  );
  assert.equal(machine.query(COUNTER_READ, EMPTY, reply), 24);
  assert.equal(readSafeU64(reply, 0), 9);
});

test('key-value: what is accepted, what is full, what expires', () => {
  const machine = new KeyValueMachine(checksum);
  const validate = machine.validate.bind(machine);
  assert.equal(validate(KEY_VALUE_PUT, keyValueBody('', EMPTY), 4096), 'invalid-body');
  assert.equal(validate(KEY_VALUE_GET, keyValueBody('a', Uint8Array.of(1)), 4096), 'invalid-body');
  assert.equal(validate(KEY_VALUE_PUT, new Uint8Array(3), 4096), 'invalid-body');
  assert.equal(validate(KEY_VALUE_PUT, keyValueBody('a').subarray(0, 8), 4096), 'invalid-body');
  assert.equal(validate(127, keyValueBody('a'), 4096), 'invalid-operation');
  const context = { op: 1, timestamp: u64FromNumber(1000) };
  const put = (key: string, size: number, lifetimeMs: number = 0): number => {
    machine.apply(
      context,
      KEY_VALUE_PUT,
      keyValueBody(key, new Uint8Array(size), lifetimeMs),
      reply,
    );
    return reply[0]!;
  };
  // Four entries of 60,000 bytes fill a bucket of 256 KiB; replacing one is always possible.
  const keys = ['\0', '\0\0', '\0\0\0', '\0\0\0\0', '\0\0\0\0\0'];
  assert.deepEqual(
    keys.map((key) => put(key, 60_000)),
    [1, 1, 1, 1, KeyValueStatus.full],
  );
  assert.equal(put(keys[0]!, 60_001), KeyValueStatus.ok);
  assert.equal(machine.size, 4);
  assert.equal(machine.due(u64FromNumber(9e15)), false);
  put('late', 1, 20);
  put('soon', 1, 10);
  assert.equal(machine.due(u64FromNumber(10_000_999)), false);
  assert.equal(machine.due(u64FromNumber(10_001_000)), true);
  machine.apply({ op: 2, timestamp: u64FromNumber(10_001_000) }, OPERATION_PULSE, EMPTY, reply);
  assert.equal(machine.size, 5);
  assert.equal(machine.due(u64FromNumber(20_000_999)), false);
});

test('key-value: compare and set', () => {
  const machine = new KeyValueMachine(checksum);
  const context = { op: 1, timestamp: u64FromNumber(1000) };
  const apply = (operation: number, body: Uint8Array): number[] => {
    assert.equal(machine.validate(operation, body, 4096), 'valid');
    return [...reply.subarray(0, machine.apply(context, operation, body, reply))];
  };
  const { ok, missing, full, unequal } = KeyValueStatus;
  const bytes = (...values: readonly number[]): Uint8Array => Uint8Array.from(values);
  const cas = (expected: Uint8Array | null, value: Uint8Array): number[] =>
    apply(KEY_VALUE_CAS, keyValueCasBody('k', expected, value));
  assert.deepEqual(cas(bytes(1), bytes(2)), [missing]);
  assert.deepEqual(cas(null, bytes(7, 8)), [ok]);
  assert.deepEqual(cas(null, bytes(9)), [unequal, 7, 8]);
  assert.deepEqual(cas(bytes(7), bytes(9)), [unequal, 7, 8], 'a prefix is another value');
  assert.deepEqual(cas(bytes(7, 8, 0), bytes(9)), [unequal, 7, 8]);
  assert.deepEqual(cas(bytes(7, 8), EMPTY), [ok]);
  assert.deepEqual(apply(KEY_VALUE_GET, keyValueBody('k')), [ok], 'an empty value');
  assert.deepEqual(cas(null, bytes(1)), [unequal], 'an empty value is one');
  assert.deepEqual(cas(EMPTY, bytes(1)), [ok]);
  const mortal = keyValueCasBody('k', bytes(1), bytes(2), 5);
  assert.deepEqual(apply(KEY_VALUE_CAS, mortal), [ok]);
  assert.equal(machine.due(u64FromNumber(5_001_000)), true, 'it may have a lifetime');
  // The value before makes room for the new one, and no more than that.
  for (const key of ['\0', '\0\0', '\0\0\0', '\0\0\0\0']) {
    apply(KEY_VALUE_PUT, keyValueBody(key, new Uint8Array(60_000)));
  }
  const large = new Uint8Array(60_000);
  assert.deepEqual(apply(KEY_VALUE_CAS, keyValueCasBody('\0', large, large)), [ok]);
  const more = keyValueCasBody('\0'.repeat(5), null, large);
  assert.deepEqual(apply(KEY_VALUE_CAS, more), [full]);
  const body = keyValueCasBody('k', null, bytes(1));
  const validate = (bad: Uint8Array): string => machine.validate(KEY_VALUE_CAS, bad, 4096);
  assert.equal(validate(body.subarray(0, body.length - 1)), 'invalid-body', 'expects nothing');
  assert.equal(validate(bytes(...body, 1)), 'invalid-body', 'absence has no value');
  assert.equal(validate(bytes(...body.subarray(0, -1), 2)), 'invalid-body', 'neither');
  assert.equal(machine.validate(KEY_VALUE_PUT, body, 4096), 'invalid-body');
});

test('a digest depends on every prepare, every reply and their order', () => {
  const digest = (...parts: readonly number[]): string => {
    const value = new Digest(checksum);
    for (let i = 0; i < parts.length; i += 2) {
      value.update(new Uint8Array(256).fill(parts[i]!), new Uint8Array(256).fill(parts[i + 1]!));
    }
    return toHex(value.value);
  };
  assert.equal(digest(1, 2, 3, 4), digest(1, 2, 3, 4));
  const others = [
    digest(),
    digest(1, 2),
    digest(3, 4, 1, 2),
    digest(1, 2, 3, 5),
    digest(2, 2, 3, 4),
  ];
  assert.equal(new Set([...others, digest(1, 2, 3, 4)]).size, 6);
  const resumed = new Digest(checksum);
  resumed.update(new Uint8Array(16).fill(1), new Uint8Array(16).fill(2));
  const again = new Digest(checksum);
  again.restore(resumed.value);
  again.update(new Uint8Array(16).fill(3), new Uint8Array(16).fill(4));
  assert.equal(toHex(again.value), digest(1, 2, 3, 4));
});

const EMPTY: Uint8Array = new Uint8Array(0);
