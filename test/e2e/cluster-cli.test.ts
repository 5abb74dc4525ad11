/**
 * The commands of a cluster as people type them: files of several replicas, addresses that do not
 * fit, a replica alone, a lost file, and the cluster that `dev` makes.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, truncateSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { ExitCode } from '../../src/cli/exit-codes.ts';
import { connectLedger, id, type LedgerClient, requestStatus } from '../../src/client/index.ts';
import { freePorts } from '../../src/lab/index.ts';
import { inFolder, isAlive, isListening, Running, run } from './program-test-helper.ts';

const account = { id: id(), ledger: 1, code: 1 };

const clients: LedgerClient[] = [];

afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});

async function connect(ports: readonly (number | string)[]): Promise<LedgerClient> {
  const client = await connectLedger({ addresses: ports.join(',') });
  clients.push(client);
  return client;
}

function format(file: string, replica: number, replicaCount: number): Promise<unknown> {
  const which = [`--replica=${replica}`, `--replica-count=${replicaCount}`];
  return run(['format', '--cluster=0', ...which, '--development', file]);
}

/** What is in a folder besides locks, which a killed process leaves behind. */
function dataFiles(folder: string): string[] {
  return readdirSync(folder).filter((name) => !name.endsWith('.lock'));
}

/** What a replica says of itself. */
function statusAt(port: number): Promise<{ readonly [name: string]: unknown }> {
  const address = { host: '127.0.0.1', port };
  return requestStatus({ address, cluster: 0n, timeoutMs: 2_000 });
}

/** Formats and starts all replicas of a cluster. */
async function startAll(folder: string, ports: readonly number[]): Promise<Running[]> {
  const files = ports.map((_, replica) => join(folder, `0_${replica}.roundelay`));
  await Promise.all(files.map((file, replica) => format(file, replica, ports.length)));
  return files.map((file) => new Running(['start', `--addresses=${ports.join(',')}`, file]));
}

test('format says how to start a cluster; start wants all its addresses', async () => {
  await inFolder(async (folder) => {
    const file = join(folder, '0_1.roundelay');
    const made = await run([
      'format',
      '--cluster=0',
      '--replica=1',
      '--replica-count=3',
      '--development',
      file,
    ]);
    assert.match(made.stdout, /start it: roundelay start --addresses=3000,3001,3002 /);
    const few = await run(['start', '--addresses=3000', file]);
    assert.equal(few.code, ExitCode.fileMismatch);
    assert.match(few.stderr, /for 3 replicas, 1 address was given; .*--addresses=3000,3001,3002 /);
    const lost = await run(['start', '--addresses=3000,3001,3002', join(folder, 'x')]);
    assert.equal(lost.code, ExitCode.fileMissing);
    assert.match(lost.stderr, /roundelay recover.*--replica-count=3/);
    const shape = await run(['start', '--addresses=1,2,3', '--topology=knot', file]);
    assert.equal(shape.code, ExitCode.usage);
    assert.match(shape.stderr, /must be one of ring, alternating-ring, star/);
    const beyond = await run(['format', '--replica=6', '--replica-count=6', join(folder, 'y')]);
    assert.equal(beyond.code, ExitCode.usage);
  });
});

test('A05: one of two waits, says for what, and recover says why it cannot help', async () => {
  await inFolder(async (folder) => {
    const ports = await freePorts(2);
    const addresses = `--addresses=${ports.join(',')}`;
    const file = join(folder, '0_0.roundelay');
    await format(file, 0, 2);
    const server = new Running(['start', addresses, file]);
    await server.saw(/waiting for quorum, have 1 of 2/);
    const status = await run(['status', addresses, '--timeout-ms=500']);
    assert.match(status.stdout, /waiting for.*quorum, have 1 of 2/);
    assert.match(status.stdout, /ERR_CONNECT_REFUSED/);
    const which = ['--cluster=0', '--replica=1', '--replica-count=2'];
    const lost = join(folder, '0_1.roundelay');
    const refused = await run(['recover', ...which, addresses, lost]);
    assert.equal(refused.code, ExitCode.recoverRefused);
    assert.match(refused.stderr, /^error: of two replicas both are needed/);
    assert.match(refused.stderr, /a copy that was made after its replica had stopped/);
    assert.equal(existsSync(lost), false);
    assert.equal(isAlive(server.child.pid ?? 0), true, 'it keeps running');
    const ended = await server.end();
    assert.equal(ended.code, 0);
    assert.ok(ended.ms < 2_000);
  });
});

