/**
 * One client of a ledger: a session, its sockets and a queue. Callers submit bodies as bytes; they
 * go out one after another, since a session has one request in flight, and each promise settles
 * with the reply, with an eviction, or when the connection is closed. Nothing is sent twice other
 * than by the session, whose resends the cluster recognises.
 */
import type { Address, RoundelayError } from '../io/index.ts';
import { assert } from '../stdx/index.ts';
import { HEADER_SIZE, MESSAGE_SIZE_MAX, type Message, MessagePool } from '../wire/index.ts';
import { ClientErrorCode, LedgerClientError } from './errors.ts';
import { evictionProblem, reasonText } from './eviction.ts';
import { clusterBytes, connectError } from './problem.ts';
import { ClientSession, type SessionEffect } from './session.ts';
import { Transport } from './transport.ts';

/** The release that this client claims: its operations are those of 0.17.9. */
export const CLIENT_RELEASE = 0x1109;
/** Batches that a caller may hold at once, see {@link LedgerConnection.openBatch}. */
export const BATCHES_OPEN_MAX = 2;
/** How often deadlines are looked at, milliseconds. */
const TICK_MS = 20;

export interface ConnectionOptions {
  readonly addresses: readonly Address[];
  readonly cluster: bigint;
  /** Session registered by then, or the connect fails, milliseconds. */
  readonly connectTimeoutMs: number;
  /** An answer by then, or the connection closes, milliseconds; `null`: wait for ever. */
  readonly requestTimeoutMs: number | null;
  /** 16 random bytes. */
  readonly clientId: Uint8Array;
  /** Milliseconds, monotonic. */
  nowMs(): number;
}

/** A body under construction, in memory that is sent without a copy. */
export interface Batch {
  /** Room for the body; its start is aligned to 16 bytes. */
  readonly body: Uint8Array;
  /** The same memory as 32-bit words. */
  readonly words: Uint32Array;
}

export interface Reply {
  /** A copy; the caller's. */
  readonly body: Uint8Array;
  /** Position in the log. */
  readonly op: number;
  /** Nanoseconds, when the cluster committed the request. */
  readonly timestamp: bigint;
}

interface OpenBatch extends Batch {
  readonly message: Message;
  readonly bodyChecksum: Uint8Array;
  /** Bytes of the body that `bodyChecksum` covers; 0 when it is out of date. */
  sealedSize: number;
}

interface Call {
  readonly operation: number;
  readonly body: Uint8Array | null;
  readonly batch: OpenBatch | null;
  readonly size: number;
  resolve(reply: Reply): void;
  reject(error: Error): void;
}

