import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng } from '../../stdx/index.ts';
import { drawExponential, drawLatency } from './latency.ts';

test('exponential draws have their mean and their shape', () => {
  const prng = new Prng(1);
  const draws = Array.from({ length: 40_000 }, () => drawExponential(prng, 1_000_000));
  const mean = draws.reduce((sum, draw) => sum + draw, 0) / draws.length;
  assert.ok(Math.abs(mean - 1_000_000) < 25_000, String(mean));
  const share = (limit: number): number => draws.filter((d) => d > limit).length / draws.length;
  // e^−1 and e^−3.
  assert.ok(Math.abs(share(1_000_000) - 0.368) < 0.015, String(share(1_000_000)));
  assert.ok(Math.abs(share(3_000_000) - 0.05) < 0.01, String(share(3_000_000)));
  for (const draw of draws) assert.ok(Number.isInteger(draw) && draw >= 0);
});

test('a latency keeps to its ends', () => {
  const prng = new Prng(2);
  for (let i = 0; i < 1000; i++) {
    const range = drawLatency(prng, { minNs: 5, maxNs: 9 });
    assert.ok(range >= 5 && range <= 9);
    const tail = drawLatency(prng, { minNs: 500, meanNs: 1000 });
    assert.ok(tail >= 500 && tail < 6000, String(tail));
  }
});
