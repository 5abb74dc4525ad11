/**
 * Admission: everything that clients send is judged here, in the protocol's order, before anything
 * is prepared. Dropping is always safe (a client resends for ever); an eviction ends a client, so
 * only a replica that serves, and has executed all that is committed, may evict. Nothing that
 * arrives here can stop the replica.
 *
 * Admitted requests wait in a queue behind the pipeline. A client has one request under way at
 * most, so queue and pipeline together need no more places than there are clients.
 */
import {
  CLIENTS_MAX,
  type ConnectionId,
  OPERATION_MACHINE_MIN,
  REQUEST_QUEUE_MAX,
} from '../engine/index.ts';
import { assert, bytesEqual, isZero, readSafeU64, toHex } from '../stdx/index.ts';
import {
  Command,
  commandName,
  EvictionReason,
  HEADER_SIZE,
  type Message,
  type MessagePool,
  OPERATION_RECONFIGURE,
  OPERATION_REGISTER,
  PingClientOffset,
  PrepareOffset,
  pingClientProblem,
  RequestOffset,
  readCommand,
  readRelease,
  readSize,
  readView,
  releaseText,
  requestProblem,
} from '../wire/index.ts';
import { Clients } from './clients.ts';
import type { Counters, DropReason, RefuseReason } from './counters.ts';
import { type Author, buildEviction, buildPong, refreshReply } from './message.ts';
import type { Outbox } from './outbox.ts';
import type { ReplicatedState } from './state.ts';

/** What admission has to know of the rest of the replica, asked anew for each message. */
export interface Standing {
  /** Serving: recovered, and primary of its view. */
  readonly isServing: boolean;
  /** The disk is full. */
  readonly isReadOnly: boolean;
  readonly author: Author;
  /** Prepares that are not executed yet. */
  readonly pipeline: readonly Message[];
}

export interface AdmissionOptions {
  readonly pool: MessagePool;
  readonly outbox: Outbox;
  readonly counters: Counters;
  readonly state: ReplicatedState;
  readonly requestSizeMax: number;
  /** Lowest release of clients that are served; the highest is the replica's own. */
  readonly releaseClientMin: number;
}

export class Admission {
  readonly #options: AdmissionOptions;
  readonly #clients: Clients = new Clients();
  readonly #queue: Message[] = [];

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /** Requests that wait. */
  get queueLength(): number {
    return this.#queue.length;
  }

  /** A verified message from a client connection; takes over the reference. */
  onMessage(connection: ConnectionId, message: Message, standing: Standing): void {
    const command = readCommand(message.bytes);
    if (command === Command.request) {
      if (this.#admit(connection, message, standing, false)) {
        this.#queue.push(message);
        return;
      }
    } else if (command === Command.pingClient) {
      this.#onPing(connection, message.bytes, standing);
    } else {
      this.#options.outbox.trace('warn', 'unexpected-command', { command: commandName(command) });
      this.#close(connection, 'unexpected-command');
    }
    this.#options.pool.release(message);
  }

  /** The header of a request whose body was too large to keep; takes over the reference. */
  onOversize(connection: ConnectionId, message: Message, standing: Standing): void {
    if (readCommand(message.bytes) === Command.request) {
      assert(
        readSize(message.bytes) > this.#options.requestSizeMax,
        'Admission: not an oversize request',
      );
      this.#admit(connection, message, standing, true);
    } else {
      this.#close(connection, 'unexpected-command');
    }
    this.#options.pool.release(message);
  }

  onDisconnected(connection: ConnectionId): void {
    this.#clients.forget(connection);
  }

