/**
 * One writer per database file, ours or the original's. The original locks `.NAME.~lock~` beside
 * the file with fcntl, which the platform does not offer; but SQLite, which comes with it, takes
 * locks of exactly this kind, on bytes that the original's lock of the whole file covers. So an
 * exclusive transaction on the empty lock file, in which nothing is ever written, holds the lock
 * as far as the original is concerned, and the kernel frees it with the process.
 *
 * Closing any descriptor of a file drops the process's fcntl locks on it: nobody else here may
 * open a lock file, and a second lock in one process is refused by a table.
 *
 * Where there is no SQLite, the list of the kernel says whether the original holds the file, and
 * our own processes keep each other out.
 */
import fs from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { DataFileLockedError, fromSystemError } from '../errors.ts';
import { acquireFileLock } from '../file-lock.ts';
import { followLinks } from './real-path.ts';

export interface DatabaseLock {
  release(): Promise<void>;
}

/** Device and inode of lock files that this process holds. */
const held: Set<string> = new Set();

/** The lock file of a database file, which may be a symbolic link to where it really is. */
export function lockPathOf(path: string): string {
  const real = followLinks(path);
  return join(dirname(real), `.${basename(real)}.~lock~`);
}

/**
 * Locks the database file, which need not exist, for this process.
 * @throws DataFileLockedError, ReadOnlyError, DataFileMissingError (its folder is)
 */
export async function acquireDatabaseLock(
  path: string,
  sqlite: Sqlite | null = loadSqlite(),
): Promise<DatabaseLock> {
  const lockPath = lockPathOf(path);
  const identity = prepareLockFile(lockPath);
  if (held.has(identity)) throw new DataFileLockedError(path, process.pid);
  held.add(identity);
  try {
    const lock =
      sqlite === null ? await lockWithout(path, lockPath) : lockWith(sqlite, path, lockPath);
    return {
      release: async () => {
        await lock.release();
        held.delete(identity);
      },
    };
  } catch (error) {
    held.delete(identity);
    throw error;
  }
}

/** Sees to it that there is a lock file and names it by device and inode. */
function prepareLockFile(lockPath: string): string {
  try {
    if (!fs.existsSync(lockPath)) fs.closeSync(fs.openSync(lockPath, 'a', 0o600));
    const { dev, ino } = fs.statSync(lockPath, { bigint: true });
    return `${dev}/${ino}`;
  } catch (error) {
    throw fromSystemError(error, lockPath);
  }
}

export type Sqlite = typeof import('node:sqlite');

/** It says on standard error that it is new when it is loaded: nobody wants to know that here. */
export function loadSqlite(): Sqlite | null {
  const emitWarning = process.emitWarning;
  process.emitWarning = () => {};
  try {
    return process.getBuiltinModule('node:sqlite') ?? null;
  } catch {
    return null;
  } finally {
    process.emitWarning = emitWarning;
  }
}

function lockWith({ DatabaseSync }: Sqlite, path: string, lockPath: string): DatabaseLock {
  let database: DatabaseSync | null = null;
  try {
    database = new DatabaseSync(lockPath);
    // Nothing is ever written; whatever may be in the file is never read.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    database?.close();
    if (isBusy(error)) throw new DataFileLockedError(path, holderOf(lockPath));
    throw fromSystemError(error, lockPath);
  }
  const open = database;
  return {
    release: () => {
      open.close();
      return Promise.resolve();
    },
  };
}

/** SQLITE_BUSY and its refinements. */
function isBusy(error: unknown): boolean {
  if (!(error instanceof Error) || !('errcode' in error)) return false;
  return typeof error.errcode === 'number' && (error.errcode & 0xff) === 5;
}

async function lockWithout(path: string, lockPath: string): Promise<DatabaseLock> {
  const pid = holderOf(lockPath);
  if (pid !== null) throw new DataFileLockedError(path, pid);
  return await acquireFileLock({ path: lockPath });
}

/** The process that holds an fcntl lock on the file, as the kernel lists it; `null`: none seen. */
function holderOf(lockPath: string): number | null {
  try {
    const { dev, ino } = fs.statSync(lockPath, { bigint: true });
    return holderInList(fs.readFileSync('/proc/locks', 'latin1'), dev, ino);
  } catch {
    return null;
  }
}

/** `list`: lines such as `1: POSIX  ADVISORY  WRITE 123 fd:01:4567 0 EOF`. */
export function holderInList(list: string, dev: bigint, ino: bigint): number | null {
  const major = ((dev >> 8n) & 0xfffn) | ((dev >> 32n) & 0xffff_f000n);
  const minor = (dev & 0xffn) | ((dev >> 12n) & 0xffff_ff00n);
  const hex = (n: bigint): string => n.toString(16).padStart(2, '0');
  const file = `${hex(major)}:${hex(minor)}:${ino}`;
  for (const line of list.split('\n')) {
    const [, kind, , , pid, where] = line.trim().split(/\s+/);
    if (kind === 'POSIX' && where === file && Number(pid) > 0) return Number(pid);
  }
  return null;
}
