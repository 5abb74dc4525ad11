/**
 * One replica as a running server: file, engine, machine, listener and links to its peers put
 * together, from the first lock to the last. Everything that can be refused is refused before the
 * engine is made; then the engine recovers, and only when it is ready are connections served and
 * peers dialled. In a cluster ready does not mean that anything can be committed: clients are
 * accepted whatever the role, and the engine decides what they are told.
 */
import { setTimeout } from 'node:timers/promises';
import {
  type ConnectionId,
  type Effect,
  type Engine,
  type EngineStatus,
  type HaltCode,
  type Machine,
  PIPELINE_MAX,
} from '../engine/index.ts';
import {
  type Address,
  addressText,
  ClientServer,
  Clock,
  DataFileCorruptError,
  FormatVersionError,
  type LogSink,
  NotEnoughMemoryError,
  PeerLinks,
  printable,
  RateLimit,
  ReplicaHaltedError,
  type RoundelayError,
  type SlotReserve,
  StorageFailedError,
} from '../io/index.ts';
import type { Ledger } from '../ledger/index.ts';
import { assert, toHex } from '../stdx/index.ts';
import type { ReplicaStatus } from '../vsr/index.ts';
import {
  type Checksum,
  type Message,
  MessagePool,
  type PoolOptions,
  REPLY_SLOT_SIZE,
  SMALL_SLOT_SIZE,
} from '../wire/index.ts';
import { Driver } from './driver.ts';
import type { HomeEngine, ReplicaHome } from './homes/home.ts';
import { availableMemory } from './memory.ts';
import { QuorumWatch } from './quorum-watch.ts';
import type { Recorder, RecorderMaker } from './recording/recorder.ts';
import { type HostStatus, statusReply } from './status.ts';
import { traceText } from './trace-text.ts';
import { WarmUp } from './warm-up.ts';

export interface ReplicaServerOptions<M extends Machine, S extends EngineStatus> {
  readonly home: ReplicaHome<S>;
  /** A machine that has applied nothing; called once per life. */
  readonly makeMachine: (checksum: Checksum) => M;
  /** Of all replicas, in order; this one listens on its own. */
  readonly addresses: readonly Address[];
  readonly log: LogSink;
  /** Run the ledger's hot paths once while nobody asks for anything: for servers, not tests. */
  readonly warmUp?: boolean | undefined;
  readonly observer?: ServerObserver;
  readonly record?: RecordOptions | undefined;
}

/** Everything that the engine is told goes into a file, to be replayed. */
export interface RecordOptions {
  /** Must not exist yet. */
  readonly path: string;
  /** Bytes; more is not recorded. Default: `RECORDING_SIZE_MAX`. */
  readonly sizeMax?: number | undefined;
  /** Name of the machine: what replays it needs one like it. */
  readonly machine: string;
}

/** Told by a server what its engine says. */
export interface ServerObserver {
  /** A life has recovered; the first time before {@link ReplicaServer.start} resolves. */
  onReady(): void;
  /** Something worth a log line: who leads may have changed. */
  onTrace(): void;
}

/** Strangers can provoke warnings; an error that lasts is told again and again. */
const WARN_INTERVAL_MS = 1_000;
const ERROR_INTERVAL_MS = 30_000;
/** Of a leader that ends, for another to lead; and how often it looks. */
const HAND_OVER_MS = 500;
const HAND_OVER_LOOK_MS = 2;
/** Of what is there, this much is left to code, tables and the rest of the machine, bytes. */
const MEMORY_BESIDE_POOL = 100 * 1_048_576;

/** Slots that clients leave free for each peer: for prepares, and for what needs no body. */
const RESERVE_REQUEST_PER_PEER = 1 + PIPELINE_MAX;
const RESERVE_SMALL_PER_PEER = 64;

/** One life: between two `restart`s of the engine. */
interface Life<M, S extends EngineStatus> {
  readonly machine: M;
  readonly engine: HomeEngine<S>;
  /** What the driver steps: the engine, or a recorder before it. */
  readonly stepped: Engine;
}