  /**
   * The next request to prepare; the caller takes over the reference. Sessions may have changed
   * since it was queued, so it is checked again.
   */
  next(standing: Standing): Message | null {
    for (;;) {
      const message = this.#queue.shift();
      if (message === undefined) return null;
      const { bytes } = message;
      const connection = this.#clients.connectionOf(bytes, RequestOffset.client);
      if (this.#checkSession(connection, bytes, standing)) return message;
      this.#options.pool.release(message);
    }
  }

  /** Sends a reply of the current view to its client; takes over one reference. */
  sendReply(reply: Message, client: Uint8Array, offset: number): void {
    const connection = this.#clients.connectionOf(client, offset);
    if (connection === null) {
      this.#options.counters.drop('no-connection');
      this.#options.pool.release(reply);
      return;
    }
    this.#options.outbox.send(connection, reply);
  }

  /** Gives back every message it holds. */
  releaseMessages(): void {
    for (const message of this.#queue) this.#options.pool.release(message);
    this.#queue.length = 0;
  }

  invariants(): void {
    assert(this.#queue.length <= REQUEST_QUEUE_MAX, 'Admission: queue too long');
    for (const message of this.#queue) {
      assert(message.references > 0, 'Admission: a queued request that nobody holds');
      assert(readCommand(message.bytes) === Command.request, 'Admission: not a request');
    }
    this.#clients.invariants();
  }

  /** All checks of a request; whether it may be queued. Never keeps the message itself. */
  #admit(
    connection: ConnectionId,
    message: Message,
    standing: Standing,
    isOversize: boolean,
  ): boolean {
    const { bytes } = message;
    if (requestProblem(bytes) !== null) return this.#drop('invalid-header');
    if (!standing.isServing) return this.#drop('not-normal');
    if (readView(bytes) > standing.author.view) return this.#drop('newer-view');
    if (!this.#hear(connection, bytes, RequestOffset.client, false)) return false;
    const refusal =
      this.#releaseRefusal(bytes, standing.author) ??
      (isOversize || readSize(bytes) > this.#options.requestSizeMax
        ? 'invalid-request-body-size'
        : this.#bodyRefusal(bytes));
    if (refusal !== null) {
      this.#evict(connection, bytes, RequestOffset.client, refusal, standing.author);
      return false;
    }
    if (!this.#checkSession(connection, bytes, standing)) return false;
    if (this.#isInFlight(bytes, standing.pipeline)) return this.#drop('in-flight');
    if (standing.isReadOnly) return this.#drop('read-only');
    if (this.#queue.length >= REQUEST_QUEUE_MAX) return this.#drop('queue-full');
    return true;
  }

  #releaseRefusal(bytes: Uint8Array, author: Author): RefuseReason | null {
    const release = readRelease(bytes);
    if (release < this.#options.releaseClientMin) return 'client-release-too-low';
    return release > author.release ? 'client-release-too-high' : null;
  }

  /** What is wrong with the operation or its body, if anything. */
  #bodyRefusal(bytes: Uint8Array): RefuseReason | null {
    const operation = bytes[RequestOffset.operation];
    const size = readSize(bytes);
    if (operation === OPERATION_REGISTER) {
      if (size === HEADER_SIZE) return 'invalid-request-body-size';
      const isClean = isZero(bytes, HEADER_SIZE, size - HEADER_SIZE);
      return isClean ? null : 'invalid-request-body';
    }
    // Membership is fixed at format.
    if (operation === OPERATION_RECONFIGURE) return 'invalid-request-operation';
    if (operation < OPERATION_MACHINE_MIN) return null;
    const body = bytes.subarray(HEADER_SIZE, size);
    const bodySizeMax = this.#options.requestSizeMax - HEADER_SIZE;
    const validity = this.#options.state.machine.validate(operation, body, bodySizeMax);
    if (validity === 'invalid-operation') return 'invalid-request-operation';
    return validity === 'invalid-body' ? 'invalid-request-body' : null;
  }

  /** Whether sessions let the request pass; otherwise it is answered, evicted or dropped here. */
  #checkSession(connection: ConnectionId | null, bytes: Uint8Array, standing: Standing): boolean {
    const verdict = this.#options.state.sessions.check(bytes);
    switch (verdict) {
      case 'accept':
        return true;
      case 'resend':
        this.#resend(connection, bytes, standing.author);
        return false;
      case 'no-session':
        // Its register request may be among those not executed yet.
        if (this.#isInFlight(bytes, standing.pipeline)) return this.#drop('in-flight');
        this.#evict(connection, bytes, RequestOffset.client, verdict, standing.author);
        return false;
      case 'session-too-low':
      case 'session-release-mismatch':
        this.#evict(connection, bytes, RequestOffset.client, verdict, standing.author);
        return false;
      case 'session-newer':
      case 'request-older':
      case 'request-forked':
      case 'request-gap':
      case 'request-parent':
        return this.#drop(verdict);
    }
  }

  /** The stored reply once more, in the current view. */
  #resend(connection: ConnectionId | null, bytes: Uint8Array, author: Author): void {
    const { pool, state, outbox } = this.#options;
    if (connection === null) return void this.#drop('no-connection');
    const stored = state.sessions.reply(state.sessions.find(bytes, RequestOffset.client));
    if (readView(stored.bytes) === author.view) {
      pool.retain(stored);
      outbox.send(connection, stored);
      return;
    }
    // A message that was sent never changes: the one with a newer view is a copy.
    const copy = pool.acquire('reply');
    if (copy === null) return void this.#drop('no-slot');
    copy.bytes.set(stored.bytes.subarray(0, readSize(stored.bytes)));
    refreshReply(copy.bytes, author.view, pool.checksum);
    outbox.send(connection, copy);
  }

  #onPing(connection: ConnectionId, bytes: Uint8Array, standing: Standing): void {
    const { pool, outbox, state } = this.#options;
    if (pingClientProblem(bytes) !== null) return void this.#drop('invalid-header');
    if (!standing.isServing) return void this.#drop('not-normal');
    if (!this.#hear(connection, bytes, PingClientOffset.client, true)) return;
    const session = readSafeU64(bytes, PingClientOffset.session);
    const isUnknown = state.sessions.find(bytes, PingClientOffset.client) < 0;
    // A session number above what is executed here may yet turn out to be a good one.
    const isGone = isUnknown && session !== null && session > 0 && session <= state.commitMin;
    const refusal = isGone ? 'no-session' : this.#releaseRefusal(bytes, standing.author);
    if (refusal !== null) {
      this.#evict(connection, bytes, PingClientOffset.client, refusal, standing.author);
      return;
    }
    const pong = pool.acquire('small');
    if (pong === null) return void this.#drop('no-slot');
    buildPong(pong.bytes, bytes, standing.author, pool.checksum);
    outbox.send(connection, pong);
  }

  /** Notes where the client is; `false` when the connection had to be closed. */
  #hear(connection: ConnectionId, bytes: Uint8Array, offset: number, isPing: boolean): boolean {
    const heard = this.#clients.hear(connection, bytes, offset, isPing);
    if (heard.kind === 'moved') this.#close(heard.from, 'client-replaced');
    if (heard.kind !== 'changed') return true;
    this.#close(connection, 'client-changed');
    return false;
  }

  /** Whether a request or prepare of the client is under way already. */
  #isInFlight(request: Uint8Array, pipeline: readonly Message[]): boolean {
    const at = RequestOffset.client;
    for (const { bytes } of pipeline) {
      if (bytesEqual(bytes, PrepareOffset.client, request, at, 16)) return true;
    }
    for (const { bytes } of this.#queue) {
      if (bytesEqual(bytes, at, request, at, 16)) return true;
    }
    return false;
  }

  #evict(
    connection: ConnectionId | null,
    bytes: Uint8Array,
    offset: number,
    reason: RefuseReason,
    author: Author,
  ): void {
    const { pool, outbox, counters, releaseClientMin } = this.#options;
    const code = evictionCodes[reason];
    assert(code !== undefined, 'Admission: not a reason for an eviction');
    counters.refuse(reason);
    outbox.trace('warn', 'client-evicted', {
      reason,
      client: toHex(bytes.subarray(offset, offset + 16)),
      clientRelease: releaseText(readRelease(bytes)),
      serverRelease: releaseText(author.release),
      clientReleaseMin: releaseText(releaseClientMin),
      sessionsMax: CLIENTS_MAX,
    });
    if (connection === null) return;
    const message = pool.acquire('small');
    if (message === null) return void this.#drop('no-slot');
    buildEviction(message.bytes, bytes, offset, code, author, pool.checksum);
    outbox.send(connection, message);
  }

  #close(connection: ConnectionId, reason: RefuseReason): void {
    this.#clients.forget(connection);
    this.#options.counters.refuse(reason);
    this.#options.outbox.close(connection, reason);
  }

  /** Counts; returns `false` so that a check can end with it. */
  #drop(reason: DropReason): false {
    this.#options.counters.drop(reason);
    return false;
  }
}

const evictionCodes: { readonly [reason in RefuseReason]?: EvictionReason } = {
  'no-session': EvictionReason.noSession,
  'client-release-too-low': EvictionReason.clientReleaseTooLow,
  'client-release-too-high': EvictionReason.clientReleaseTooHigh,
  'invalid-request-operation': EvictionReason.invalidRequestOperation,
  'invalid-request-body': EvictionReason.invalidRequestBody,
  'invalid-request-body-size': EvictionReason.invalidRequestBodySize,
  'session-too-low': EvictionReason.sessionTooLow,
  'session-release-mismatch': EvictionReason.sessionReleaseMismatch,
};
