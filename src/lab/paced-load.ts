/**
 * A load by the clock, an open loop: a batch falls due every so often whether or not the ones
 * before it are answered, as it is with users who know nothing of each other. What is due and finds
 * no idle client waits, and the wait counts: a server that stands still for a second makes all that
 * falls due in that second late, not one batch.
 *
 * The time of a batch begins when it is noticed to be due, up to a millisecond after it fell due:
 * timers are no finer. How late that was is reported beside it.
 */
import type { LedgerConnection } from '../client/index.ts';
import { assert } from '../stdx/index.ts';
import { type LoadResult, loadResult } from './load.ts';
import { type LoadClients, type LoadOptions, type Ready, withLoadClients } from './load-clients.ts';
import { type Percentiles, percentiles } from './percentile.ts';

export interface PacedLoadOptions extends LoadOptions {
  readonly batchesPerSecond: number;
}

export interface PacedLoadResult extends LoadResult {
  readonly batchesPerSecond: number;
  /** How long after they fell due batches were noticed, milliseconds. */
  readonly latenessMs: Percentiles;
}

/** Runs a load to its end; rejects like {@link runLoad}. */
export function runPacedLoad(
  options: PacedLoadOptions,
  signal: AbortSignal | null = null,
): Promise<PacedLoadResult> {
  assert(options.batchesPerSecond > 0, 'runPacedLoad: no pace');
  return withLoadClients(options, signal, async (clients) => {
    const load = new PacedLoad(clients, options);
    return await load.run();
  });
}

interface Idle {
  readonly connection: LedgerConnection;
  readonly client: number;
  readonly ready: Ready;
}

class PacedLoad {
  readonly #clients: LoadClients;
  readonly #options: PacedLoadOptions;
  readonly #intervalMs: number;
  readonly #batchCount: number;
  readonly #idle: Idle[];
  /** When each batch that waits for a client was noticed to be due. */
  readonly #waiting: number[] = [];
  readonly #samplesMs: number[] = [];
  readonly #latenessMs: number[] = [];
  readonly #ended: PromiseWithResolvers<void> = Promise.withResolvers<void>();
  #startMs: number = 0;
  /** Batches that have fallen due. */
  #due: number = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(clients: LoadClients, options: PacedLoadOptions) {
    this.#clients = clients;
    this.#options = options;
    this.#intervalMs = 1000 / options.batchesPerSecond;
    this.#batchCount = Math.ceil(options.transferCount / clients.batchSize);
    this.#idle = clients.connections.map((connection, client) => ({
      connection,
      client,
      ready: clients.open(connection),
    }));
  }

  async run(): Promise<PacedLoadResult> {
    this.#startMs = performance.now();
    this.#tick();
    try {
      await this.#ended.promise;
    } finally {
      if (this.#timer !== null) clearTimeout(this.#timer);
    }
    const seconds = (performance.now() - this.#startMs) / 1000;
    for (const { connection, ready } of this.#idle) this.#clients.release(connection, ready);
    return {
      ...loadResult(this.#clients, this.#options, seconds, this.#samplesMs),
      batchesPerSecond: this.#options.batchesPerSecond,
      latenessMs: percentiles(this.#latenessMs),
    };
  }

  /** Notices what has fallen due, and comes back for the next. */
  #tick(): void {
    this.#timer = null;
    const nowMs = performance.now();
    for (; this.#due < this.#batchCount; this.#due++) {
      const dueMs = this.#startMs + this.#due * this.#intervalMs;
      if (dueMs > nowMs) {
        this.#timer = setTimeout(() => this.#tick(), dueMs - nowMs);
        break;
      }
      this.#waiting.push(nowMs);
      this.#latenessMs.push(nowMs - dueMs);
    }
    this.#dispatch();
  }

  #dispatch(): void {
    while (this.#waiting.length > 0) {
      // A client without a request is done: the last ones are with others.
      const at = this.#idle.findIndex(({ ready }) => ready.count > 0);
      if (at < 0) return;
      const [idle] = this.#idle.splice(at, 1);
      const noticedMs = this.#waiting.shift() ?? 0;
      this.#send(idle, noticedMs).catch((error: unknown) => this.#ended.reject(error));
    }
  }

  async #send(idle: Idle, noticedMs: number): Promise<void> {
    const { connection, client, ready } = idle;
    const transfers = await this.#clients.send(connection, ready);
    const endMs = performance.now();
    const ms = endMs - noticedMs;
    this.#samplesMs.push(ms);
    this.#idle.push(idle);
    this.#clients.report({ client, transfers, ms, atMs: endMs - this.#startMs });
    if (this.#samplesMs.length === this.#batchCount) this.#ended.resolve();
    else this.#dispatch();
  }
}
