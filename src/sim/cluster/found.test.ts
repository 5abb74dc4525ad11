/**
 * Seeds of campaigns that have found something, with what it was. Their random streams change with
 * the engine, so each of them may have become an ordinary run since.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { simulateCluster } from './cluster.ts';
import { clusterSwarm } from './cluster-swarm.ts';

const found: readonly (readonly [seed: number, what: string])[] = [
  [689, 'the last operation is a registration that came twice'],
  [3073, 'a forgotten session is registered once more by a late message'],
  [3633, 'a client of an old view asks for a session that is gone, at backups only'],
  [4002, 'what is here already is asked for without end, as its place is not certain'],
  [4401, 'the same, along a ring'],
  [4736, 'the same, with three replicas'],
  [8929, 'what an older view left in the log is executed after a restart in a view change'],
  [10577, 'a checkpoint is copied so slowly, where much is lost, that it never arrives'],
];

for (const [seed, what] of found) {
  test(`seed ${seed}: ${what}`, () => {
    const { failure } = simulateCluster(clusterSwarm(seed).options);
    assert.equal(failure, null);
  });
}
