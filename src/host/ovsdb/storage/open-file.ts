/**
 * Opens the file of a standalone database: locks it, replays it, and decides what its end is worth.
 *
 * A last record that is not whole is what a power cut leaves: it was never acknowledged as durable,
 * so it is cut off, and a copy of what was cut off is kept beside the file. Damage that valid
 * records follow is another matter: cutting there would lose transactions that were acknowledged.
 * Such a file is refused until somebody says that what precedes the damage will do.
 */
import fs from 'node:fs';
import { resolve } from 'node:path';
import {
  AppendFile,
  acquireDatabaseLock,
  type DatabaseLock,
  FileSource,
  followLinks,
  glibcErrorText,
} from '../../../io/append-file/index.ts';
import {
  type Database,
  identifyLog,
  isError,
  type OvsdbError,
  plainError,
  type Replayed,
  type ReplayProblem,
  replayStandalone,
  type UuidSource,
} from '../../../ovsdb/index.ts';
import { ioError, lockError, OvsdbFileError } from './file-error.ts';
import { OvsdbStorage, type StorageLogLevel } from './ovsdb-storage.ts';
import { sha1 } from './snapshot-writer.ts';

export interface OpenOptions {
  readonly path: string;
  /** For the versions of rows, which no file keeps. */
  readonly uuids: UuidSource;
  /** Serve what precedes damage in the middle of the file; the rest goes into a copy beside it. */
  readonly continueAfterDamage?: boolean;
  /** Wall clock; defaults to this process's. */
  readonly nowMs?: () => number;
  /** From 0 up to 1; spreads automatic compactions. */
  readonly random?: () => number;
}

export interface OpenWarning {
  readonly level: StorageLogLevel;
  readonly text: string;
}

export interface OpenedFile {
  readonly database: Database;
  readonly storage: OvsdbStorage;
  /** For the log: what was found wrong, and what was done about it. */
  readonly warnings: readonly OpenWarning[];
}

/** Replay gives the process to others after so long, ms. */
const SLICE_MS = 15;
const COPY_SIZE = 1024 * 1024;

/**
 * Opens a database file for this process alone.
 * @throws OvsdbFileError
 */
export async function openOvsdbFile(options: OpenOptions): Promise<OpenedFile> {
  const name = options.path;
  const path = resolve(name);
  const lock = await lockFile(name);
  let fd: number | null = null;
  try {
    fd = openFile(name);
    return await openLocked(options, path, fd, lock);
  } catch (error) {
    if (fd !== null) fs.closeSync(fd);
    await lock.release();
    throw error;
  }
}

async function lockFile(name: string): Promise<DatabaseLock> {
  try {
    return await acquireDatabaseLock(name);
  } catch (error) {
    throw lockError(name, error);
  }
}

function openFile(name: string): number {
  try {
    return fs.openSync(name, 'r+');
  } catch (error) {
    throw ioError(name, 'open failed', error);
  }
}

async function openLocked(
  options: OpenOptions,
  path: string,
  fd: number,
  lock: DatabaseLock,
): Promise<OpenedFile> {
  const name = options.path;
  const source = readable(name, () => new FileSource(fd));
  const magic = readable(name, () => identifyLog(source, name));
  if (isError(magic)) throw new OvsdbFileError('ERR_DATA_FILE_CORRUPT', name, magic);
  if (magic !== 'JSON') {
    const error = plainError(`${name}: this is a clustered database, which needs a cluster`);
    throw new OvsdbFileError('ERR_OVSDB_CLUSTERED', name, error);
  }
  const replayed = await replay(source, options);
  const warnings: OpenWarning[] = [];
  if (replayed.problem !== null) {
    const { problem } = replayed;
    if (problem.validFrom !== null && options.continueAfterDamage !== true) {
      throw damaged(name, problem, problem.validFrom);
    }
    warnings.push({ level: 'ERR', text: problem.error.toString() });
    warnings.push(dropTail(options, fd, source, problem));
  }
  source.release();
  const { database, records, end, baseSize } = replayed;
  const storage = new OvsdbStorage({
    name,
    path,
    database,
    lock,
    file: (handler) => new AppendFile({ fd, size: end, handler }),
    records,
    baseSize,
    nowMs: options.nowMs ?? Date.now,
    random: options.random ?? Math.random,
  });
  return { database, storage, warnings };
}

/** Lets the others have their turns. */
async function replay(source: FileSource, options: OpenOptions): Promise<Replayed> {
  const { path: name, uuids } = options;
  const steps = replayStandalone({ source, name, sha1, uuids });
  let startMs = performance.now();
  for (;;) {
    const step = readable(name, () => steps.next());
    if (step.done === true) {
      if (!isError(step.value)) return step.value;
      throw new OvsdbFileError('ERR_DATA_FILE_CORRUPT', name, step.value);
    }
    if (performance.now() - startMs < SLICE_MS) continue;
    await new Promise((next) => setImmediate(next));
    startMs = performance.now();
  }
}

/** What the system says while reading, as an error of this file. */
function readable<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) throw ioError(name, 'read failed', error);
    throw error;
  }
}

function damaged(name: string, problem: ReplayProblem, validFrom: number): OvsdbFileError {
  const error: OvsdbError = plainError(
    `${name}: damaged at offset ${problem.offset} (${problem.error}), and valid records follow ` +
      `from offset ${validFrom} on; the file was left as it is`,
  );
  return new OvsdbFileError('ERR_DATA_FILE_CORRUPT', name, error);
}

/** Keeps what is behind the last good record and says where; the storage then cuts it off. */
function dropTail(
  options: OpenOptions,
  fd: number,
  source: FileSource,
  problem: ReplayProblem,
): OpenWarning {
  const { path: name } = options;
  const count = source.size - problem.offset;
  const what = `${name}: dropped ${count} bytes from offset ${problem.offset} on`;
  const lost = problem.validFrom === null ? '' : ', valid records among them';
  try {
    const copy = copyTail(source, fs.fstatSync(fd).mode, followLinks(name), problem.offset);
    fs.ftruncateSync(fd, problem.offset);
    return { level: 'WARN', text: `${what}${lost}; a copy of them is ${copy}` };
  } catch (error) {
    // What follows damage goes nowhere before there is a copy of it.
    if (problem.validFrom !== null) {
      throw ioError(name, 'cannot keep a copy of what follows the damage', error);
    }
    const reason = `no copy of them could be kept (${glibcErrorText(error)})`;
    return { level: 'WARN', text: `${what}; ${reason}` };
  }
}

function copyTail(source: FileSource, mode: number, target: string, offset: number): string {
  const { fd, path } = createBeside(`${target}.dropped-${offset}`, mode & 0o777);
  try {
    for (let at = offset; at < source.size; at += COPY_SIZE) {
      const bytes = source.read(at, Math.min(COPY_SIZE, source.size - at));
      for (let done = 0; done < bytes.length; ) done += fs.writeSync(fd, bytes, done);
    }
    fs.fsyncSync(fd);
    return path;
  } catch (error) {
    fs.rmSync(path, { force: true });
    throw error;
  } finally {
    fs.closeSync(fd);
  }
}

/** A new file of this name, or of one like it when there is such a file already. */
function createBeside(path: string, mode: number): { fd: number; path: string } {
  for (let i = 1; ; i++) {
    const candidate = i === 1 ? path : `${path}-${i}`;
    try {
      return { fd: fs.openSync(candidate, 'wx', mode), path: candidate };
    } catch (error) {
      if (!fs.existsSync(candidate)) throw error;
    }
  }
}
