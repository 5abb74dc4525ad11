/**
 * One replica of anybody's state machine, in this process: data file, engine, machine, listener and
 * links to its peers in one call.
 *
 * ```ts
 * await using replica = await startReplica({
 *   engine: 'raft',
 *   machine: counter,
 *   addresses: '127.0.0.1:3001,127.0.0.1:3002,127.0.0.1:3003',
 *   replica: 0,
 *   directory: '/var/lib/counter',
 * });
 * ```
 */
import { resolve } from 'node:path';
import type {
  AnyMachineDefinition,
  AppliedCommand,
  EngineName,
  EngineStatus,
  Machine,
} from '../../engine/index.ts';
import { addressText, type LogSink, printable } from '../../io/index.ts';
import { assert } from '../../stdx/index.ts';
import type { Checksum } from '../../wire/index.ts';
import type { ReplicaHome } from '../homes/home.ts';
import { openFolderHome, openMemoryHome } from '../homes/open-home.ts';
import { requireNode } from '../node-version.ts';
import { type RecordOptions, ReplicaServer } from '../replica-server.ts';
import type { HostStatus } from '../status.ts';
import { Emitter, type Listener, type Listeners } from './emitter.ts';
import { type Leader, LeaderWatch, leaderOf } from './leader-watch.ts';
import { planOf, type ReplicaIdentityOptions, type ReplicaPlan } from './replica-plan.ts';

/** A command that this replica has executed; the state has changed already. */
export interface AppliedEvent<C, R> extends AppliedCommand<C, R> {
  /**
   * Executed while the data file was read, before the replica was ready: it may have been told
   * before the last restart. (So may others: what a file does not say is committed comes after it.
   * Who must act once compares `op` and `index` with the last it has seen.)
   */
  readonly isReplay: boolean;
}

/** What a replica tells of itself. */
export interface ReplicaEvents<C, R> {
  /**
   * Its state is that of operation `op`: at the start, and again when it has fallen behind so far
   * that it took over the state of another. Not all commands up to `op` were told as `applied`.
   */
  readonly ready: { readonly op: number };
  /** Who leads has changed, as far as this replica knows. */
  readonly leader: Leader;
  /** For defined machines: after each command, in order, soon after its step. */
  readonly applied: AppliedEvent<C, R>;
  /** It has stopped on its own. */
  readonly halted: { readonly error: Error };
}

export interface StartReplicaOptions<S, C, R> extends ReplicaIdentityOptions<S, C, R> {
  /**
   * Where the data file is, or will be made: `counter_0_2.raft` is machine `counter`, cluster 0,
   * replica 2. Left out: in memory, gone at the end. Such a replica must not be started again while
   * the others go on: it has forgotten what it acknowledged, and they will not count it.
   */
  readonly directory?: string;
  /** Ends the start, and the replica afterwards, as `close` does. */
  readonly signal?: AbortSignal;
  readonly log?: LogSink;
  /**
   * A file that does not exist yet: everything that the engine is told goes there, commands
   * included, to be replayed with `replayRecording`.
   */
  readonly record?: string;
  /** Bytes; more is not recorded. Default 1 GiB. */
  readonly recordSizeMax?: number;
  /** Listeners that miss nothing; others come by {@link StartedReplica.on}. */
  readonly on?: Listeners<ReplicaEvents<C, R>>;
}

/** A running replica. It ends with `close()`, or with the block in `await using replica = …`. */
export interface StartedReplica<S, C, R> extends AsyncDisposable {
  readonly engine: EngineName;
  readonly replica: number;
  /** Where it listens: `127.0.0.1:3000`. */
  readonly address: string;
  readonly host: string;
  readonly port: number;
  /** Of all replicas, for clients: `127.0.0.1:3000,127.0.0.1:3001`. */
  readonly addresses: string;
  readonly cluster: bigint;
  /** The data file; `null` in memory. */
  readonly path: string | null;
  /** Resolves when it has ended: with `null` after a close, else with the error that stopped it. */
  readonly ended: Promise<Error | null>;
  /** The machine, to look at only; another one after each `ready`. */
  readonly machine: Machine;
  /** Who leads, as far as this replica knows. */
  readonly leader: Leader;
  /** The state of a defined machine as executed here, to look at only. Others may be ahead. */
  state(): S;
  /** Hexadecimal digest of the state: equal on replicas that have executed the same. */
  root(): string;
  status(): EngineStatus & HostStatus;
  /** Returns what takes the listener away again. What it throws is logged. */
  on<Name extends keyof ReplicaEvents<C, R>>(
    name: Name,
    listener: Listener<ReplicaEvents<C, R>[Name]>,
  ): () => void;
  /** Ends within two seconds; what was acknowledged is safe. May be called twice. */
  close(): Promise<void>;
}