test('a damaged file of a cluster is never to be replaced by an old copy', async () => {
  await inFolder(async (folder) => {
    const file = join(folder, 'f1');
    await format(file, 1, 3);
    for (const sizeBytes of [5_000, 0]) {
      truncateSync(file, sizeBytes);
      const damaged = await run(['start', '--addresses=3000,3001,3002', file]);
      assert.equal(damaged.code, ExitCode.fileCorrupt);
      assert.match(damaged.stderr, /; never put back an old copy, .*; while the others run: /);
      const moved = `mv ${file} ${file}.damaged && roundelay recover --cluster=<id> `;
      const flags = '--replica=<index> --replica-count=3 --addresses=3000,3001,3002';
      assert.ok(damaged.stderr.endsWith(`: ${moved}${flags} ${file}\n`), damaged.stderr);
      assert.doesNotMatch(damaged.stderr, /format|restore/);
    }
    const two = await run(['start', '--addresses=3000,3001', file]);
    assert.match(two.stderr, /; only a copy made after this replica had stopped .*: roundelay rec/);
    const one = await run(['start', '--addresses=3000', file]);
    assert.match(one.stderr, /; restore it from its newest copy.* --cluster=<id> .*f1\.new\n$/);
  });
});

test('recover refuses without a quorum, for a replica that runs, and over a file', async () => {
  await inFolder(async (folder) => {
    const ports = await freePorts(3);
    const addresses = `--addresses=${ports.join(',')}`;
    const file = join(folder, '0_0.roundelay');
    await format(file, 0, 3);
    const server = new Running(['start', addresses, file]);
    await server.saw(/serving replica 0 of 3/);
    const recover = (replica: number, to: string): ReturnType<typeof run> => {
      const which = ['--cluster=0', `--replica=${replica}`, '--replica-count=3'];
      return run(['recover', ...which, addresses, '--timeout-ms=1500', to]);
    };
    const alone = await recover(1, join(folder, 'x'));
    assert.equal(alone.code, ExitCode.recoverRefused);
    assert.match(
      alone.stderr,
      /without a quorum of the others.*: 1 of them answered, 2 are needed/,
    );
    const running = await recover(0, join(folder, 'x'));
    assert.equal(running.code, ExitCode.recoverRefused);
    assert.match(running.stderr, /replica 0 is running at 127\.0\.0\.1:\d+.*0_0\.roundelay/);
    const over = await recover(1, file);
    assert.equal(over.code, ExitCode.fileExists);
    assert.deepEqual(dataFiles(folder), ['0_0.roundelay']);
    await server.end();
  });
});

test('a lost file is made again with the consent of the others, and nothing is lost', async () => {
  await inFolder(async (folder) => {
    const ports = await freePorts(3);
    const addresses = `--addresses=${ports.join(',')}`;
    const servers = await startAll(folder, ports);
    const client = await connect(ports);
    await client.createAccounts([account]);
    await servers[1]?.end('SIGKILL');
    const file = join(folder, '0_1.roundelay');
    rmSync(file);
    const which = ['--cluster=0', '--replica=1', '--replica-count=3'];
    const made = await run(['recover', ...which, addresses, file]);
    assert.equal(made.code, 0, made.stderr);
    assert.match(made.stdout, /recovered .*replica 1, view \d+.*\nstart it: roundelay start /);
    const again = new Running(['start', addresses, file]);
    await again.saw(/replica \d is the primary|this replica is the primary/);
    const before = Number((await statusAt(ports[1] ?? 0))['commitMin']);
    // The others would not do alone, were the new one not counted.
    await servers[0]?.end('SIGKILL');
    assert.equal((await client.lookupAccounts([account.id])).length, 1);
    const deadlineMs = performance.now() + 5_000;
    while (Number((await statusAt(ports[1] ?? 0))['commitMin']) <= before) {
      assert.ok(performance.now() < deadlineMs, 'the new file takes part');
    }
    for (const server of [...servers, again]) await server.end();
  });
});

