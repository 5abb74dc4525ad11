/** Replicas that have missed a lot, or everything. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { running } from './catalogue-test-helper.ts';

test('who missed less than a log holds gets it operation by operation', () => {
  const t = running({ replicaCount: 3 }, 2);
  const [backup] = t.others(t.primary) as [number];
  t.stop(backup);
  t.request(4);
  t.run();
  t.open(backup);
  t.run(20_000);
  t.expectAll({ commitMin: 7, opDurable: 7 });
  assert.equal(t.count('sync'), 0);
  assert.ok(t.count('preparesRepaired') > 0);
  t.end();
});

test('who missed more gets a checkpoint, though nobody asks for anything', () => {
  const t = running({ replicaCount: 3 }, 2);
  const [backup] = t.others(t.primary) as [number];
  t.stop(backup);
  t.request(120);
  t.run(60_000);
  t.open(backup);
  t.run(60_000);
  t.expectAll({ commitMin: 123, opDurable: 123 });
  assert.ok(t.count('sync') > 0);
  assert.ok(t.count('selfRestarts') > 0);
  t.end();
});

test('who missed more catches up while requests go on', () => {
  const t = running({ replicaCount: 3, clients: 4 }, 2);
  const [backup] = t.others(t.primary) as [number];
  t.stop(backup);
  t.request(120);
  t.run(60_000);
  t.open(backup);
  for (const client of [0, 1, 2, 3]) t.request(60, client);
  t.run(60_000);
  t.expectAnswered();
  t.end();
});

test('two of four that missed a lot come back together', () => {
  const t = running({ replicaCount: 4 }, 2);
  const [first, second, third] = t.others(t.primary) as [number, number, number];
  t.stop(first);
  t.request(60);
  t.until(() => t.isAnswered, 60_000);
  t.stop(second);
  t.open(first);
  t.stop(third);
  t.open(second, third);
  t.request(5);
  t.run(60_000);
  t.expectAnswered();
  t.end();
});

test('a file that was lost is made again, by the rules, and is as good as the old one', () => {
  for (const replicaCount of [3, 5]) {
    const t = running({ replicaCount }, 30);
    const [backup] = t.others(t.primary) as [number];
    t.recover(backup);
    t.request(3);
    t.run(60_000);
    t.expectAnswered();
    t.expect(backup, { role: 'backup' });
    const { primary } = t;
    t.recover(primary);
    t.request(3);
    t.run(60_000);
    t.expectAnswered();
    t.end();
  }
});

test('whoever is just restarting itself is never seen to be down', () => {
  const t = running({ replicaCount: 3 }, 2);
  const [backup] = t.others(t.primary) as [number];
  t.stop(backup);
  t.request(120);
  t.run(60_000);
  t.open(backup);
  // One step at a time.
  while (t.count('selfRestarts') === 0) t.until(() => true);
  t.expect(backup, { isUp: true });
  t.end();
});
