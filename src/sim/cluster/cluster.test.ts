import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Coverage } from '../world/coverage.ts';
import { simulateCluster } from './cluster.ts';
import { CLUSTER_SWARM_COUNTERS, clusterSwarm } from './cluster-swarm.ts';

test('clusters of every kind pass, and what should happen to them happens', () => {
  const coverage = new Coverage();
  for (let seed = 0; seed < 16; seed++) {
    const { options, subject, topology } = clusterSwarm(seed);
    const report = simulateCluster(options);
    const what = `seed ${seed}: ${options.replicaCount} replicas, ${topology}, ${subject}`;
    assert.equal(report.failure, null, `${what}: ${report.failure?.stack}`);
    coverage.merge(report.coverage);
    assert.ok(report.opMax >= 96, `${what}: ${report.opMax}`);
  }
  const missing = coverage.missing(CLUSTER_SWARM_COUNTERS);
  assert.ok(missing.length < 12, `${missing.join(', ')}: ${coverage.summary()}`);
});

test('the same seed gives the same run, whatever ran before it', () => {
  const hash = (seed: number): string => {
    return simulateCluster(clusterSwarm(seed, { requests: 40 }).options).hash;
  };
  const hashes = [1, 2, 3].map(hash);
  assert.deepEqual([3, 2, 1].map(hash).toReversed(), hashes);
  assert.equal(new Set(hashes).size, 3);
  const lines: string[] = [];
  const { options } = clusterSwarm(2, { requests: 40 });
  const traced = simulateCluster({ ...options, trace: (line) => lines.push(line) });
  assert.equal(traced.hash, hashes[1]);
  assert.ok(lines.length > 1000);
  for (const line of lines) assert.match(line, /^ *\d+\.\d{3} +\d+ \S+ +\S+/);
});
