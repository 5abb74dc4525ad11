/**
 * The client's half of the ledger's session protocol, without sockets and without a clock: what
 * comes in are connections, messages and the time; what goes out is a list of effects. A session
 * registers once, then has one request in flight at a time, which it sends again, byte for byte,
 * until it is answered: the cluster executes it exactly once however often it arrives. The primary
 * is `view mod replicaCount`; views come with replies and pongs and only go up.
 */
import {
  assert,
  bytesEqual,
  isZero,
  Prng,
  readSafeU64,
  readU32,
  writeSafeU64,
  writeU32,
} from '../stdx/index.ts';
import {
  type Checksum,
  Command,
  EvictionOffset,
  HEADER_SIZE,
  initHeader,
  Offset,
  OPERATION_REGISTER,
  PingClientOffset,
  ReplyOffset,
  RequestOffset,
  readCommand,
  readRelease,
  readSize,
  readView,
  sealBody,
  sealHeader,
} from '../wire/index.ts';

/** First wait for an answer, milliseconds; doubles with every resend, up to the maximum. */
export const RESEND_MS_MIN = 600;
export const RESEND_MS_MAX = 10_000;
/** How often every connected replica is pinged, milliseconds. */
export const PING_INTERVAL_MS = 30_000;

export type SessionEffect =
  /** Send these bytes to this replica. They do not change until the request is answered. */
  | { readonly type: 'send'; readonly replica: number; readonly bytes: Uint8Array }
  /** The session exists; requests may be submitted. */
  | { readonly type: 'registered'; readonly batchSizeLimit: number }
  /** The request in flight is answered; `body` is valid during this call only. */
  | {
      readonly type: 'reply';
      readonly body: Uint8Array;
      readonly op: number;
      readonly timestamp: bigint;
    }
  /** The cluster has ended this session; `reason` is an eviction reason of the wire. */
  | { readonly type: 'evicted'; readonly reason: number; readonly release: number };

export interface SessionOptions {
  /** 16 random bytes, not all zero, new for every session. */
  readonly clientId: Uint8Array;
  /** The cluster's 16 bytes. */
  readonly cluster: Uint8Array;
  readonly replicaCount: number;
  /** The release that this client claims. */
  readonly release: number;
  readonly checksum: Checksum;
  /** Spreads the resends of many clients. */
  readonly seed: number;
}

export type SessionState = 'registering' | 'idle' | 'waiting' | 'evicted';

interface Flight {
  readonly bytes: Uint8Array;
  readonly operation: number;
  readonly request: number;
  attempt: number;
  sentAtMs: number;
  resendAtMs: number;
}

export class LedgerSession {
  readonly #options: SessionOptions;
  readonly #prng: Prng;
  readonly #connected: boolean[];
  readonly #effects: SessionEffect[] = [];
  readonly #context: Uint8Array = new Uint8Array(16);
  #flight: Flight | null = null;
  #state: SessionState = 'registering';
  #view: number = 0;
  #session: number = 0;
  #requestNext: number = 0;
  #latencyUs: number = 0;
  #pingAtMs: number = 0;

  constructor(options: SessionOptions) {
    assert(options.clientId.length === 16 && !isZero(options.clientId, 0, 16));
    assert(options.cluster.length === 16, 'LedgerSession: cluster id is not 16 bytes');
    assert(options.replicaCount >= 1, 'LedgerSession: no replica');
    this.#options = options;
    this.#prng = new Prng(options.seed);
    this.#connected = new Array<boolean>(options.replicaCount).fill(false);
  }

  get state(): SessionState {
    return this.#state;
  }

  get view(): number {
    return this.#view;
  }

  /** Index of the replica that is presumed to be the primary. */
  get primary(): number {
    return this.#view % this.#options.replicaCount;
  }

