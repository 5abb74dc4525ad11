/**
 * The clients of a load: sessions in one process, the accounts that they move money between, and
 * batches of transfers, each given to one client only. How fast they are sent is decided by who
 * drives them: `load` as fast as they are answered, `paced-load` by the clock.
 *
 * While a request is under way its client builds the next one in a second buffer, so that the time
 * of a batch is the server's and not the generator's. Every result is checked: a run in which one
 * transfer was not created is a failed run.
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
  onLoadStart?(): void | Promise<void>;
}

export interface BatchTiming {
  /** Order of completion, from 0. */
  readonly batch: number;
  readonly client: number;
  readonly transfers: number;
  readonly ms: number;
  /** When it was answered, milliseconds since the load began. */
  readonly atMs: number;
}

/** A request that is ready to be sent, and the room for the one after it. */
export interface Ready {
  batch: Batch;
  spare: Batch;
  /** Transfers; 0: there are no more. */
  count: number;
  /** Bytes of the body. */
  size: number;
}

/**
 * Connects, creates the accounts, then lets `body` send the transfers. Rejects with `LoadError`,
 * `LedgerClientError` or the signal's reason.
 */
export async function withLoadClients<T>(
  options: LoadOptions,
  signal: AbortSignal | null,
  body: (clients: LoadClients) => Promise<T>,
): Promise<T> {
  const clients = new LoadClients(options);
  const onAbort = (): void => clients.close();
  signal?.addEventListener('abort', onAbort);
  try {
    signal?.throwIfAborted();
    await clients.connect();
    await clients.createAccounts();
    await options.onLoadStart?.();
    return await body(clients);
  } catch (error) {
    // Closing the clients makes every call fail; the cause is the signal.
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener('abort', onAbort);
    clients.close();
  }
}

export class LoadClients {
  readonly #options: LoadOptions;
  readonly #workload: Workload;
  readonly #clients: LedgerClient[] = [];
  #batchSize: number = 0;
  /** Transfers given out to clients, and answered. */
  #next: number = 0;
  #done: number = 0;
  #batches: number = 0;

  constructor(options: LoadOptions) {
    assert(options.clients >= 1, 'LoadClients: no client');
    this.#options = options;
    this.#workload = new Workload(options);
  }

  /** Transfers per request. */
  get batchSize(): number {
    return this.#batchSize;
  }

  /** Transfers that are answered. */
  get done(): number {
    return this.#done;
  }

  get connections(): readonly LedgerConnection[] {
    return this.#clients.map(({ connection }) => connection);
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
    const batch = openBatch(client.connection);
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

  /** The buffers of a client, with its first request in them. */
  open(connection: LedgerConnection): Ready {
    const ready = { batch: openBatch(connection), spare: openBatch(connection), count: 0, size: 0 };
    Object.assign(ready, this.#build(connection, ready.batch));
    return ready;
  }

  /**
   * Sends what is ready, and makes the next request ready while this one is under way. Resolves
   * with the number of transfers when all of them were created.
   */
  async send(connection: LedgerConnection, ready: Ready): Promise<number> {
    const { count, size } = ready;
    assert(count > 0, 'LoadClients: nothing to send');
    const answered = connection.submitBatch(Operation.createTransfers, ready.batch, size);
    // The loop turns first, so that the request leaves before this thread is busy again.
    await nextTurn();
    const next = this.#build(connection, ready.spare);
    const reply = await answered;
    checkResults(reply.body, count, CreateTransferStatus, 'transfer');
    this.#done += count;
    [ready.batch, ready.spare] = [ready.spare, ready.batch];
    Object.assign(ready, next);
    return count;
  }

  /** Tells the caller of the load that a batch is answered. */
  report(timing: Omit<BatchTiming, 'batch'>): void {
    this.#options.onBatch?.({ batch: this.#batches, ...timing }, this.#done);
    this.#batches += 1;
  }

  /** Gives the buffers back. */
  release(connection: LedgerConnection, ready: Ready): void {
    connection.closeBatch(ready.batch);
    connection.closeBatch(ready.spare);
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

function openBatch(connection: LedgerConnection): Batch {
  const batch = connection.openBatch();
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