const silent: LogSink = () => {};

/**
 * Starts one replica. Resolves when it has read its file and accepts connections; whether anything
 * can be committed depends on the others, and clients wait for that.
 *
 * Limits: what a cluster, a machine and a request may be is said where each is described.
 * @throws RoundelayError, by `code`: ERR_OPTION_INVALID, ERR_ADDRESS_INVALID, _IN_USE and
 *   _UNAVAILABLE, ERR_DATA_FILE_LOCKED, _CORRUPT and _MISMATCH (another cluster, machine, engine or
 *   size), ERR_FORMAT_VERSION, ERR_READ_ONLY, ERR_NO_SPACE, ERR_STORAGE_FAILED, ERR_NO_MEMORY,
 *   ERR_NODE_VERSION, ERR_RECORDING_EXISTS, ERR_RECORDING_NOT_WRITABLE; the signal's reason when it
 *   has aborted
 */
export async function startReplica<S, C, R>(
  options: StartReplicaOptions<S, C, R>,
): Promise<StartedReplica<S, C, R>> {
  requireNode(process.versions.node);
  const { signal, directory } = options;
  signal?.throwIfAborted();
  const plan = planOf(options);
  let onLost = (): void => {};
  const home =
    directory === undefined
      ? await openMemoryHome(plan.home)
      : await openFolderHome(resolve(directory), plan.home, () => onLost());
  if (signal?.aborted === true) await home.close();
  signal?.throwIfAborted();
  const running = new RunningReplica<S, C, R>(plan, options);
  onLost = () => running.lost();
  await running.start(home);
  if (signal === undefined) return running;
  const onAbort = (): void => void running.close();
  signal.addEventListener('abort', onAbort, { once: true });
  void running.ended.then(() => signal.removeEventListener('abort', onAbort));
  if (!signal.aborted) return running;
  await running.close();
  throw signal.reason;
}

class RunningReplica<S, C, R> implements StartedReplica<S, C, R> {
  readonly engine: EngineName;
  readonly replica: number;
  readonly cluster: bigint;
  readonly #plan: ReplicaPlan;
  readonly #emitter: Emitter<ReplicaEvents<C, R>>;
  readonly #log: LogSink;
  readonly #record: RecordOptions | undefined;
  /** Told once the step that executed them is over. */
  #applied: AppliedEvent<C, R>[] = [];
  #isReplay: boolean = true;
  #server: ReplicaServer<Machine, EngineStatus> | null = null;
  #watch: LeaderWatch | null = null;
  #home: ReplicaHome | null = null;
  /** The machine of the life that goes on, also before there is a server. */
  #machine: Machine | null = null;

  constructor(plan: ReplicaPlan, options: StartReplicaOptions<S, C, R>) {
    this.engine = plan.home.engine;
    this.replica = plan.home.replica;
    this.cluster = BigInt(plan.home.cluster);
    this.#plan = plan;
    this.#log = options.log ?? silent;
    const { record: path, recordSizeMax: sizeMax } = options;
    this.#record = path === undefined ? undefined : { path, sizeMax, machine: plan.home.name };
    this.#emitter = new Emitter((name, error) => this.#onThrown(String(name), error));
    const { ready, leader, applied, halted } = options.on ?? {};
    if (ready !== undefined) this.on('ready', ready);
    if (leader !== undefined) this.on('leader', leader);
    if (applied !== undefined) this.on('applied', applied);
    if (halted !== undefined) this.on('halted', halted);
  }

