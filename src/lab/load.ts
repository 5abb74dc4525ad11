/**
 * The load of the benchmark: a number of clients in one process, each with one request in flight
 * (closed loop), creating accounts and then transfers as fast as they are answered. While a request
 * is under way its client builds the next one in a second buffer, so that the time of a batch is
 * the server's and not the generator's. Every result is checked: a run in which one transfer was
 * not created is a failed run.
 */
import {
  type Batch,
  connectLedger,
  type LedgerClient,
  type LedgerConnection,
} from '../client/index.ts';
import {
  ACCOUNT_SIZE,
  batchElements,
  CREATE_RESULT_SIZE,
  CreateAccountStatus,
  CreateTransferStatus,
  checkMultiBatch,
  Operation,
  STATUS_CREATED,
  statusName,
  TRANSFER_SIZE,
} from '../ledger/index.ts';
import { assert, readU32 } from '../stdx/index.ts';
import { BatchTooLargeError, LoadError } from './errors.ts';
import type { IdOrder } from './id-order.ts';
import { type Percentiles, percentiles } from './percentile.ts';
import { sealBatch, Workload } from './workload.ts';

export interface LoadOptions {
  readonly addresses: string;
  readonly cluster: bigint;
  readonly clients: number;
  readonly accountCount: number;
  readonly transferCount: number;
  /** Transfers per request; `null`: as many as fit. */
  readonly transferBatchSize: number | null;
  readonly idOrder: IdOrder;
  readonly seed: number;
  readonly connectTimeoutMs: number;
  /** An answer that takes longer ends the run. Default 60,000. */
  readonly requestTimeoutMs?: number;
  /** After each answered batch of transfers. */
  onBatch?(timing: BatchTiming, transfersDone: number): void;
  /** Between the accounts and the first transfer: the moment to read meters. */
  onLoadStart?(): void;
}

export interface BatchTiming {
  /** Order of completion, from 0. */
  readonly batch: number;
  readonly client: number;
  readonly transfers: number;
  readonly ms: number;
}

export interface LoadResult {
  readonly transfers: number;
  readonly batches: number;
  readonly batchSize: number;
  readonly seconds: number;
  readonly transfersPerSecond: number;
  readonly batchMs: Percentiles;
}

/** Runs a load to its end. Rejects with `LoadError`, `LedgerClientError` or the signal's reason. */
export async function runLoad(
  options: LoadOptions,
  signal: AbortSignal | null = null,
): Promise<LoadResult> {
  const load = new Load(options);
  const onAbort = (): void => load.close();
  signal?.addEventListener('abort', onAbort);
  try {
    await load.connect();
    await load.createAccounts();
    options.onLoadStart?.();
    return await load.createTransfers();
  } catch (error) {
    // Closing the clients makes every call fail; the cause is the signal.
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener('abort', onAbort);
    load.close();
  }
}

class Load {
  readonly #options: LoadOptions;
  readonly #workload: Workload;
  readonly #clients: LedgerClient[] = [];
  readonly #samplesMs: number[] = [];
  #batchSize: number = 0;
  /** Events given out to clients, and answered. */
  #next: number = 0;
  #done: number = 0;

  constructor(options: LoadOptions) {
    assert(options.clients >= 1, 'Load: no client');
    this.#options = options;
    this.#workload = new Workload(options);
  }

  async connect(): Promise<void> {
    const { addresses, cluster, connectTimeoutMs, clients, transferBatchSize } = this.#options;
    const requestTimeoutMs = this.#options.requestTimeoutMs ?? 60_000;
    const connect = { addresses, cluster, connectTimeoutMs, requestTimeoutMs };
    for (let i = 0; i < clients; i++) this.#clients.push(await connectLedger(connect));
    const max = this.#clients[0].eventsMax(Operation.createTransfers);
    if (transferBatchSize !== null && transferBatchSize > max) {
      throw new BatchTooLargeError(transferBatchSize, max);
    }
    this.#batchSize = transferBatchSize ?? max;
  }