/** A server that is up, or was. */
export class ReplicaServer<M extends Machine = Ledger, S extends EngineStatus = ReplicaStatus> {
  readonly #home: ReplicaHome<S>;
  readonly #makeMachine: (checksum: Checksum) => M;
  readonly #observer: ServerObserver | null;
  readonly #record: RecordOptions | null;
  readonly #recorder: Recorder | null;
  readonly #log: LogSink;
  readonly #pool: MessagePool;
  readonly #wantsWarmUp: boolean;
  #warmUp: WarmUp | null = null;
  readonly #server: ClientServer;
  /** `null` for a single replica. */
  readonly #links: PeerLinks | null;
  readonly #driver: Driver;
  readonly #quorum: QuorumWatch;
  #life: Life<M, S>;
  readonly #warnLimit: RateLimit = new RateLimit(WARN_INTERVAL_MS);
  readonly #errorLimit: RateLimit = new RateLimit(ERROR_INTERVAL_MS);
  readonly #startedMs: number = performance.now();
  #address: Address;
  #onReady: (() => void) | null = null;
  #halted: RoundelayError | Error | null = null;
  #closing: Promise<void> | null = null;
  readonly #ended: PromiseWithResolvers<Error | null> = Promise.withResolvers();

  /**
   * Takes over the home and closes it if it cannot start. Resolves when the replica has recovered
   * what its file holds, and accepts connections.
   * @throws AddressInUseError, AddressUnavailableError, NotEnoughMemoryError,
   *   DataFileCorruptError, FormatVersionError, StorageFailedError, RecordingError
   */
  static async start<M extends Machine, S extends EngineStatus>(
    options: ReplicaServerOptions<M, S>,
  ): Promise<ReplicaServer<M, S>> {
    let server: ReplicaServer<M, S> | null = null;
    try {
      // Nobody else has to load it.
      const recording =
        options.record === undefined ? null : await import('./recording/recorder.ts');
      server = new ReplicaServer(options, recording?.makeRecorder ?? null);
      await server.#begin();
      return server;
    } catch (error) {
      if (server === null) await options.home.close();
      else await server.close();
      throw error;
    }
  }

