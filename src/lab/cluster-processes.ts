/**
 * The replicas of one cluster as processes on this machine, started through the program's own
 * command on data files that exist. Processes are ended by their ids, and end by themselves when
 * this process is gone, even by kill -9: each watches a pipe that only this process holds.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { connect } from 'node:net';
import { type ReplicaReport, requestStatus } from '../client/index.ts';
import { assert } from '../stdx/index.ts';
import { TemporaryClusterError } from './errors.ts';

/** How to start the program: `roundelay` of this package, unless told otherwise. */
export interface Launcher {
  readonly executable: string;
  /** Come before the command's own arguments. */
  readonly arguments: readonly string[];
}

export interface ClusterProcessesOptions {
  readonly launcher: Launcher;
  /** Data files, in the order of the replicas. */
  readonly files: readonly string[];
  /** In the same order; 0, for a single replica only: the system chooses. */
  readonly ports: readonly number[];
  /** More arguments of `start`. */
  readonly flags?: readonly string[];
  readonly cluster?: bigint;
  /** A line that a replica has printed, on either stream. */
  readonly onLine?: (replica: number, line: string) => void;
  /** A replica has ended without being asked to; `how` is a code, a signal or its last error. */
  readonly onDeath?: (replica: number, how: ProcessEnd) => void;
}

export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The last error that it printed, without `error: `; empty when there is none. */
  readonly error: string;
}

interface Slot {
  readonly replica: number;
  child: ChildProcess | null;
  isEnding: boolean;
  isPaused: boolean;
}

const START_TIMEOUT_MS = 30_000;
const READY_TIMEOUT_MS = 30_000;
const STATUS_TIMEOUT_MS = 500;
const STOP_TIMEOUT_MS = 3_000;
/** Known to bin/roundelay.js: the descriptor of the pipe that a child watches. */
const PARENT_PIPE = 'ROUNDELAY_PARENT_PIPE';

export class ClusterProcesses {
  readonly #options: ClusterProcessesOptions;
  readonly #ports: number[];
  readonly #slots: readonly Slot[];
  /** For good: nobody waits any more. */
  #isStopped: boolean = false;

