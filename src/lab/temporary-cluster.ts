/**
 * A ledger for the length of a benchmark or a test: real processes, started through the program's
 * own command, on data files in a folder that goes away again. Whatever happens to the caller short
 * of kill -9, the processes are ended by their ids and the folder is removed.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { assert } from '../stdx/index.ts';
import { folderError, TemporaryClusterError } from './errors.ts';

/** How to start the program: `roundelay` of this package, unless told otherwise. */
export interface Launcher {
  readonly executable: string;
  /** Come before the command's own arguments. */
  readonly arguments: readonly string[];
}

export interface TemporaryClusterOptions {
  /** Folder in which the temporary one is made. Default: the system's. */
  readonly directory?: string;
  /** Small files, small requests. */
  readonly development?: boolean;
  readonly launcher?: Launcher;
}

const READY_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 3000;

/** The program that this module belongs to, run by the Node that runs this. */
export function ownLauncher(): Launcher {
  const program = resolve(import.meta.dirname, '../../bin/roundelay.js');
  return { executable: process.execPath, arguments: [program] };
}

export class TemporaryCluster {
  readonly directory: string;
  /** Of the replicas, in order. */
  readonly files: readonly string[];
  readonly #launcher: Launcher;
  readonly #onExit: () => void = () => this.#destroy();
  #child: ChildProcess | null = null;
  #port: number = 0;
  #isEnding: boolean = false;
  readonly #failed: AbortController = new AbortController();

  private constructor(directory: string, launcher: Launcher) {
    this.directory = directory;
    this.files = [join(directory, '0_0.roundelay')];
    this.#launcher = launcher;
    process.on('exit', this.#onExit);
  }

  /** Formats and starts; resolves when clients can connect. */
  static async start(options: TemporaryClusterOptions = {}): Promise<TemporaryCluster> {
    const parent = options.directory ?? tmpdir();
    const directory = makeFolder(parent);
    const cluster = new TemporaryCluster(directory, options.launcher ?? ownLauncher());
    try {
      cluster.#format(options.development ?? false);
      await cluster.startReplica();
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  /** For `--addresses` and for clients. */
  get addresses(): string {
    return `127.0.0.1:${this.#port}`;
  }

  /** Of the replicas, in order; 0 for one that is not running. */
  get pids(): readonly number[] {
    return [this.#child?.pid ?? 0];
  }

  /** Aborts, with a `TemporaryClusterError`, when the replica ends without being asked to. */
  get failed(): AbortSignal {
    return this.#failed.signal;
  }

  /** Starts the replica (again, on the port of its first life). */
  async startReplica(): Promise<void> {
    assert(this.#child === null, 'TemporaryCluster: the replica runs already');
    const parameters = ['start', `--addresses=${this.#port}`, ...this.files];
    const { executable, arguments: leading } = this.#launcher;
    const child = spawn(executable, [...leading, ...parameters], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    this.#isEnding = false;
    this.#port = await ready(child, this.#port);
    let errors = '';
    child.stderr.on('data', (chunk: Buffer) => {
      errors = (errors + chunk.toString()).slice(-4000);
    });
    child.once('close', (code, signal) => {
      if (this.#child === child) this.#child = null;
      if (this.#isEnding) return;
      const how = lastError(errors) || `ended with ${signal ?? code}`;
      this.#failed.abort(new TemporaryClusterError(`the server ended by itself: ${how}`));
    });
  }

  /** SIGKILL: no goodbye. Resolves when the process is gone. */
  async killReplica(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Ends the processes and removes the folder. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM');
    this.#destroy();
    process.off('exit', this.#onExit);
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    this.#isEnding = true;
    if (child === null) return;
    const exited = new Promise<void>((done) => child.once('close', () => done()));
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await exited;
    clearTimeout(timer);
  }

  /** Synchronous, so that it can run while this process exits. */
  #destroy(): void {
    this.#child?.kill('SIGKILL');
    rmSync(this.directory, { recursive: true, force: true });
  }

  #format(development: boolean): void {
    const parameters = ['format', '--cluster=0', '--replica=0', '--replica-count=1'];
    if (development) parameters.push('--development');
    const { executable, arguments: leading } = this.#launcher;
    const result = spawnSync(executable, [...leading, ...parameters, ...this.files], {
      encoding: 'utf8',
    });
    if (result.status !== 0) throw new TemporaryClusterError(`format: ${lastError(result.stderr)}`);
  }
}

function makeFolder(parent: string): string {
  try {
    return mkdtempSync(join(parent, 'roundelay-'));
  } catch (error) {
    throw folderError(error, parent);
  }
}

/**
 * Resolves with the port when clients can connect: with `port` 0 the server prints the one it got,
 * otherwise a connection is tried until it stands.
 */
function ready(child: ChildProcess, port: number): Promise<number> {
  const { stdout, stderr } = child;
  assert(stdout !== null && stderr !== null, 'ready: no pipes');
  return new Promise((done, fail) => {
    let output = '';
    let errors = '';
    const finish = (error: Error | null, portFound: number): void => {
      clearTimeout(timer);
      clearInterval(poll);
      if (error === null) done(portFound);
      else fail(error);
    };
    const timer = setTimeout(() => {
      finish(new TemporaryClusterError(`start: not ready within ${READY_TIMEOUT_MS} ms`), 0);
    }, READY_TIMEOUT_MS);
    const poll = setInterval(() => {
      if (port !== 0) tryConnect(port, () => finish(null, port));
    }, 5);
    stderr.on('data', (chunk: Buffer) => {
      errors = (errors + chunk.toString()).slice(-4000);
    });
    stdout.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-4000);
      const printed = /^(\d+)\n/.exec(output)?.[1];
      if (port === 0 && printed !== undefined) finish(null, Number(printed));
    });
    child.once('error', (error) => finish(error, 0));
    child.once('exit', (code, signal) => {
      const how = lastError(errors) || `ended with ${signal ?? code}`;
      finish(new TemporaryClusterError(`start: ${how}`), 0);
    });
  });
}

function tryConnect(port: number, onConnected: () => void): void {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => {});
  socket.on('connect', () => {
    socket.destroy();
    onConnected();
  });
}

/** The last error that the program printed; its log is not meant. */
function lastError(text: string): string {
  const errors = text.split('\n').filter((line) => line.startsWith('error: '));
  return errors.at(-1)?.slice('error: '.length) ?? '';
}
