import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import { type TestContext, test } from 'node:test';
import { readPidfile } from './daemon/pidfile.ts';
import { isRunning, Playground, until } from './program-test-helper.ts';

/** A folder with a database, whose servers are gone after the test. */
async function playground(t: TestContext): Promise<Playground> {
  const here = new Playground();
  t.after(() => here.killAll());
  await here.createDatabase('db');
  return here;
}

const detached = ['--detach', '--no-chdir', '--pidfile', '--log-file'];

/** One request to a server; its reply. */
function request(path: string, method: string, params: unknown[]): Promise<{ result: unknown }> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = net.connect({ path }, () =>
      socket.write(JSON.stringify({ id: 1, method, params })),
    );
    socket.on('error', reject);
    socket.on('data', (chunk) => {
      text += String(chunk);
      if (!text.endsWith('}')) return;
      socket.destroy();
      resolve(JSON.parse(text) as { result: unknown });
    });
  });
}

test('a detached server serves when the command returns, and leaves nothing behind', async (t) => {
  const here = await playground(t);
  const started = here.run('server', ...detached, '--remote=punix:s', 'db');
  assert.equal(started.code, 0, started.err);
  const { result } = await request(here.path('s'), 'list_dbs', []);
  assert.deepEqual(new Set(result as string[]), new Set(['_Server', 'db']));
  const pid = here.pid();
  // The lock on the file names the process that serves.
  assert.equal(readPidfile(here.path('ovsdb-server.pid')), pid);
  assert.equal(here.ask('ovsdb-server/list-dbs'), '_Server\ndb\n');
  assert.equal(here.ask('ovsdb-server/list-remotes'), 'punix:s\n');
  assert.equal(here.ask('exit'), '');
  await until(() => !isRunning(pid));
  assert.deepEqual(fs.readdirSync(here.folder).sort(), ['.db.~lock~', 'db', 'ovsdb-server.log']);
  const lines = here.read('ovsdb-server.log').trimEnd().split('\n');
  const texts = lines.map((line) => line.replace(/^[^|]*Z\|/, ''));
  assert.deepEqual(texts, [
    `00001|vlog|INFO|opened log file ${here.path('ovsdb-server.log')}`,
    '00002|ovsdb_server|INFO|ovsdb-server (Open vSwitch) 3.1.0',
  ]);
});

test('a second server with the same pid file does not start', async (t) => {
  const here = await playground(t);
  assert.equal(here.run('server', ...detached, 'db').code, 0);
  const pid = here.pid();
  const second = here.run('server', '--no-dbs', '--pidfile', '-vconsole:off');
  assert.equal(second.code, 1);
  const path = here.path('ovsdb-server.pid');
  assert.equal(second.err, `ovsdb-server: ${path}: already running as pid ${pid}, aborting\n`);
  const byLock = here.run('server', '-vconsole:off', 'db');
  assert.equal(byLock.code, 1);
  assert.equal(here.pid(), pid);
  assert.ok(!here.has('ovsdb-server.pid.tmp'));
  process.kill(pid, 'SIGKILL');
  await until(() => !isRunning(pid));
  // A stale one is in nobody's way, but names nobody either.
  const asked = here.run('appctl', '-t', 'ovsdb-server', 'version');
  assert.equal(asked.err, `ovs-appctl: cannot read pidfile "${path}" (No such process)\n`);
  assert.equal(asked.code, 1);
  assert.equal(here.run('server', ...detached, 'db').code, 0);
  assert.notEqual(here.pid(), pid);
});

test('a signal ends it as such, and it cleans up', async (t) => {
  const here = await playground(t);
  const { pid, ended } = here.start('server', '--pidfile', '--remote=punix:s', 'db');
  await until(() => here.has('s') && here.has(`ovsdb-server.${pid}.ctl`));
  process.kill(pid, 'SIGTERM');
  const { signal, err } = await ended;
  assert.equal(signal, 'SIGTERM');
  assert.match(err, /\|fatal_signal\|WARN\|terminating with signal 15 \(Terminated\)\n$/);
  assert.deepEqual(fs.readdirSync(here.folder).sort(), ['.db.~lock~', 'db']);
});

test('what cannot be served ends the start, with the reason', async (t) => {
  const here = await playground(t);
  const pattern = '-vPATTERN:console:%p|%m';
  const table: readonly (readonly [readonly string[], string])[] = [
    [
      ['nope'],
      "WARN|failed to open database 'nope': " +
        'I/O error: nope: open failed (No such file or directory)\n' +
        'WARN|failed to configure databases\novsdb-server: server configuration failed\n',
    ],
    [
      ['--remote=db:x,y,z', 'db'],
      'WARN|failed to configure remotes: "db:x,y,z": no database named x\n' +
        'ovsdb-server: server configuration failed\n',
    ],
    [['--config-file=c', 'db'], 'ovsdb-server: Databases should be specified in a config file\n'],
    [['--sync-exclude-tables=x'], "ovsdb-server: Can't parse excluded table: x\n"],
    [['-vnope'], 'ovsdb-server: processing "nope": no destination, level, or module "nope"\n'],
    [['--nope'], "ovsdb-server: unrecognized option '--nope'\n"],
  ];
  for (const [args, expected] of table) {
    const { code, out, err } = here.run('server', pattern, ...args);
    assert.deepEqual({ code, out, err }, { code: 1, out: '', err: expected });
  }
  // Detached, the one that waits ends the same way.
  const far = here.run('server', '--detach', pattern, 'nope');
  assert.equal(far.code, 1);
  assert.match(far.err, /ovsdb-server: server configuration failed\n$/);
});

