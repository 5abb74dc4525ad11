/** The laboratory's cluster of processes: what is started is ended, what dies is noticed. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { connectLedger, id } from '../../src/client/index.ts';
import { type LoadOptions, readProcess, runLoad, TemporaryCluster } from '../../src/lab/index.ts';
import { isAlive } from './program-test-helper.ts';

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
