import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng } from '../../stdx/index.ts';
import { FaultDetector } from './fault-detector.ts';

const MS = 1_000_000;

/** Hears a signal every `intervalMs` until the average has settled; returns the last time, ns. */
function settled(detector: FaultDetector, intervalMs: number): number {
  detector.reset(0);
  for (let i = 1; i <= 200; i++) detector.signal(i * intervalMs * MS);
  return 200 * intervalMs * MS;
}

test('colors follow the rhythm: busy, idle, and what is clamped', () => {
  for (const [intervalMs, yellowMs, redMs] of [
    [100, 150, 300],
    [500, 750, 1500],
    [1, 150, 300],
    [9000, 3000, 6000],
  ] as const) {
    const detector = new FaultDetector();
    const heard = settled(detector, intervalMs);
    assert.equal(detector.color(heard), 'green');
    // The average approaches its limit from above: half a millisecond is enough.
    assert.equal(detector.color(heard + (yellowMs - 0.5) * MS), 'green');
    assert.equal(detector.color(heard + (yellowMs + 0.5) * MS), 'yellow');
    assert.equal(detector.color(heard + (redMs - 0.5) * MS), 'yellow');
    assert.equal(detector.color(heard + (redMs + 0.5) * MS), 'red');
  }
});

test('nothing is known at first: two seconds are the interval', () => {
  const detector = new FaultDetector();
  assert.throws(() => detector.color(0), /reset comes first/);
  detector.reset(10);
  assert.equal(detector.color(10 + 3000 * MS), 'green');
  assert.equal(detector.color(11 + 3000 * MS), 'yellow');
  assert.equal(detector.color(10 + 6000 * MS), 'yellow');
  assert.equal(detector.color(11 + 6000 * MS), 'red');
  assert.throws(() => detector.color(9), /backwards/);
});

test('the average takes one part in five of what is new', () => {
  const detector = new FaultDetector({ intervalNsMin: 10, intervalNsMax: 1000 });
  detector.reset(0);
  detector.signal(500);
  assert.equal(detector.nextChangeNs(500), 500 + 1.5 * 900 + 1);
  detector.signal(501);
  assert.equal(detector.nextChangeNs(501), 501 + Math.floor(1.5 * 722) + 1);
});

test('proof of death is red at once, until heard or watched anew', () => {
  const detector = new FaultDetector();
  detector.reset(0);
  detector.fail();
  assert.equal(detector.color(1), 'red');
  assert.equal(detector.nextChangeNs(1), Number.POSITIVE_INFINITY);
  detector.signal(2);
  assert.equal(detector.color(3), 'green');
  detector.fail();
  detector.reset(4);
  assert.equal(detector.color(5), 'green');
});

test('a new watch forgets the rhythm of the last', () => {
  const detector = new FaultDetector();
  const heard = settled(detector, 100);
  detector.reset(heard);
  assert.equal(detector.color(heard + 3000 * MS), 'green');
});

test('the next change is exactly when the color changes', () => {
  const prng = new Prng(3);
  const detector = new FaultDetector();
  detector.reset(0);
  let now = 0;
  for (let round = 0; round < 500; round++) {
    now += prng.below(4_000_000_000);
    detector.signal(now);
    assert.equal(detector.color(now), 'green');
    const yellow = detector.nextChangeNs(now);
    assert.equal(detector.color(yellow - 1), 'green');
    assert.equal(detector.color(yellow), 'yellow');
    const red = detector.nextChangeNs(yellow);
    assert.equal(detector.color(red - 1), 'yellow');
    assert.equal(detector.color(red), 'red');
    assert.equal(detector.nextChangeNs(red), Number.POSITIVE_INFINITY);
  }
});