  async start(home: ReplicaHome): Promise<void> {
    const { addresses } = this.#plan;
    this.#home = home;
    this.#server = await ReplicaServer.start<Machine, EngineStatus>({
      home,
      makeMachine: (checksum) => this.#makeMachine(checksum),
      addresses,
      log: this.#log,
      record: this.#record,
      observer: { onReady: () => this.#onReady(), onTrace: () => this.#watch?.look() },
    });
    void this.#server.ended.then((error) => this.#onEnded(error));
    this.#emitter.emit('ready', { op: this.status().commitMin });
    this.#watch = new LeaderWatch(
      () => this.status(),
      (leader) => this.#emitter.emit('leader', leader),
    );
    this.#watch.look();
  }

  get address(): string {
    return addressText(this.#running.address);
  }

  get host(): string {
    return this.#running.address.host;
  }

  get port(): number {
    return this.#running.address.port;
  }

  get addresses(): string {
    const own = this.#running.address;
    const all = this.#plan.addresses.map((one, index) => (index === this.replica ? own : one));
    return all.map(addressText).join(',');
  }

  get path(): string | null {
    return this.#home === null || this.#home.durability === 'memory' ? null : this.#home.path;
  }

  get ended(): Promise<Error | null> {
    return this.#running.ended;
  }

  get machine(): Machine {
    return this.#running.machine;
  }

  get leader(): Leader {
    return leaderOf(this.status());
  }

  state(): S {
    const { definition } = this.#plan;
    assert(definition !== null, 'state: only what defineMachine has made has a state');
    return definition.state(this.machine) as S;
  }

  root(): string {
    return this.#running.root();
  }

  status(): EngineStatus & HostStatus {
    return this.#running.status();
  }

  on<Name extends keyof ReplicaEvents<C, R>>(
    name: Name,
    listener: Listener<ReplicaEvents<C, R>[Name]>,
  ): () => void {
    return this.#emitter.on(name, listener);
  }

  close(): Promise<void> {
    this.#watch?.stop();
    return this.#running.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Another process took the data file over. */
  lost(): void {
    this.#server?.lost();
  }

  get #running(): ReplicaServer<Machine, EngineStatus> {
    assert(this.#server !== null, 'RunningReplica: not started');
    return this.#server;
  }

  #makeMachine(checksum: Checksum): Machine {
    const { definition, makeMachine } = this.#plan;
    const machine = makeMachine(checksum);
    this.#isReplay = true;
    this.#machine = machine;
    if (definition !== null) this.#observe(definition, machine);
    return machine;
  }

  #observe(definition: AnyMachineDefinition, machine: Machine): void {
    definition.observe(
      machine,
      (applied) => this.#onApplied(applied as AppliedCommand<C, R>),
      (error) => this.#onThrown('apply', error),
    );
  }

  #onApplied(applied: AppliedCommand<C, R>): void {
    if (!this.#emitter.has('applied')) return;
    if (this.#applied.length === 0) queueMicrotask(() => this.#tellApplied());
    this.#applied.push({ ...applied, isReplay: this.#isReplay });
  }

  #tellApplied(): void {
    const applied = this.#applied;
    this.#applied = [];
    for (const one of applied) this.#emitter.emit('applied', one);
  }

  #onReady(): void {
    assert(this.#machine !== null, 'RunningReplica: ready without a machine');
    this.#isReplay = false;
    // The first time is told when there is something to be asked.
    if (this.#server === null) return;
    this.#tellApplied();
    this.#emitter.emit('ready', { op: this.status().commitMin });
  }

  #onEnded(error: Error | null): void {
    this.#watch?.stop();
    if (error !== null) this.#emitter.emit('halted', { error });
  }

  /** A listener or a definition has thrown: told, and nothing else. */
  #onThrown(where: string, error: unknown): void {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const message = printable(`${where} threw ${text}`);
    this.#log({ level: 'error', event: `${where}-threw`, message, fields: {} });
  }
}
