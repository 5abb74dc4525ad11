import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quorumsOf } from './quorums.ts';

test('the quorums of every size', () => {
  const rows = [1, 2, 3, 4, 5, 6].map((count) => {
    const { replication, viewChange, nack, majority } = quorumsOf(count);
    return [replication, viewChange, nack, majority];
  });
  assert.deepEqual(rows, [
    [1, 1, 1, 1],
    [2, 2, 1, 2],
    [2, 2, 2, 2],
    [2, 3, 3, 3],
    [3, 3, 3, 3],
    [3, 4, 4, 4],
  ]);
  assert.throws(() => quorumsOf(0));
  assert.throws(() => quorumsOf(7));
});

/** Every set of `size` replicas of `count`, as bits. */
function* sets(count: number, size: number): Generator<number> {
  for (let bits = 0; bits < 1 << count; bits++) {
    let ones = 0;
    for (let i = 0; i < count; i++) ones += (bits >> i) & 1;
    if (ones === size) yield bits;
  }
}

test('whoever votes has heard of what was replicated, and cannot all deny it', () => {
  for (let count = 1; count <= 6; count++) {
    const { replication, viewChange, nack } = quorumsOf(count);
    for (const holders of sets(count, replication)) {
      for (const voters of sets(count, viewChange)) assert.notEqual(holders & voters, 0);
      for (const deniers of sets(count, nack)) assert.notEqual(holders & deniers, 0);
    }
  }
});
