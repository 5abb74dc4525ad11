import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IdGenerator, id } from './id.ts';

test('a million ids in a tight loop increase, and none is zero', () => {
  let last = 0n;
  for (let i = 0; i < 1_000_000; i++) {
    const next = id();
    if (next <= last) assert.fail(`id ${next} after ${last}`);
    last = next;
  }
});

test('ids carry the time in their upper 48 bits', () => {
  const generator = new IdGenerator({ nowMs: () => 1_750_000_000_000, random: (b) => b.fill(7) });
  assert.equal(generator.next() >> 80n, 1_750_000_000_000n);
});

test('ids increase when the clock steps back an hour', () => {
  let nowMs = 10_000_000;
  const generator = new IdGenerator({ nowMs: () => nowMs, random: (b) => b.fill(0x80) });
  const before = generator.next();
  nowMs -= 3_600_000;
  assert.equal(generator.next(), before + 1n);
  nowMs += 3_600_001;
  assert.ok(generator.next() > before + 1n);
});

test('a full random part overflows into the time, and the clock catches up with it', () => {
  let nowMs = 5;
  const generator = new IdGenerator({ nowMs: () => nowMs, random: (b) => b.fill(0xff) });
  assert.equal(generator.next(), (6n << 80n) - 1n);
  assert.equal(generator.next(), 6n << 80n);
  nowMs = 6;
  assert.equal(generator.next(), (7n << 80n) - 1n);
  let small = 0xff;
  const caught = new IdGenerator({ nowMs: () => nowMs, random: (b) => b.fill(small) });
  caught.next();
  const carried = caught.next();
  nowMs = 7;
  small = 0;
  assert.ok(caught.next() > carried);
});

test('only the end of the 48 bits stops it', () => {
  const generator = new IdGenerator({ nowMs: () => 2 ** 48, random: (b) => b.fill(0) });
  assert.throws(() => generator.next(), /clock outside 48 bits/);
});
