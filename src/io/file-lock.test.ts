/** Real processes, really killed: that is what a lock is for. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { acquireFileLock } from './file-lock.ts';

const folder = fs.mkdtempSync(join(tmpdir(), 'roundelay-lock-'));
after(() => fs.rmSync(folder, { recursive: true }));
const linux = process.platform === 'linux';
const platforms = linux ? ['linux', 'other'] : ['other'];

function newFile(name: string): string {
  const path = join(folder, name);
  fs.writeFileSync(path, '');
  return path;
}

/** Another process that holds the lock until it is killed. */
async function startHolder(path: string, platform: string): Promise<ChildProcess> {
  const module = JSON.stringify(join(import.meta.dirname, 'file-lock.ts'));
  const script = `
    const { acquireFileLock } = await import(${module});
    await acquireFileLock(${JSON.stringify({ path, platform })});
    process.stdout.write('held');
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
}

for (const platform of platforms) {
  test(`${platform}: a second opener is refused and told who holds the file`, async () => {
    const path = newFile(`second-${platform}`);
    const lock = await acquireFileLock({ path, platform });
    await assert.rejects(acquireFileLock({ path, platform }), {
      code: 'ERR_DATA_FILE_LOCKED',
      pid: process.pid,
      message: `data file ${path} is in use by process ${process.pid}`,
    });
    await lock.release();
    await (await acquireFileLock({ path, platform })).release();
    assert.equal(fs.existsSync(`${path}.lock`), false);
  });

  test(`${platform}: a holder that was killed does not block, a living one does`, async () => {
    const path = newFile(`killed-${platform}`);
    const child = await startHolder(path, platform);
    await assert.rejects(acquireFileLock({ path, platform }), {
      code: 'ERR_DATA_FILE_LOCKED',
      pid: child.pid,
    });
    await kill(child);
    assert.equal(fs.existsSync(`${path}.lock`), true, 'kill -9 leaves the file behind');
    const startMs = performance.now();
    const lock = await acquireFileLock({ path, platform });
    assert.ok(performance.now() - startMs < 1_000);
    await lock.release();
  });

  test(`${platform}: of many openers at once exactly one gets the file`, async () => {
    const path = newFile(`many-${platform}`);
    for (let round = 0; round < 3; round++) {
      const attempts = await Promise.allSettled(
        Array.from({ length: 8 }, () => acquireFileLock({ path, platform })),
      );
      const won = attempts.filter((attempt) => attempt.status === 'fulfilled');
      assert.equal(won.length, 1);
      await won[0]?.value.release();
    }
  });
}

test('a link to the file is the same file', { skip: !linux }, async () => {
  const path = newFile('linked');
  fs.symlinkSync(path, join(folder, 'symbolic'));
  fs.linkSync(path, join(folder, 'hard'));
  const lock = await acquireFileLock({ path });
  for (const name of ['symbolic', 'hard']) {
    await assert.rejects(acquireFileLock({ path: join(folder, name) }), {
      code: 'ERR_DATA_FILE_LOCKED',
    });
  }
  await lock.release();
});

function writeHolder(path: string, holder: object): void {
  fs.writeFileSync(`${path}.lock`, JSON.stringify(holder));
}

test('a file whose process id now belongs to another process is stale', async () => {
  const path = newFile('reused');
  const boot = fs.existsSync('/proc/sys/kernel/random/boot_id')
    ? fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    : null;
  const namespace = linux ? fs.readlinkSync('/proc/self/ns/pid') : null;
  // Our parent is alive, but it did not start then.
  writeHolder(path, { pid: process.ppid, startTime: '1', boot, namespace, token: 'old' });
  await (await acquireFileLock({ path })).release();
});

test('a file that says nothing locks nothing', async () => {
  const path = newFile('garbage');
  for (const text of ['', '{', 'null', '{"pid":0,"token":"x"}', '{"pid":"1"}', '\0\0\0']) {
    fs.writeFileSync(`${path}.lock`, text);
    await (await acquireFileLock({ path })).release();
  }
});

suite('these wait for a second or more', { concurrency: true }, () => {
  test('a holder in another namespace is believed while it touches the file', async () => {
    const path = newFile('foreign');
    const dead = spawnSync(process.execPath, ['-e', '']).pid;
    writeHolder(path, { pid: dead, startTime: '1', boot: 'elsewhere', namespace: 'x', token: 'f' });
    const touch = setInterval(() => fs.utimesSync(`${path}.lock`, new Date(), new Date()), 100);
    await assert.rejects(acquireFileLock({ path }), { code: 'ERR_DATA_FILE_LOCKED', pid: dead });
    clearInterval(touch);
    await (await acquireFileLock({ path })).release();
  });

  test('a holder that finds another name in the file is told that it lost it', async () => {
    const path = newFile('lost');
    let lost = 0;
    const lock = await acquireFileLock({ path, onLost: () => lost++ });
    writeHolder(path, {
      pid: 1,
      startTime: '1',
      boot: 'b',
      namespace: 'n',
      token: 'somebody else',
    });
    await new Promise((resolve) => setTimeout(resolve, 1_300));
    assert.equal(lost, 1);
    await lock.release();
    assert.equal(fs.existsSync(`${path}.lock`), true, 'it is not ours to remove');
  });

  test('a file that was removed by hand is written again', async () => {
    const path = newFile('removed');
    const lock = await acquireFileLock({ path, onLost: () => assert.fail('not lost') });
    fs.rmSync(`${path}.lock`);
    await new Promise((resolve) => setTimeout(resolve, 1_300));
    assert.equal(fs.existsSync(`${path}.lock`), true);
    assert.equal(fs.statSync(`${path}.lock`).mode & 0o777, 0o600);
    await lock.release();
  });
});

test('a data file that does not exist cannot be locked', async () => {
  await assert.rejects(acquireFileLock({ path: join(folder, 'nowhere') }), {
    code: 'ERR_DATA_FILE_MISSING',
  });
});
