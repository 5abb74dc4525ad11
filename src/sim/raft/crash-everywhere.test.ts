/** Power cuts of each member at its writes, once for each way in which they can fall out. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RaftReplicaParts } from '../../raft/index.ts';
import { clusterCrashEverywhere } from '../cluster/cluster-crash-everywhere.ts';
import type { ClusterOptions } from '../cluster/options.ts';
import { counterSubject } from '../subjects/subjects.ts';
import { raftSetup } from './setup.ts';
import { raftQuorums } from './swarm.ts';

/** Snapshots all the time, over extents of two sectors. */
const SETUP = {
  replicaCount: 3,
  geometry: { extentSize: 8192, requestSizeMax: 4096 },
  snapshotBytesMin: 4096,
  policy: { electionTimerMs: 200, electionRandomMs: 200 },
};

function options(
  seed: number,
  onReplicaParts: (parts: RaftReplicaParts) => void = () => {},
): ClusterOptions {
  return {
    seed,
    replicaCount: 3,
    engine: (replica) => raftSetup({ ...SETUP, replica, onReplicaParts }),
    quorums: raftQuorums(3),
    subject: counterSubject,
    clients: 3,
    requests: 40,
  };
}

test('Raft clusters survive power cuts of each member at every so-manieth write', () => {
  for (const seed of [1, 2]) {
    const cuts = { ...options(seed), first: seed, stride: 17 };
    const { failures, runs, coverage } = clusterCrashEverywhere(cuts);
    const [failure] = failures;
    const what = JSON.stringify(failure?.point) + failure?.report.failure?.stack;
    assert.equal(failure, undefined, what);
    assert.ok(runs > 20, String(runs));
    assert.ok(coverage.count('crashesWithWrites') >= runs);
    assert.ok(coverage.count('snapshotsMade') >= runs);
  }
});

test('planted: a file says durable when it has only been asked to be', () => {
  const plant = ({ file, core }: RaftReplicaParts): void => {
    const requestSync = file.requestSync.bind(file);
    file.requestSync = (seq) => {
      requestSync(seq);
      core.onSynced(seq);
    };
  };
  const { failures } = clusterCrashEverywhere({ ...options(1, plant), stride: 400 });
  assert.equal(failures[0]?.report.failure?.code, 'view');
});
