/**
 * The client's half of the session protocol, of a ledger as of any other machine, without sockets
 * and without a clock: what comes in are connections, messages and the time; what goes out is a
 * list of effects. A session registers once, then has one request in flight at a time, which it
 * sends again, byte for byte, until it is answered: the cluster executes it exactly once however
 * often it arrives. The primary is `view mod replicaCount`; views come with replies and pongs and
 * only go up.
 *
 * Every request goes to the presumed primary and to one other replica, chosen by chance: a backup
 * passes on what its primary has not got, so that neither a broken way to the primary nor a wrong
 * belief about who it is costs a whole wait.
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
  PongClientOffset,
  ReplyOffset,
  RequestOffset,
  readCommand,
  readRelease,
  readReplica,
  readSize,
  readView,
  sealBody,
  sealHeader,
} from '../wire/index.ts';

/** First wait for an answer, milliseconds. */
export const RESEND_MS_FIRST = 600;
/** Later ones are two round trips and this, and up to {@link RESEND_SPREAD_MS_MAX} by chance. */
export const RESEND_MS_MIN = 10;
/** The part by chance begins at twice {@link RESEND_MS_MIN} and doubles up to this. */
export const RESEND_SPREAD_MS_MAX = 9990;
/** Round trip before one was measured, and the bounds of what is believed, milliseconds. */
export const RTT_MS_START = 300;
const RTT_MS_MIN = 10;
const RTT_MS_MAX = 60_000;
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
  /** The highest view that an earlier session has seen. Default: 0. */
  readonly view?: number;
}

export type SessionState = 'registering' | 'idle' | 'waiting' | 'evicted';

interface Flight {
  readonly bytes: Uint8Array;
  readonly operation: number;
  readonly request: number;
  attempt: number;
  /** Whether anybody but the primary has been sent it. */
  isHedged: boolean;
  sentAtMs: number;
  resendAtMs: number;
}

export class ClientSession {
  readonly #options: SessionOptions;
  readonly #prng: Prng;
  readonly #connected: boolean[];
  /** Of the last pong of each replica, milliseconds; NaN: none yet. */
  readonly #rttMs: Float64Array;
  /** What the last ping to each replica said, nanoseconds. */
  readonly #pingNs: Float64Array;
  readonly #effects: SessionEffect[] = [];
  readonly #context: Uint8Array = new Uint8Array(16);
  #flight: Flight | null = null;
  #state: SessionState = 'registering';
  #view: number;
  #session: number = 0;
  #requestNext: number = 0;
  #latencyUs: number = 0;
  #pingAtMs: number = 0;

