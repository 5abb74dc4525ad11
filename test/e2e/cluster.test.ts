/**
 * Three real processes and the unmodified official client: its own tests, and what happens to it
 * and to its data when replicas are killed, stopped and started again under load.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { connectLedger, id, type LedgerClient } from '../../src/client/index.ts';
import { formatLedger } from '../../src/host/index.ts';
import { TemporaryCluster, type TemporaryClusterOptions } from '../../src/lab/index.ts';
import { ClusterLoad, converged } from './cluster-load.ts';

const dist = dirname(fileURLToPath(import.meta.resolve('tigerbeetle-node')));
const TESTS = 27;
const REPLICAS = [0, 1, 2];

async function withCluster(
  options: TemporaryClusterOptions,
  body: (cluster: TemporaryCluster) => Promise<void>,
): Promise<void> {
  const cluster = await TemporaryCluster.start({ replicaCount: 3, ...options });
  try {
    await body(cluster);
  } catch (error) {
    for (const [replica, lines] of cluster.lines.entries()) {
      console.error(`replica ${replica}:\n${lines.slice(-30).join('\n')}`);
    }
    throw error;
  } finally {
    await cluster.stop();
  }
}

/** With a load that must find everything in the end. */
async function withLoad(
  options: TemporaryClusterOptions,
  body: (cluster: TemporaryCluster, load: ClusterLoad) => Promise<void>,
): Promise<void> {
  await withCluster(options, async (cluster) => {
    const load = new ClusterLoad(cluster);
    try {
      await load.start();
      await load.progress(10, 10_000);
      await body(cluster, load);
      assert.ok((await load.finish()) > 0);
      await converged(cluster);
    } finally {
      load.close();
    }
  });
}

function officialTests(addresses: string): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const options = {
      env: { ...process.env, TB_ADDRESS: addresses },
      timeout: 80_000,
      killSignal: 'SIGKILL' as const,
    };
    execFile(process.execPath, [join(dist, 'test.js')], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ code, output: `${stdout}${stderr}` });
    });
  });
}

test("the client's own tests pass on three replicas", { timeout: 100_000 }, async () => {
  await withCluster({}, async (cluster) => {
    const { code, output } = await officialTests(cluster.addresses);
    assert.equal(code, 0, output);
    assert.equal(output.match(/: PASSED$/gm)?.length, TESTS, output);
    await converged(cluster);
  });
});

test('a primary that is killed is replaced, again and again', { timeout: 120_000 }, async (t) => {
  await withLoad({ development: true }, async (cluster, load) => {
    const waits: number[] = [];
    for (let round = 0; round < 4; round++) {
      const primary = await cluster.ready();
      load.waitMsMax = 0;
      await cluster.killReplica(primary);
      await load.progress(20, 20_000);
      waits.push(load.waitMsMax);
      await cluster.startReplica(primary);
    }
    await cluster.ready();
    t.diagnostic(`longest waits: ${waits.map((ms) => ms.toFixed(0)).join(', ')} ms`);
  });
});

test('all replicas killed at once come back with everything', { timeout: 120_000 }, async () => {
  await withLoad({ development: true }, async (cluster, load) => {
    for (let round = 0; round < 3; round++) {
      await Promise.all(REPLICAS.map((replica) => cluster.killReplica(replica)));
      await Promise.all(REPLICAS.map((replica) => cluster.startReplica(replica)));
      await load.progress(20, 30_000);
      await cluster.ready();
    }
  });
});

test('a backup that is away for long catches up when it is back', {
  timeout: 120_000,
}, async () => {
  await withLoad({ development: true }, async (cluster, load) => {
    const primary = await cluster.ready();
    const backup = (primary + 1) % 3;
    await cluster.killReplica(backup);
    // More than the log holds: 96 slots with the small geometry.
    await load.progress(300, 60_000);
    await cluster.startReplica(backup);
    await cluster.ready();
  });
});

test('a backup that stands still holds nobody up', { timeout: 120_000 }, async (t) => {
  await withLoad({ development: true }, async (cluster, load) => {
    const backup = ((await cluster.ready()) + 1) % 3;
    load.waitMsMax = 0;
    cluster.pauseReplica(backup);
    await load.progress(400, 30_000);
    t.diagnostic(`longest wait ${load.waitMsMax.toFixed(0)} ms`);
    assert.ok(load.waitMsMax < 1_000);
    cluster.resumeReplica(backup);
    await cluster.ready();
  });
});

test('A04: a file made anew by format has no say, so nothing acknowledged is lost', {
  timeout: 60_000,
}, async () => {
  await withCluster({ development: true }, async (cluster) => {
    const primary = await cluster.ready();
    const [away = 0, lost = 0] = REPLICAS.filter((replica) => replica !== primary);
    const client = await connectLedger({ addresses: cluster.addresses, requestTimeoutMs: 20_000 });
    try {
      await forget(cluster, client, primary, [away, lost]);
    } finally {
      client.close();
    }
  });
});

/** Loses the file of a replica that knows of an operation which only one other knows of. */
async function forget(
  cluster: TemporaryCluster,
  client: LedgerClient,
  primary: number,
  [away, lost]: readonly [number, number],
): Promise<void> {
  const accounts = [1, 2].map(() => ({ id: id(), ledger: 1, code: 1 }));
  await client.createAccounts(accounts.slice(0, 1));
  await cluster.killReplica(away);
  await client.createAccounts(accounts.slice(1));
  await cluster.killReplica(lost);
  const path = cluster.files[lost] ?? '';
  rmSync(path);
  await formatLedger({ path, replica: lost, replicaCount: 3, development: true });
  await cluster.killReplica(primary);
  await cluster.startReplica(away);
  await cluster.startReplica(lost);
  await new Promise((done) => setTimeout(done, 3_000));
  assert.equal(await cluster.primary(), null, 'nobody leads whom the others do not know');
  await cluster.startReplica(primary);
  assert.equal((await client.lookupAccounts(accounts.map((one) => one.id))).length, 2);
}

test('a primary that stands still is replaced, and follows when it goes on', {
  timeout: 120_000,
}, async () => {
  await withLoad({ development: true }, async (cluster, load) => {
    for (let round = 0; round < 2; round++) {
      const primary = await cluster.ready();
      cluster.pauseReplica(primary);
      await load.progress(20, 30_000);
      cluster.resumeReplica(primary);
      await cluster.ready();
      await load.progress(20, 30_000);
    }
  });
});
