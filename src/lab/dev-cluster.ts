/**
 * A cluster that stays: data files in a folder, made together when there are none, and a process
 * for each replica for as long as this one lives. A file that is missing beside others is never
 * made anew here: it was lost, and what it had acknowledged may only be forgotten with the consent
 * of the others.
 */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { formatLedger, inspectDataFile } from '../host/index.ts';
import { DataFileMissingError, fromSystemError, ReadOnlyError, systemCode } from '../io/index.ts';
import { assert } from '../stdx/index.ts';
import { ClusterProcesses, endText, type Launcher, type ProcessEnd } from './cluster-processes.ts';
import { TemporaryClusterError } from './errors.ts';

const REPLICAS_MAX = 6;

export interface DevClusterOptions {
  readonly directory: string;
  /** In the order of the replicas; as many as there are. */
  readonly ports: readonly number[];
  /** Make small files; refuse others. */
  readonly development: boolean;
  readonly launcher: Launcher;
  readonly flags: readonly string[];
  /** A line that a replica has printed. */
  readonly onLine: (replica: number, line: string) => void;
  /** A replica has ended by itself; the others go on. */
  readonly onDeath: (replica: number, end: ProcessEnd) => void;
}

/** Why the whole cluster ended, or did not start: one of its processes did. */
export class ReplicaEndedError extends TemporaryClusterError {
  override readonly name: string = 'ReplicaEndedError';
  readonly replica: number;
  readonly end: ProcessEnd;

  constructor(replica: number, end: ProcessEnd) {
    super(endText(end));
    this.replica = replica;
    this.end = end;
  }
}

/** Where the file of a replica of cluster 0 is. */
export function devFile(directory: string, replica: number): string {
  return join(directory, `0_${replica}.roundelay`);
}

/** How many replicas the files of a folder are for; `null`: there are none. */
export async function devReplicaCount(directory: string): Promise<number | null> {
  for (let replica = 0; replica < REPLICAS_MAX; replica++) {
    const path = devFile(directory, replica);
    if (existsSync(path)) return (await inspectDataFile(path, {})).replicaCount;
  }
  return null;
}

/** What there is in a folder some of whose files cannot be used. */
export interface DevFiles {
  /** `null`: no file says. */
  readonly replicaCount: number | null;
  /** Replicas whose files look well, as far as their superblocks tell. */
  readonly intact: readonly number[];
}

export async function surveyDevFiles(directory: string): Promise<DevFiles> {
  const intact: number[] = [];
  let replicaCount: number | null = null;
  for (let replica = 0; replica < REPLICAS_MAX; replica++) {
    const info = await inspectDataFile(devFile(directory, replica), {}).catch(() => null);
    if (info === null) continue;
    replicaCount ??= info.replicaCount;
    intact.push(replica);
  }
  return { replicaCount, intact };
}

export class DevCluster {
  readonly files: readonly string[];
  readonly #processes: ClusterProcesses;
  readonly #ended: PromiseWithResolvers<Error | null> = Promise.withResolvers();
  readonly #onExit: () => void = () => this.#processes.destroy();
  #isReady: boolean = false;

  private constructor(options: DevClusterOptions) {
    const { directory, ports, launcher, flags, onLine } = options;
    this.files = ports.map((_, replica) => devFile(directory, replica));
    this.#processes = new ClusterProcesses({
      launcher,
      files: this.files,
      ports,
      flags,
      onLine,
      onDeath: (replica, end) => this.#onDeath(replica, end, options),
    });
    process.on('exit', this.#onExit);
  }

  /**
   * Makes the files if need be and starts all replicas; resolves when there is a primary.
   * @throws ReplicaEndedError when a replica could not start, and as `formatLedger`
   */
  static async start(options: DevClusterOptions): Promise<DevCluster> {
    await ensureFiles(options);
    const cluster = new DevCluster(options);
    try {
      await Promise.race([cluster.#begin(), cluster.#failed()]);
      cluster.#isReady = true;
      return cluster;
    } catch (error) {
      await cluster.close();
      throw error;
    }
  }

  get addresses(): string {
    return this.#processes.addresses;
  }

  /** Resolves when it has ended: with `null` after a close, else with what ended it. */
  get ended(): Promise<Error | null> {
    return this.#ended.promise;
  }

  async close(): Promise<void> {
    await this.#processes.stop();
    process.off('exit', this.#onExit);
    this.#ended.resolve(null);
  }

  async #begin(): Promise<void> {
    await this.#processes.startAll();
    await this.#processes.ready();
  }

  async #failed(): Promise<never> {
    const error = await this.ended;
    throw error ?? new TemporaryClusterError('closed while starting');
  }

  #onDeath(replica: number, end: ProcessEnd, { onDeath }: DevClusterOptions): void {
    const isLast = this.#processes.pids.every((pid) => pid === 0);
    if (!this.#isReady || isLast) this.#ended.resolve(new ReplicaEndedError(replica, end));
    else onDeath(replica, end);
  }
}

/** All files or none are made; those that are there are looked at. */
async function ensureFiles({ directory, ports, development }: DevClusterOptions): Promise<void> {
  const replicaCount = ports.length;
  const paths = ports.map((_, replica) => devFile(directory, replica));
  if (!paths.some((path) => existsSync(path))) {
    await formatAll(directory, replicaCount, development);
    return;
  }
  const expected = { cluster: 0, replicaCount, ...(development ? { development } : {}) };
  for (const path of paths) {
    if (!existsSync(path)) throw new DataFileMissingError(path);
    await inspectDataFile(path, expected);
  }
}

/**
 * Makes a folder and those above it. Told to do so by itself, the system's own call says of a file
 * system that cannot be written that the folder does not exist, or tries for ever.
 * @throws what the operating system says of the folder that cannot be made
 */
export function makeFolders(path: string): void {
  const parent = dirname(path);
  if (existsSync(path)) return;
  if (!existsSync(parent)) makeFolders(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    const code = systemCode(error);
    if (code === 'EEXIST') return;
    // The folder above is there: it takes no new ones.
    throw code === 'ENOENT' ? new ReadOnlyError(path, { cause: error }) : error;
  }
}

/** Beside their places first, so that a start which is cut short leaves nothing half made. */
async function formatAll(
  directory: string,
  replicaCount: number,
  development: boolean,
): Promise<void> {
  assert(replicaCount > 0, 'formatAll: no replica');
  const beside = join(directory, '.formatting');
  try {
    rmSync(beside, { recursive: true, force: true });
    makeFolders(directory);
    mkdirSync(beside, { mode: 0o700 });
    const replicas = Array.from({ length: replicaCount }, (_, replica) => replica);
    const made = replicas.map((replica) => {
      const path = devFile(beside, replica);
      return formatLedger({ path, cluster: 0, replica, replicaCount, development });
    });
    for (const { path } of await Promise.all(made)) {
      renameSync(path, join(directory, basename(path)));
    }
  } catch (error) {
    throw fromSystemError(error, directory);
  } finally {
    rmSync(beside, { recursive: true, force: true });
  }
}