test('it runs for a command, and ends as that ends', async (t) => {
  const here = await playground(t);
  const good = here.run('server', '--remote=punix:s', 'db', '--run', 'test -S s && echo yes');
  assert.deepEqual(good, { code: 0, signal: null, out: 'yes\n', err: '' });
  const bad = here.run('server', '--run=exit 3', 'db');
  assert.equal(bad.code, 1);
  assert.equal(bad.err, 'ovsdb-server: exit 3: child exited, exit status 3\n');
});

test('databases and remotes come and go by commands', async (t) => {
  const here = await playground(t);
  await here.createDatabase('file2', 'second');
  assert.equal(here.run('server', ...detached, '--remote=punix:s', 'db').code, 0);
  here.ask('ovsdb-server/add-db', 'file2');
  assert.equal(here.ask('ovsdb-server/list-dbs'), '_Server\ndb\nsecond\n');
  const refused: readonly (readonly [readonly string[], string])[] = [
    [['ovsdb-server/add-db', 'file2'], 'ovsdb error: file2: already open'],
    [['ovsdb-server/add-db', 'nope'], 'I/O error: nope: open failed (No such file or directory)'],
    [['ovsdb-server/remove-db', '_Server'], 'Cannot remove reserved database.'],
    [['ovsdb-server/remove-db', 'nope'], 'Failed to find the database.'],
    [['ovsdb-server/add-remote', 'db:x,y,z'], '"db:x,y,z": no database named x'],
    [['ovsdb-server/remove-remote', 'ptcp:1'], 'no such remote'],
    [['ovsdb-server/compact', '_Server'], 'cannot compact built-in databases'],
    [['ovsdb-server/compact', 'nope'], 'no database by that name'],
  ];
  for (const [args, text] of refused) {
    const { code, out, err } = here.run('appctl', '-t', 'ovsdb-server', ...args);
    const expected = `${text}\novs-appctl: ovsdb-server: server returned an error\n`;
    assert.deepEqual({ code, out, err }, { code: 2, out: '', err: expected });
  }
  here.ask('ovsdb-server/add-remote', 'db:db,T,remotes');
  const row = { n: 1, remotes: 'punix:from-the-database' };
  await request(here.path('s'), 'transact', ['db', { op: 'insert', table: 'T', row }]);
  await until(() => here.has('from-the-database'));
  here.ask('ovsdb-server/compact');
  here.ask('ovsdb-server/remove-db', 'second');
  here.ask('ovsdb-server/remove-remote', 'db:db,T,remotes');
  await until(() => !here.has('from-the-database'));
  assert.equal(here.ask('ovsdb-server/list-dbs'), '_Server\ndb\n');
  assert.equal(here.ask('ovsdb-server/get-db-storage-status', 'db'), 'status: ok\n');
  assert.equal(here.ask('ovsdb-server/sync-status'), 'state: active\n');
});

test('after a crash the monitor starts it again with what commands have added', async (t) => {
  const here = await playground(t);
  assert.equal(here.run('server', '--monitor', ...detached, '-vconsole:off', 'db').code, 0);
  here.ask('ovsdb-server/add-remote', 'punix:added');
  const pid = here.pid();
  fs.rmSync(here.path('added'));
  process.kill(pid, 'SIGSEGV');
  await until(() => here.has('ovsdb-server.pid') && here.pid() > 0 && here.pid() !== pid);
  await until(() => here.has('added'));
  await until(() => here.has(`ovsdb-server.${here.pid()}.ctl`));
  assert.equal(here.ask('ovsdb-server/list-remotes'), 'punix:added\n');
  const log = here.read('ovsdb-server.log');
  const died = `1 crashes: pid ${pid} died, killed (Segmentation fault), restarting`;
  assert.ok(log.includes(`|daemon_unix(monitor)|ERR|${died}\n`), log);
  const second = here.pid();
  here.ask('exit');
  const end = `|daemon_unix(monitor)|INFO|pid ${second} died, exit status 0, exiting\n`;
  await until(() => here.read('ovsdb-server.log').includes(end));
});

test('a configuration file says what is served, and says it again', async (t) => {
  const here = await playground(t);
  await here.createDatabase('file2', 'second');
  const write = (remotes: string[], databases: string[]): void => {
    const members = (names: string[]): object => Object.fromEntries(names.map((n) => [n, {}]));
    const config = { remotes: members(remotes), databases: members(databases) };
    fs.writeFileSync(here.path('c.json'), JSON.stringify(config));
  };
  write(['punix:one'], ['db']);
  const start = here.run('server', ...detached, '-vconsole:off', '--config-file=c.json');
  assert.equal(start.code, 0, start.err);
  assert.equal(here.ask('ovsdb-server/list-remotes'), 'punix:one\n');
  write(['punix:two'], ['db', 'file2']);
  here.ask('ovsdb-server/reload');
  assert.equal(here.ask('ovsdb-server/list-dbs'), '_Server\ndb\nsecond\n');
  await until(() => !here.has('one') && here.has('two'));
  const added = here.run('appctl', '-t', 'ovsdb-server', 'ovsdb-server/add-db', 'x');
  assert.match(added.err, /^Update the .*c\.json and use ovsdb-server\/reload instead\n/);
  write(['punix:two'], ['file2', 'nope']);
  const failed = here.run('appctl', '-t', 'ovsdb-server', 'ovsdb-server/reload');
  assert.match(failed.err, /^Configuration failed. {2}See the log file for details\.\n/);
  assert.equal(here.ask('ovsdb-server/list-dbs'), '_Server\nsecond\n');
});