  constructor(options: ClusterProcessesOptions) {
    const { files, ports } = options;
    assert(files.length === ports.length && files.length > 0, 'ClusterProcesses: files and ports');
    assert(files.length === 1 || !ports.includes(0), 'ClusterProcesses: ports must be known');
    this.#options = options;
    this.#ports = [...ports];
    this.#slots = files.map((_, replica) => ({
      replica,
      child: null,
      isEnding: false,
      isPaused: false,
    }));
  }

  /** For `--addresses` and for clients. */
  get addresses(): string {
    return this.#ports.map((port) => `127.0.0.1:${port}`).join(',');
  }

  /** Of the replicas, in order; 0 for one that is not running. */
  get pids(): readonly number[] {
    return this.#slots.map(({ child }) => child?.pid ?? 0);
  }

  /**
   * Starts a replica, on `addresses` if it is to see others elsewhere; resolves when it listens.
   */
  async start(replica: number, addresses: string = this.addresses): Promise<void> {
    const slot = this.#slot(replica);
    assert(slot.child === null, 'ClusterProcesses: the replica runs already');
    const { launcher, files, flags = [] } = this.#options;
    const own = this.#ports.length === 1 ? String(this.#ports[0]) : addresses;
    const parameters = ['start', `--addresses=${own}`, ...flags, files[replica]];
    const child = spawn(launcher.executable, [...launcher.arguments, ...parameters], {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      env: { ...process.env, [PARENT_PIPE]: '3' },
    });
    slot.child = child;
    slot.isEnding = false;
    slot.isPaused = false;
    const output = this.#collect(slot, child);
    this.#ports[replica] = await listening(child, this.#ports[replica], output);
  }

  /** Starts all that do not run, at once; resolves when all listen. */
  async startAll(): Promise<void> {
    const missing = this.#slots.filter(({ child }) => child === null);
    await Promise.all(missing.map(({ replica }) => this.start(replica)));
  }

  /** SIGKILL, no goodbye, unless told otherwise. Resolves when the process is gone. */
  async end(replica: number, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const slot = this.#slot(replica);
    const { child } = slot;
    slot.isEnding = true;
    if (child === null) return;
    const exited = new Promise<void>((done) => child.once('close', () => done()));
    child.kill(signal);
    if (slot.isPaused) child.kill('SIGCONT');
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await exited;
    clearTimeout(timer);
  }

  /** SIGSTOP: it stands still, with its connections open. */
  pause(replica: number): void {
    const slot = this.#slot(replica);
    assert(slot.child !== null, 'ClusterProcesses: the replica does not run');
    slot.isPaused = slot.child.kill('SIGSTOP');
  }

  resume(replica: number): void {
    const slot = this.#slot(replica);
    assert(slot.child !== null && slot.isPaused, 'ClusterProcesses: the replica is not paused');
    slot.isPaused = !slot.child.kill('SIGCONT');
  }

  /** Of each replica, in order; `null`: it does not answer, or another process does at its port. */
  statuses(): Promise<(ReplicaReport | null)[]> {
    const cluster = this.#options.cluster ?? 0n;
    return Promise.all(
      this.#slots.map(async ({ child, isPaused, replica }) => {
        if (child === null || isPaused) return null;
        const address = { host: '127.0.0.1', port: this.#ports[replica] };
        const options = { address, cluster, timeoutMs: STATUS_TIMEOUT_MS };
        const report = await requestStatus(options).catch(() => null);
        return report?.['pid'] === child.pid ? report : null;
      }),
    );
  }

  /** Index of the replica that leads the newest view, or `null`: there is none now. */
  async primary(): Promise<number | null> {
    return primaryOf(await this.statuses());
  }

  /**
   * Resolves with the primary when the cluster serves: it has one, and every replica that runs has
   * joined it.
   */
  async ready(timeoutMs: number = READY_TIMEOUT_MS): Promise<number> {
    const deadlineMs = performance.now() + timeoutMs;
    for (;;) {
      if (this.#isStopped) throw new TemporaryClusterError('stopped before it was ready');
      const statuses = await this.statuses();
      const primary = primaryOf(statuses);
      const view = primary === null ? null : statuses[primary]?.['view'];
      const running = statuses.filter((_, replica) => {
        const { child, isPaused } = this.#slot(replica);
        return child !== null && !isPaused;
      });
      if (primary !== null && running.every((status) => hasJoined(status, view))) return primary;
      if (performance.now() > deadlineMs) {
        const found = statuses.map((one) => `${one?.['role'] ?? 'no answer'} ${one?.['view']}`);
        throw new TemporaryClusterError(`not ready in ${timeoutMs} ms: ${found.join(', ')}`);
      }
      await new Promise((done) => setTimeout(done, 20));
    }
  }

  /** Ends all processes as an operator would. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#slots.map(({ replica }) => this.end(replica, 'SIGTERM')));
  }

  /** Synchronous, so that it can run while this process exits. */
  destroy(): void {
    for (const slot of this.#slots) {
      slot.isEnding = true;
      slot.child?.kill('SIGKILL');
    }
  }

  #slot(replica: number): Slot {
    const slot = this.#slots[replica];
    assert(slot !== undefined, 'ClusterProcesses: no such replica');
    return slot;
  }

  /** Gathers what a child prints, and notices its end. */
  #collect(slot: Slot, child: ChildProcess): Output {
    const output = { stdout: '', stderr: '' };
    const { onLine, onDeath } = this.#options;
    for (const name of ['stdout', 'stderr'] as const) {
      let rest = '';
      child[name]?.on('data', (chunk: Buffer) => {
        const text = chunk.toString();
        output[name] = (output[name] + text).slice(-4000);
        const lines = (rest + text).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) onLine?.(slot.replica, line);
      });
    }
    child.once('close', (code, signal) => {
      if (slot.child === child) slot.child = null;
      if (slot.isEnding) return;
      onDeath?.(slot.replica, { code, signal, error: lastError(output.stderr) });
    });
    return output;
  }
}

interface Output {
  readonly stdout: string;
  readonly stderr: string;
}

/** How a process ended, in a few words. */
export function endText({ code, signal, error }: ProcessEnd): string {
  return error === '' ? `ended with ${signal ?? code}` : error;
}

function primaryOf(statuses: readonly (ReplicaReport | null)[]): number | null {
  let best: number | null = null;
  let viewBest = -1;
  for (const [replica, status] of statuses.entries()) {
    const view = Number(status?.['view'] ?? -1);
    if (status?.['role'] !== 'primary' || view <= viewBest) continue;
    best = replica;
    viewBest = view;
  }
  return best;
}

function hasJoined(status: ReplicaReport | null, view: unknown): boolean {
  const role = status?.['role'];
  return (role === 'primary' || role === 'backup') && status?.['view'] === view;
}

/**
 * Resolves with the port when clients can connect: with `port` 0 the server prints the one it got,
 * otherwise a connection is tried until it stands.
 */
function listening(child: ChildProcess, port: number, output: Output): Promise<number> {
  return new Promise((done, fail) => {
    const finish = (error: Error | null, portFound: number): void => {
      clearTimeout(timer);
      clearInterval(poll);
      if (error === null) done(portFound);
      else fail(error);
    };
    const timer = setTimeout(() => {
      finish(new TemporaryClusterError(`start: not ready within ${START_TIMEOUT_MS} ms`), 0);
    }, START_TIMEOUT_MS);
    const poll = setInterval(() => {
      const printed = /^(\d+)\n/.exec(output.stdout)?.[1];
      if (port !== 0) tryConnect(port, () => finish(null, port));
      else if (printed !== undefined) finish(null, Number(printed));
    }, 5);
    child.once('error', (error) => finish(error, 0));
    child.once('close', (code, signal) => {
      const end = { code, signal, error: lastError(output.stderr) };
      finish(new TemporaryClusterError(`start: ${endText(end)}`), 0);
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
export function lastError(text: string): string {
  const errors = text.split('\n').filter((line) => line.startsWith('error: '));
  return errors.at(-1)?.slice('error: '.length) ?? '';
}
