import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QuorumTime } from './quorum-time.ts';

const MS = 1_000_000;

test('at first pings say how long a quorum takes, or nothing does', () => {
  const time = new QuorumTime();
  assert.equal(time.timeoutNs(0), 250 * MS);
  assert.equal(time.timeoutNs(40 * MS), 80 * MS);
  assert.equal(time.timeoutNs(1 * MS), 10 * MS, 'not sooner than that');
});

test('it follows what it measures, and waits longer where that varies', () => {
  const steady = new QuorumTime();
  for (let i = 0; i < 100; i++) steady.measure(20 * MS);
  assert.ok(Math.abs(steady.timeoutNs(0) - 40 * MS) < MS);
  const unsteady = new QuorumTime();
  for (let i = 0; i < 100; i++) unsteady.measure((i % 2 === 0 ? 5 : 35) * MS);
  assert.ok(unsteady.timeoutNs(0) > 60 * MS);
  const slow = new QuorumTime();
  for (let i = 0; i < 100; i++) slow.measure(5_000 * MS);
  assert.equal(slow.timeoutNs(0), 500 * MS, 'not later than that');
});
