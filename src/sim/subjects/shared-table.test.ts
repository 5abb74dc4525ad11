/**
 * The shared table on one machine, then replicated: by the toy engine and by a simulated cluster.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { REPLY_BODY_SIZE_MAX } from '../../engine/index.ts';
import { u64FromNumber } from '../../stdx/index.ts';
import { createChecksum } from '../../wire/index.ts';
import { simulateCluster } from '../cluster/cluster.ts';
import { clusterQuorums } from '../cluster/cluster-swarm.ts';
import { raftSetup } from '../raft/setup.ts';
import { raftQuorums } from '../raft/swarm.ts';
import { GEOMETRY_SMALL, replicaSetup } from '../replica-setup.ts';
import { simulateSingle } from '../single.ts';
import { toySetup } from '../toy-engine-test-helper.ts';
import { type SharedCase, sharedCases, sharedSubject } from './shared-table.ts';

const checksum = createChecksum();

for (const shared of sharedCases) {
  test(`${shared.name}: the shared table on a machine alone`, () => {
    const machine = shared.machine(checksum);
    const reply = new Uint8Array(REPLY_BODY_SIZE_MAX);
    const answers = shared.rows.map(([command], index) => {
      const { operation, body } = shared.demand(command);
      assert.equal(machine.validate(operation, body, 4096), 'valid', command);
      const context = { op: index + 1, timestamp: u64FromNumber(1e15 + index * 1000) };
      const size = machine.apply(context, operation, body, reply);
      return [command, shared.answer(operation, reply.subarray(0, size))];
    });
    assert.deepEqual(answers, shared.rows);
  });

  test(`${shared.name}: the shared table on simulated replicas`, () => {
    const subject = (): ReturnType<typeof sharedSubject> => sharedSubject(shared);
    const requests = shared.rows.length;
    const single = simulateSingle({ seed: 1, engine: toySetup(), subject, requests, clients: 1 });
    assert.equal(single.failure, null, single.failure?.message);
    for (const { engine, quorums } of [
      { engine: replicaSetup, quorums: clusterQuorums(3) },
      { engine: raftSetup, quorums: raftQuorums(3) },
    ]) {
      const cluster = simulateCluster({
        seed: 1,
        replicaCount: 3,
        engine: (replica) => engine({ replicaCount: 3, replica }),
        quorums,
        subject,
        clients: 1,
        requests,
        siteFaults: [{ crashes: 1 }, { crashes: 1 }, { crashes: 1 }],
      });
      assert.equal(cluster.failure, null, cluster.failure?.message);
      assert.equal(cluster.coverage.count('testimonies'), 1);
      assert.ok(cluster.coverage.count('crashes') >= 3);
    }
  });
}

test('planted: a row that is not answered as the table says fails the run', () => {
  const [counter] = sharedCases as readonly [SharedCase, ...SharedCase[]];
  const rows = counter.rows.with(3, ['add 1', '7']);
  const setup = { geometry: GEOMETRY_SMALL, replicaCount: 1 } as const;
  const report = simulateCluster({
    seed: 1,
    replicaCount: 1,
    engine: (replica) => replicaSetup({ ...setup, replica }),
    quorums: clusterQuorums(1),
    subject: () => sharedSubject({ ...counter, rows }),
    clients: 1,
    requests: rows.length,
  });
  assert.equal(report.failure?.code, 'linearizability');
  assert.match(report.failure?.message ?? '', /add 1: 6, not 7/);
});
