import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromHex, Prng } from '../stdx/index.ts';
import { CHECKSUM_MEMORY_SIZE } from './checksum.ts';
import type { Message, SlotClass } from './message.ts';
import { MessagePool, REPLY_SLOT_SIZE, SLOT_ALIGNMENT, SMALL_SLOT_SIZE } from './pool.ts';
import { checksumKinds, testPool } from './vectors-test-helper.ts';

const classes: readonly SlotClass[] = ['request', 'reply', 'small'];

function acquire(pool: MessagePool, slotClass: SlotClass): Message {
  const message = pool.acquire(slotClass);
  assert.ok(message !== null);
  return message;
}

function acquireAll(pool: MessagePool): Message[] {
  const messages: Message[] = [];
  for (const slotClass of classes) {
    for (let m = pool.acquire(slotClass); m !== null; m = pool.acquire(slotClass)) messages.push(m);
  }
  return messages;
}

test('slots are aligned, do not overlap, and leave the checksum its pages', () => {
  const pool = testPool();
  const messages = acquireAll(pool);
  assert.equal(messages.length, 8 + 2 + 16);
  const sizes = { request: 16_384, reply: REPLY_SLOT_SIZE, small: SMALL_SLOT_SIZE };
  let end = CHECKSUM_MEMORY_SIZE;
  for (const { bytes, words, slotClass } of messages.sort(
    (a, b) => a.bytes.byteOffset - b.bytes.byteOffset,
  )) {
    assert.equal(bytes.buffer, pool.memory.buffer);
    assert.equal(bytes.byteOffset % SLOT_ALIGNMENT, 0);
    assert.equal(bytes.length, sizes[slotClass]);
    assert.deepEqual([words.byteOffset, words.byteLength], [bytes.byteOffset, bytes.length]);
    assert.ok(bytes.byteOffset >= end);
    end = bytes.byteOffset + bytes.length;
  }
  for (const slotClass of classes) assert.equal(pool.available(slotClass), 0);
  for (const message of messages) pool.release(message);
  for (const c of classes) assert.equal(pool.available(c), pool.capacity(c));
});

test('each class is used up for itself', () => {
  const pool = testPool();
  for (let i = 0; i < 16; i++) acquire(pool, 'small');
  assert.equal(pool.acquire('small'), null);
  assert.notEqual(pool.acquire('request'), null);
  assert.notEqual(pool.acquire('reply'), null);
});

test('the last holder frees the slot', () => {
  const pool = testPool({ smallSlots: 1 });
  const message = acquire(pool, 'small');
  pool.retain(message);
  pool.retain(message);
  assert.equal(message.references, 3);
  pool.release(message);
  pool.release(message);
  assert.equal(pool.acquire('small'), null);
  pool.release(message);
  const next = acquire(pool, 'small');
  assert.equal(next.references, 1);
  assert.equal(next.bytes.byteOffset, message.bytes.byteOffset);
});

test('releasing or retaining what is gone asserts, also when the slot has a new owner', () => {
  const pool = testPool({ smallSlots: 1 });
  const message = acquire(pool, 'small');
  pool.release(message);
  assert.throws(() => pool.release(message), /released too often/);
  assert.throws(() => pool.retain(message), /released too often/);
  const next = acquire(pool, 'small');
  assert.throws(() => pool.release(message), /released too often/);
  assert.equal(next.references, 1);
});

test('messages of other pools and look-alikes are refused', () => {
  const pool = testPool();
  const other = testPool();
  const message = acquire(other, 'small');
  assert.throws(() => pool.release(message), /another pool/);
  assert.throws(() => pool.release({ ...message }), /not a pooled message/);
});

test('a freed message is poisoned', () => {
  const pool = testPool();
  const message = acquire(pool, 'request');
  const { bytes } = message;
  bytes.fill(1);
  pool.retain(message);
  pool.release(message);
  assert.ok(bytes.every((byte) => byte === 1));
  pool.release(message);
  assert.ok(bytes.every((byte) => byte === 0xa5));
});

test('writing to a freed message is noticed when its slot is taken again', () => {
  const pool = testPool({ smallSlots: 1 });
  const message = acquire(pool, 'small');
  pool.release(message);
  message.bytes[4095] ^= 1;
  assert.throws(() => pool.acquire('small'), /freed message was written to/);
});

test('without poison nothing is overwritten', () => {
  const pool = testPool({ poison: false, smallSlots: 1 });
  const message = acquire(pool, 'small');
  message.bytes.fill(3);
  pool.release(message);
  assert.ok(acquire(pool, 'small').bytes.every((byte) => byte === 3));
});

test('leaked counts what is still held', () => {
  const pool = testPool();
  const messages = acquireAll(pool);
  assert.equal(pool.leaked(), messages.length);
  while (messages.length > 0) {
    pool.release(messages.pop() as Message);
    assert.equal(pool.leaked(), messages.length);
  }
});

test('against a dumb twin: a thousand random takes, holds and releases', () => {
  const prng = new Prng(5);
  const pool = testPool({ requestSlots: 3, replySlots: 1, smallSlots: 4 });
  const capacity = { request: 3, reply: 1, small: 4 };
  /** One entry for each reference. */
  const held: Message[] = [];
  for (let i = 0; i < 1000; i++) {
    const unique = new Set(held);
    const move = prng.below(3);
    if (move === 0) {
      const slotClass = prng.pick(classes);
      const used = [...unique].filter((m) => m.slotClass === slotClass).length;
      const message = pool.acquire(slotClass);
      assert.equal(message === null, used === capacity[slotClass]);
      if (message !== null) held.push(message);
    } else if (held.length > 0 && move === 1) {
      const message = prng.pick(held);
      pool.retain(message);
      held.push(message);
    } else if (held.length > 0) {
      pool.release(held.splice(prng.below(held.length), 1)[0] as Message);
    }
    assert.equal(pool.leaked(), new Set(held).size);
    for (const m of held) assert.equal(m.references, held.filter((n) => n === m).length);
  }
});

test('the pool digests in place, whatever the kind', () => {
  for (const checksumKind of checksumKinds) {
    const pool = testPool({ checksumKind });
    assert.equal(pool.checksum.kind, checksumKind);
    for (const message of acquireAll(pool)) {
      const { bytes } = message;
      const end = bytes.length - 16;
      for (let i = 0; i < 33; i++) bytes[end - 33 + i] = i;
      pool.checksum.digest(bytes, end - 33, 33, bytes, end);
      assert.deepEqual(bytes.slice(end), fromHex('205dbc4d693090b206092b05c26870c4'));
    }
  }
});

test('sizes that make no sense are refused', () => {
  const good = { requestSlotSize: 4096, requestSlots: 1, replySlots: 0, smallSlots: 1 };
  assert.equal(new MessagePool(good).capacity('reply'), 0);
  for (const wrong of [
    { requestSlotSize: 4095 },
    { requestSlotSize: 0 },
    { requestSlotSize: 1_052_672 },
    { requestSlots: -1 },
    { smallSlots: 1.5 },
  ]) {
    assert.throws(() => new MessagePool({ ...good, ...wrong }), /MessagePool|createMemory/);
  }
});