  constructor(options: SessionOptions) {
    assert(options.clientId.length === 16 && !isZero(options.clientId, 0, 16));
    assert(options.cluster.length === 16, 'ClientSession: cluster id is not 16 bytes');
    assert(options.replicaCount >= 1, 'ClientSession: no replica');
    this.#options = options;
    this.#view = options.view ?? 0;
    this.#prng = new Prng(options.seed);
    this.#connected = new Array<boolean>(options.replicaCount).fill(false);
    this.#rttMs = new Float64Array(options.replicaCount).fill(Number.NaN);
    this.#pingNs = new Float64Array(options.replicaCount).fill(Number.NaN);
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
    assert(this.#state === 'registering' && this.#flight === null, 'ClientSession: started twice');
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
    assert(this.#state === 'idle', 'ClientSession: not ready for a request');
    assert(size >= HEADER_SIZE && size <= bytes.length, 'ClientSession: bad size');
    this.#effects.length = 0;
    this.#state = 'waiting';
    this.#launch(bytes, size, operation, nowMs, bodyChecksum);
    return this.#effects;
  }

  /** A connection to this replica stands: ping it, and send it what it should have. */
  onConnected(replica: number, nowMs: number): readonly SessionEffect[] {
    this.#effects.length = 0;
    this.#connected[replica] = true;
    if (this.#state !== 'evicted') {
      this.#ping(replica, nowMs);
      const isWanted = replica === this.primary || this.#flight?.isHedged === false;
      if (isWanted) this.#sendFlight(replica);
    }
    return this.#effects;
  }

  /** Whoever is left gets what the lost primary may not have got, with the next tick. */
  onDisconnected(replica: number): void {
    this.#connected[replica] = false;
    if (this.#flight !== null && replica === this.primary) this.#flight.resendAtMs = 0;
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
    if (command === Command.pongClient) this.#onPong(bytes, nowMs);
    else if (command === Command.reply) this.#onReply(bytes, nowMs);
    else if (command === Command.eviction) this.#onEviction(bytes);
    return this.#effects;
  }

  #onPong(bytes: Uint8Array, nowMs: number): void {
    const viewBefore = this.#view;
    this.#learnRoundTrip(bytes, nowMs);
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
      assert(this.#state === 'waiting', 'ClientSession: reply without request');
      const op = readSafeU64(bytes, ReplyOffset.op) ?? 0;
      this.#effects.push({ type: 'reply', body, op, timestamp: readTimestamp(bytes) });
      this.#state = 'idle';
    }
  }

  #onRegistered(bytes: Uint8Array, body: Uint8Array): void {
    const session = readSafeU64(bytes, ReplyOffset.commit) ?? 0;
    assert(session > 0, 'ClientSession: session number is zero');
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
    assert(this.#flight === null, 'ClientSession: a request is in flight');
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
      isHedged: false,
      sentAtMs: nowMs,
      resendAtMs: nowMs + RESEND_MS_FIRST,
    };
    this.#requestNext += 1;
    this.#sendTwice();
  }

  #resend(flight: Flight, nowMs: number): void {
    flight.attempt += 1;
    const spreadMs = Math.min(RESEND_SPREAD_MS_MAX, RESEND_MS_MIN * 2 ** flight.attempt);
    const waitMs = 2 * this.#roundTripMs() + RESEND_MS_MIN + this.#prng.below(spreadMs + 1);
    flight.resendAtMs = nowMs + waitMs;
    this.#sendTwice();
  }

  /** To the presumed primary and to one other replica, as far as they can be reached. */
  #sendTwice(): void {
    const { primary } = this;
    if (this.#connected[primary]) this.#sendFlight(primary);
    const others: number[] = [];
    for (let replica = 0; replica < this.#connected.length; replica++) {
      if (replica !== primary && this.#connected[replica]) others.push(replica);
    }
    if (others.length > 0) this.#sendFlight(this.#prng.pick(others));
  }

  #sendFlight(replica: number): void {
    assert(this.#connected[replica], 'ClientSession: not connected');
    if (this.#flight === null) return;
    if (replica !== this.primary) this.#flight.isHedged = true;
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
    this.#pingNs[replica] = monotonicNs;
    writeSafeU64(bytes, PingClientOffset.pingTimestampMonotonic, monotonicNs);
    writeSafeU64(bytes, PingClientOffset.session, this.#session);
    sealBody(bytes, checksum);
    sealHeader(bytes, checksum);
    this.#effects.push({ type: 'send', replica, bytes });
  }

  /** Only what echoes our last ping is a measurement. */
  #learnRoundTrip(bytes: Uint8Array, nowMs: number): void {
    const sentNs = readSafeU64(bytes, PongClientOffset.pingTimestampMonotonic);
    const replica = readReplica(bytes);
    if (sentNs === null || sentNs !== this.#pingNs[replica]) return;
    const rttMs = nowMs - sentNs / 1_000_000;
    this.#rttMs[replica] = Math.min(RTT_MS_MAX, Math.max(RTT_MS_MIN, rttMs));
  }

  /** The lower median over the replicas. */
  #roundTripMs(): number {
    const known = this.#rttMs.filter((rttMs) => !Number.isNaN(rttMs)).sort();
    return known.length === 0 ? RTT_MS_START : known[(known.length - 1) >> 1];
  }

  #raiseView(view: number): void {
    if (view > this.#view) this.#view = view;
  }
}

function readTimestamp(bytes: Uint8Array): bigint {
  const low = BigInt(readU32(bytes, ReplyOffset.timestamp));
  return (BigInt(readU32(bytes, ReplyOffset.timestamp + 4)) << 32n) | low;
}
