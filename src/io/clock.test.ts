import assert from 'node:assert/strict';
import { test } from 'node:test';
import { u64Compare, u64ToBigInt } from '../stdx/index.ts';
import { Clock, type ClockSource } from './clock.ts';

class Script implements ClockSource {
  wall: number = 0;
  monoNs: bigint = 0n;

  wallMs(): number {
    return this.wall;
  }

  mono(): [number, number] {
    return [Number(this.monoNs / 1_000_000_000n), Number(this.monoNs % 1_000_000_000n)];
  }
}

test('the part below a millisecond counts from when the millisecond was first seen', () => {
  const script = new Script();
  script.wall = 1_700_000_000_123;
  script.monoNs = 90n * 86_400_000_000_000n;
  const clock = new Clock(script);
  const steps: readonly (readonly [number, bigint, bigint])[] = [
    // wall step ms, mono step ns, expected wall ns
    [0, 0n, 1_700_000_000_123_000_000n],
    [0, 400_000n, 1_700_000_000_123_400_000n],
    [0, 599_999n, 1_700_000_000_123_999_999n],
    [0, 5_000_000n, 1_700_000_000_123_999_999n],
    [1, 1n, 1_700_000_000_124_000_000n],
    [0, 1n, 1_700_000_000_124_000_001n],
    [-3_600_000, 10n, 1_699_996_400_124_000_000n],
    [0, 250n, 1_699_996_400_124_000_250n],
  ];
  for (const [wallStep, monoStep, expected] of steps) {
    script.wall += wallStep;
    script.monoNs += monoStep;
    assert.equal(u64ToBigInt(clock.now().wall), expected);
  }
});

test('limbs are exact over the whole range of the wall clock', () => {
  const script = new Script();
  const clock = new Clock(script);
  for (const wall of [0, 1, 4_294, 4_295, 65_535, 65_536, 1_796_000_000_000, 9_223_372_036_854]) {
    script.wall = wall;
    assert.equal(u64ToBigInt(clock.now().wall), BigInt(wall) * 1_000_000n);
  }
});

test('the real clock follows the wall clock within a millisecond and never leads it', () => {
  const clock = new Clock();
  let last = clock.now();
  for (let i = 0; i < 20_000; i++) {
    const before = Date.now();
    const now = clock.now();
    const afterwards = Date.now();
    const wallMs = Number(u64ToBigInt(now.wall) / 1_000_000n);
    assert.ok(wallMs >= before && wallMs <= afterwards);
    assert.ok(now.monoNs >= last.monoNs);
    assert.ok(Number.isSafeInteger(now.monoNs));
    assert.ok(u64Compare(now.wall, last.wall) >= 0 || before > afterwards);
    last = now;
  }
});
