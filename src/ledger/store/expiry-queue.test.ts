/** The expiry queue against a sorted array, with posts, rollbacks and many equal times. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { Prng } from '../../stdx/index.ts';
import { PendingStatus } from '../tables.ts';
import { ExpiryQueue } from './expiry-queue.ts';
import { PendingColumn } from './pending-column.ts';

interface Entry {
  row: number;
  time: number;
}

function inOrder(a: Entry, b: Entry): number {
  return a.time - b.time || a.row - b.row;
}

class Twin {
  readonly pending: PendingColumn = new PendingColumn();
  readonly queue: ExpiryQueue = new ExpiryQueue(this.pending);
  entries: Entry[] = [];

  add(time: number): void {
    const row = this.pending.count;
    this.pending.append(PendingStatus.pending);
    this.queue.stage(Uint32Array.of(time % 16, Math.floor(time / 16)), row);
    this.entries.push({ row, time });
  }

  settle(index: number): void {
    const entry = this.entries.splice(index, 1)[0] as Entry;
    this.pending.set(entry.row, PendingStatus.posted);
    this.queue.bury();
  }

  /** Takes out what is due and checks that it comes in order. */
  expire(now: number): void {
    this.entries.sort(inOrder);
    const [hi, lo] = [Math.floor(now / 16), now % 16];
    while (this.queue.due(hi, lo)) {
      const entry = this.entries.shift();
      assert.equal(this.queue.take(), entry?.row);
      assert((entry?.time ?? Infinity) <= now);
      this.pending.set(entry?.row ?? 0, PendingStatus.expired);
    }
    assert((this.entries[0]?.time ?? Infinity) > now);
  }
}

test('like a sorted array', () => {
  const prng = new Prng(11);
  const twin = new Twin();
  for (let now = 0; now < 3000; now++) {
    const count = twin.pending.count;
    const entries = twin.entries.length;
    for (let i = prng.below(8); i > 0; i--) twin.add(now + 1 + prng.below(prng.pick([2, 2, 900])));
    if (prng.chance(1, 5)) {
      // A chain that is rolled back: its own entries and what it settled.
      const before = twin.entries.slice();
      let buried = 0;
      for (let i = prng.below(4); i > 0 && twin.entries.length > 0; i--) {
        twin.settle(prng.below(twin.entries.length));
        buried++;
      }
      for (const entry of before) twin.pending.set(entry.row, PendingStatus.pending);
      twin.pending.truncate(count);
      twin.queue.rollback(count, buried);
      twin.entries = before.slice(0, entries);
    }
    for (let i = prng.below(6); i > 0 && twin.entries.length > 0; i--) {
      twin.settle(prng.below(twin.entries.length));
    }
    twin.queue.settle();
    if (prng.chance(1, 3)) twin.expire(now);
    twin.entries.sort((a, b) => a.row - b.row);
  }
  twin.expire(1e6);
  assert.equal(twin.entries.length, 0);
  assert.equal(twin.queue.due(0xffff_ffff, 0xffff_ffff), false);
});

test('entries of settled transfers do not pile up', () => {
  const twin = new Twin();
  for (let i = 0; i < 100; i++) twin.add(1_000_000 + i);
  for (let round = 0; round < 200; round++) {
    for (let i = 0; i < 100; i++) twin.add(2_000_000 + i);
    twin.queue.settle();
    for (let i = 0; i < 100; i++) twin.settle(twin.entries.length - 1);
    twin.queue.settle();
    assert(twin.queue.size <= 100 + 1024 + 200, `${twin.queue.size} entries`);
  }
  assert.equal(twin.entries.length, 100);
});
