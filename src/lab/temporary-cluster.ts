/**
 * A ledger for the length of a benchmark or a test: real processes, started through the program's
 * own command, on data files in a folder that goes away again. Whatever happens to the caller short
 * of kill -9, the processes are ended by their ids and the folder is removed.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { ReplicaReport } from '../client/index.ts';
import { ClusterProcesses, endText, type Launcher, lastError } from './cluster-processes.ts';
import { folderError, TemporaryClusterError } from './errors.ts';
import { freePorts } from './free-ports.ts';

export interface TemporaryClusterOptions {
  /** Folder in which the temporary one is made. Default: the system's. */
  readonly directory?: string;
  /** 1 to 6. Default 1. */
  readonly replicaCount?: number;
  /** Small files, small requests. */
  readonly development?: boolean;
  /** More arguments of `start`, such as `--topology=ring`. */
  readonly flags?: readonly string[];
  readonly launcher?: Launcher;
}

/** The program that this module belongs to, run by the Node that runs this. */
export function ownLauncher(): Launcher {
  const program = resolve(import.meta.dirname, '../../bin/roundelay.js');
  return { executable: process.execPath, arguments: [program] };
}

export class TemporaryCluster {
  readonly directory: string;
  /** Of the replicas, in order. */
  readonly files: readonly string[];
  /** What each replica has printed lately, in order. */
  readonly lines: readonly string[][];
  readonly #launcher: Launcher;
  readonly #processes: ClusterProcesses;
  readonly #onExit: () => void = () => this.#destroy();
  readonly #failed: AbortController = new AbortController();

  private constructor(
    directory: string,
    ports: readonly number[],
    options: TemporaryClusterOptions,
  ) {
    this.directory = directory;
    this.files = ports.map((_, replica) => join(directory, `0_${replica}.roundelay`));
    this.lines = ports.map(() => []);
    this.#launcher = options.launcher ?? ownLauncher();
    this.#processes = new ClusterProcesses({
      launcher: this.#launcher,
      files: this.files,
      ports,
      ...(options.flags === undefined ? {} : { flags: options.flags }),
      onLine: (replica, line) => {
        const lines = this.lines[replica];
        lines.push(line);
        if (lines.length > 1000) lines.shift();
      },
      onDeath: (_, end) => {
        const text = `the server ended by itself: ${endText(end)}`;
        this.#failed.abort(new TemporaryClusterError(text));
      },
    });
    process.on('exit', this.#onExit);
  }

  /** Formats and starts; resolves when clients are served. */
  static async start(options: TemporaryClusterOptions = {}): Promise<TemporaryCluster> {
    const { replicaCount = 1, development = false } = options;
    const ports = replicaCount === 1 ? [0] : await freePorts(replicaCount);
    const directory = makeFolder(options.directory ?? tmpdir());
    const cluster = new TemporaryCluster(directory, ports, options);
    try {
      await Promise.all(ports.map((_, replica) => cluster.#format(replica, development)));
      await cluster.#processes.startAll();
      if (replicaCount > 1) await cluster.ready();
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  /** For `--addresses` and for clients. */
  get addresses(): string {
    return this.#processes.addresses;
  }

  /** Of the replicas, in order; 0 for one that is not running. */
  get pids(): readonly number[] {
    return this.#processes.pids;
  }

  /** Aborts, with a `TemporaryClusterError`, when a replica ends without being asked to. */
  get failed(): AbortSignal {
    return this.#failed.signal;
  }

  /**
   * Starts a replica again, on the port of its first life; resolves when it listens. `addresses`:
   * where it is told that the others are, if that is not where they are.
   */
  startReplica(replica: number = 0, addresses?: string): Promise<void> {
    return this.#processes.start(replica, addresses);
  }

  /** SIGKILL: no goodbye. Resolves when the process is gone. */
  killReplica(replica: number = 0): Promise<void> {
    return this.#processes.end(replica);
  }

  /** SIGSTOP: it stands still until it is resumed. */
  pauseReplica(replica: number): void {
    this.#processes.pause(replica);
  }

  resumeReplica(replica: number): void {
    this.#processes.resume(replica);
  }

  /** What each replica says of itself, in order; `null`: it does not answer. */
  statuses(): Promise<(ReplicaReport | null)[]> {
    return this.#processes.statuses();
  }

  /** Index of the primary, or `null`: there is none now. */
  primary(): Promise<number | null> {
    return this.#processes.primary();
  }

  /** Resolves with the primary when every replica that runs has joined it. */
  ready(timeoutMs?: number): Promise<number> {
    return this.#processes.ready(timeoutMs);
  }

  /** Ends the processes and removes the folder. */
  async stop(): Promise<void> {
    await this.#processes.stop();
    this.#destroy();
    process.off('exit', this.#onExit);
  }

  /** Synchronous, so that it can run while this process exits. */
  #destroy(): void {
    this.#processes.destroy();
    rmSync(this.directory, { recursive: true, force: true });
  }

  async #format(replica: number, development: boolean): Promise<void> {
    const parameters = [
      'format',
      '--cluster=0',
      `--replica=${replica}`,
      `--replica-count=${this.files.length}`,
      ...(development ? ['--development'] : []),
      this.files[replica],
    ];
    await runToEnd(this.#launcher, parameters);
  }
}

/** Runs a command of the program; rejects with its error when it fails. */
export function runToEnd(launcher: Launcher, parameters: readonly string[]): Promise<void> {
  return new Promise((done, fail) => {
    const child = spawn(launcher.executable, [...launcher.arguments, ...parameters], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let errors = '';
    child.stderr.on('data', (chunk: Buffer) => {
      errors = (errors + chunk.toString()).slice(-4000);
    });
    child.once('error', fail);
    child.once('close', (code, signal) => {
      if (code === 0) return done();
      const how = endText({ code, signal, error: lastError(errors) });
      fail(new TemporaryClusterError(`${parameters[0]}: ${how}`));
    });
  });
}

function makeFolder(parent: string): string {
  try {
    return mkdtempSync(join(parent, 'roundelay-'));
  } catch (error) {
    throw folderError(error, parent);
  }
}
