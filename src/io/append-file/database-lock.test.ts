import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { DataFileLockedError, DataFileMissingError } from '../errors.ts';
import { acquireDatabaseLock, holderInList, lockPathOf } from './database-lock.ts';

function temporaryFolder(t: TestContext): string {
  const folder = fs.mkdtempSync(join(tmpdir(), 'database-lock-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  return folder;
}

const module = new URL('./database-lock.ts', import.meta.url).href;

/** A process that holds the lock, until killed. */
async function holder(t: TestContext, path: string): Promise<ChildProcess> {
  const code = `const { acquireDatabaseLock } = await import(${JSON.stringify(module)});
    await acquireDatabaseLock(${JSON.stringify(path)});
    console.log('held'); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  await new Promise<void>((resolve, reject) => {
    child.stdout?.once('data', () => resolve());
    child.once('exit', () => reject(new Error('the holder ended')));
  });
  return child;
}

test('the lock file is the one that the original uses, beside what a link leads to', (t) => {
  const folder = temporaryFolder(t);
  fs.mkdirSync(join(folder, 'real'));
  fs.symlinkSync('real/db', join(folder, 'db'));
  assert.equal(lockPathOf(join(folder, 'db')), join(folder, 'real', '.db.~lock~'));
  assert.equal(lockPathOf('db'), '.db.~lock~');
});

test('a file is locked once, by one process', async (t) => {
  const path = join(temporaryFolder(t), 'db');
  const lock = await acquireDatabaseLock(path);
  await assert.rejects(acquireDatabaseLock(path), (error: unknown) => {
    assert.ok(error instanceof DataFileLockedError);
    assert.equal(error.pid, process.pid);
    return true;
  });
  await lock.release();
  await (await acquireDatabaseLock(path)).release();
  assert.equal(fs.statSync(lockPathOf(path)).size, 0);
});

test('another process that holds the file is named, and its death frees it', async (t) => {
  const path = join(temporaryFolder(t), 'db');
  const child = await holder(t, path);
  const refused = async (): Promise<void> => {
    await assert.rejects(acquireDatabaseLock(path), (error: unknown) => {
      assert.ok(error instanceof DataFileLockedError);
      assert.equal(error.pid, child.pid);
      return true;
    });
  };
  await refused();
  // Without SQLite the kernel's list says so.
  await assert.rejects(acquireDatabaseLock(path, null), DataFileLockedError);
  await refused();
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await gone;
  await (await acquireDatabaseLock(path)).release();
});

test('without SQLite our processes still keep each other out', async (t) => {
  const path = join(temporaryFolder(t), 'db');
  const lock = await acquireDatabaseLock(path, null);
  await assert.rejects(acquireDatabaseLock(path, null), DataFileLockedError);
  await lock.release();
  await (await acquireDatabaseLock(path, null)).release();
});

test('a folder that is missing is said to be', async (t) => {
  const path = join(temporaryFolder(t), 'none', 'db');
  await assert.rejects(acquireDatabaseLock(path), DataFileMissingError);
});

test('the kernel list is read by device and inode', () => {
  const list = [
    '1: POSIX  ADVISORY  WRITE 123 fd:01:4567 0 EOF',
    '2: FLOCK  ADVISORY  WRITE 124 fd:01:4568 0 EOF',
    '3: POSIX  ADVISORY  WRITE 125 08:102:4569 1073741824 1073742335',
    '3: -> POSIX  ADVISORY  WRITE 126 08:102:4569 0 EOF',
  ].join('\n');
  const dev = (major: bigint, minor: bigint): bigint =>
    (major << 8n) | (minor & 0xffn) | ((minor & ~0xffn) << 12n);
  assert.equal(holderInList(list, dev(0xfdn, 1n), 4567n), 123);
  assert.equal(holderInList(list, dev(0xfdn, 1n), 4568n), null);
  assert.equal(holderInList(list, dev(8n, 0x102n), 4569n), 125);
  assert.equal(holderInList(list, dev(8n, 1n), 4567n), null);
});
