/** Who can talk to whom. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { running } from './catalogue-test-helper.ts';

test('a primary that is cut off is replaced, and follows when it is back', () => {
  for (const replicaCount of [3, 5, 6]) {
    const t = running({ replicaCount });
    const { primary } = t;
    const view = t.progress(primary).view;
    const end = t.isolate(primary);
    t.request(5);
    t.until(() => t.isAnswered, 30_000);
    assert.notEqual(t.primary, primary);
    end();
    t.run(20_000);
    t.expect(primary, { role: 'backup', commitMin: 9 });
    assert.ok(t.progress(primary).view > view);
    t.end();
  }
});

test('a backup that is cut off delays nobody, and catches up', () => {
  const t = running({ replicaCount: 3 });
  const { primary } = t;
  const [backup] = t.others(primary) as [number];
  const end = t.isolate(backup);
  t.request(5);
  t.until(() => t.isAnswered, 3000);
  t.wait(10_000);
  t.expect(primary, { role: 'primary', commitMin: 9 });
  end();
  t.run(20_000);
  t.expectAll({ commitMin: 9 });
  t.end();
});

test('a primary that nobody hears is replaced', () => {
  const t = running({ replicaCount: 3 });
  const { primary } = t;
  for (const other of t.others(primary)) t.drop({ from: primary, to: other });
  t.request(3);
  t.until(() => t.isAnswered, 30_000);
  assert.notEqual(t.primary, primary);
  t.end();
});

test('a primary that hears nobody steps back', () => {
  const t = running({ replicaCount: 3 });
  const { primary } = t;
  for (const other of t.others(primary)) t.drop({ from: other, to: primary });
  t.request(3);
  t.until(() => t.isAnswered, 60_000);
  assert.notEqual(t.primary, primary);
  assert.ok(t.count('abdicated') > 0);
  t.end();
});

test('a primary whose small messages arrive and whose large ones do not steps back', () => {
  const t = running({ replicaCount: 3 });
  const { primary } = t;
  t.drop({ from: primary, command: 'prepare' });
  t.request(3);
  t.until(() => t.isAnswered, 60_000);
  assert.notEqual(t.primary, primary);
  t.end();
});

test('a backup that is heard and does not hear, or the other way round, harms nobody', () => {
  for (const isDeaf of [true, false]) {
    const t = running({ replicaCount: 3 });
    const { primary } = t;
    const [backup] = t.others(primary) as [number];
    for (const other of t.others(backup)) {
      t.drop(isDeaf ? { from: other, to: backup } : { from: backup, to: other });
    }
    t.request(5);
    t.until(() => t.isAnswered, 30_000);
    t.wait(10_000);
    t.request(5);
    t.until(() => t.isAnswered, 30_000);
    t.end();
  }
});

test('a client that cannot reach the primary, or hear it, is served all the same', () => {
  for (const isDeaf of [true, false]) {
    const t = running({ replicaCount: 3 });
    const { primary } = t;
    t.drop(isDeaf ? { from: primary, to: 'client' } : { from: 'client', to: primary });
    t.request(5);
    t.until(() => t.isAnswered, 30_000);
    t.expect(primary, { role: 'primary' });
    t.end();
  }
});

test('two halves of four: neither goes on alone', () => {
  const t = running({ replicaCount: 4 });
  const { primary } = t;
  const [first, second, third] = t.others(primary) as [number, number, number];
  for (const one of [primary, first]) {
    for (const other of [second, third]) {
      t.drop({ from: one, to: other });
      t.drop({ from: other, to: one });
    }
  }
  t.wait(8000);
  // Two of four are a replication quorum: the primary's half may commit, the other may not elect.
  for (const other of [second, third]) {
    assert.notEqual(t.progress(other).role, 'primary');
  }
  t.request(2);
  t.until(() => t.isAnswered, 30_000);
  t.end();
});

test('of two primaries at once, one can do nothing', () => {
  const t = running({ replicaCount: 3, clients: 2 });
  const { primary } = t;
  const end = t.isolate(primary);
  t.request(4, 0);
  t.request(4, 1);
  t.until(() => t.primary !== primary, 30_000);
  // The old one does not know yet, and goes on taking requests.
  assert.equal(t.progress(primary).role, 'primary');
  t.until(() => t.isAnswered, 30_000);
  assert.equal(t.progress(primary).commitMin, 4);
  end();
  t.run(20_000);
  t.expect(primary, { role: 'backup', commitMin: 13 });
  t.end();
});

test('two of two that cannot talk do nothing, and agree afterwards', () => {
  const t = running({ replicaCount: 2 });
  const end = t.isolate(0);
  t.request(1);
  t.wait(20_000);
  t.expectAnswered(false);
  end();
  t.run(30_000);
  t.expectAnswered();
  t.end();
});
