/**
 * The shared table on real sockets and disks: each machine on each engine, three processes. Between
 * rows the leader is killed now and then, and in the end all replicas; what was said before still
 * holds, and all are of one mind.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectReplica } from '../../src/client/index.ts';
import { type SharedCase, sharedCases } from '../../src/sim/index.ts';
import { ENGINES, type EngineName, ReplicaProcesses } from './replica-processes.ts';

const ROWS_BETWEEN_KILLS = 7;
const AGREE_LIMIT_MS = 30_000;

for (const engine of ENGINES) {
  for (const shared of sharedCases) {
    test(
      `${shared.name} on ${engine}: the shared table on real replicas`,
      {
        timeout: 120_000,
      },
      () => walk(engine, shared),
    );
  }
}

async function walk(engine: EngineName, shared: SharedCase): Promise<void> {
  const cluster = await ReplicaProcesses.start({ engine, machine: shared.name, isSmall: true });
  const { addresses } = cluster;
  await using client = await connectReplica({ addresses, connectTimeoutMs: 20_000 });
  const ask = async (command: string): Promise<string> => {
    const { operation, body } = shared.demand(command);
    const reply = await client.request(operation, body);
    return shared.answer(operation, reply.body);
  };
  try {
    const answers: (readonly [string, string])[] = [];
    for (const [index, [command]] of shared.rows.entries()) {
      if (index % ROWS_BETWEEN_KILLS === ROWS_BETWEEN_KILLS - 1) await killLeader(cluster);
      answers.push([command, await ask(command)]);
    }
    assert.deepEqual(answers, shared.rows);
    const before = await ask(shared.look);
    const all = [0, 1, 2];
    await Promise.all(all.map((replica) => cluster.kill(replica)));
    await Promise.all(all.map((replica) => cluster.restart(replica)));
    assert.equal(await ask(shared.look), before, 'all were killed, nothing is lost');
    await cluster.untilAgreed(AGREE_LIMIT_MS);
    assert.deepEqual(cluster.deaths, []);
  } catch (error) {
    cluster.tell();
    throw error;
  } finally {
    await cluster.stop();
  }
}

/** And starts it again: the others have to choose a new one, which it then follows. */
async function killLeader(cluster: ReplicaProcesses): Promise<void> {
  const leader = await cluster.ready();
  await cluster.kill(leader);
  await cluster.restart(leader);
}
