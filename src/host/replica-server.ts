/**
 * One replica as a running server: file, engine, machine and listener put together, from the first
 * lock to the last. Everything that can be refused is refused before the engine is made; then the
 * engine recovers, and only when it is ready are connections served.
 */

import type { ConnectionId, Effect, HaltCode } from '../engine/index.ts';
import {
  type Address,
  addressText,
  ClientServer,
  Clock,
  DataFileCorruptError,
  FormatVersionError,
  type LogSink,
  NotEnoughMemoryError,
  printable,
  RateLimit,
  ReplicaHaltedError,
  type RoundelayError,
  StorageFailedError,
} from '../io/index.ts';
import { Ledger } from '../ledger/index.ts';
import { assert, toHex } from '../stdx/index.ts';
import { FORMAT_VERSION, poolSizes, Replica } from '../vsr/index.ts';
import { MessagePool, REPLY_SLOT_SIZE, SMALL_SLOT_SIZE } from '../wire/index.ts';
import { Driver } from './driver.ts';
import { availableMemory } from './memory.ts';
import type { ReplicaFile } from './replica-file.ts';
import { type StatusReport, statusReply } from './status.ts';
import { traceText } from './trace-text.ts';

export interface ReplicaServerOptions {
  readonly file: ReplicaFile;
  readonly address: Address;
  readonly log: LogSink;
}

/** Strangers can provoke warnings; an error that lasts is told again and again. */
const WARN_INTERVAL_MS = 1_000;
const ERROR_INTERVAL_MS = 30_000;
/** Of what is there, this much is left to code, tables and the rest of the machine, bytes. */
const MEMORY_BESIDE_POOL = 100 * 1_048_576;

/** A server that is up, or was. */
export class ReplicaServer {
  readonly #file: ReplicaFile;
  readonly #log: LogSink;
  readonly #pool: MessagePool;
  readonly #machine: Ledger;
  readonly #engine: Replica;
  readonly #server: ClientServer;
  readonly #driver: Driver;
  readonly #warnLimit: RateLimit = new RateLimit(WARN_INTERVAL_MS);
  readonly #errorLimit: RateLimit = new RateLimit(ERROR_INTERVAL_MS);
  readonly #startedMs: number = performance.now();
  #address: Address;
  #onReady: (() => void) | null = null;
  #halted: RoundelayError | Error | null = null;
  #closing: Promise<void> | null = null;
  readonly #ended: PromiseWithResolvers<Error | null> = Promise.withResolvers();

  /**
   * Takes over the file and closes it if it cannot start. Resolves when the replica has recovered
   * and serves.
   * @throws AddressInUseError, AddressUnavailableError, NotEnoughMemoryError,
   *   DataFileCorruptError, FormatVersionError, StorageFailedError
   */
  static async start(options: ReplicaServerOptions): Promise<ReplicaServer> {
    const { file } = options;
    let server: ReplicaServer | null = null;
    try {
      server = new ReplicaServer(options);
      await server.#begin();
      return server;
    } catch (error) {
      if (server === null) await file.close();
      else await server.close();
      throw error;
    }
  }

  private constructor(options: ReplicaServerOptions) {
    const { file, log } = options;
    const { superblock } = file.superblock;
    this.#file = file;
    this.#log = log;
    this.#address = options.address;
    this.#pool = makePool(file);
    file.setAlignedMemory(this.#pool.memory);
    this.#machine = new Ledger({ checksum: this.#pool.checksum });
    this.#engine = new Replica({
      pool: this.#pool,
      machine: this.#machine,
      superblock: file.superblock,
    });
    const clock = new Clock();
    this.#driver = new Driver({
      engine: this.#engine,
      pool: this.#pool,
      storage: file.storage,
      network: {
        send: (connection, message) => this.#server.send(connection, message),
        close: (connection, reason) => this.#server.close(connection, reason),
        resume: () => this.#server.resume(),
      },
      now: () => clock.now(),
      listener: {
        onReady: () => this.#onReady?.(),
        onTrace: (trace) => this.#onTrace(trace),
        onStatus: (connection) => this.#onStatus(connection),
        onHalt: (code, reason) => this.#halt(haltError(file.path, code, reason)),
        onCrash: (error) => this.#halt(crashError(error)),
      },
    });
    this.#server = new ClientServer({
      pool: this.#pool,
      cluster: superblock.cluster,
      requestSizeMax: superblock.geometry.requestSizeMax,
      handler: this.#driver,
      log,
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

  status(): StatusReport {
    return {
      ...this.#engine.status(),
      address: addressText(this.#address),
      pid: process.pid,
      uptimeMs: Math.round(performance.now() - this.#startedMs),
      memoryBytes: process.memoryUsage.rss(),
      messagesHeld: this.#pool.leaked(),
      file: this.#file.path,
      durability: this.#file.durability,
      storage: this.#file.storage.counters(),
      clients: this.#server.counters(),
    };
  }

  /**
   * Hexadecimal digest over the logical content: equal on replicas whatever their files look like.
   */
  root(): string {
    return toHex(this.#machine.root());
  }

  /** The machine's tables, for tests and tools in this process. */
  get ledger(): Ledger {
    return this.#machine;
  }

  /** Ends within two seconds, whatever is in flight; what was acknowledged is safe. */
  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  /** Another process took the data file over. */
  lost(): void {
    const { path } = this.#file;
    this.#halt(new StorageFailedError(path, 'another process has taken the data file over'));
  }

  async #begin(): Promise<void> {
    this.#address = await this.#server.listen(this.#address);
    await new Promise<void>((resolve, reject) => {
      this.#onReady = resolve;
      void this.ended.then((error) => reject(error ?? new Error('closed while starting')));
      this.#driver.start();
    });
    this.#server.admit();
  }

  async #end(): Promise<void> {
    this.#driver.stop();
    await this.#server.shutdown();
    await this.#file.close();
    this.#engine.releaseMessages();
    this.#ended.resolve(this.#halted);
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
    const { superblock } = this.#file.superblock;
    const report = this.status();
    const bytes = statusReply(report, superblock.cluster, this.#pool.checksum);
    this.#server.sendBytes(connection, bytes);
  }
}

/** The pool of the file's geometry, if the machine can hold it. */
function makePool(file: ReplicaFile): MessagePool {
  const sizes = poolSizes(file.superblock.superblock.geometry);
  const poolBytes =
    sizes.requestSlots * sizes.requestSlotSize +
    sizes.replySlots * REPLY_SLOT_SIZE +
    sizes.smallSlots * SMALL_SLOT_SIZE;
  const needed = poolBytes + MEMORY_BESIDE_POOL;
  const available = availableMemory();
  if (available < needed) throw new NotEnoughMemoryError(needed, available);
  return new MessagePool(sizes);
}

function haltError(path: string, code: HaltCode, reason: string): RoundelayError {
  switch (code) {
    case 'storage-failed':
      return new StorageFailedError(path, reason);
    case 'storage-corrupt':
      return new DataFileCorruptError(path, null, reason);
    case 'format-version':
      return new FormatVersionError(path, Number(/\d+/.exec(reason)?.[0] ?? 0), FORMAT_VERSION);
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
