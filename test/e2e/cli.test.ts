/**
 * The commands as people type them: what they print, which exit code they end with, and that every
 * error is one line with a way out. Runs the program through `bin/roundelay.js`, also under the
 * machine's own Node where that is an old one.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ExitCode } from '../../src/cli/exit-codes.ts';
import { connectLedger, id } from '../../src/client/index.ts';
import {
  inFolder,
  isAlive,
  isListening,
  machineNode,
  type Result,
  Running,
  root,
  run,
} from './program-test-helper.ts';

const replica = ['--cluster=0', '--replica=0', '--replica-count=1'];
/** Small and fast; the sizes of the default are tested where they matter. */
const small = [...replica, '--development'];
const isRoot = process.getuid?.() === 0;

test('version, help and no command at all', async () => {
  const version = await run(['version']);
  assert.match(version.stdout, /^roundelay \d+\.\d+\.\d+\n$/);
  assert.equal(version.code, 0);
  const verbose = await run(['--version', '--verbose']);
  assert.match(verbose.stdout, /node v/);
  for (const parameters of [[], ['help'], ['--help']]) {
    const help = await run(parameters);
    assert.equal(help.code, 0);
    assert.match(help.stdout, /Begin here:[\s\S]*dev[\s\S]*Run a ledger:[\s\S]*Exit codes:/);
  }
  for (const command of ['dev', 'format', 'start', 'recover', 'status', 'benchmark', 'version']) {
    const help = await run(['help', command]);
    assert.equal(help.code, 0, command);
    assert.match(help.stdout, new RegExp(`Usage: roundelay ${command}`));
    assert.equal((await run([command, '--help'])).stdout, help.stdout);
  }
  const general = await run(['help']);
  const itself = await run(['help', 'help']);
  assert.deepEqual([itself.code, itself.stdout], [0, general.stdout]);
  assert.match((await run(['help', 'format'])).stdout, /--cluster <id> .*\(default:\s+random\)/s);
});

test('the measurement of clusters explains itself', () => {
  const parameters = [join(root, 'bench/cluster.ts'), '--help'];
  const help = execFileSync(process.execPath, parameters, { encoding: 'utf8' });
  assert.match(help, /^node bench\/cluster\.ts \[--replicas=3\]/);
});

test('what makes no sense is a usage error on one line', async () => {
  const cases: readonly (readonly [string[], RegExp])[] = [
    [['stat'], /unknown command 'stat' .*Did you mean start/],
    [['help', 'nope'], /unknown command 'nope'/],
    [['help', 'stat'], /unknown command 'stat' .*Did you mean start/],
    [['start', '--adresses=3000', 'x'], /unknown option '--adresses' .*Did you mean --addresses/],
    [['start', '--adresses', '3000', 'x'], /unknown option '--adresses'/],
    [['start', 'x'], /required option '--addresses <list>' not specified/],
    [['dev', '--directory=README.md'], /"README.md" is not a folder/],
    [['dev', '--directory=README.md/data'], /"README.md\/data" is not a folder/],
    [['benchmark', '--directory=README.md'], /"README.md" is not a folder/],
    [['start'], /missing required argument|--addresses/],
    [['start', '--addresses=3000'], /missing required argument/],
    [['start', '--addresses=3000,,3001', 'x'], /address 2 of 3 is empty/],
    [['start', '--addresses=65536', 'x'], /port 65536/],
    [['start', '--addresses=3000,3000', 'x'], /are the same/],
    [['start', '--addresses=1,2,3,4,5,6,7,8,9,10,11,12,13', 'x'], /13 addresses given/],
    [['start', '--addresses=host.example:3000', 'x'], /is a host name/],
    [['start', '--addresses=3000', '--adress=1', 'x'], /unknown option '--adress=1'/],
    [['format', '--cluster=-1', '--replica=0', '--replica-count=1', 'x'], /--cluster must be/],
    [['format', '--replica=0', '--replica-count=7', 'x'], /--replica-count/],
    [['format', '--replica=2', '--replica-count=1', 'x'], /--replica/],
    [['benchmark', '--clients=0'], /--clients must be a number from 1 to 64/],
    [['benchmark', '--transfer-count=many'], /--transfer-count must be a number/],
    [['benchmark', '--id-order=up'], /must be one of tbid, sequential, random, reversed/],
    [['status', '--addresses=\u0007\u001b[2J'], /is not an address/],
  ];
  for (const [parameters, message] of cases) {
    const result = await run(parameters);
    assertOneLine(result, ExitCode.usage, message);
  }
});