  /** When `onTick` wants to be called at the latest, milliseconds of the caller's clock. */
  get deadlineMs(): number {
    if (this.#state === 'evicted') return Number.POSITIVE_INFINITY;
    return Math.min(this.#pingAtMs, this.#flight?.resendAtMs ?? Number.POSITIVE_INFINITY);
  }

  /** Registers as soon as somebody is there. Call once, first. */
  start(nowMs: number): readonly SessionEffect[] {
    assert(this.#state === 'registering' && this.#flight === null, 'LedgerSession: started twice');
    const bytes = new Uint8Array(HEADER_SIZE + 256);
    this.#effects.length = 0;
    this.#pingAtMs = nowMs + PING_INTERVAL_MS;
    this.#launch(bytes, bytes.length, OPERATION_REGISTER, nowMs, null);
    return this.#effects;
  }

  /**
   * Sends a request. `bytes` is a whole message: 256 bytes that become the header, then the body,
   * `size` in all. It belongs to the session until the reply. Only in state `idle`.
   * `bodyChecksum`: the body's, when the caller had time to compute it before.
   */
  submit(
    bytes: Uint8Array,
    size: number,
    operation: number,
    nowMs: number,
    bodyChecksum: Uint8Array | null = null,
  ): readonly SessionEffect[] {
    assert(this.#state === 'idle', 'LedgerSession: not ready for a request');
    assert(size >= HEADER_SIZE && size <= bytes.length, 'LedgerSession: bad size');
    this.#effects.length = 0;
    this.#state = 'waiting';
    this.#launch(bytes, size, operation, nowMs, bodyChecksum);
    return this.#effects;
  }

  /** A connection to this replica stands: ping it, and send it what waits for the primary. */
  onConnected(replica: number, nowMs: number): readonly SessionEffect[] {
    this.#effects.length = 0;
    this.#connected[replica] = true;
    if (this.#state !== 'evicted') {
      this.#ping(replica, nowMs);
      if (replica === this.primary) this.#sendFlight(replica);
    }
    return this.#effects;
  }

  onDisconnected(replica: number): void {
    this.#connected[replica] = false;
  }

  /** Resends what is overdue and pings; call at {@link deadlineMs} or later. */
  onTick(nowMs: number): readonly SessionEffect[] {
    this.#effects.length = 0;
    if (this.#state === 'evicted') return this.#effects;
    const flight = this.#flight;
    const overdue = flight !== null && nowMs >= flight.resendAtMs;
    if (overdue || nowMs >= this.#pingAtMs) {
      for (let replica = 0; replica < this.#connected.length; replica++) {
        if (this.#connected[replica]) this.#ping(replica, nowMs);
      }
      this.#pingAtMs = nowMs + PING_INTERVAL_MS;
    }
    if (overdue) this.#resend(flight, nowMs);
    return this.#effects;
  }

  /** A message whose checksums and cluster are right. Anything unexpected is ignored. */
  onMessage(bytes: Uint8Array, nowMs: number): readonly SessionEffect[] {
    this.#effects.length = 0;
    if (this.#state === 'evicted') return this.#effects;
    const command = readCommand(bytes);
    if (command === Command.pongClient) this.#onPong(bytes);
    else if (command === Command.reply) this.#onReply(bytes, nowMs);
    else if (command === Command.eviction) this.#onEviction(bytes);
    return this.#effects;
  }

  #onPong(bytes: Uint8Array): void {
    const viewBefore = this.#view;
    this.#raiseView(readView(bytes));
    // The request went to somebody who is not the primary: the right one gets it at once.
    if (this.#view !== viewBefore && this.#connected[this.primary]) this.#sendFlight(this.primary);
  }

  #onReply(bytes: Uint8Array, nowMs: number): void {
    const flight = this.#flight;
    if (flight === null || !this.#answers(bytes, flight)) return;
    this.#raiseView(readView(bytes));
    for (let i = 0; i < 16; i++) this.#context[i] = bytes[ReplyOffset.context + i];
    this.#latencyUs = Math.min(0xffff_ffff, Math.round(1000 * (nowMs - flight.sentAtMs)));
    this.#flight = null;
    const body = bytes.subarray(HEADER_SIZE, readSize(bytes));
    if (this.#state === 'registering') this.#onRegistered(bytes, body);
    else {
      assert(this.#state === 'waiting', 'LedgerSession: reply without request');
      const op = readSafeU64(bytes, ReplyOffset.op) ?? 0;
      this.#effects.push({ type: 'reply', body, op, timestamp: readTimestamp(bytes) });
      this.#state = 'idle';
    }
  }

  #onRegistered(bytes: Uint8Array, body: Uint8Array): void {
    const session = readSafeU64(bytes, ReplyOffset.commit) ?? 0;
    assert(session > 0, 'LedgerSession: session number is zero');
    this.#session = session;
    this.#state = 'idle';
    this.#effects.push({ type: 'registered', batchSizeLimit: readU32(body, 0) });
  }

  /** Whether a reply belongs to the request in flight and says what a reply must say. */
  #answers(bytes: Uint8Array, flight: Flight): boolean {
    const op = readSafeU64(bytes, ReplyOffset.op);
    if (op === null || op === 0 || op !== readSafeU64(bytes, ReplyOffset.commit)) return false;
    if (isZero(bytes, ReplyOffset.timestamp, 8)) return false;
    if (flight.operation === OPERATION_REGISTER && readSize(bytes) !== HEADER_SIZE + 64) {
      return false;
    }
    return (
      readRelease(bytes) === this.#options.release &&
      readU32(bytes, ReplyOffset.request) === flight.request &&
      bytes[ReplyOffset.operation] === flight.operation &&
      bytesEqual(bytes, ReplyOffset.client, this.#options.clientId, 0, 16) &&
      bytesEqual(bytes, ReplyOffset.requestChecksum, flight.bytes, Offset.checksum, 16)
    );
  }

  #onEviction(bytes: Uint8Array): void {
    const reason = bytes[EvictionOffset.reason];
    if (reason === 0 || readView(bytes) < this.#view) return;
    if (!bytesEqual(bytes, EvictionOffset.client, this.#options.clientId, 0, 16)) return;
    this.#state = 'evicted';
    this.#flight = null;
    this.#effects.push({ type: 'evicted', reason, release: readRelease(bytes) });
  }

  #launch(
    bytes: Uint8Array,
    size: number,
    operation: number,
    nowMs: number,
    bodyChecksum: Uint8Array | null,
  ): void {
    assert(this.#flight === null, 'LedgerSession: a request is in flight');
    const { checksum, cluster, release, clientId } = this.#options;
    const register = operation === OPERATION_REGISTER;
    assert(register === (this.#session === 0) && register === (this.#requestNext === 0));
    const fields = { command: Command.request, size, cluster, view: this.#view, release };
    initHeader(bytes, { ...fields, replica: 0 });
    bytes.set(this.#context, RequestOffset.parent);
    bytes.set(clientId, RequestOffset.client);
    writeSafeU64(bytes, RequestOffset.session, this.#session);
    writeU32(bytes, RequestOffset.request, this.#requestNext);
    bytes[RequestOffset.operation] = operation;
    writeU32(bytes, RequestOffset.previousRequestLatency, this.#latencyUs);
    if (bodyChecksum === null) sealBody(bytes, checksum);
    else bytes.set(bodyChecksum, Offset.checksumBody);
    sealHeader(bytes, checksum);
    this.#flight = {
      bytes: bytes.subarray(0, size),
      operation,
      request: this.#requestNext,
      attempt: 0,
      sentAtMs: nowMs,
      resendAtMs: nowMs + RESEND_MS_MIN,
    };
    this.#requestNext += 1;
    if (this.#connected[this.primary]) this.#sendFlight(this.primary);
  }

  /**
   * Once more to the presumed primary, and to one other replica in turn: a backup that knows better
   * passes it on, so that a wrong belief about the primary costs one wait and not all of them.
   */
  #resend(flight: Flight, nowMs: number): void {
    flight.attempt += 1;
    const waitMs = Math.min(RESEND_MS_MAX, RESEND_MS_MIN * 2 ** Math.min(flight.attempt, 10));
    flight.resendAtMs = nowMs + waitMs + this.#prng.below(Math.ceil(waitMs / 4));
    const count = this.#options.replicaCount;
    const other = (this.primary + flight.attempt) % count;
    if (this.#connected[this.primary]) this.#sendFlight(this.primary);
    if (other !== this.primary && this.#connected[other]) this.#sendFlight(other);
  }

  #sendFlight(replica: number): void {
    assert(this.#connected[replica], 'LedgerSession: not connected');
    if (this.#flight === null) return;
    this.#effects.push({ type: 'send', replica, bytes: this.#flight.bytes });
  }

  #ping(replica: number, nowMs: number): void {
    const { checksum, cluster, release, clientId } = this.#options;
    // New bytes each time: the last ping may still wait in a socket.
    const bytes = new Uint8Array(HEADER_SIZE);
    const fields = { command: Command.pingClient, size: HEADER_SIZE, cluster, release };
    initHeader(bytes, { ...fields, view: 0, replica: 0 });
    bytes.set(clientId, PingClientOffset.client);
    const monotonicNs = Math.floor(nowMs * 1_000_000);
    writeSafeU64(bytes, PingClientOffset.pingTimestampMonotonic, monotonicNs);
    writeSafeU64(bytes, PingClientOffset.session, this.#session);
    sealBody(bytes, checksum);
    sealHeader(bytes, checksum);
    this.#effects.push({ type: 'send', replica, bytes });
  }

  #raiseView(view: number): void {
    if (view > this.#view) this.#view = view;
  }
}

function readTimestamp(bytes: Uint8Array): bigint {
  const low = BigInt(readU32(bytes, ReplyOffset.timestamp));
  return (BigInt(readU32(bytes, ReplyOffset.timestamp + 4)) << 32n) | low;
}