test('replicas that do not agree about their addresses say so and refuse each other', async () => {
  await inFolder(async (folder) => {
    const [x, y, z] = await freePorts(3);
    const files = [0, 1, 2].map((replica) => join(folder, `0_${replica}.roundelay`));
    await Promise.all(files.map((file, replica) => format(file, replica, 3)));
    const right = new Running(['start', `--addresses=${x},${y},${z}`, files[0] ?? '']);
    const wrong = [1, 2].map(
      (replica) => new Running(['start', `--addresses=${x},${z},${y}`, files[replica] ?? '']),
    );
    await right.saw(/is not replica 1 of 3, replica 2 of 3 answers there: compare the --addresses/);
    await wrong[0]?.saw(/replica 0 looks for replica 2 here, this is replica 1/);
    for (const server of [right, ...wrong]) assert.equal((await server.end()).code, 0);
  });
});

test('A16: an address that no network leads to is told once and holds nobody up', async () => {
  await inFolder(async (folder) => {
    const [x, y] = await freePorts(2);
    const addresses = `--addresses=${x},${y},255.255.255.255:3000`;
    const files = [0, 1].map((replica) => join(folder, `0_${replica}.roundelay`));
    await Promise.all(files.map((file, replica) => format(file, replica, 3)));
    const servers = files.map((file) => new Running(['start', addresses, file]));
    const client = await connect([x, y, '255.255.255.255:3000']);
    await client.createAccounts([account]);
    await servers[0]?.saw(/replica 2 of 3 at 255\.255\.255\.255:3000 cannot be reached/);
    const until = performance.now() + 2_000;
    while (performance.now() < until) await client.lookupAccounts([account.id]);
    const { stderr } = (await servers[0]?.end()) ?? { stderr: '' };
    assert.equal(stderr.match(/cannot be reached/g)?.length, 1, stderr);
    await servers[1]?.end();
  });
});