test('format makes a file that only its owner can read, and never overwrites', async () => {
  await inFolder(async (folder) => {
    const file = join(folder, '0_0.roundelay');
    const formatted = execFileSync(
      'sh',
      ['-c', 'umask 0; exec "$@"', 'sh', process.execPath, join(root, 'bin/roundelay.js')].concat([
        'format',
        ...small,
        file,
      ]),
      { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] },
    );
    assert.match(formatted, /roundelay start --addresses=3000 /);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.ok(statSync(file).size <= 8 * 1_048_576, 'a development file is small');
    const again = await run(['format', ...small, file]);
    assertOneLine(again, ExitCode.fileExists, /exists already.*roundelay start --addresses=3000/);
    const lost = await run(['format', ...small, join(folder, 'no', 'such', 'folder', 'x')]);
    assertOneLine(lost, ExitCode.fileMissing, /mkdir -p/);
    assert.deepEqual(readdirSync(folder), ['0_0.roundelay']);
  });
});

test('format in a folder that may not be written says so', async () => {
  await inFolder(async (folder) => {
    const locked = join(folder, 'locked');
    mkdirSync(locked);
    chmodSync(locked, 0o500);
    // Permissions do not stop root, but the kernel's own file system does.
    const target = isRoot ? '/sys/roundelay' : join(locked, 'x');
    const result = await run(['format', ...small, target]);
    assertOneLine(result, ExitCode.fileNotWritable, /no permission to write.*ls -ld/);
  });
});

test('start refuses what cannot be started, each with its own code', async () => {
  await inFolder(async (folder) => {
    const missing = join(folder, 'missing');
    const none = await run(['start', '--addresses=0', missing]);
    assertOneLine(none, ExitCode.fileMissing, /does not exist.*roundelay format/);
    const text = join(folder, 'text');
    writeFileSync(text, 'not a data file\n'.repeat(10_000));
    const foreign = await run(['start', '--addresses=0', text]);
    assertOneLine(foreign, ExitCode.fileCorrupt, /corrupt|not a data file/);
    const itself = await run(['start', '--addresses=0', folder]);
    assertOneLine(itself, ExitCode.fileCorrupt, /it is a folder.*ls \//);
    const device = await run(['start', '--addresses=0', '/dev/null']);
    assertOneLine(device, ExitCode.fileCorrupt, /not a regular file.*roundelay format/);
    const normal = join(folder, 'normal');
    await run(['format', ...replica, normal]);
    const development = await run(['start', '--addresses=0', '--development', normal]);
    assertOneLine(development, ExitCode.fileMismatch, /--development/);
    const count = await run(['start', '--addresses=3000,3001,3002', normal]);
    assertOneLine(count, ExitCode.fileMismatch, /3 addresses.*1 replica|replica/);
  });
});

test('start prints its port alone, serves, and refuses a second one on the same file', async () => {
  await inFolder(async (folder) => {
    const file = join(folder, 'data');
    await run(['format', ...small, file]);
    const server = new Running(['start', '--addresses=0', '--cache-grid=1GiB', file]);
    const port = Number((await server.saw(/^(\d+)\n/))[1]);
    assert.match(server.stderr, /note: --cache-grid has no effect here/);
    const second = await run(['start', '--addresses=0', file]);
    const pid = new RegExp(`in use by process ${server.child.pid}`);
    assertOneLine(second, ExitCode.fileInUse, pid);
    const other = join(folder, 'other');
    await run(['format', ...small, other]);
    const taken = await run(['start', `--addresses=${port}`, other]);
    assertOneLine(taken, ExitCode.addressInUse, /address is in use.*--addresses=0/);
    const ended = await server.end('SIGTERM');
    assert.equal(ended.code, 0);
    assert.ok(ended.ms < 2000, `took ${ended.ms} ms to end`);
    assert.equal(ended.stdout, `${port}\n`);
  });
});

test('a server ends within two seconds with clients connected, by either signal', async () => {
  await inFolder(async (folder) => {
    const file = join(folder, 'data');
    await run(['format', ...small, file]);
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const server = new Running(['start', '--addresses=0', file]);
      const port = Number((await server.saw(/^(\d+)\n/))[1]);
      const client = await connectLedger({ addresses: port });
      const ended = await server.end(signal);
      client.close();
      assert.equal(ended.code, 0, signal);
      assert.ok(ended.ms < 2000, `${signal}: took ${ended.ms} ms to end`);
    }
  });
});