  private constructor(options: ReplicaServerOptions<M, S>, makeRecorder: RecorderMaker | null) {
    const { home, log, addresses, record } = options;
    const { cluster, replica, replicaCount } = home.identity;
    assert(addresses.length === replicaCount, 'ReplicaServer: an address for each replica');
    this.#home = home;
    this.#makeMachine = options.makeMachine;
    this.#observer = options.observer ?? null;
    this.#log = log;
    this.#wantsWarmUp = options.warmUp ?? false;
    this.#address = addresses[replica];
    this.#pool = makePool(home.poolOptions);
    home.setAlignedMemory(this.#pool.memory);
    this.#record = record ?? null;
    const pool = this.#pool;
    this.#recorder =
      record === undefined ? null : (makeRecorder?.({ ...record, pool, log }) ?? null);
    this.#life = this.#makeLife();
    this.#driver = this.#makeDriver();
    this.#quorum = new QuorumWatch((message) =>
      log({ level: 'warn', event: 'quorum', message, fields: {} }),
    );
    const { requestSizeMax } = home;
    const network = { pool, requestSizeMax, log };
    this.#links = replicaCount === 1 ? null : this.#makeLinks(addresses);
    this.#server = new ClientServer({
      ...network,
      cluster,
      handler: this.#driver,
      ...(this.#links === null ? {} : { peers: this.#links }),
      reserve: reserveFor(replicaCount - 1),
    });
  }

  /** Where it listens; the port is the one that was taken. */
  get address(): Address {
    return this.#address;
  }

  /** Resolves when the server has ended: with `null` after a close, else with why it halted. */
  get ended(): Promise<Error | null> {
    return this.#ended.promise;
  }

  status(): S & HostStatus {
    return {
      ...this.#life.engine.status(),
      address: addressText(this.#address),
      pid: process.pid,
      uptimeMs: Math.round(performance.now() - this.#startedMs),
      memoryBytes: process.memoryUsage.rss(),
      messagesHeld: this.#pool.leaked(),
      file: this.#home.path,
      durability: this.#home.durability,
      storage: this.#home.storage.counters(),
      clients: this.#server.counters(),
      links: this.#links?.status() ?? [],
      linkCounters: this.#links?.counters() ?? null,
    };
  }

  /**
   * Hexadecimal digest over the logical content: equal on replicas whatever their files look like.
   */
  root(): string {
    return toHex(this.#life.machine.root());
  }

  /** The machine of this life, for tests and tools in this process: to look at only. */
  get machine(): M {
    return this.#life.machine;
  }

  /** Ends within two seconds, whatever is in flight; what was acknowledged is safe. */
  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  /** Another process took the data file over. */
  lost(): void {
    const { path } = this.#home;
    this.#halt(new StorageFailedError(path, 'another process has taken the data file over'));
  }

  async #begin(): Promise<void> {
    this.#address = await this.#server.listen(this.#address);
    await new Promise<void>((resolve, reject) => {
      this.#onReady = resolve;
      void this.ended.then((error) => reject(error ?? new Error('closed while starting')));
      this.#driver.begin(this.#life.stepped);
    });
    this.#server.admit();
    this.#links?.start();
    this.#watchQuorum();
    if (!this.#wantsWarmUp) return;
    this.#warmUp = new WarmUp({ progress: () => this.#life.engine.status().op });
  }

  async #end(): Promise<void> {
    this.#warmUp?.stop();
    if (this.#mayHandOver) await this.#handOver();
    this.#driver.stop();
    this.#recorder?.close();
    this.#quorum.stop();
    this.#links?.shutdown();
    await this.#server.shutdown();
    await this.#home.close();
    this.#life.engine.releaseMessages();
    this.#ended.resolve(this.#halted);
  }

  get #mayHandOver(): boolean {
    const { engine } = this.#life;
    return engine.handOver !== undefined && engine.status().role === 'primary';
  }

  /** Whoever leads asks another to, and waits until that one does, or for a moment. */
  async #handOver(): Promise<void> {
    const { engine } = this.#life;
    // Perhaps in the middle of a step.
    await setTimeout(0);
    this.#driver.handOver(engine);
    const endMs = performance.now() + HAND_OVER_MS;
    while (performance.now() < endMs && !this.#driver.isStopped) {
      const { role, connected, quorum } = engine.status();
      // Nobody leads from the moment it gives up to that at which it hears of another.
      if (role !== 'view-change' || connected < quorum) return;
      await setTimeout(HAND_OVER_LOOK_MS);
    }
  }

  /** A new engine over what is in memory and in the file now. */
  #makeLife(): Life<M, S> {
    const machine = this.#makeMachine(this.#pool.checksum);
    const [seed = 0] = crypto.getRandomValues(new Uint32Array(1));
    const engine = this.#home.makeEngine({ pool: this.#pool, machine, seed });
    return { machine, engine, stepped: this.#recorded(engine, seed) };
  }

  #recorded(engine: Engine, seed: number): Engine {
    if (this.#recorder === null || this.#record === null) return engine;
    const { engine: kind, identity, poolOptions, head, engineOptions } = this.#home;
    const life = {
      engine: kind,
      machine: this.#record.machine,
      release: identity.release,
      pool: poolOptions,
      head,
      options: { ...engineOptions, seed },
    };
    return this.#recorder.record(life, engine);
  }

  #makeDriver(): Driver {
    const { path, storage, formatVersion } = this.#home;
    const clock = new Clock();
    return new Driver({
      pool: this.#pool,
      storage,
      network: {
        send: (connection, message) => this.#server.send(connection, message),
        close: (connection, reason) => this.#server.close(connection, reason),
        sendPeer: (replica, message) => this.#sendPeer(replica, message),
        resume: () => this.#server.resume(),
      },
      now: () => clock.now(),
      listener: {
        onReady: () => this.#becomeReady(),
        onRestart: () => void this.#restart(),
        onTrace: (trace) => this.#onTrace(trace),
        onStatus: (connection) => this.#onStatus(connection),
        onHalt: (code, reason) => this.#halt(haltError(path, code, reason, formatVersion)),
        onCrash: (error) => this.#halt(crashError(error)),
      },
    });
  }

  #makeLinks(addresses: readonly Address[]): PeerLinks {
    const { identity, requestSizeMax } = this.#home;
    return new PeerLinks({
      own: identity,
      addresses,
      pool: this.#pool,
      requestSizeMax,
      handler: {
        onPeerUp: (peer, peerId, isPeerRecovered) => {
          this.#driver.onPeerUp(peer, peerId, isPeerRecovered);
          this.#watchQuorum();
        },
        onPeerDown: (peer) => {
          this.#driver.onPeerDown(peer);
          this.#watchQuorum();
        },
        onPeerMessage: (peer, message) => this.#driver.onPeerMessage(peer, message),
      },
      log: this.#log,
    });
  }

  #sendPeer(replica: number, message: Message): void {
    assert(this.#links !== null, 'ReplicaServer: there are no peers');
    this.#links.send(replica, message);
  }

  #becomeReady(): void {
    this.#onReady?.();
    this.#onReady = null;
    this.#observer?.onReady();
    // In later lives the peers are there already.
    this.#links?.announce();
  }

  /** The engine's life is over; the next one begins with what the file says now. */
  async #restart(): Promise<void> {
    this.#life.engine.releaseMessages();
    try {
      await this.#home.reload();
    } catch (error) {
      this.#halt(crashError(error));
      return;
    }
    if (this.#closing !== null) return;
    const { checkpointOp: op } = this.#home;
    const fields = op === null ? {} : { op };
    const message = `going on from the checkpoint${op === null ? '' : ` at operation ${op}`}`;
    this.#log({ level: 'info', event: 'restart', message, fields });
    this.#life = this.#makeLife();
    this.#driver.begin(this.#life.stepped);
  }

  #watchQuorum(): void {
    if (this.#links === null || this.#closing !== null) return;
    const have = 1 + this.#links.status().filter(({ isUp }) => isUp).length;
    this.#quorum.update({ have, need: this.#life.engine.status().quorum });
  }

  #halt(error: Error): void {
    if (this.#halted !== null || this.#closing !== null) return;
    this.#halted = error;
    this.#driver.stop();
    this.#log({ level: 'error', event: 'halted', message: printable(error.message), fields: {} });
    void this.close();
  }

  #onTrace(trace: Effect & { readonly type: 'trace' }): void {
    const { level, event, fields } = trace;
    if (level !== 'debug') this.#observer?.onTrace();
    const suppressed = this.#suppressed(trace);
    if (suppressed === null) return;
    const extra = suppressed === 0 ? {} : { suppressed };
    const message = printable(traceText(event, fields));
    this.#log({ level, event, message, fields: { ...fields, ...extra } });
  }

  /** How many like it were held back before this trace; `null`: this one is too. */
  #suppressed({ level, event, fields }: Effect & { readonly type: 'trace' }): number | null {
    // Reasons come from a closed set, so they make good keys.
    const key = 'reason' in fields ? `${event} ${fields['reason']}` : event;
    if (level === 'warn') return this.#warnLimit.pass(key, performance.now());
    if (level === 'error') return this.#errorLimit.pass(key, performance.now());
    return 0;
  }

  #onStatus(connection: ConnectionId): void {
    const { cluster } = this.#home.identity;
    const bytes = statusReply(this.status(), cluster, this.#pool.checksum);
    this.#server.sendBytes(connection, bytes);
  }
}

