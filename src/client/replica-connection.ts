/**
 * One client of a cluster that replicates anybody's machine: sessions one after another, the
 * sockets of the one that lives, and a queue of calls. Where a ledger's connection ends with its
 * session, this one goes on: what was under way then has an unknown outcome, and the next call
 * registers again. A session has one request in flight; calls that come meanwhile share the next.
 *
 * A call whose time is over while its request is under way is told so, and the session goes on
 * asking: until the request is answered nothing else can be sent, as order matters.
 */
import { COMMAND_HEAD_SIZE, unpack, writeCommand } from '../engine/index.ts';
import type { Address } from '../io/index.ts';
import { assert } from '../stdx/index.ts';
import { HEADER_SIZE, MESSAGE_SIZE_MAX, type Message, MessagePool } from '../wire/index.ts';
import { CALLS_WAITING_MAX, type Call, CallQueue } from './call-queue.ts';
import { CLIENT_RELEASE } from './connection.ts';
import { ClientErrorCode, ReplicaClientError } from './errors.ts';
import { evictionProblem } from './eviction.ts';
import { clusterBytes, connectProblem } from './problem.ts';
import { ClientSession, type SessionEffect } from './session.ts';
import { Transport, type TransportOptions } from './transport.ts';

/** How often deadlines are looked at, milliseconds. */
const TICK_MS = 20;
/** Sessions that end one after another begin this far apart, doubling, milliseconds. */
const BEGIN_MS_MIN = 10;
const BEGIN_MS_MAX = 1_000;

/** What is used of a {@link Transport}; tests put something else in its place. */
export type Link = Pick<Transport, 'start' | 'send' | 'dropUnwritten' | 'close' | 'problems'>;

export interface ReplicaConnectionOptions {
  readonly addresses: readonly Address[];
  readonly cluster: bigint;
  /** First session registered by then, or the connect fails, milliseconds. */
  readonly connectTimeoutMs: number;
  /** An answer to a call by then, milliseconds; `null`: calls wait for ever. */
  readonly requestTimeoutMs: number | null;
  /** 16 random bytes, new ones each time. */
  newClientId(): Uint8Array;
  /** Milliseconds, monotonic. */
  nowMs(): number;
  onClosed?(): void;
  /** Default: sockets. */
  link?(options: TransportOptions): Link;
}

/** A session and its sockets: a connection belongs to one session, at the other end as well. */
interface Life {
  readonly session: ClientSession;
  readonly link: Link;
}

/** A call as its maker knows it. */
export type NewCall = Omit<Call, 'deadlineMs' | 'isSettled'>;

export class ReplicaConnection {
  readonly #options: ReplicaConnectionOptions;
  readonly #cluster: Uint8Array;
  readonly #pool: MessagePool;
  /** The request in flight. */
  readonly #slot: Message;
  readonly #queue: CallQueue = new CallQueue();
  /** `null`: the last session is over, and nobody has wanted anything since. */
  #life: Life | null = null;
  /** Calls of the request in flight; empty while there is none. */
  #flight: readonly Call[] = [];
  #timer: NodeJS.Timeout | null = null;
  #isPumpPlanned: boolean = false;
  #bodySizeMax: number = 0;
  #view: number = 0;
  #closed: boolean = false;
  #opened: { resolve(): void; reject(error: Error): void } | null = null;
  #openDeadlineMs: number = Number.POSITIVE_INFINITY;
  /** Sessions in a row that ended before they were of any use. */
  #vainLives: number = 0;
  #beginAtMs: number = 0;
  /** Sessions registered so far. */
  sessions: number = 0;