  close(): void {
    for (const client of this.#clients) client.close();
  }

  async createAccounts(): Promise<void> {
    const [client] = this.#clients;
    const { accountCount } = this.#options;
    const batch = openBatch(client);
    const size = client.eventsMax(Operation.createAccounts);
    for (let first = 0; first < accountCount; first += size) {
      const count = Math.min(size, accountCount - first);
      this.#workload.writeAccounts(batch.words, first, count);
      const bodySize = sealBatch(batch.body, ACCOUNT_SIZE, count);
      const { createAccounts } = Operation;
      const reply = await client.connection.submitBatch(createAccounts, batch, bodySize);
      checkResults(reply.body, count, CreateAccountStatus, 'account');
    }
    client.connection.closeBatch(batch);
  }

  async createTransfers(): Promise<LoadResult> {
    const startMs = performance.now();
    await Promise.all(this.#clients.map((client, index) => this.#runClient(client, index)));
    const seconds = (performance.now() - startMs) / 1000;
    const transfers = this.#options.transferCount;
    assert(this.#done === transfers, 'Load: transfers are missing');
    return {
      transfers,
      batches: this.#samplesMs.length,
      batchSize: this.#batchSize,
      seconds,
      transfersPerSecond: Math.round(transfers / seconds),
      batchMs: percentiles(this.#samplesMs),
    };
  }

  async #runClient(client: LedgerClient, index: number): Promise<void> {
    const { connection } = client;
    let current = openBatch(client);
    let spare = openBatch(client);
    let { count, size } = this.#build(connection, current);
    while (count > 0) {
      const startMs = performance.now();
      const answered = connection.submitBatch(Operation.createTransfers, current, size);
      // The loop turns first, so that the request leaves before this thread is busy again.
      await nextTurn();
      const next = this.#build(connection, spare);
      const reply = await answered;
      const ms = performance.now() - startMs;
      checkResults(reply.body, count, CreateTransferStatus, 'transfer');
      this.#done += count;
      const timing = { batch: this.#samplesMs.length, client: index, transfers: count, ms };
      this.#samplesMs.push(ms);
      this.#options.onBatch?.(timing, this.#done);
      [current, spare] = [spare, current];
      ({ count, size } = next);
    }
    connection.closeBatch(current);
    connection.closeBatch(spare);
  }

  /** Fills and seals a batch of the next transfers that nobody has taken; bytes of its body. */
  #build(connection: LedgerConnection, batch: Batch): { count: number; size: number } {
    const first = this.#next;
    const count = Math.min(this.#batchSize, this.#options.transferCount - first);
    if (count === 0) return { count, size: 0 };
    this.#workload.writeTransfers(batch.words, first, count);
    const size = sealBatch(batch.body, TRANSFER_SIZE, count);
    connection.sealBatch(batch, size);
    this.#next += count;
    return { count, size };
  }
}

function openBatch(client: LedgerClient): Batch {
  const batch = client.connection.openBatch();
  assert(batch !== null, 'openBatch: none left');
  return batch;
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Throws unless the reply says `created` for every event of its batch. */
export function checkResults(
  body: Uint8Array,
  count: number,
  names: { readonly [name: string]: number },
  what: 'account' | 'transfer',
): void {
  if (checkMultiBatch(body, CREATE_RESULT_SIZE) !== 1 || batchElements(body, 0) !== count) {
    throw new LoadError(`the reply does not hold ${count} results`);
  }
  for (let i = 0; i < count; i++) {
    const status = readU32(body, i * CREATE_RESULT_SIZE + 8);
    if (status === STATUS_CREATED) continue;
    const name = statusName(names, status);
    // Accounts of an earlier run with the same seed serve as well as new ones.
    if (what === 'account' && status === CreateAccountStatus.exists) continue;
    throw new LoadError(`${what} ${i} of a batch was not created: ${name}`, name);
  }
}
