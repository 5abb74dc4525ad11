/**
 * One writer per data file. Two replicas on one file would destroy it, and they do get started:
 * twice by hand, by a supervisor that lost track, by two containers on one volume.
 *
 * On Linux the lock is an abstract unix socket named by device and inode. The kernel frees it with
 * the process, kill -9 included, so it can never be stale, and whoever finds it taken connects to
 * learn the holder's process id. Abstract names end at a network namespace, and other platforms
 * have none: there a file beside the data file names the holder (see `lock-file.ts`).
 */
import fs from 'node:fs';
import net from 'node:net';
import { assert } from '../stdx/index.ts';
import { DataFileLockedError, fromSystemError, systemCode } from './errors.ts';
import { LockFile } from './lock-file.ts';

export interface FileLockOptions {
  /** The data file, which exists. */
  readonly path: string;
  /** Called when another process has taken the file over: stop writing at once. */
  readonly onLost?: () => void;
  /** Defaults to this platform; anything but `linux` does without the socket. */
  readonly platform?: string;
}

export interface FileLock {
  /** Gives the file free. */
  release(): Promise<void>;
}

const ATTEMPTS_MAX = 20;
const RETRY_MS = 10;
const ANSWER_TIMEOUT_MS = 500;

/**
 * Locks the data file for this process.
 * @throws DataFileLockedError naming the holder, DataFileMissingError
 */
export async function acquireFileLock(options: FileLockOptions): Promise<FileLock> {
  const platform = options.platform ?? process.platform;
  const path = realPath(options.path);
  const socket = platform === 'linux' ? await acquireSocket(path) : null;
  try {
    const file = await LockFile.acquire({
      path,
      settle: socket === null,
      onLost: options.onLost ?? (() => {}),
    });
    return new HeldLock(socket, file);
  } catch (error) {
    if (socket !== null) await closeServer(socket);
    throw error;
  }
}

class HeldLock implements FileLock {
  readonly #socket: net.Server | null;
  readonly #file: LockFile | null;
  #released: boolean = false;

  constructor(socket: net.Server | null, file: LockFile | null) {
    this.#socket = socket;
    this.#file = file;
  }

  async release(): Promise<void> {
    if (this.#released) return;
    this.#released = true;
    await this.#file?.release();
    if (this.#socket !== null) await closeServer(this.#socket);
  }
}

/** The name that all paths to the same file share, as far as this namespace goes. */
function abstractName(path: string): string {
  const { dev, ino } = fs.statSync(path, { bigint: true });
  return `\0roundelay/${dev}/${ino}`;
}

async function acquireSocket(path: string): Promise<net.Server> {
  const name = abstractName(path);
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const server = await listen(name);
    if (server !== null) return server;
    const pid = await askHolder(name);
    // Refused: the holder ended between our two calls. The name is free, or taken by a third.
    if (pid !== 'gone') throw new DataFileLockedError(path, pid);
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
  throw new DataFileLockedError(path, null);
}

/** Takes the name and answers every connection with our process id; `null` when it is taken. */
function listen(name: string): Promise<net.Server | null> {
  assert(name.startsWith('\0'), 'FileLock: not an abstract name');
  return new Promise((resolve, reject) => {
    const server = net.createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.end(`${process.pid}\n`);
      socket.resume();
    });
    server.once('error', (error) => {
      if (systemCode(error) === 'EADDRINUSE') resolve(null);
      else reject(error);
    });
    server.listen({ path: name }, () => {
      // The lock alone must not keep a process alive.
      server.unref();
      resolve(server);
    });
  });
}

/** The holder's process id, `null` when it does not say, `gone` when there is none any more. */
function askHolder(name: string): Promise<number | null | 'gone'> {
  return new Promise((resolve) => {
    let text = '';
    const socket = net.connect({ path: name });
    const timer = setTimeout(() => finish(null), ANSWER_TIMEOUT_MS);
    const finish = (result: number | null | 'gone'): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(result);
    };
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      text += chunk;
      if (text.includes('\n') || text.length > 16) finish(parsePid(text));
    });
    socket.on('end', () => finish(parsePid(text)));
    socket.on('error', (error) => finish(systemCode(error) === 'ECONNREFUSED' ? 'gone' : null));
  });
}

function parsePid(text: string): number | null {
  return /^\d{1,10}\n$/.test(text) ? Number(text) : null;
}

function closeServer(server: net.Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}

function realPath(path: string): string {
  try {
    return fs.realpathSync(path);
  } catch (error) {
    throw fromSystemError(error, path);
  }
}