test('status shows the replica, and who is not there', async () => {
  await inFolder(async (folder) => {
    const file = join(folder, 'data');
    await run(['format', ...small, file]);
    const server = new Running(['start', '--addresses=0', file]);
    const port = Number((await server.saw(/^(\d+)\n/))[1]);
    const table = await run(['status', `--addresses=${port}`]);
    assert.equal(table.code, 0, table.stderr);
    assert.match(table.stdout, /primary/);
    const json = await run(['status', `--addresses=${port}`, '--json']);
    const report = JSON.parse(json.stdout);
    assert.equal(report.replicas.length, 1);
    assert.equal(report.replicas[0].status.role, 'primary');
    const wrong = await run(['status', `--addresses=${port}`, '--cluster=5', '--timeout-ms=300']);
    assertOneLine(wrong, ExitCode.wrongCluster, /cluster 5/);
    await server.end();
    const gone = await run(['status', `--addresses=${port}`, '--timeout-ms=300']);
    assertOneLine(gone, ExitCode.nobodyListens, /nobody listens at 127\.0\.0\.1/);
  });
});

test('benchmark runs on a temporary cluster and leaves nothing behind', async () => {
  await inFolder(async (folder) => {
    const flags = ['--transfer-count=20_000', '--account-count=100', `--directory=${folder}`];
    const result = await run(['benchmark', ...flags, '--json', '--clients=2']);
    assert.equal(result.code, 0, result.stderr);
    const report = JSON.parse(result.stdout);
    assert.equal(report.transfers, 20_000);
    assert.ok(report.transfersPerSecond > 0 && report.batchMs.p99 >= report.batchMs.p50);
    assert.ok(report.calibration.checksumMBps > 0 && report.servers[0].rssBytes > 0);
    assert.equal(isAlive(report.servers[0].pid), false);
    assert.deepEqual(readdirSync(folder), []);
  });
});

test('benchmark says so where it cannot write', async () => {
  await inFolder(async (folder) => {
    const missing = await run(['benchmark', `--directory=${join(folder, 'missing')}`]);
    assertOneLine(missing, ExitCode.fileMissing, /folder .*missing does not exist.*mkdir -p/);
    const locked = join(folder, 'locked');
    mkdirSync(locked);
    chmodSync(locked, 0o500);
    // Permissions do not stop root, but the kernel's own file system does.
    const target = isRoot ? '/sys' : locked;
    const result = await run(['benchmark', `--directory=${target}`]);
    assertOneLine(result, ExitCode.fileNotWritable, /no permission to write.*ls -ld/);
  });
});

test('benchmark on a given cluster: timings, and ids that are there already', async () => {
  await inFolder(async (folder) => {
    const file = join(folder, 'data');
    await run(['format', ...small, file]);
    const server = new Running(['start', '--addresses=0', file]);
    const port = Number((await server.saw(/^(\d+)\n/))[1]);
    const flags = ['--transfer-count=2_000', '--transfer-batch-size=100', '--account-count=10'];
    const where = [`--addresses=${port}`, '--seed=7', '--id-order=random'];
    const first = await run(['benchmark', ...flags, ...where, '--print-batch-timings']);
    assert.equal(first.code, 0, first.stderr);
    assert.equal(first.stdout.match(/^batch \d+: 100 tx in /gm)?.length, 20);
    assert.match(first.stdout, /load accepted = \d+ tx\/s/);
    assert.match(first.stdout, /^calibration: \d+ CPUs/m);
    const again = await run(['benchmark', ...flags, ...where]);
    assertOneLine(again, ExitCode.loadFailed, /was not created: exists.*--seed=/);
    const large = await run(['benchmark', `--addresses=${port}`, '--transfer-batch-size=500']);
    assertOneLine(large, ExitCode.loadFailed, /batch of 500 is too large/);
    const [, advised = ''] = /: roundelay (benchmark .*)\n$/.exec(large.stderr) ?? [];
    const fits = await run([...advised.split(' '), '--transfer-count=1_000', '--seed=8']);
    assert.equal(fits.code, 0, fits.stderr);
    await server.end();
    const gone = await run(['benchmark', ...flags, ...where, '--connect-timeout-ms=300']);
    assertOneLine(gone, ExitCode.nobodyListens, /roundelay dev/);
  });
});

