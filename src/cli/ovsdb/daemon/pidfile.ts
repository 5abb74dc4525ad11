/**
 * Pid files: the process id in decimal, and a lock on the file, by which a stale one is told from
 * one in use. The lock is one that the original's programs see (`io/append-file` says how): they
 * ask the kernel who holds it and compare.
 */
import fs from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { holderInList, loadSqlite } from '../../../io/append-file/database-lock.ts';
import { glibcErrorText } from '../../../io/append-file/error-text.ts';
import type { Vlog } from '../vlog/vlog.ts';
import { fatalLogged } from './fatal-logged.ts';
import { keepAtEnd, unlinkAtEnd } from './signals.ts';

/** Kept open until the end: closing any descriptor of the file would give up the lock. */
let heldFile: { readonly descriptor: number; readonly lock: DatabaseSync | null } | null = null;

/** Creates the file for this process; ends the program where another one runs. */
export function makePidfile(vlog: Vlog, path: string, overwrite: boolean): void {
  const temporary = overwrite ? `${path}.tmp${process.pid}` : `${path}.tmp`;
  let descriptor: number;
  try {
    descriptor = fs.openSync(temporary, 'a+', 0o666);
    fs.ftruncateSync(descriptor, 0);
  } catch (error) {
    fatalLogged(vlog, 'daemon_unix', `${temporary}: create failed`, error);
  }
  const lock = lockFile(vlog, temporary);
  unlinkAtEnd(temporary);
  if (!overwrite) checkAlreadyRunning(vlog, path);
  try {
    fs.writeSync(descriptor, `${process.pid}\n`);
    fs.renameSync(temporary, path);
    // Somebody else may have made one of that name by now.
    keepAtEnd(temporary);
  } catch (error) {
    const what = `failed to rename "${temporary}" to "${path}"`;
    fatalLogged(vlog, 'daemon_unix', what, error);
  }
  heldFile = { descriptor, lock };
  unlinkAtEnd(path);
}

/** `null`: there is no way to lock here, and readers look at the process instead. */
function lockFile(vlog: Vlog, path: string): DatabaseSync | null {
  const sqlite = loadSqlite();
  if (sqlite === null) return null;
  try {
    const lock = new sqlite.DatabaseSync(path);
    // Otherwise it would lay a journal beside the file, for a transaction without changes.
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return lock;
  } catch {
    const why = glibcErrorText('EAGAIN');
    return fatalLogged(vlog, 'daemon_unix', `${path}: fcntl(F_SETLK) failed`, why);
  }
}

function checkAlreadyRunning(vlog: Vlog, path: string): void {
  const found = readPidfile(path);
  if (typeof found === 'number') {
    fatalLogged(vlog, 'daemon_unix', `${path}: already running as pid ${found}, aborting`);
  }
  if (found === 'ENOENT') return;
  if (found === 'ESRCH') {
    vlog.log('daemon_unix', 'DBG', `${path}: deleted stale pidfile`);
    return;
  }
  const why = glibcErrorText(found);
  fatalLogged(vlog, 'daemon_unix', `${path}: pidfile check failed (${why}), aborting`);
}

/**
 * The process that has the pid file, or the code of the system's error: ENOENT, or ESRCH when the
 * file is stale.
 */
export function readPidfile(path: string): number | string {
  if (isOurs(path)) return process.pid;
  let text: string;
  let holder: number | null | undefined;
  try {
    text = fs.readFileSync(path, 'latin1');
    holder = holderOf(path);
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'EIO';
  }
  const pid = Number(/^\d{1,10}/.exec(text)?.[0] ?? 0);
  if (pid === 0) return 'ESRCH';
  if (holder === undefined) return isAlive(pid) ? pid : 'ESRCH';
  return holder === pid ? pid : 'ESRCH';
}

/** Reading the own file would open and close it. */
function isOurs(path: string): boolean {
  if (heldFile === null) return false;
  try {
    const held = fs.fstatSync(heldFile.descriptor);
    const named = fs.statSync(path);
    return held.dev === named.dev && held.ino === named.ino;
  } catch {
    return false;
  }
}

/** Who holds the lock; `null`: nobody; `undefined`: the system does not list locks. */
function holderOf(path: string): number | null | undefined {
  const { dev, ino } = fs.statSync(path, { bigint: true });
  let list: string;
  try {
    list = fs.readFileSync('/proc/locks', 'latin1');
  } catch {
    return undefined;
  }
  return holderInList(list, dev, ino);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
