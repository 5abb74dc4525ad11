import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng } from '../../stdx/index.ts';
import { runFigures } from './run-figures.ts';
import { between, type Completion, longestGap, ratioSpread, spreadOf } from './statistics.ts';

const at = (...times: readonly number[]): Completion[] => times.map((atMs) => ({ atMs, ms: 1 }));

test('the spread is the middle and both ends; none of nothing', () => {
  assert.deepEqual(spreadOf([3, 1, 10]), { count: 3, median: 3, min: 1, max: 10 });
  assert.deepEqual(spreadOf([2, 4]), { count: 2, median: 3, min: 2, max: 4 });
  assert.equal(spreadOf([]), null);
});

test('ratios are made within pairs, and then the middle one is taken', () => {
  const pairs = [
    { value: 10, base: 10 },
    { value: 40, base: 20 },
    { value: 9, base: 3 },
    { value: 9, base: 0 },
  ];
  // The ratio of the medians would be another one: 9.5 / 6.5.
  assert.deepEqual(ratioSpread(pairs), { count: 3, median: 2, min: 1, max: 3 });
  assert.equal(ratioSpread([]), null);
});

test('the longest gap counts from the beginning and to the end', () => {
  const all = { beginMs: 100, endMs: 200 };
  const table: readonly [number[], number][] = [
    [[], 100],
    [[150], 50],
    [[110, 120, 190], 70],
    [[140, 150], 50],
    [[100, 130, 200], 70],
  ];
  for (const [times, gap] of table) assert.equal(longestGap(at(...times), all), gap, `${times}`);
});

test('a gap belongs to a range that it touches', () => {
  const completions = at(10, 40, 50, 55, 90);
  const all = { beginMs: 0, endMs: 100 };
  const table: readonly [number, number, number][] = [
    [0, 5, 10],
    [15, 30, 30],
    [45, 52, 10],
    [52, 60, 35],
    [0, 100, 35],
    [95, 100, 10],
  ];
  for (const [fromMs, toMs, gap] of table) {
    assert.equal(longestGap(completions, { ...all, fromMs, toMs }), gap, `${fromMs} to ${toMs}`);
  }
});

test('the longest gap is that of a slow search', () => {
  for (let seed = 0; seed < 300; seed++) {
    const prng = new Prng(seed);
    const times = Array.from({ length: prng.below(12) }, () => prng.below(100));
    const sorted = times.toSorted((a, b) => a - b);
    const [fromMs, toMs] = [prng.below(50), 50 + prng.below(50)];
    // A moment is in the gap that it makes longest when nothing is answered around it.
    let slow = 0;
    for (let moment = fromMs; moment <= toMs; moment += 0.5) {
      const before = Math.max(0, ...sorted.filter((time) => time <= moment));
      const after = Math.min(100, ...sorted.filter((time) => time >= moment));
      const strictlyBefore = Math.max(0, ...sorted.filter((time) => time < moment));
      const strictlyAfter = Math.min(100, ...sorted.filter((time) => time > moment));
      slow = Math.max(slow, after - before, after - strictlyBefore, strictlyAfter - before);
    }
    const range = { beginMs: 0, endMs: 100, fromMs, toMs };
    assert.equal(longestGap(at(...sorted), range), slow, `seed ${seed}`);
  }
});

test('between takes its first moment and not its last', () => {
  assert.deepEqual(
    between(at(1, 2, 3, 4), 2, 4).map(({ atMs }) => atMs),
    [2, 3],
  );
});

test('figures of an open loop: the trouble apart from the whole', () => {
  const completions = [
    { atMs: 1010, ms: 5 },
    { atMs: 1500, ms: 6 },
    { atMs: 1700, ms: 200 },
    { atMs: 1990, ms: 7 },
    { atMs: 2500, ms: 8 },
  ];
  const moments = { beginMs: 1000, endMs: 2510, faultMs: 1510, troubleEndMs: 2000, isOpen: true };
  const figures = runFigures(completions, moments);
  assert.equal(figures.seconds, 1.51);
  assert.equal(figures.batches, 5);
  assert.equal(figures.batchMs.p50, 7);
  assert.equal(figures.faultAtMs, 510);
  assert.deepEqual(figures.troubleMs, { count: 2, p50: 7, p99: 200, max: 200 });
  assert.equal(figures.gapMs, 510);
  assert.equal(figures.faultGapMs, 510);
  assert.deepEqual(figures.timeline[0], { atMs: 10, ms: 5 });
  const closed = { ...moments, faultMs: null, troubleEndMs: null, isOpen: false };
  const { troubleMs, faultAtMs, faultGapMs, timeline } = runFigures(completions, closed);
  assert.deepEqual([troubleMs, faultAtMs, faultGapMs, timeline], [null, null, null, []]);
});

test('a gap long after the trouble is not counted to it', () => {
  const completions = at(1000, 1100, 1200, 9000);
  const moments = { beginMs: 900, endMs: 9100, faultMs: 1000, troubleEndMs: null, isOpen: true };
  assert.equal(runFigures(completions, moments).faultGapMs, 7800);
  const late = at(1000, 1100, 1200, 4100, 9000);
  assert.equal(runFigures(late, moments).faultGapMs, 2900);
});
