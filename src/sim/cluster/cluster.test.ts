/** One seed, looked at closely; hundreds of them are run by `test/simulation.test.ts`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { simulateCluster } from './cluster.ts';
import { CLUSTER_SWARM_LEAST, clusterSwarm } from './cluster-swarm.ts';

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

test('a run goes on until it has come to what it must', () => {
  assert.deepEqual(clusterSwarm(1).options.least, CLUSTER_SWARM_LEAST);
  const { options } = clusterSwarm(3, { requests: 5, subject: 'counter' });
  assert.equal(options.least, undefined);
  const short = simulateCluster(options);
  assert.equal(short.failure, null, short.failure?.stack);
  assert.ok(short.coverage.count('commits') < 10 && short.coverage.count('logWraps') === 0);
  for (const [least, counter, count] of [
    [{ requests: 60, wraps: 0 }, 'commits', 60],
    [{ requests: 0, wraps: 2 }, 'logWraps', 2],
  ] as const) {
    const long = simulateCluster({ ...options, least });
    assert.equal(long.failure, null, long.failure?.stack);
    assert.ok(long.coverage.count(counter) >= count, `${counter}: ${long.coverage.count(counter)}`);
  }
});
