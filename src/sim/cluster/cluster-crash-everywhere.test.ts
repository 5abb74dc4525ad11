import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Parts } from '../../vsr/index.ts';
import { replicaSetup } from '../replica-setup.ts';
import { counterSubject } from '../subjects/subjects.ts';
import { clusterCrashAt, clusterCrashEverywhere } from './cluster-crash-everywhere.ts';
import { clusterQuorums } from './cluster-swarm.ts';
import type { ClusterOptions } from './options.ts';

function options(
  seed: number,
  replicaCount: number,
  onParts: (parts: Parts) => void = () => {},
): ClusterOptions {
  return {
    seed,
    replicaCount,
    engine: (replica) => replicaSetup({ replicaCount, replica, onParts }),
    quorums: clusterQuorums(replicaCount),
    subject: counterSubject,
    clients: 3,
    requests: 14,
  };
}

test('clusters survive power cuts of each replica at every so-manieth write', () => {
  for (const [seed, replicaCount] of [
    [1, 3],
    [2, 2],
  ] as const) {
    const { failures, runs, coverage } = clusterCrashEverywhere({
      ...options(seed, replicaCount),
      first: seed,
      stride: 41,
    });
    const [failure] = failures;
    const what = JSON.stringify(failure?.point) + failure?.report.failure?.stack;
    assert.equal(failure, undefined, what);
    assert.ok(runs > 10, String(runs));
    assert.ok(coverage.count('crashesWithWrites') >= runs);
  }
});

test('planted: what is acknowledged is not in the file yet', () => {
  const plant = ({ log }: Parts): void => {
    Object.defineProperty(log, 'isClean', { value: (op: number) => log.header(op) !== null });
  };
  const { failures } = clusterCrashEverywhere({ ...options(1, 3, plant), stride: 400 });
  const [first] = failures;
  assert.ok(first !== undefined);
  const { point, report } = first;
  if (point !== null) {
    assert.equal(clusterCrashAt(options(1, 3, plant), point).hash, report.hash);
  }
});
