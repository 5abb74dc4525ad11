import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CompactionPolicy } from './compaction-policy.ts';

const MINUTE = 60_000;
const MB = 1024 * 1024;
const grown = { records: 100, size: 11 * MB, baseSize: 5 * MB };

test('a file is compacted 10 to 20 minutes after the last time, when it has doubled', () => {
  for (const [random, minutes] of [
    [0, 10],
    [0.5, 15],
    [0.999, 19.99],
  ]) {
    const policy = new CompactionPolicy(() => random, 1000);
    assert.equal(policy.isDue(grown, 1000 + minutes * MINUTE - 1), false);
    assert.equal(policy.isDue(grown, 1000 + minutes * MINUTE), true);
    policy.done(1000 + 30 * MINUTE);
    assert.equal(policy.isDue(grown, 1000 + 39 * MINUTE), false);
  }
});

test('it stays as it is while it is small, short, or has not doubled', () => {
  const policy = new CompactionPolicy(() => 0, 0);
  const after = 15 * MINUTE;
  assert.equal(policy.isDue({ ...grown, records: 99 }, after), false);
  assert.equal(policy.isDue({ ...grown, size: 10 * MB, baseSize: 0 }, after), false);
  assert.equal(policy.isDue({ ...grown, size: 10 * MB + 1, baseSize: 0 }, after), true);
  assert.equal(policy.isDue({ ...grown, baseSize: 5.5 * MB }, after), false);
});

test('after a day anything is worth it, but not a file that is compact', () => {
  const policy = new CompactionPolicy(() => 0, 0);
  const small = { records: 3, size: 1000, baseSize: 900 };
  assert.equal(policy.isDue(small, 24 * 60 * MINUTE - 1), false);
  assert.equal(policy.isDue(small, 24 * 60 * MINUTE), true);
  assert.equal(policy.isDue({ ...small, records: 2 }, 24 * 60 * MINUTE), false);
});

test('a failed one is tried again in a minute or two', () => {
  const policy = new CompactionPolicy(() => 0.5, 0);
  policy.failed(20 * MINUTE);
  assert.equal(policy.isDue(grown, 21 * MINUTE), false);
  assert.equal(policy.isDue(grown, 21.5 * MINUTE), true);
});
