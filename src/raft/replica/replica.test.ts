/** Clusters of Raft replicas in memory: they commit, lose leaders, come back, and answer once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestClient } from './client-test-helper.ts';
import { TestCluster } from './cluster-test-helper.ts';

function clusterOf(replicas: number): TestCluster {
  const cluster = new TestCluster({ replicas }).startAll();
  cluster.until(() => cluster.primary !== undefined, 'a primary');
  return cluster;
}

for (const replicas of [1, 2, 3, 5]) {
  test(`${replicas} replicas commit, and all execute the same`, () => {
    const cluster = clusterOf(replicas);
    const clients = Array.from({ length: 10 }, (_, i) => new TestClient(cluster, i + 1));
    for (const client of clients) client.register();
    for (let round = 0; round < 20; round++) {
      for (const client of clients) client.begin(client.build(129));
      cluster.until(() => clients.every((client) => client.poll()), 'all answers');
    }
    let total = 0;
    for (const client of clients) {
      total += client.connection;
      assert.equal(client.add(client.connection), total);
    }
    cluster.until(() => cluster.settled(), 'all have executed all');
    cluster.stop();
  });
}
