/** The judge of the torture: what is right passes, a lie is found, keys are replaced. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StoreHistory, type StoreOperation } from './replica-history.ts';

type Step = Pick<StoreOperation, 'input'> & { readonly output?: string | null | boolean };

/** One client that does this, one thing after another. */
function judge(steps: (key: string) => readonly Step[]): StoreHistory {
  const store = new StoreHistory(1);
  const first = store.begin(0);
  store.end(first, null);
  let time = 0;
  for (const { input, output } of steps(first.key)) {
    const history = store.begin(0);
    const call = time++;
    const known = output !== undefined;
    const end = known ? { return: time++, output } : { return: null };
    store.end(history, { process: 0, input, call, ...end } as StoreOperation);
  }
  store.finish();
  return store;
}

test('a history that makes sense passes, with outcomes that nobody knows', () => {
  const store = judge((key) => [
    { input: { f: 'write', key, value: 'a' }, output: null },
    { input: { f: 'cas', key, from: 'a', to: 'b' } },
    { input: { f: 'read', key }, output: 'b' },
    { input: { f: 'cas', key, from: 'a', to: 'c' }, output: false },
  ]);
  assert.deepEqual(store.problems, []);
  assert.equal(store.judged, 4);
  assert.equal(store.unknown, 1);
});

test('planted: a read from before a write, and a compare-and-set that does not compare', () => {
  const stale = judge((key) => [
    { input: { f: 'write', key, value: 'a' }, output: null },
    { input: { f: 'write', key, value: 'b' }, output: null },
    { input: { f: 'read', key }, output: 'a' },
  ]);
  assert.match(stale.problems.join(), /nothing explains/);
  const blind = judge((key) => [
    { input: { f: 'write', key, value: 'a' }, output: null },
    { input: { f: 'cas', key, from: 'x', to: 'b' }, output: true },
  ]);
  assert.equal(blind.problems.length, 1);
});

test('keys are replaced, and judged once nothing waits for them', () => {
  const store = new StoreHistory(1);
  const late = store.begin(0);
  const keys = new Set([late.key]);
  for (let i = 0; i < 2_000; i++) {
    const history = store.begin(0);
    const { key } = history;
    keys.add(key);
    const times = { call: 2 * i, return: 2 * i + 1 };
    store.end(history, { process: 0, input: { f: 'read', key }, output: null, ...times });
  }
  assert.ok(keys.size >= 5, `${keys.size} keys`);
  const before = store.judged;
  assert.ok(before > 1_000, `${before} judged meanwhile`);
  // The first key has waited for this one: it saw what nobody had written.
  const { key } = late;
  store.end(late, { process: 1, input: { f: 'read', key }, call: 0, return: 9_999, output: 'x' });
  assert.equal(store.problems.length, 1);
});