/** The pool that the home asks for, if the machine can hold it. */
function makePool(sizes: PoolOptions): MessagePool {
  const poolBytes =
    sizes.requestSlots * sizes.requestSlotSize +
    sizes.replySlots * REPLY_SLOT_SIZE +
    sizes.smallSlots * SMALL_SLOT_SIZE;
  const needed = poolBytes + MEMORY_BESIDE_POOL;
  const available = availableMemory();
  if (available < needed) throw new NotEnoughMemoryError(needed, available);
  return new MessagePool(sizes);
}

function reserveFor(peers: number): SlotReserve {
  return {
    request: peers * RESERVE_REQUEST_PER_PEER,
    small: peers * RESERVE_SMALL_PER_PEER,
    reply: 0,
  };
}

function haltError(
  path: string,
  code: HaltCode,
  reason: string,
  formatVersion: number,
): RoundelayError {
  switch (code) {
    case 'storage-failed':
      return new StorageFailedError(path, reason);
    case 'storage-corrupt':
      return new DataFileCorruptError(path, null, reason);
    case 'format-version':
      return new FormatVersionError(path, Number(/\d+/.exec(reason)?.[0] ?? 0), formatVersion);
    case 'diverged':
      return new ReplicaHaltedError('ERR_DIVERGED', `the replica has diverged: ${reason}`);
    default:
      return code satisfies never;
  }
}

/** A bug is passed on as it is: its stack is what matters. */
function crashError(error: unknown): Error {
  assert(error !== null, 'crashError: nothing was thrown');
  return error instanceof Error ? error : new Error(String(error));
}
