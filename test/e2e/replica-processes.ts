/**
 * Three real replicas of any machine on either engine, each a process on files of its own, in a
 * folder that goes away again whatever happens.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ReplicaReport } from '../../src/client/index.ts';
import { ClusterProcesses, endText, freePorts } from '../../src/lab/index.ts';

export type EngineName = 'vsr' | 'raft';
export const ENGINES: readonly EngineName[] = ['vsr', 'raft'];

export interface ReplicaProcessesOptions {
  readonly engine: EngineName;
  /** Name of a machine, see `replica-machines`. */
  readonly machine: string;
  /** Default: 3. */
  readonly replicaCount?: number;
  /** Small files, small requests. */
  readonly isSmall?: boolean;
  /** Folder in which the temporary one is made. Default: the system's. */
  readonly directory?: string;
}

/** What a replica says of how far it is. */
export interface ReplicaState {
  readonly commit: number;
  readonly digest: string;
}

const LINES_MAX = 200;
const POLL_MS = 20;

export class ReplicaProcesses {
  /** What each replica has printed lately, in order. */
  readonly lines: readonly string[][];
  readonly replicaCount: number;
  /** Why a replica has ended that nobody had ended. */
  readonly deaths: string[] = [];
  /** Where the files are, a folder for each replica. */
  readonly directory: string;
  /** The files stay when all is over: somebody wants to look at them. */
  isKept: boolean = false;
  readonly #processes: ClusterProcesses;
  readonly #onExit = (): void => this.#destroy();

  private constructor(ports: readonly number[], options: ReplicaProcessesOptions) {
    const { engine, machine, directory = tmpdir() } = options;
    this.replicaCount = ports.length;
    this.lines = ports.map(() => []);
    this.directory = mkdtempSync(join(directory, 'roundelay-'));
    const files = ports.map((_, replica) => join(this.directory, String(replica)));
    for (const file of files) mkdirSync(file);
    const script = join(import.meta.dirname, 'serve-replica.ts');
    this.#processes = new ClusterProcesses({
      launcher: { executable: process.execPath, arguments: [script, engine, machine] },
      files,
      ports,
      flags: options.isSmall === true ? ['--development'] : [],
      onLine: (replica, line) => {
        const lines = this.lines[replica] ?? [];
        lines.push(line);
        if (lines.length > LINES_MAX) lines.shift();
      },
      onDeath: (replica, end) => this.deaths.push(`replica ${replica}: ${endText(end)}`),
    });
    process.on('exit', this.#onExit);
  }

  /** Resolves when clients are served. */
  static async start(options: ReplicaProcessesOptions): Promise<ReplicaProcesses> {
    const cluster = new ReplicaProcesses(await freePorts(options.replicaCount ?? 3), options);
    try {
      await cluster.#processes.startAll();
      await cluster.ready();
      return cluster;
    } catch (error) {
      cluster.tell();
      await cluster.stop();
      throw error;
    }
  }

  /** For clients: all, in order. */
  get addresses(): string {
    return this.#processes.addresses;
  }

  get pids(): readonly number[] {
    return this.#processes.pids;
  }

  statuses(): Promise<(ReplicaReport | null)[]> {
    return this.#processes.statuses();
  }

  /** Index of the leader; `null`: there is none now. */
  leader(): Promise<number | null> {
    return this.#processes.primary();
  }

  /** Resolves with the leader when all that run follow it. */
  ready(timeoutMs?: number): Promise<number> {
    return this.#processes.ready(timeoutMs);
  }

  /**
   * Resolves when all follow one leader and none has executed `opsMax` operations less than
   * another: with whether that was so within the limit.
   */
  async untilClose(opsMax: number, limitMs: number): Promise<boolean> {
    const deadlineMs = performance.now() + limitMs;
    for (;;) {
      await this.ready();
      const commits = (await this.statuses()).map((one) => Number(one?.['commitMin'] ?? 0));
      if (Math.max(...commits) - Math.min(...commits) < opsMax) return true;
      if (performance.now() > deadlineMs) return false;
      await new Promise((done) => setTimeout(done, POLL_MS));
    }
  }

  /** SIGKILL. Resolves when the process is gone. */
  kill(replica: number): Promise<void> {
    return this.#processes.end(replica);
  }

  /** On its files, at its port; resolves when it listens. */
  restart(replica: number): Promise<void> {
    return this.#processes.start(replica);
  }

  /**
   * Resolves when all have executed the same, with the same answers; rejects when they never do.
   */
  async untilAgreed(limitMs: number): Promise<ReplicaState> {
    const deadlineMs = performance.now() + limitMs;
    for (;;) {
      const statuses = await this.statuses();
      const states = statuses.map((one) => `${one?.['commitMin']} ${one?.['digest']}`);
      const [first] = statuses;
      if (first !== null && first !== undefined && new Set(states).size === 1) {
        return { commit: Number(first['commitMin']), digest: String(first['digest']) };
      }
      if (performance.now() > deadlineMs) {
        throw new Error(`not of one mind in ${limitMs} ms: ${states.join(', ')}`);
      }
      await new Promise((done) => setTimeout(done, POLL_MS));
    }
  }

  /** Prints what the replicas have said lately. */
  tell(): void {
    for (const [replica, lines] of this.lines.entries()) {
      console.error(`replica ${replica}:\n${lines.slice(-30).join('\n')}`);
    }
    for (const death of this.deaths) console.error(death);
  }

  async stop(): Promise<void> {
    await this.#processes.stop();
    this.#destroy();
    process.off('exit', this.#onExit);
  }

  #destroy(): void {
    this.#processes.destroy();
    if (!this.isKept) rmSync(this.directory, { recursive: true, force: true });
  }
}
