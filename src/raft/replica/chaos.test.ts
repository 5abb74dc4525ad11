/** Random deaths, returns and cuts under load: every addition that was answered is there, once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COUNTER_ADD } from '../../engine/index.ts';
import { Prng } from '../../stdx/index.ts';
import { TestClient, u32 } from './client-test-helper.ts';
import { TestCluster } from './cluster-test-helper.ts';

const SEEDS = Number(process.env.CHAOS_SEEDS ?? 6);
const FIRST = Number(process.env.CHAOS_FIRST ?? 1);

for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
  test(`seed ${seed}: nothing is lost, nothing happens twice`, () => run(seed));
}

function run(seed: number): void {
  const prng = new Prng(seed, 9);
  const replicas = prng.pick([1, 3, 3, 5]);
  const snapshotBytesMin = prng.pick([2_000, 10_000, 1_000_000]);
  const cluster = new TestCluster({ replicas, snapshotBytesMin, seed }).startAll();
  const clients = Array.from({ length: 5 }, (_, i) => new TestClient(cluster, i + 1));
  for (const client of clients) client.register();
  let added = 0;
  for (let round = 0; round < 150; round++) {
    for (const client of clients) {
      if (!client.poll()) continue;
      added++;
      client.begin(client.build(COUNTER_ADD, u32(1)), prng.below(replicas));
    }
    cluster.sleep(prng.pick([0, 1, 1, 5, 20]));
    const replica = prng.below(replicas);
    if (prng.chance(1, 12)) {
      if (cluster.lives[replica] === null) cluster.start(replica);
      else cluster.kill(replica);
    }
    if (prng.chance(1, 20)) cluster.isolate(replica, prng.chance(1, 3));
    if (prng.chance(1, 8)) {
      for (let i = 0; i < replicas; i++) cluster.isolate(i, false);
      cluster.startAll();
    }
  }
  for (let i = 0; i < replicas; i++) cluster.isolate(i, false);
  cluster.startAll();
  cluster.until(() => clients.every((client) => client.poll()), 'all answers');
  cluster.until(() => cluster.settled(), 'all have executed all');
  assert.equal(clients[0]!.add(0), added);
  assert.equal(
    clients.reduce((sum, { evictions }) => sum + evictions, 0),
    0,
  );
  cluster.stop();
}
