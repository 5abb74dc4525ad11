/**
 * Creates a data file: all of it or nothing. The contents go to a temporary name beside it, are
 * synced, and only then get the real name by a hard link, which fails when the name is taken. So an
 * existing file is never overwritten, a full disk or a kill leaves no half file under the real
 * name, and two creators cannot both win.
 */
import fs from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { assert } from '../stdx/index.ts';
import {
  DataFileError,
  DataFileExistsError,
  fromSystemError,
  ReadOnlyError,
  type RoundelayError,
  systemCode,
} from './errors.ts';

/** One piece of a new file; `bytes` may be reused once the next piece is asked for. */
export interface FilePiece {
  readonly offset: number;
  readonly bytes: Uint8Array;
}

export interface CreateOptions {
  readonly path: string;
  /** Size of the finished file, bytes: for messages, and checked against the pieces. */
  readonly sizeBytes: number;
  readonly pieces: Iterable<FilePiece>;
  /** Permission bits; whatever the umask, nobody else reads a ledger. */
  readonly mode?: number;
}

const SUFFIX = '.formatting';

/** Temporary files that this process is writing: not left over, whatever their name says. */
const inProgress: Set<string> = new Set();
let sequence = 0;

/**
 * Writes all pieces and syncs file and folder.
 * @throws DataFileExistsError, ReadOnlyError, NoSpaceError, DataFileError (`ERR_DATA_FILE_MISSING`:
 * its folder is)
 */
export async function createDataFile(options: CreateOptions): Promise<void> {
  const { path } = options;
  assert(options.sizeBytes > 0, 'createDataFile: empty file');
  if (fs.existsSync(path)) throw new DataFileExistsError(path);
  removeLeftovers(path);
  sequence += 1;
  const temporary = `${path}.${process.pid}-${sequence}${SUFFIX}`;
  inProgress.add(temporary);
  try {
    await writeTemporary(temporary, options);
    publish(temporary, path);
    syncFolder(dirname(path));
  } catch (error) {
    throw createError(error, path, options.sizeBytes);
  } finally {
    removeQuietly(temporary);
    inProgress.delete(temporary);
  }
}

async function writeTemporary(temporary: string, options: CreateOptions): Promise<void> {
  const mode = options.mode ?? 0o600;
  const fd = fs.openSync(temporary, 'wx', mode);
  try {
    fs.fchmodSync(fd, mode);
    let end = 0;
    for (const { offset, bytes } of options.pieces) {
      assert(bytes.length > 0, 'createDataFile: empty piece');
      await writePiece(fd, offset, bytes);
      end = Math.max(end, offset + bytes.length);
    }
    assert(end === options.sizeBytes, 'createDataFile: the pieces do not make up the file');
    await new Promise<void>((resolve, reject) => {
      fs.fdatasync(fd, (error) => (error === null ? resolve() : reject(error)));
    });
  } finally {
    fs.closeSync(fd);
  }
}

async function writePiece(fd: number, offset: number, bytes: Uint8Array): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    written += await new Promise<number>((resolve, reject) => {
      fs.write(fd, bytes, written, bytes.length - written, offset + written, (error, count) => {
        if (error === null) resolve(count);
        else reject(error);
      });
    });
  }
}

/** Gives the finished file its name, unless somebody was faster. */
function publish(temporary: string, path: string): void {
  try {
    fs.linkSync(temporary, path);
  } catch (error) {
    const code = systemCode(error);
    const noLinks = code === 'EPERM' || code === 'ENOTSUP' || code === 'EOPNOTSUPP';
    if (!noLinks) throw error;
    // A file system without hard links: the check and the rename are two steps there.
    if (fs.existsSync(path)) throw new DataFileExistsError(path);
    fs.renameSync(temporary, path);
  }
}

/** Makes the new name durable; where folders cannot be synced, the name is as good as it gets. */
function syncFolder(folder: string): void {
  let fd: number;
  try {
    fd = fs.openSync(folder, 'r');
  } catch {
    return;
  }
  try {
    fs.fsyncSync(fd);
  } catch (error) {
    if (systemCode(error) === 'EIO') throw error;
  } finally {
    fs.closeSync(fd);
  }
}

/** Removes what creators that were killed have left behind, so that a retry finds the space. */
function removeLeftovers(path: string): void {
  const prefix = `${basename(path)}.`;
  let names: string[];
  try {
    names = fs.readdirSync(dirname(path));
  } catch {
    return;
  }
  for (const name of names) {
    if (!name.startsWith(prefix) || !name.endsWith(SUFFIX)) continue;
    const match = /^([1-9]\d{0,9})-\d+$/.exec(name.slice(prefix.length, -SUFFIX.length));
    if (match === null) continue;
    const leftover = join(dirname(path), name);
    const pid = Number(match[1]);
    // In containers every creator may have the same process id, so our own proves nothing.
    if (pid === process.pid ? inProgress.has(leftover) : isAlive(pid)) continue;
    removeQuietly(leftover);
  }
}

function removeQuietly(path: string): void {
  try {
    fs.rmSync(path, { force: true });
  } catch {
    // It costs space, nothing else.
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemCode(error) === 'EPERM';
  }
}

function createError(error: unknown, path: string, sizeBytes: number): RoundelayError {
  const folder = dirname(path);
  switch (systemCode(error)) {
    case 'ENOENT':
      return folderMissing(path, `folder ${folder} does not exist`);
    case 'ENOTDIR':
      return folderMissing(path, `${folder} is not a folder`);
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new ReadOnlyError(folder, { cause: error });
    default:
      return fromSystemError(error, path, sizeBytes);
  }
}

function folderMissing(path: string, message: string): DataFileError {
  return new DataFileError('ERR_DATA_FILE_MISSING', path, `cannot create ${path}: ${message}`);
}
