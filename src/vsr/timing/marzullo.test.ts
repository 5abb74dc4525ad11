import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng } from '../../stdx/index.ts';
import { type Agreement, agree, type Interval } from './marzullo.ts';

test('agreement: the textbook, ends that touch, ties', () => {
  const cases: readonly [string, readonly (readonly [number, number])[], Agreement | null][] = [
    ['nothing', [], null],
    ['one', [[3, 5]], { lower: 3, upper: 5, count: 1 }],
    [
      'three of four overlap',
      [
        [8, 12],
        [11, 13],
        [10, 12],
        [20, 30],
      ],
      { lower: 11, upper: 12, count: 3 },
    ],
    [
      'two touch',
      [
        [1, 5],
        [5, 9],
      ],
      { lower: 5, upper: 5, count: 2 },
    ],
    [
      'the narrowest of two pairs',
      [
        [0, 10],
        [5, 15],
        [100, 110],
        [108, 120],
      ],
      { lower: 108, upper: 110, count: 2 },
    ],
    [
      'the lowest of two alike',
      [
        [50, 50],
        [-3, -3],
      ],
      { lower: -3, upper: -3, count: 1 },
    ],
  ];
  for (const [name, pairs, expected] of cases) {
    const intervals = pairs.map(([lower, upper]) => ({ lower, upper }));
    assert.deepEqual(agree(intervals), expected, name);
  }
  assert.throws(() => agree([{ lower: 2, upper: 1 }]), /ends before/);
});

/** Counts at every half, and measures every stretch of the highest count. */
function dumb(intervals: readonly Interval[]): { count: number; width: number } {
  const countAt = (x: number) => intervals.filter((i) => i.lower <= x && x <= i.upper).length;
  let count = 0;
  for (let x = 0; x <= 20; x += 0.5) count = Math.max(count, countAt(x));
  let width = 1000;
  for (let from = 0; from <= 20; from++) {
    if (countAt(from) !== count || countAt(from - 0.5) === count) continue;
    let to = from;
    while (countAt(to + 0.5) === count) to += 0.5;
    width = Math.min(width, to - from);
  }
  return { count, width };
}

test('agreement: the same as counting at every point', () => {
  const prng = new Prng(1);
  for (let round = 0; round < 5000; round++) {
    const intervals = Array.from({ length: prng.between(1, 6) }, () => {
      const lower = prng.below(15);
      return { lower, upper: lower + prng.below(6) };
    });
    const agreement = agree(intervals)!;
    const expected = dumb(intervals);
    assert.equal(agreement.count, expected.count);
    assert.ok(agreement.upper - agreement.lower <= expected.width, JSON.stringify(intervals));
    for (const x of [agreement.lower, agreement.upper]) {
      const sharing = intervals.filter((i) => i.lower <= x && x <= i.upper);
      assert.equal(sharing.length, expected.count);
    }
  }
});