  constructor(options: ReplicaConnectionOptions) {
    this.#options = options;
    this.#cluster = clusterBytes(options.cluster);
    const replicas = options.addresses.length;
    this.#pool = new MessagePool({
      requestSlotSize: MESSAGE_SIZE_MAX,
      requestSlots: 1,
      replySlots: replicas + 1,
      smallSlots: 2 * replicas + 2,
    });
    const slot = this.#pool.acquire('request');
    assert(slot !== null, 'ReplicaConnection: no slot');
    this.#slot = slot;
  }

  /** Largest body of a request, bytes; known once open. */
  get bodySizeMax(): number {
    return this.#bodySizeMax;
  }

  /** Highest view seen. */
  get view(): number {
    return this.#view;
  }

  /** Dials and registers. Rejects with what stood in the way, and is closed then. */
  open(): Promise<void> {
    assert(this.#timer === null && !this.#closed, 'ReplicaConnection: opened twice');
    return new Promise((resolve, reject) => {
      this.#opened = { resolve, reject };
      this.#openDeadlineMs = this.#options.nowMs() + this.#options.connectTimeoutMs;
      this.#timer = setInterval(() => this.#onTick(), TICK_MS);
      this.#begin();
    });
  }

  /** Sends a call in its turn. Its bytes must not change until it has ended. */
  enqueue(made: NewCall): void {
    const { requestTimeoutMs, nowMs } = this.#options;
    const size = made.bytes.length + (made.isShared ? COMMAND_HEAD_SIZE : 0);
    if (this.#closed) {
      made.fail(new ReplicaClientError(ClientErrorCode.closed, 'the client is closed'));
    } else if (size > this.#bodySizeMax) {
      const text = `${made.bytes.length} bytes do not fit into a request of ${this.#bodySizeMax}`;
      made.fail(new ReplicaClientError(ClientErrorCode.tooLarge, text));
    } else {
      const deadlineMs = nowMs() + (requestTimeoutMs ?? Number.POSITIVE_INFINITY);
      if (this.#queue.push({ ...made, deadlineMs, isSettled: false })) this.#planPump();
      else {
        const text = `${CALLS_WAITING_MAX} calls wait already, wait for some of them first`;
        made.fail(new ReplicaClientError(ClientErrorCode.tooMany, text));
      }
    }
  }

  /**
   * Closes the sockets. Calls under way reject with `ERR_OUTCOME_UNKNOWN`, those that were not sent
   * with `ERR_NOT_SENT`; with `reason` instead if it is the connect that ends.
   */
  close(reason: Error | null = null): void {
    const { outcomeUnknown, notSent } = ClientErrorCode;
    const text = 'the client was closed while the request was under way';
    const unknown = new ReplicaClientError(outcomeUnknown, text, 'unknown');
    const unsent = new ReplicaClientError(notSent, 'the client was closed before it was sent');
    this.#shut(unknown, unsent, reason ?? unsent);
  }

  /** What is asked for in the same turn, and in answer to the same reply, shares a request. */
  #planPump(): void {
    if (this.#isPumpPlanned || this.#closed) return;
    this.#isPumpPlanned = true;
    setImmediate(() => {
      this.#isPumpPlanned = false;
      this.#pump();
    });
  }

  #pump(): void {
    const isWanted = this.#queue.length > 0 || this.#opened !== null;
    if (this.#closed || !isWanted) return;
    if (this.#life === null) {
      if (this.#options.nowMs() >= this.#beginAtMs) this.#begin();
    } else if (this.#life.session.state === 'idle') {
      this.#submit(this.#life);
    }
  }

  #submit(life: Life): void {
    assert(this.#flight.length === 0, 'ReplicaConnection: a request is in flight');
    assert(this.#queue.length > 0, 'ReplicaConnection: nothing waits');
    const calls = this.#queue.take(this.#bodySizeMax);
    const { bytes } = this.#slot;
    let end = HEADER_SIZE;
    for (const call of calls) {
      if (call.isShared) {
        end = writeCommand(bytes, end, call.bytes);
      } else {
        bytes.set(call.bytes, end);
        end += call.bytes.length;
      }
    }
    this.#flight = calls;
    this.#run(life, life.session.submit(bytes, end, calls[0].operation, this.#options.nowMs()));
  }

  #begin(): void {
    assert(this.#life === null && this.#flight.length === 0, 'ReplicaConnection: it lives already');
    const { addresses, newClientId, nowMs, link } = this.#options;
    const cluster = this.#cluster;
    const pool = this.#pool;
    const clientId = newClientId();
    const session = new ClientSession({
      clientId,
      cluster,
      replicaCount: addresses.length,
      release: CLIENT_RELEASE,
      checksum: pool.checksum,
      seed: new DataView(clientId.buffer, clientId.byteOffset).getUint32(0),
      view: this.#view,
    });
    const options: TransportOptions = {
      addresses,
      cluster,
      pool,
      onConnected: (replica) => this.#run(life, session.onConnected(replica, nowMs())),
      onDisconnected: (replica) => session.onDisconnected(replica),
      onMessage: (_, bytes) => this.#run(life, session.onMessage(bytes, nowMs())),
    };
    const life: Life = { session, link: link?.(options) ?? new Transport(options) };
    this.#life = life;
    this.#run(life, session.start(nowMs()));
    life.link.start();
  }

  #run(life: Life, effects: readonly SessionEffect[]): void {
    for (const effect of effects) {
      if (life !== this.#life) return;
      switch (effect.type) {
        case 'send':
          life.link.send(effect.replica, effect.bytes);
          break;
        case 'registered':
          this.#bodySizeMax = effect.batchSizeLimit;
          this.sessions += 1;
          this.#opened?.resolve();
          this.#opened = null;
          this.#openDeadlineMs = Number.POSITIVE_INFINITY;
          break;
        case 'reply':
          this.#onReply(life, effect);
          break;
        case 'evicted':
          this.#onEvicted(life, effect.reason, effect.release);
          break;
      }
    }
    this.#view = Math.max(this.#view, life.session.view);
    if (this.#queue.length > 0) this.#planPump();
  }

  #onReply(life: Life, reply: SessionEffect & { readonly type: 'reply' }): void {
    const calls = this.#flight;
    assert(calls.length > 0, 'ReplicaConnection: a reply without a call');
    life.link.dropUnwritten();
    this.#flight = [];
    this.#vainLives = 0;
    const parts = calls[0].isShared ? unpack(reply.body) : [reply.body];
    if (parts === null || parts.length !== calls.length) {
      const text = 'the reply does not hold an outcome for each command';
      const error = new ReplicaClientError(ClientErrorCode.protocol, text, 'unknown');
      for (const call of calls) settle(call, error);
      return;
    }
    const again = calls.filter((call, index) => {
      if (call.isSettled) return false;
      call.isSettled = call.take(parts[index], reply.op, reply.timestamp);
      return !call.isSettled;
    });
    this.#queue.putBack(again);
  }

  #onEvicted(life: Life, reason: number, release: number): void {
    const { about, code, message } = evictionProblem(reason, CLIENT_RELEASE, release);
    life.link.close();
    this.#life = null;
    if (about === 'client') {
      const error = new ReplicaClientError(code, message);
      this.#shut(error, error, error);
      return;
    }
    const isRefusal = about === 'request';
    const waitMs = Math.min(BEGIN_MS_MAX, BEGIN_MS_MIN * 2 ** Math.min(this.#vainLives, 10));
    this.#beginAtMs = this.#options.nowMs() + (isRefusal ? 0 : waitMs);
    if (!isRefusal) this.#vainLives += 1;
    const calls = this.#flight;
    this.#flight = [];
    const outcome = isRefusal ? 'not-done' : 'unknown';
    for (const call of calls) settle(call, new ReplicaClientError(code, message, outcome));
  }

  #onTick(): void {
    const now = this.#options.nowMs();
    const { addresses, cluster, connectTimeoutMs, requestTimeoutMs } = this.#options;
    const problem = (timeoutMs: number): { code: ClientErrorCode; message: string } => {
      const problems = this.#life?.link.problems() ?? addresses.map(() => null);
      return connectProblem({ addresses, problems, cluster, timeoutMs, what: 'replica' });
    };
    if (now >= this.#openDeadlineMs) {
      const { code, message } = problem(connectTimeoutMs);
      const error = new ReplicaClientError(code, message);
      this.#shut(error, error, error);
      return;
    }
    for (const call of this.#flight) {
      if (now < call.deadlineMs || call.isSettled) continue;
      const text = `no answer within ${requestTimeoutMs} ms; the request may still be executed`;
      settle(call, new ReplicaClientError(ClientErrorCode.outcomeUnknown, text, 'unknown'));
    }
    for (const call of this.#queue.takeOverdue(now)) {
      const isBehind = this.#flight.length > 0;
      const why = isBehind
        ? 'one before it has no answer yet'
        : problem(requestTimeoutMs ?? 0).message;
      const text = `not sent within ${requestTimeoutMs} ms: ${why}`;
      settle(call, new ReplicaClientError(ClientErrorCode.notSent, text));
    }
    const life = this.#life;
    if (life !== null && now >= life.session.deadlineMs) this.#run(life, life.session.onTick(now));
    this.#pump();
  }

  /**
   * `unknown`: for calls under way; `unsent`: for the others; `opening`: for who waits for open.
   */
  #shut(unknown: Error, unsent: Error, opening: Error): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#life?.link.close();
    this.#life = null;
    this.#opened?.reject(opening);
    this.#opened = null;
    const calls = this.#flight;
    this.#flight = [];
    for (const call of calls) settle(call, unknown);
    for (const call of this.#queue.takeAll()) settle(call, unsent);
    this.#options.onClosed?.();
  }
}

function settle(call: Call, error: Error): void {
  if (call.isSettled) return;
  call.isSettled = true;
  call.fail(error);
}
