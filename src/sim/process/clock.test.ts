import assert from 'node:assert/strict';
import { test } from 'node:test';
import { u64Difference } from '../../stdx/index.ts';
import { World } from '../world/world.ts';
import { Clock } from './clock.ts';

function runTo(world: World, ns: number): void {
  world.after(ns - world.nowNs, () => {});
  while (world.step(ns));
}

test('a clock drifts, is off, and can be set; the monotonic one never goes back', () => {
  const world = new World({ seed: 1 });
  const right = new Clock(world);
  const fast = new Clock(world, { offsetNs: 7_000, driftPpm: 500, monoStartNs: 90 });
  runTo(world, 10_000_000_000);
  assert.equal(fast.errorNs, 7_000 + 5_000_000);
  assert.equal(fast.instant().monoNs, 90 + 10_005_000_000);
  assert.equal(u64Difference(fast.instant().wall, right.instant().wall), 5_007_000);
  const before = fast.instant();
  fast.step(-3_600_000_000_000);
  assert.equal(fast.instant().monoNs, before.monoNs);
  assert.equal(u64Difference(fast.instant().wall, before.wall), -3_600_000_000_000);
  assert.equal(world.coverage.count('clockSteps'), 1);
});

test('a timer of a drifting clock is never early', () => {
  for (const driftPpm of [-900, -1, 0, 1, 300, 900]) {
    const world = new World({ seed: 1 });
    const clock = new Clock(world, { offsetNs: 0, driftPpm, monoStartNs: 0 });
    for (let i = 1; i < 200; i++) {
      const start = clock.instant().monoNs;
      const afterNs = i * 7_654_321;
      runTo(world, world.nowNs + clock.worldNs(afterNs));
      const lateNs = clock.instant().monoNs - start - afterNs;
      assert.ok(lateNs >= 0 && lateNs <= 3, `${driftPpm}: ${lateNs}`);
    }
  }
});
