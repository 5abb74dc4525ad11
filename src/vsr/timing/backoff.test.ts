import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng } from '../../stdx/index.ts';
import { Backoff, RoundTrip } from './backoff.ts';

const MS = 1_000_000;

test('the wait is two round trips and a spread that doubles up to ten seconds', () => {
  const spreads = [20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10_000, 10_000, 10_000];
  const highest = spreads.map(() => 0);
  for (let seed = 0; seed < 500; seed++) {
    const backoff = new Backoff(new Prng(seed));
    for (const [i, spreadMs] of spreads.entries()) {
      const wait = backoff.next(7 * MS) - 14 * MS;
      assert.ok(wait >= 10 * MS && wait <= spreadMs * MS, `attempt ${i}: ${wait}`);
      assert.ok(Number.isSafeInteger(wait));
      highest[i] = Math.max(highest[i], wait / (spreadMs * MS));
      assert.equal(backoff.attempts, i + 1);
    }
    backoff.reset();
    assert.ok(backoff.next(0) <= 20 * MS);
  }
  for (const share of highest) assert.ok(share > 0.95, `${highest}`);
});

test('attempts are counted on when the wait grows no more', () => {
  const backoff = new Backoff(new Prng(1));
  for (let i = 0; i < 100; i++) assert.ok(backoff.next(0) <= 10_000 * MS);
  assert.equal(backoff.attempts, 100);
});

test('no wait is longer for a round trip above a minute', () => {
  const backoff = new Backoff(new Prng(1));
  assert.ok(backoff.next(1e15) <= 120_020 * MS);
});

test('the round trip is the lower median of the peers', () => {
  const roundTrip = new RoundTrip(6);
  assert.equal(roundTrip.medianNs, 300 * MS);
  for (const [replica, rtt, median] of [
    [1, 40, 40],
    [2, 90, 40],
    [3, 10, 40],
    [4, 30, 30],
    [5, 60, 40],
    [1, 5, 30],
  ] as const) {
    roundTrip.learn(replica, rtt);
    assert.equal(roundTrip.medianNs, median);
  }
  for (const replica of [1, 3, 4]) roundTrip.forget(replica);
  assert.equal(roundTrip.medianNs, 60);
  for (const replica of [2, 5]) roundTrip.forget(replica);
  assert.equal(roundTrip.medianNs, 300 * MS);
  roundTrip.learn(1, 1e15);
  assert.equal(roundTrip.medianNs, 60_000 * MS);
});
