import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng } from '../stdx/index.ts';
import { median, percentiles } from './percentile.ts';

test('percentiles are nearest ranks of the samples', () => {
  const cases: readonly [number[], object][] = [
    [[], { count: 0, p50: 0, p99: 0, max: 0 }],
    [[7], { count: 1, p50: 7, p99: 7, max: 7 }],
    [[2, 1], { count: 2, p50: 1, p99: 2, max: 2 }],
    [[3, 1, 2], { count: 3, p50: 2, p99: 3, max: 3 }],
    [Array.from({ length: 100 }, (_, i) => 100 - i), { count: 100, p50: 50, p99: 99, max: 100 }],
    [Array.from({ length: 1000 }, (_, i) => i + 1), { count: 1000, p50: 500, p99: 990, max: 1000 }],
  ];
  for (const [samples, expected] of cases) assert.deepEqual(percentiles(samples), expected);
});

test('percentiles agree with counting', () => {
  const prng = new Prng(1);
  for (let round = 0; round < 200; round++) {
    const samples = Array.from({ length: prng.between(1, 60) }, () => prng.below(20));
    const { p50, p99 } = percentiles(samples);
    for (const [value, percent] of [
      [p50, 50],
      [p99, 99],
    ]) {
      const notAbove = samples.filter((sample) => sample <= value).length;
      const below = samples.filter((sample) => sample < value).length;
      assert.ok(notAbove * 100 >= percent * samples.length);
      assert.ok(below * 100 < percent * samples.length);
    }
  }
});

test('the median of an even number is the middle of two', () => {
  assert.equal(median([4, 1]), 2.5);
  assert.equal(median([9, 1, 5]), 5);
});