export class LedgerConnection {
  readonly #options: ConnectionOptions;
  readonly #pool: MessagePool;
  readonly #session: ClientSession;
  readonly #transport: Transport;
  /** The slot of requests whose bodies were given as bytes. */
  readonly #slot: Message;
  readonly #queue: Call[] = [];
  readonly #batches: Set<OpenBatch> = new Set();
  #current: Call | null = null;
  #currentDeadlineMs: number = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | null = null;
  #bodySizeMax: number = 0;
  #closed: Error | null = null;
  #opened: { resolve(): void; reject(error: Error): void } | null = null;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    const { addresses, clientId } = options;
    const cluster = clusterBytes(options.cluster);
    const pool = new MessagePool({
      requestSlotSize: MESSAGE_SIZE_MAX,
      requestSlots: 1 + BATCHES_OPEN_MAX,
      replySlots: addresses.length + 1,
      smallSlots: 2 * addresses.length + 2,
    });
    const slot = pool.acquire('request');
    assert(slot !== null, 'LedgerConnection: no slot');
    this.#pool = pool;
    this.#slot = slot;
    this.#session = new ClientSession({
      clientId,
      cluster,
      replicaCount: addresses.length,
      release: CLIENT_RELEASE,
      checksum: pool.checksum,
      seed: new DataView(clientId.buffer, clientId.byteOffset).getUint32(0),
    });
    this.#transport = new Transport({
      addresses,
      cluster,
      pool,
      onConnected: (replica) => this.#run(this.#session.onConnected(replica, options.nowMs())),
      onDisconnected: (replica) => this.#session.onDisconnected(replica),
      onMessage: (_, bytes) => this.#run(this.#session.onMessage(bytes, options.nowMs())),
    });
  }

  /** Largest request body, bytes; known once open. */
  get bodySizeMax(): number {
    return this.#bodySizeMax;
  }

  /** Highest view seen. */
  get view(): number {
    return this.#session.view;
  }

  /** Dials and registers. Rejects with what stood in the way, and is closed then. */
  open(): Promise<void> {
    assert(this.#opened === null && this.#timer === null, 'LedgerConnection: opened twice');
    return new Promise((resolve, reject) => {
      this.#opened = { resolve, reject };
      this.#currentDeadlineMs = this.#options.nowMs() + this.#options.connectTimeoutMs;
      this.#timer = setInterval(() => this.#onTick(), TICK_MS);
      this.#run(this.#session.start(this.#options.nowMs()));
      this.#transport.start();
    });
  }

  /** Sends `body`, which must not change until the promise settles. */
  submit(operation: number, body: Uint8Array): Promise<Reply> {
    assert(body.length <= this.#bodySizeMax, 'LedgerConnection: body too large');
    return this.#enqueue(operation, body, null, body.length);
  }

  /** A batch to fill, or `null` when {@link BATCHES_OPEN_MAX} are open. Give it back when done. */
  openBatch(): Batch | null {
    const message = this.#pool.acquire('request');
    if (message === null) return null;
    const body = message.bytes.subarray(HEADER_SIZE, HEADER_SIZE + this.#bodySizeMax);
    const words = message.words.subarray(HEADER_SIZE / 4, (HEADER_SIZE + this.#bodySizeMax) >> 2);
    const batch = { body, words, message, bodyChecksum: new Uint8Array(16), sealedSize: 0 };
    this.#batches.add(batch);
    return batch;
  }

  /**
   * Computes the checksum of the batch's first `size` bytes ahead of {@link submitBatch}, while
   * another request is under way. The body must not change any more.
   */
  sealBatch(batch: Batch, size: number): void {
    const open = this.#openBatch(batch);
    assert(size <= open.body.length, 'LedgerConnection: body too large');
    this.#pool.checksum.digest(open.message.bytes, HEADER_SIZE, size, open.bodyChecksum, 0);
    open.sealedSize = size;
  }

  /** Sends the first `size` bytes of the batch's body; it must not change until then. */
  submitBatch(operation: number, batch: Batch, size: number): Promise<Reply> {
    const open = this.#openBatch(batch);
    assert(size <= open.body.length, 'LedgerConnection: body too large');
    return this.#enqueue(operation, null, open, size);
  }

  /** Gives a batch back; not while it is being sent. */
  closeBatch(batch: Batch): void {
    const open = this.#openBatch(batch);
    assert(this.#current?.batch !== open, 'LedgerConnection: the batch is being sent');
    this.#batches.delete(open);
    this.#pool.release(open.message);
  }

  /** Closes the sockets. What waits is rejected: it may or may not have been executed. */
  close(): void {
    this.#shut(new LedgerClientError(ClientErrorCode.closed, 'the client is closed'));
  }

  #openBatch(batch: Batch): OpenBatch {
    const open = [...this.#batches].find((candidate) => candidate === batch);
    assert(open !== undefined, 'LedgerConnection: not an open batch');
    return open;
  }

  #enqueue(
    operation: number,
    body: Uint8Array | null,
    batch: OpenBatch | null,
    size: number,
  ): Promise<Reply> {
    if (this.#closed !== null) {
      const text = 'the client is closed';
      return Promise.reject(new LedgerClientError(ClientErrorCode.closed, text));
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({ operation, body, batch, size, resolve, reject });
      this.#pump();
    });
  }

  #pump(): void {
    if (this.#current !== null || this.#session.state !== 'idle') return;
    const call = this.#queue.shift();
    if (call === undefined) return;
    const { requestTimeoutMs, nowMs } = this.#options;
    const now = nowMs();
    this.#current = call;
    this.#currentDeadlineMs = now + (requestTimeoutMs ?? Number.POSITIVE_INFINITY);
    const message = call.batch?.message ?? this.#slot;
    if (call.body !== null) message.bytes.set(call.body, HEADER_SIZE);
    const { size, operation, batch } = call;
    const isSealed = batch !== null && batch.sealedSize > 0 && batch.sealedSize === size;
    const checksum = isSealed ? batch.bodyChecksum : null;
    if (batch !== null) batch.sealedSize = 0;
    const total = HEADER_SIZE + size;
    this.#run(this.#session.submit(message.bytes, total, operation, now, checksum));
  }

  #run(effects: readonly SessionEffect[]): void {
    for (const effect of effects) {
      switch (effect.type) {
        case 'send':
          this.#transport.send(effect.replica, effect.bytes);
          break;
        case 'registered':
          this.#bodySizeMax = effect.batchSizeLimit;
          this.#currentDeadlineMs = Number.POSITIVE_INFINITY;
          this.#opened?.resolve();
          this.#opened = null;
          break;
        case 'reply':
          this.#onReply(effect.body, effect.op, effect.timestamp);
          break;
        case 'evicted':
          this.#shut(evictionError(effect.reason, effect.release));
          break;
      }
    }
    this.#pump();
  }

  #onReply(body: Uint8Array, op: number, timestamp: bigint): void {
    const call = this.#current;
    assert(call !== null, 'LedgerConnection: reply without a call');
    this.#transport.dropUnwritten();
    this.#current = null;
    this.#currentDeadlineMs = Number.POSITIVE_INFINITY;
    call.resolve({ body: body.slice(), op, timestamp });
  }

  #onTick(): void {
    const now = this.#options.nowMs();
    if (now >= this.#currentDeadlineMs) {
      const { addresses, cluster, connectTimeoutMs, requestTimeoutMs } = this.#options;
      const problems = this.#transport.problems();
      const gone = problems.every((problem) => problem?.kind === 'refused');
      const text = gone
        ? `no answer within ${requestTimeoutMs} ms, and nobody listens any more`
        : `no answer within ${requestTimeoutMs} ms; the request may still be executed`;
      const connecting = this.#opened !== null;
      this.#shut(
        connecting
          ? connectError(addresses, problems, cluster, connectTimeoutMs)
          : new LedgerClientError(ClientErrorCode.requestTimeout, text),
      );
    } else if (now >= this.#session.deadlineMs) {
      this.#run(this.#session.onTick(now));
    }
  }

  #shut(error: RoundelayError): void {
    if (this.#closed !== null) return;
    this.#closed = error;
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#transport.close();
    this.#opened?.reject(error);
    this.#opened = null;
    this.#current?.reject(error);
    this.#current = null;
    for (const call of this.#queue.splice(0)) call.reject(error);
  }
}

function evictionError(reason: number, release: number): LedgerClientError {
  const { about, code, message } = evictionProblem(reason, CLIENT_RELEASE, release);
  if (about === 'client') return new LedgerClientError(code, message);
  return new LedgerClientError(
    ClientErrorCode.evicted,
    `the cluster has ended this session (${reasonText(reason)}); make a new client`,
  );
}
