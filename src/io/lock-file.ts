/**
 * The second half of the file lock: `<data file>.lock`, which names its holder by process id and
 * start time. A process id alone is no proof, since ids are used again; with the start time it is,
 * so a file left by kill -9 or by a power cut never blocks.
 *
 * Across process namespaces (two containers on one volume) neither can be checked. There the holder
 * is believed as long as it keeps touching the file, and a holder that finds another name in it
 * (it was frozen, and the rest of the world moved on) stops writing.
 */
import fs from 'node:fs';
import { hostname } from 'node:os';
import { DataFileLockedError, ReadOnlyError, systemCode } from './errors.ts';

interface Holder {
  readonly pid: number;
  /** In whatever unit the system has; compared for equality only. `null`: unknown. */
  readonly startTime: string | null;
  /** One start of one machine. */
  readonly boot: string | null;
  /** What a process id means something in. */
  readonly namespace: string | null;
  /** Which acquisition by that process. */
  readonly token: string;
}

export interface LockFileOptions {
  /** The data file. */
  readonly path: string;
  /**
   * Look again a moment later: there is no other lock that keeps two takers of a stale one apart.
   */
  readonly settle: boolean;
  readonly onLost: () => void;
}

const TOUCH_INTERVAL_MS = 1_000;
/** Longer than a holder goes without touching, shorter than anybody's patience. */
const WATCH_MS = 2_500;
const WATCH_STEP_MS = 50;
/** Older than this needs no watching. */
const STALE_MS = 10_000;
const SETTLE_MS = 50;

export class LockFile {
  readonly #path: string;
  readonly #self: Holder;
  readonly #onLost: () => void;
  readonly #timer: NodeJS.Timeout;

  /**
   * `null` where the file cannot be written and another lock does (not `settle`).
   * @throws DataFileLockedError, ReadOnlyError
   */
  static async acquire(options: LockFileOptions): Promise<LockFile | null> {
    const path = `${options.path}.lock`;
    const self = describeSelf();
    const other = readHolder(path);
    if (other !== null && (await isAlive(other, self, path))) {
      throw new DataFileLockedError(options.path, other.pid);
    }
    if (!writeHolder(path, self)) {
      if (options.settle) throw new ReadOnlyError(path);
      return null;
    }
    if (options.settle) {
      await sleep(SETTLE_MS);
      const winner = readHolder(path);
      if (winner !== null && winner.token !== self.token) {
        throw new DataFileLockedError(options.path, winner.pid);
      }
    }
    return new LockFile(path, self, options.onLost);
  }

  private constructor(path: string, self: Holder, onLost: () => void) {
    this.#path = path;
    this.#self = self;
    this.#onLost = onLost;
    this.#timer = setInterval(() => this.#touch(), TOUCH_INTERVAL_MS);
    this.#timer.unref();
  }

  release(): Promise<void> {
    clearInterval(this.#timer);
    if (readHolder(this.#path)?.token === this.#self.token) fs.rmSync(this.#path, { force: true });
    return Promise.resolve();
  }

  /** Asynchronous throughout: a disk that hangs must not stop the replica from talking. */
  #touch(): void {
    fs.readFile(this.#path, 'utf8', (error, text) => {
      if (systemCode(error) === 'ENOENT') {
        writeHolder(this.#path, this.#self);
        return;
      }
      if (error !== null) return;
      const holder = parseHolder(text);
      if (holder !== null && holder.token !== this.#self.token) {
        clearInterval(this.#timer);
        this.#onLost();
        return;
      }
      const now = new Date();
      fs.utimes(this.#path, now, now, () => {});
    });
  }
}

async function isAlive(other: Holder, self: Holder, path: string): Promise<boolean> {
  if (other.boot === self.boot && other.namespace === self.namespace) {
    const found = lookUp(other.pid);
    if (found === 'none') return false;
    if (found !== null && other.startTime !== null) return found === other.startTime;
  }
  return await isTouched(path);
}

/** Whether somebody keeps the file fresh. */
async function isTouched(path: string): Promise<boolean> {
  const first = modifiedMs(path);
  if (first === null || Date.now() - first > STALE_MS) return false;
  for (let waited = 0; waited < WATCH_MS; waited += WATCH_STEP_MS) {
    await sleep(WATCH_STEP_MS);
    if (modifiedMs(path) !== first) return modifiedMs(path) !== null;
  }
  return false;
}

function describeSelf(): Holder {
  const found = lookUp(process.pid);
  return {
    pid: process.pid,
    startTime: found === 'none' ? null : found,
    boot: readText('/proc/sys/kernel/random/boot_id') ?? hostname(),
    namespace: readLink('/proc/self/ns/pid'),
    token: `${process.pid}-${Date.now()}-${process.hrtime().join('.')}`,
  };
}

/** When the process started, `none` if there is no such process, `null` if that cannot be told. */
function lookUp(pid: number): string | 'none' | null {
  const stat = readText(`/proc/${pid}/stat`);
  if (stat !== null) {
    // The name in parentheses may hold anything; the state is the first field after it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return 'none';
    return fields[19] ?? null;
  }
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (systemCode(error) === 'ESRCH') return 'none';
  }
  if (process.platform === 'win32') return null;
  try {
    const options = { encoding: 'utf8', stdio: 'pipe', timeout: 2_000 } as const;
    // Loaded only where there is no /proc.
    const { execFileSync } = process.getBuiltinModule('node:child_process');
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], options).trim() || null;
  } catch {
    return null;
  }
}

function readHolder(path: string): Holder | null {
  const text = readText(path);
  return text === null ? null : parseHolder(text);
}

/** What is not a holder (cut by a power failure, written by a person) locks nothing. */
function parseHolder(text: string): Holder | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const { pid, startTime, boot, namespace, token } = { ...empty, ...value };
  if (typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid <= 0) return null;
  if (typeof token !== 'string') return null;
  return {
    pid,
    startTime: textOrNull(startTime),
    boot: textOrNull(boot),
    namespace: textOrNull(namespace),
    token,
  };
}

const empty: { readonly [K in keyof Holder]: unknown } = {
  pid: null,
  startTime: null,
  boot: null,
  namespace: null,
  token: null,
};

/** Replaces the file as a whole; false where it cannot be written. */
function writeHolder(path: string, holder: Holder): boolean {
  const temporary = `${path}.${holder.token}`;
  try {
    fs.writeFileSync(temporary, `${JSON.stringify(holder)}\n`, { mode: 0o600, flag: 'wx' });
    fs.renameSync(temporary, path);
    return true;
  } catch {
    try {
      fs.rmSync(temporary, { force: true });
    } catch {
      // It was not written, or the folder became read-only meanwhile.
    }
    return false;
  }
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function readText(path: string): string | null {
  try {
    return fs.readFileSync(path, 'utf8').trim();
  } catch {
    return null;
  }
}

function readLink(path: string): string | null {
  try {
    return fs.readlinkSync(path);
  } catch {
    return null;
  }
}

function modifiedMs(path: string): number | null {
  try {
    return fs.statSync(path).mtimeMs;
  } catch {
    return null;
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