test('dev makes a cluster that outlives one of its replicas, and keeps the data', async () => {
  await inFolder(async (folder) => {
    for (const round of [1, 2]) {
      const dev = new Running(['dev', '--port=0', '--development'], { cwd: folder });
      const [, list = ''] = await dev.saw(/ledger ready at ([\d.:, ]+) \(3 replicas/);
      const ports = [...list.matchAll(/:(\d+)/g)].map(([, port]) => Number(port));
      assert.equal(ports.length, 3);
      const client = await connect(ports);
      if (round === 1) await client.createAccounts([account]);
      assert.equal((await client.lookupAccounts([account.id])).length, 1);
      const pids = await Promise.all(ports.map(async (port) => (await statusAt(port))['pid']));
      process.kill(Number(pids[round]), 'SIGKILL');
      await dev.saw(
        new RegExp(`\\[${round}\\] ended with SIGKILL; start it again: roundelay start`),
      );
      assert.equal((await client.lookupAccounts([account.id])).length, 1);
      const ended = await dev.end('SIGINT');
      assert.equal(ended.code, 0);
      assert.ok(ended.ms < 2_000, `${ended.ms} ms`);
      for (const pid of pids) assert.equal(isAlive(Number(pid)), false);
    }
    assert.deepEqual(
      dataFiles(join(folder, 'data')),
      [0, 1, 2].map((i) => `0_${i}.roundelay`),
    );
  });
});

test('the replicas of dev end with it, even by kill -9', async () => {
  await inFolder(async (folder) => {
    const dev = new Running(['dev', '--port=0', '--development'], { cwd: folder });
    const [, port = ''] = await dev.saw(/ledger ready at 127\.0\.0\.1:(\d+)/);
    dev.child.kill('SIGKILL');
    const deadlineMs = performance.now() + 4_000;
    while (await isListening(Number(port))) {
      assert.ok(performance.now() < deadlineMs, 'a replica outlives its parent');
      await new Promise((done) => setTimeout(done, 20));
    }
  });
});

test('dev is not taken in by what answers at its ports, and ends at once', async () => {
  await inFolder(async (folder) => {
    const first = await portsInRow(3);
    const start = (directory: string): Running => {
      const flags = [`--port=${first}`, `--directory=${directory}`, '--development'];
      return new Running(['dev', ...flags], { cwd: folder });
    };
    const other = start('other');
    await other.saw(/ledger ready at/);
    const taken = await start('data').ended;
    await other.end();
    const blocker = createServer().listen(first + 1, '127.0.0.1');
    await once(blocker, 'listening');
    const one = await start('data').ended;
    blocker.close();
    for (const { code, stdout, stderr, ms } of [taken, one]) {
      assert.equal(code, ExitCode.addressInUse, stderr);
      assert.equal(stdout, '');
      assert.match(stderr, /^error: cannot listen on [^\n]+: roundelay dev --port=0\n$/);
      assert.ok(ms < 10_000, `took ${ms} ms to end`);
    }
  });
});

/** A port that is free, and as many after it. */
async function portsInRow(count: number): Promise<number> {
  for (;;) {
    const [first = 0] = await freePorts(1);
    const row = Array.from({ length: count }, (_, i) => isListening(first + i));
    if (!(await Promise.all(row)).includes(true)) return first;
  }
}

test('dev tells what keeps it from starting, on one line, with a way out', async () => {
  await inFolder(async (folder) => {
    const start = (...flags: string[]): Running => new Running(['dev', ...flags], { cwd: folder });
    const dev = start('--port=0', '--development');
    const [, port = ''] = await dev.saw(/ledger ready at 127\.0\.0\.1:(\d+)/);
    const locked = await start('--port=0').ended;
    assert.equal(locked.code, ExitCode.fileInUse);
    assert.match(locked.stderr, /error: .*in use by process \d+; look at it: ps -fp \d+\n$/);
    const taken = await start(`--port=${port}`, '--directory=other', '--development').ended;
    assert.equal(taken.code, ExitCode.addressInUse);
    assert.match(taken.stderr, /error: .*in use; take free ports: roundelay dev --port=0\n$/);
    assert.equal(taken.stderr.split('\n').length, 2, 'the error alone');
    assert.equal(taken.stdout, '');
    await dev.end();
    const few = await start('--port=0', '--replica-count=5').ended;
    assert.equal(few.code, ExitCode.fileMismatch);
    assert.match(few.stderr, /was formatted for 3 replicas/);
  });
});

test('dev tells how the others make a lost or damaged file again', async () => {
  await inFolder(async (folder) => {
    const first = await portsInRow(3);
    const dev = (): Running => new Running(['dev', `--port=${first}`], { cwd: folder });
    mkdirSync(join(folder, 'data'));
    const all = [0, 1, 2].map((one) => join(folder, 'data', `0_${one}.roundelay`));
    await Promise.all(all.map((path, replica) => format(path, replica, 3)));
    const file = join(folder, 'data', '0_1.roundelay');
    renameSync(file, join(folder, 'aside'));
    const lost = await dev().ended;
    assert.equal(lost.code, ExitCode.fileMissing);
    assert.match(
      lost.stderr,
      /0_1\.roundelay does not exist; put no old copy back; run the others /,
    );
    assert.equal(existsSync(file), false, 'a lost file is never made anew');
    const commands = [
      ...lost.stderr.matchAll(/roundelay ((?:start|recover) [^)\n]*?)(?= and |[)\n])/g),
    ];
    const [one, two, recover] = commands.map(([, text = '']) => text.split(' '));
    const others = [one, two].map((words = []) => new Running(words, { cwd: folder }));
    const made = await run(recover ?? [], { cwd: folder });
    assert.equal(made.code, 0, made.stderr);
    for (const other of others) await other.end();
    const again = dev();
    await again.saw(/ledger ready at .*3 replicas/);
    await again.end();
    truncateSync(file, 100);
    const damaged = await dev().ended;
    assert.equal(damaged.code, ExitCode.fileCorrupt);
    assert.match(damaged.stderr, /: mv data\/0_1\.roundelay \S+\.damaged && roundelay recover /);
    truncateSync(join(folder, 'data', '0_0.roundelay'), 100);
    const few = await dev().ended;
    assert.match(
      few.stderr,
      /too few .* a copy made after .*: roundelay dev --directory=.*\.new\n$/,
    );
    assert.doesNotMatch(few.stderr, /recover/);
  });
});
