/**
 * Seeds of campaigns that have found something, with what it was. Their random streams change with
 * the engine, so each of them may have become an ordinary run since.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { simulateCluster } from '../cluster/cluster.ts';
import { raftSwarm } from './swarm.ts';

const found: readonly (readonly [seed: number, what: string])[] = [
  [1191, 'a vote request that waited for the disk boasts of what has been cut off since'],
];

for (const [seed, what] of found) {
  test(`seed ${seed}: ${what}`, () => {
    const { failure } = simulateCluster(raftSwarm(seed).options);
    assert.equal(failure, null, failure?.stack);
  });
}
