import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Effect } from '../engine/index.ts';
import { Prng, U64_ZERO } from '../stdx/index.ts';
import { type DeadlineName, Deadlines } from './deadlines.ts';
import { Outbox } from './outbox.ts';

/** What the driver is asked for at the end of a step at `nowNs`: in how many ns to wake us. */
function arm(deadlines: Deadlines, nowNs: number): number | null {
  const outbox = new Outbox();
  outbox.begin({ monoNs: nowNs, wall: U64_ZERO });
  deadlines.arm(outbox);
  const isTimer = (effect: Effect): effect is Effect & { type: 'timer' } => effect.type === 'timer';
  const timers = outbox.effects().filter(isTimer);
  assert.ok(timers.length <= 1);
  return timers[0]?.afterNs ?? null;
}

test('what is due is taken once, in a fixed order, and what is not stays', () => {
  const deadlines = new Deadlines();
  deadlines.set('heartbeat', 30);
  deadlines.set('pulse', 20);
  deadlines.set('ping', 20);
  deadlines.set('repair', 31);
  assert.deepEqual(deadlines.take(19), []);
  assert.deepEqual(deadlines.take(30), ['pulse', 'ping', 'heartbeat']);
  assert.deepEqual(deadlines.take(30), []);
  assert.ok(deadlines.isSet('repair') && !deadlines.isSet('ping'));
});

test('setting one again moves it; clearing one ends it', () => {
  const deadlines = new Deadlines();
  deadlines.set('ping', 10);
  deadlines.set('ping', 50);
  assert.deepEqual(deadlines.take(49), []);
  deadlines.set('pulse', 60);
  deadlines.clear('pulse');
  assert.deepEqual(deadlines.take(100), ['ping']);
});

test('the driver is asked only for what comes earlier than it would wake us anyway', () => {
  const deadlines = new Deadlines();
  assert.equal(arm(deadlines, 0), null);
  deadlines.set('ping', 100);
  assert.equal(arm(deadlines, 0), 100);
  assert.equal(arm(deadlines, 10), null);
  deadlines.set('repair', 200);
  assert.equal(arm(deadlines, 10), null);
  // Pushed back: the driver wakes us at 100 for nothing, and then it is told again.
  deadlines.set('ping', 300);
  assert.equal(arm(deadlines, 20), null);
  assert.deepEqual(deadlines.take(100), []);
  assert.equal(arm(deadlines, 100), 100);
  deadlines.set('pulse', 150.5);
  assert.equal(arm(deadlines, 100), 51);
});

test('what is due already wakes us at once', () => {
  const deadlines = new Deadlines();
  deadlines.set('ping', 5);
  assert.equal(arm(deadlines, 70), 0);
});

test('whatever is set and moved, nothing is late and nothing fires twice', () => {
  const names: readonly DeadlineName[] = ['pulse', 'ping', 'prepare', 'repair', 'sync'];
  const prng = new Prng(3);
  const deadlines = new Deadlines();
  const expected = new Map<DeadlineName, number>();
  let wakeNs = Number.POSITIVE_INFINITY;
  let fired = 0;
  for (let nowNs = 0; nowNs < 20_000; nowNs++) {
    if (prng.chance(1, 4)) {
      const name = prng.pick(names);
      if (prng.chance(1, 5)) {
        deadlines.clear(name);
        expected.delete(name);
      } else {
        const atNs = nowNs + prng.below(40);
        deadlines.set(name, atNs);
        expected.set(name, atNs);
      }
    }
    if (nowNs >= wakeNs) {
      wakeNs = Number.POSITIVE_INFINITY;
      for (const name of deadlines.take(nowNs)) {
        assert.equal(expected.get(name), nowNs, name);
        expected.delete(name);
        fired++;
      }
    }
    const afterNs = arm(deadlines, nowNs);
    if (afterNs !== null) wakeNs = nowNs + afterNs;
    // What was due at once fires at the same moment.
    if (wakeNs === nowNs) for (const name of deadlines.take(nowNs)) expected.delete(name);
    if (wakeNs === nowNs) wakeNs = Number.POSITIVE_INFINITY;
    const again = arm(deadlines, nowNs);
    if (again !== null) wakeNs = nowNs + again;
    for (const [name, atNs] of expected) assert.ok(atNs > nowNs && wakeNs <= atNs, name);
  }
  assert.ok(fired > 1000);
});
