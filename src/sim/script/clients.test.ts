/** Sessions, and what time it is. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { running, story } from './catalogue-test-helper.ts';

test('one client more than a cluster remembers: somebody has to register again', () => {
  const clients = 66;
  const t = story({ replicaCount: 3, clients });
  t.open();
  for (let client = 0; client < clients; client++) {
    t.request(1, client);
    t.until(() => t.isAnswered);
  }
  t.request(1, 0);
  t.until(() => t.isAnswered, 30_000);
  assert.ok(t.count('evictions') > 0);
  t.end();
});

test('a request whose answer was lost with the primary is not executed twice', () => {
  const t = running({ replicaCount: 3 });
  const { primary } = t;
  const end = t.drop({ to: 'client', command: 'reply' });
  t.request(1);
  t.until(() => t.progress(primary).commitMin === 5);
  t.stop(primary);
  end();
  t.until(() => t.isAnswered, 30_000);
  t.open(primary);
  t.run(20_000);
  t.expectAll({ commitMin: 5 });
  t.end();
});

test('a request that was lost in a view change does not lock its client out', () => {
  const t = running({ replicaCount: 3 });
  const { primary } = t;
  t.drop({ from: primary, command: 'prepare' });
  t.request(1);
  t.wait(100);
  t.stop(primary);
  t.dropNothing();
  t.until(() => t.isAnswered, 30_000);
  t.request(2);
  t.until(() => t.isAnswered, 30_000);
  t.end();
});

const HOUR_MS = 3_600_000;

test('nothing is answered while no two clocks agree', () => {
  const t = story({ replicaCount: 3 });
  t.setClock(1, HOUR_MS);
  t.setClock(2, -HOUR_MS);
  t.open();
  t.request(1);
  t.wait(20_000);
  t.expectAnswered(false);
  t.setClock(1, -HOUR_MS);
  t.until(() => t.isAnswered, 60_000);
  t.end();
});

test('one wrong clock is outvoted, also the primary’s', () => {
  for (const replica of [0, 1, 2]) {
    const t = story({ replicaCount: 3 });
    t.setClock(replica, HOUR_MS);
    t.open();
    t.request(3);
    t.until(() => t.isAnswered, 30_000);
    t.setClock(replica, -2 * HOUR_MS);
    t.request(3);
    t.until(() => t.isAnswered, 30_000);
    t.end();
  }
});