test('an interrupted benchmark ends its server and says so', async () => {
  await inFolder(async (folder) => {
    const benchmark = new Running(['benchmark', `--directory=${folder}`, '--print-batch-timings']);
    await benchmark.saw(/batch 1: /);
    const ended = await benchmark.end('SIGINT');
    assert.equal(ended.code, ExitCode.interrupted);
    assert.ok(ended.ms < 4000, `took ${ended.ms} ms to end`);
    assert.deepEqual(readdirSync(folder), []);
  });
});

test('dev makes a ledger of one replica, and the second time it is still that', async () => {
  await inFolder(async (folder) => {
    const account = { id: id(), ledger: 1, code: 1 };
    for (const round of [1, 2]) {
      const alone = round === 1 ? ['--replica-count=1'] : [];
      const dev = new Running(['dev', '--port=0', ...alone], { cwd: folder });
      const [, port] = await dev.saw(/127\.0\.0\.1:(\d+)/);
      const client = await connectLedger({ addresses: Number(port) });
      if (round === 1) await client.createAccounts([account]);
      assert.equal((await client.lookupAccounts([account.id])).length, 1);
      client.close();
      const ended = await dev.end('SIGINT');
      assert.equal(ended.code, 0);
      assert.ok(ended.ms < 2000);
      assert.ok(existsSync(join(folder, 'data')));
    }
  });
});

test('dev on a file of another kind advises what works', async () => {
  await inFolder(async (folder) => {
    const directory = join(folder, 'data');
    mkdirSync(directory);
    await run(['format', ...replica, join(directory, '0_0.roundelay')]);
    const refused = await run(['dev', '--development', '--port=0'], { cwd: folder });
    assertOneLine(refused, ExitCode.fileMismatch, /: roundelay dev --port=0\n$/);
    const elsewhere = await run(['dev', '--development', `--directory=${directory}`]);
    assertOneLine(elsewhere, ExitCode.fileMismatch, /: roundelay dev --directory=\S+data\n$/);
    const dev = new Running(['dev', '--port=0'], { cwd: folder });
    await dev.saw(/ledger ready at/);
    assert.equal((await dev.end('SIGINT')).code, 0);
  });
});

const oldNode = machineNode();

test('under the machine’s own Node all of it works', { skip: oldNode === null }, async () => {
  const node = oldNode ?? '';
  await inFolder(async (folder) => {
    const version = await run(['version'], { node });
    assert.match(version.stdout, /^roundelay /);
    const wrong = await run(['benchmark', '--clients=0'], { node });
    assertOneLine(wrong, ExitCode.usage, /--clients/);
    const dev = new Running(['dev', '--port=0'], { node, cwd: folder });
    const port = Number((await dev.saw(/127\.0\.0\.1:(\d+)/))[1]);
    assert.equal(await isListening(port), true);
    const ended = await dev.end('SIGTERM');
    assert.equal(ended.code, 0);
    assert.ok(ended.ms < 2000);
    assert.equal(await isListening(port), false);
  });
});

test('what an old Node started ends with it, even by kill -9', {
  skip: oldNode === null,
}, async () => {
  await inFolder(async (folder) => {
    const dev = new Running(['dev', '--port=0'], { node: oldNode ?? '', cwd: folder });
    const port = Number((await dev.saw(/127\.0\.0\.1:(\d+)/))[1]);
    dev.child.kill('SIGKILL');
    const deadlineMs = performance.now() + 3000;
    while (await isListening(port)) {
      assert.ok(performance.now() < deadlineMs, 'the server outlives its front door');
      await new Promise((done) => setTimeout(done, 20));
    }
  });
});

/** One line on standard error, nothing on standard output, no control characters. */
function assertOneLine(result: Result, code: ExitCode, message: RegExp): void {
  const where = JSON.stringify({ ...result, stdout: result.stdout.slice(0, 500) });
  assert.equal(result.code, code, where);
  assert.match(result.stderr, message, where);
  const lines = result.stderr.trimEnd().split('\n');
  const errors = lines.filter((line) => line.startsWith('error: '));
  assert.equal(errors.length, 1, where);
  assert.equal(lines.at(-1), errors[0], where);
  assert.doesNotMatch(lines.join(''), /\p{Cc}/u);
  assert.equal(result.stdout, '', where);
}
