import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng } from '../../stdx/index.ts';
import { EventQueue } from './event-queue.ts';

test('EventQueue pops what a stable sort would, pushes and pops mixed', () => {
  const prng = new Prng(11);
  for (let round = 0; round < 200; round++) {
    const queue = new EventQueue<string>();
    let twin: { time: number; name: string }[] = [];
    let clock = 0;
    for (let i = 0; i < 300; i++) {
      if (prng.chance(3, 5)) {
        const time = clock + prng.below(prng.chance(1, 2) ? 4 : 1000);
        queue.push(time, `item ${i}`);
        twin.push({ time, name: `item ${i}` });
      } else if (queue.length > 0) {
        // The dumb twin: a stable sort by time alone keeps the order of insertion.
        twin = twin.toSorted((a, b) => a.time - b.time);
        const first = twin.shift()!;
        assert.equal(queue.timeNextNs, first.time);
        assert.equal(queue.pop(), first.name);
        clock = first.time;
      }
      assert.equal(queue.length, twin.length);
    }
  }
});

test('EventQueue refuses times that a double cannot count, and pops from nothing', () => {
  const queue = new EventQueue<number>();
  assert.equal(queue.timeNextNs, Number.POSITIVE_INFINITY);
  assert.throws(() => queue.push(0.5, 1), /safe integer/);
  assert.throws(() => queue.push(-1, 1), /safe integer/);
  assert.throws(() => queue.pop(), /empty/);
});
