/** The laboratory's cluster of processes: what is started is ended, what dies is noticed. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { connectLedger, id } from '../../src/client/index.ts';
import { formatLedger } from '../../src/host/index.ts';
import {
  freePorts,
  type LoadOptions,
  ownLauncher,
  readProcess,
  runLoad,
  startClusterAndMeasure,
  TemporaryCluster,
} from '../../src/lab/index.ts';
import { inFolder, isAlive } from './program-test-helper.ts';

test('a killed replica comes back on its port with what it had acknowledged', async () => {
  const cluster = await TemporaryCluster.start({ development: true });
  const { directory, addresses } = cluster;
  const client = await connectLedger({ addresses });
  const account = { id: id(), ledger: 1, code: 1 };
  await client.createAccounts([account]);
  const [pid = 0] = cluster.pids;
  assert.ok((readProcess(pid)?.rssBytes ?? 0) > 0);
  await cluster.killReplica();
  assert.equal(isAlive(pid), false);
  assert.equal(cluster.failed.aborted, false);
  await cluster.startReplica();
  assert.equal(cluster.addresses, addresses);
  // The same session goes on.
  assert.equal((await client.lookupAccounts([account.id])).length, 1);
  client.close();
  await cluster.stop();
  assert.equal(existsSync(directory), false);
});

test('a cluster of three knows its primary, and who is away', async () => {
  const cluster = await TemporaryCluster.start({ development: true, replicaCount: 3 });
  const { directory } = cluster;
  const primary = await cluster.ready();
  assert.equal(await cluster.primary(), primary);
  const away = (primary + 1) % 3;
  cluster.pauseReplica(away);
  const statuses = await cluster.statuses();
  assert.deepEqual(
    statuses.map((one) => one === null),
    [0, 1, 2].map((replica) => replica === away),
  );
  // Who stands still is not waited for, and is ended all the same.
  assert.equal(await cluster.ready(), primary);
  await cluster.killReplica(primary);
  assert.equal(cluster.pids[primary], 0);
  assert.equal(await cluster.primary(), null, 'one of three is no quorum');
  const { pids } = cluster;
  await cluster.stop();
  for (const pid of pids) assert.ok(pid === 0 || !isAlive(pid));
  assert.equal(existsSync(directory), false);
});

test('a whole cluster is started and measured until it answers', async () => {
  await inFolder(async (folder) => {
    const launcher = ownLauncher();
    const ports = await freePorts(3);
    const files = ports.map((_, replica) => join(folder, String(replica)));
    for (const [replica, path] of files.entries()) {
      await formatLedger({ path, replica, replicaCount: 3, development: true });
    }
    const { children, startMs } = await startClusterAndMeasure(launcher, ports, files);
    assert.ok(startMs > 0 && startMs < 30_000);
    for (const child of children) child.kill('SIGKILL');
    await assert.rejects(startClusterAndMeasure(launcher, ports, ['x', 'y', 'z']), {
      code: 'ERR_TEMPORARY_CLUSTER',
      message: /does not exist/,
    });
  });
});

test('a server that dies during a load ends the load, and says how', async () => {
  const cluster = await TemporaryCluster.start({ development: true });
  const options: LoadOptions = {
    addresses: cluster.addresses,
    cluster: 0n,
    clients: 2,
    accountCount: 10,
    transferCount: 100_000_000,
    transferBatchSize: 100,
    idOrder: 'random',
    seed: 1,
    connectTimeoutMs: 5000,
    onBatch: ({ batch }) => {
      if (batch === 5) process.kill(cluster.pids[0] ?? 0, 'SIGKILL');
    },
  };
  await assert.rejects(runLoad(options, cluster.failed), {
    code: 'ERR_TEMPORARY_CLUSTER',
    message: /the server ended by itself/,
  });
  await cluster.stop();
  assert.equal(existsSync(cluster.directory), false);
});

test('a start that fails leaves no folder behind', async () => {
  const launcher = { executable: process.execPath, arguments: ['-e', 'process.exit(7)'] };
  const before = process.listenerCount('exit');
  await assert.rejects(TemporaryCluster.start({ launcher }), { code: 'ERR_TEMPORARY_CLUSTER' });
  assert.equal(process.listenerCount('exit'), before);
});
