/** That the verdict on a cluster can be a bad one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TemporaryCluster } from '../../src/lab/index.ts';
import { untilSameState } from './cluster-verdict.ts';

const LIMIT_MS = 100;

const good = {
  role: 'backup',
  view: 1,
  primary: 1,
  op: 100,
  commitMin: 100,
  commitMax: 100,
  opDurable: 100,
  digest: 'd',
  checkpoint: { op: 63, root: 'r', id: 'i' },
};

/** Three replicas, of which the last says this of itself. */
function clusterOf(last: object | null): TemporaryCluster {
  const files = ['0', '1', '2'];
  const statuses = (): Promise<unknown> => Promise.resolve([good, good, last]);
  return { files, statuses } as unknown as TemporaryCluster;
}

test('replicas that hold the same are found to do so', async () => {
  const { commit, digest, checkpointOp, checkpointRoot } = await untilSameState(
    clusterOf(good),
    LIMIT_MS,
  );
  assert.deepEqual([commit, digest, checkpointOp, checkpointRoot], [100, 'd', 63, 'r']);
});

for (const [what, last, expected] of [
  ['silent', null, /not agreed/],
  ['behind', { ...good, commitMin: 99 }, /not agreed/],
  ['at other answers', { ...good, digest: 'e' }, /differ after the same operations/],
  ['at an older checkpoint', { ...good, checkpoint: { op: 0, root: 'r', id: 'i' } }, /63, 63, 0/],
  ['at another root', { ...good, checkpoint: { op: 63, root: 's', id: 'i' } }, /of op 63 differ/],
] as const) {
  test(`a replica that is ${what} is found out`, async () => {
    await assert.rejects(untilSameState(clusterOf(last), LIMIT_MS), expected);
  });
}
