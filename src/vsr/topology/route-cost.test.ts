import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AckHistory, blend, costOf, isBetter, MISSING_NS } from './route-cost.ts';

const cost = (median: number, maximum: number, sum: number) => ({ median, maximum, sum });

test('the median is when the quorum is complete', () => {
  assert.deepEqual(costOf(Float64Array.of(0, 50, 10, 40, 20, 30)), cost(20, 50, 150));
  assert.deepEqual(costOf(Float64Array.of(0, 40, 20, 30, 10)), cost(20, 40, 100));
  assert.deepEqual(costOf(Float64Array.of(30, 0, 20, 10)), cost(10, 30, 60));
  assert.deepEqual(costOf(Float64Array.of(7, 0, 5)), cost(5, 7, 12));
});

test('better: the median decides, then the maximum, then the sum', () => {
  const base = cost(100, 200, 1000);
  assert.equal(isBetter(base, base), false);
  assert.equal(isBetter(cost(89, 900, 9000), base), true);
  assert.equal(isBetter(cost(112, 1, 1), base), false);
  assert.equal(isBetter(cost(91, 179, 9000), base), true);
  assert.equal(isBetter(cost(91, 230, 1), base), false);
  assert.equal(isBetter(cost(91, 181, 949), base), true);
  assert.equal(isBetter(cost(91, 181, 951), base), false);
});

test('blend weighs the past', () => {
  assert.deepEqual(blend(cost(10, 20, 30), cost(20, 30, 40), 4), cost(12, 22, 32));
  assert.deepEqual(blend(cost(10, 20, 30), cost(20, 30, 40), 1), cost(15, 25, 35));
});

test('a pair is finished when every backup has acknowledged both operations', () => {
  const history = new AckHistory(3);
  history.clear(1);
  assert.equal(history.learn(10, 0, 5), null);
  assert.equal(history.learn(10, 0, 6), null, 'twice');
  assert.equal(history.learn(10, 1, 1), null, 'the primary itself');
  assert.equal(history.learn(11, 2, 9), null);
  assert.equal(history.learn(11, 0, 8), null);
  const measured = history.learn(10, 2, 7);
  assert.deepEqual(measured, { even: 10, costs: [cost(5, 7, 12), cost(8, 9, 17)] });
  assert.equal(history.learn(10, 2, 7), null, 'too late');
});

test('a pair gives way to one sixteen operations later, with what is missing at its price', () => {
  const history = new AckHistory(3);
  history.clear(0);
  assert.equal(history.learn(10, 1, 5), null);
  assert.equal(history.learn(25, 1, 5), null, 'its neighbour');
  const measured = history.learn(26, 1, 4);
  // Operation 11 was not acknowledged at all: it says nothing.
  assert.deepEqual(measured, { even: 10, costs: [cost(5, MISSING_NS, MISSING_NS + 5)] });
  assert.equal(history.learn(10, 2, 5), null, 'forgotten');
  assert.equal(history.learn(26, 2, 9), null);
  assert.equal(history.learn(27, 1, 6), null);
  const next = history.learn(27, 2, 7);
  assert.deepEqual(next, { even: 26, costs: [cost(4, 9, 13), cost(6, 7, 13)] });
  history.clear(0);
  assert.equal(history.learn(42, 1, 4), null, 'cleared');
});
