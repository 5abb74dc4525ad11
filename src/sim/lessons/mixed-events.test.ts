/**
 * Valid and invalid events of every kind, many to a request, from several clients to a cluster that
 * nothing befalls; then with losses and crashes. Each result is compared with the naive model.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Geometry } from '../../vsr/index.ts';
import { simulateCluster } from '../cluster/cluster.ts';
import { clusterQuorums } from '../cluster/cluster-swarm.ts';
import type { ClusterOptions } from '../cluster/options.ts';
import { decodeBatches, Operation } from '../ledger-model/index.ts';
import { replicaSetup } from '../replica-setup.ts';
import type { Subject } from '../subjects/subject.ts';
import { ledgerSubject } from '../subjects/subjects.ts';

const GEOMETRY: Geometry = { slots: 64, slotSize: 16_384, requestSizeMax: 16_384 };

/** Counts what the clients ask for: transfers and accounts to be created, and other requests. */
interface Count {
  events: number;
  reads: number;
}

function counting(count: Count): () => Subject {
  return () => {
    const subject = ledgerSubject();
    return {
      ...subject,
      workload: (options) => {
        const workload = subject.workload(options);
        return {
          ...workload,
          next: () => {
            const demand = workload.next();
            const { operation, body } = demand;
            const isCreation =
              operation === Operation.createAccounts || operation === Operation.createTransfers;
            const batches = isCreation ? (decodeBatches(body, 128) ?? []) : [];
            for (const batch of batches) count.events += batch.length / 128;
            if (!isCreation) count.reads++;
            return demand;
          },
        };
      },
    };
  };
}

function options(seed: number, count: Count, requests: number): ClusterOptions {
  const replicaCount = 3;
  return {
    seed,
    replicaCount,
    engine: (replica) => replicaSetup({ geometry: GEOMETRY, replicaCount, replica }),
    quorums: clusterQuorums(replicaCount),
    subject: counting(count),
    clients: 4,
    requests,
  };
}

test('three replicas and four clients give the results of the model', (t) => {
  const count = { events: 0, reads: 0 };
  for (const seed of [21]) {
    const { failure } = simulateCluster(options(seed, count, 250));
    assert.equal(failure, null, `seed ${seed}`);
  }
  t.diagnostic(`${count.events} events, ${count.reads} reads`);
  assert.ok(count.events > 5000, `only ${count.events} events`);
});

test('so they do with losses, restarts and views that change', (t) => {
  const count = { events: 0, reads: 0 };
  for (const seed of [23]) {
    const report = simulateCluster({
      ...options(seed, count, 120),
      peers: { losses: 50, duplicates: 100, isOrdered: false },
      siteFaults: [0, 1, 2].map(() => ({ crashes: 2 })),
    });
    assert.equal(report.failure, null, `seed ${seed}`);
    assert.ok(report.coverage.count('restarts') > 0);
  }
  t.diagnostic(`${count.events} events, ${count.reads} reads`);
  assert.ok(count.events > 1000, `only ${count.events} events`);
});
