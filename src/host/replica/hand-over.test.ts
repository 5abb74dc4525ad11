/** A leader that is told to end asks another to lead first: nobody has to miss it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectReplica } from '../../client/index.ts';
import type { EngineStatus } from '../../engine/index.ts';
import type { LogRecord } from '../../io/index.ts';
import { type ShelfReplica, shelf, until } from './replica-test-helper.ts';
import { startCluster } from './start-cluster.ts';

const primaryOf = (replicas: readonly ShelfReplica[]): ShelfReplica | undefined =>
  replicas.find((one) => one.status().role === 'primary');

const termOf = (status: EngineStatus): number => ('term' in status ? Number(status.term) : -1);

test('raft: when a leader has ended another one leads already', async () => {
  const log: LogRecord[] = [];
  const told = (event: string): number => log.filter((one) => one.event === event).length;
  await using cluster = await startCluster({
    engine: 'raft',
    machine: shelf,
    log: (record) => log.push(record),
  });
  await using client = await connectReplica({ addresses: cluster.addresses, machine: shelf });
  await client.submit({ key: 'a', add: 1 });
  const first = primaryOf(cluster.replicas);
  assert.ok(first !== undefined);
  const term = termOf(first.status());
  // What is under way meanwhile is done once.
  const submitted = Promise.all(
    Array.from({ length: 50 }, () => client.submit({ key: 'a', add: 1 })),
  );
  submitted.catch(() => {});
  await first.close();
  const others = cluster.replicas.filter((one) => one !== first);
  // Elected it is; it serves when its first entry is committed.
  const next = await until(
    'another leader',
    () => primaryOf(others),
    (one) => one !== undefined,
    2_000,
  );
  // Asked to, it has stood at once: there was one election, and nobody had to miss anybody.
  assert.equal(next === undefined ? -1 : termOf(next.status()), term + 1);
  assert.deepEqual([told('transfer'), told('asked-to-lead')], [1, 1]);
  await submitted;
  assert.equal(await client.query('a'), 51);
});

test('raft: a cluster that ends altogether waits for no leader', async () => {
  const cluster = await startCluster({ engine: 'raft', machine: shelf });
  await until(
    'a leader',
    () => primaryOf(cluster.replicas),
    (one) => one !== undefined,
  );
  const startMs = performance.now();
  await cluster.close();
  assert.ok(performance.now() - startMs < 2_000);
});
