/**
 * Admission: everything that clients send is judged here, in the protocol's order, before anything
 * is prepared. Dropping is always safe (a client resends for ever); an eviction ends a client, so
 * only a replica that serves, and has executed all that is committed, may evict. Nothing that
 * arrives here can stop the replica.
 *
 * Admitted requests wait in a queue behind the pipeline. A client has one request under way at
 * most, so queue and pipeline together need no more places than there are clients.
 */
import { assert, bytesEqual, isZero, readSafeU64, readU32, toHex } from '../../stdx/index.ts';
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
} from '../../wire/index.ts';
import type { ConnectionId } from '../event.ts';
import { CLIENTS_MAX, REQUEST_QUEUE_MAX } from '../limits.ts';
import { type Machine, OPERATION_MACHINE_MIN } from '../machine.ts';
import type { Sessions } from '../sessions.ts';
import type { StepOutbox } from '../step-outbox.ts';
import { Clients } from './clients.ts';
import type { Counters, DropReason, RefuseReason } from './counters.ts';
import {
  type Author,
  buildEviction,
  buildPong,
  buildPongUnasked,
  refreshReply,
} from './messages.ts';

/** What admission needs of the replica around it, whatever its engine. */
export interface AdmissionParts {
  readonly pool: MessagePool;
  readonly outbox: Pick<StepOutbox, 'send' | 'close' | 'trace'>;
  readonly counters: Counters;
  readonly member: {
    /** It leads, and has executed all that is committed. */
    readonly isNormalPrimary: boolean;
    /** Nobody else could lead: nothing is held for another. */
    readonly isSolo: boolean;
    /** `recovering`: knows nothing yet. */
    readonly status: string;
    readonly view: number;
    authorToClients(): Author;
  };
  readonly checkpoints: { readonly isReadOnly: boolean };
  readonly primary: {
    /** Headers of prepares that are not executed yet, borrowed. */
    prepares(): Iterable<Uint8Array>;
  };
  readonly heldRequests: { hold(message: Message): void };
  readonly state: {
    readonly machine: Pick<Machine, 'validate'>;
    readonly sessions: Sessions;
    readonly commitMin: number;
  };
}

export interface AdmissionOptions {
  readonly requestSizeMax: number;
  /** Lowest release of clients that are served; the highest is the replica's own. */
  readonly releaseClientMin: number;
}

export class Admission {
  readonly #parts: AdmissionParts;
  readonly #options: AdmissionOptions;
  readonly #clients: Clients = new Clients();
  readonly #queue: Message[] = [];

  constructor(parts: AdmissionParts, options: AdmissionOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  /** Requests that wait. */
  get queueLength(): number {
    return this.#queue.length;
  }

  /** Bytes of the request that waits longest; 0: there is none. */
  get nextSize(): number {
    const first = this.#queue[0];
    return first === undefined ? 0 : readSize(first.bytes);
  }

  /** A verified message from a client connection; takes over the reference. */
  onMessage(connection: ConnectionId, message: Message): void {
    const command = readCommand(message.bytes);
    if (command === Command.request) {
      this.#onRequest(connection, message);
      return;
    }
    if (command === Command.pingClient) {
      this.#onPing(connection, message.bytes);
    } else {
      this.#parts.outbox.trace('warn', 'unexpected-command', { command: commandName(command) });
      this.#close(connection, 'unexpected-command');
    }
    this.#parts.pool.release(message);
  }

  /**
   * A request that another replica passes on, or that was held here until this replica became the
   * primary; takes over the reference.
   */
  onForwarded(message: Message): void {
    const { member, pool } = this.#parts;
    if (readCommand(message.bytes) === Command.request && member.isNormalPrimary) {
      this.#onRequest(null, message);
    } else {
      pool.release(message);
    }
  }

  /** Leads no more: what waits here is asked for again. */
  onOfficeLost(): void {
    this.releaseMessages();
  }

  /** A new primary tells all clients at once whom to ask. */
  redirectClients(): void {
    const { pool, outbox, member } = this.#parts;
    for (const connection of this.#clients.connections()) {
      const pong = pool.acquire('small');
      if (pong === null) return;
      buildPongUnasked(pong.bytes, member.authorToClients(), pool.checksum);
      outbox.send(connection, pong);
    }
  }

  /** The header of a request whose body was too large to keep; takes over the reference. */
  onOversize(connection: ConnectionId, message: Message): void {
    if (readCommand(message.bytes) === Command.request) {
      assert(
        readSize(message.bytes) > this.#options.requestSizeMax,
        'Admission: not an oversize request',
      );
      this.#admit(connection, message, true);
    } else {
      this.#close(connection, 'unexpected-command');
    }
    this.#parts.pool.release(message);
  }

  onDisconnected(connection: ConnectionId): void {
    this.#clients.forget(connection);
  }

  /**
   * The next request to prepare; the caller takes over the reference. Sessions may have changed
   * since it was queued, so it is checked again.
   */
  next(): Message | null {
    for (;;) {
      const message = this.#queue.shift();
      if (message === undefined) return null;
      const { bytes } = message;
      const connection = this.#clients.connectionOf(bytes, RequestOffset.client);
      if (this.#checkSession(connection, bytes)) return message;
      this.#parts.pool.release(message);
    }
  }

  /** Sends a reply to its client, as one of the current view; takes over one reference. */
  sendReply(reply: Message, client: Uint8Array, offset: number): void {
    const connection = this.#clients.connectionOf(client, offset);
    if (connection === null) {
      this.#parts.counters.drop('no-connection');
      this.#parts.pool.release(reply);
      return;
    }
    this.#sendCurrent(connection, reply);
  }

  /** Gives back every message it holds. */
  releaseMessages(): void {
    for (const message of this.#queue) this.#parts.pool.release(message);
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

  #onRequest(connection: ConnectionId | null, message: Message): void {
    const { member, pool, heldRequests } = this.#parts;
    if (member.isNormalPrimary || member.isSolo) {
      if (this.#admit(connection, message, false)) {
        this.#queue.push(message);
        return;
      }
      // The one before it may have been answered by a primary that is gone.
      if (this.#follows(message.bytes)) heldRequests.hold(message);
      pool.release(message);
    } else {
      if (this.#mayHold(connection, message)) heldRequests.hold(message);
      pool.release(message);
    }
  }

  /** All checks of a request; whether it may be queued. Never keeps the message itself. */
  #admit(connection: ConnectionId | null, message: Message, isOversize: boolean): boolean {
    const { member, checkpoints } = this.#parts;
    const { bytes } = message;
    if (requestProblem(bytes) !== null) return this.#drop('invalid-header');
    if (!member.isNormalPrimary) return this.#drop('not-normal');
    if (readView(bytes) > member.view) return this.#drop('newer-view');
    if (!this.#hear(connection, bytes, RequestOffset.client, false)) return false;
    const author = member.authorToClients();
    const refusal =
      this.#releaseRefusal(bytes, author) ??
      (isOversize || readSize(bytes) > this.#options.requestSizeMax
        ? 'invalid-request-body-size'
        : this.#bodyRefusal(bytes));
    if (refusal !== null) {
      this.#evict(connection, bytes, RequestOffset.client, refusal, author);
      return false;
    }
    if (!this.#checkSession(connection, bytes)) return false;
    if (this.#isInFlight(bytes)) return this.#drop('in-flight');
    if (checkpoints.isReadOnly) return this.#drop('read-only');
    if (this.#queue.length >= REQUEST_QUEUE_MAX) return this.#drop('queue-full');
    return true;
  }

  /** At a backup: whether the request could be one for the primary. It is not judged here. */
  #mayHold(connection: ConnectionId | null, message: Message): boolean {
    const { member, state } = this.#parts;
    const { bytes } = message;
    if (requestProblem(bytes) !== null) return this.#drop('invalid-header');
    if (connection === null || member.status === 'recovering') return this.#drop('not-normal');
    if (!this.#hear(connection, bytes, RequestOffset.client, false)) return false;
    if (readSize(bytes) > this.#options.requestSizeMax) return this.#drop('not-primary');
    switch (state.sessions.check(bytes)) {
      case 'accept':
      // What this replica has not executed yet may have made the session, or moved it on.
      case 'session-newer':
      case 'request-gap':
      case 'request-parent':
        return true;
      case 'resend':
        this.#resend(connection, bytes);
        return false;
      case 'no-session':
        // One that is not made yet as far as this replica knows.
        if (!this.#isForgotten(bytes)) return true;
        return this.#refuseForGood(connection, bytes, 'no-session');
      case 'session-too-low':
        return this.#refuseForGood(connection, bytes, 'session-too-low');
      default:
        return this.#drop('not-primary');
    }
  }

  /** What a backup knows as well as the primary: a client of an old view may not find that soon. */
  #refuseForGood(connection: ConnectionId, bytes: Uint8Array, reason: RefuseReason): false {
    const author = this.#parts.member.authorToClients();
    this.#evict(connection, bytes, RequestOffset.client, reason, author);
    return false;
  }

  /** Whether the session of an unknown client was made, and lost, in what is executed here. */
  #isForgotten(request: Uint8Array): boolean {
    const session = readSafeU64(request, RequestOffset.session);
    return session !== null && session > 0 && session <= this.#parts.state.commitMin;
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
    const validity = this.#parts.state.machine.validate(operation, body, bodySizeMax);
    if (validity === 'invalid-operation') return 'invalid-request-operation';
    return validity === 'invalid-body' ? 'invalid-request-body' : null;
  }

  /** Whether sessions let the request pass; otherwise it is answered, evicted or dropped here. */
  #checkSession(connection: ConnectionId | null, bytes: Uint8Array): boolean {
    const author = this.#parts.member.authorToClients();
    const verdict = this.#parts.state.sessions.check(bytes);
    switch (verdict) {
      case 'accept':
        return true;
      case 'resend':
        this.#resend(connection, bytes);
        return false;
      case 'no-session':
        // Its register request may be among those not executed yet.
        if (this.#isInFlight(bytes)) return this.#drop('in-flight');
        this.#evict(connection, bytes, RequestOffset.client, verdict, author);
        return false;
      case 'session-too-low':
      case 'session-release-mismatch':
        this.#evict(connection, bytes, RequestOffset.client, verdict, author);
        return false;
      case 'session-newer':
      case 'request-older':
      case 'request-forked':
      case 'request-gap':
      case 'request-parent':
        return this.#drop(verdict);
    }
  }

  /** The stored reply once more. */
  #resend(connection: ConnectionId | null, bytes: Uint8Array): void {
    const { pool, state } = this.#parts;
    const to = connection ?? this.#clients.connectionOf(bytes, RequestOffset.client);
    if (to === null) return void this.#drop('no-connection');
    const stored = state.sessions.reply(state.sessions.find(bytes, RequestOffset.client));
    pool.retain(stored);
    this.#sendCurrent(to, stored);
  }

  /** A reply that must not name an older view than the client could know; takes a reference. */
  #sendCurrent(connection: ConnectionId, reply: Message): void {
    const { pool, outbox, member } = this.#parts;
    const { view } = member.authorToClients();
    if (readView(reply.bytes) >= view) {
      outbox.send(connection, reply);
      return;
    }
    // A message that was sent never changes: the one with a newer view is a copy.
    const copy = pool.acquire('reply');
    if (copy !== null) {
      copy.bytes.set(reply.bytes.subarray(0, readSize(reply.bytes)));
      refreshReply(copy.bytes, view, pool.checksum);
      outbox.send(connection, copy);
    } else {
      this.#drop('no-slot');
    }
    pool.release(reply);
  }

  #onPing(connection: ConnectionId, bytes: Uint8Array): void {
    const { pool, outbox, member } = this.#parts;
    if (pingClientProblem(bytes) !== null) return void this.#drop('invalid-header');
    if (member.status === 'recovering') return void this.#drop('not-normal');
    if (!this.#hear(connection, bytes, PingClientOffset.client, true)) return;
    const author = member.authorToClients();
    const refusal = member.isNormalPrimary ? this.#pingRefusal(bytes, author) : null;
    if (refusal !== null) {
      this.#evict(connection, bytes, PingClientOffset.client, refusal, author);
      return;
    }
    const pong = pool.acquire('small');
    if (pong === null) return void this.#drop('no-slot');
    buildPong(pong.bytes, bytes, author, pool.checksum);
    outbox.send(connection, pong);
  }

  #pingRefusal(bytes: Uint8Array, author: Author): RefuseReason | null {
    const { state } = this.#parts;
    const session = readSafeU64(bytes, PingClientOffset.session);
    const isUnknown = state.sessions.find(bytes, PingClientOffset.client) < 0;
    // A session number above what is executed here may yet turn out to be a good one.
    const isGone = isUnknown && session !== null && session > 0 && session <= state.commitMin;
    return isGone ? 'no-session' : this.#releaseRefusal(bytes, author);
  }

  /** Notes where the client is; `false` when the connection had to be closed. */
  #hear(
    connection: ConnectionId | null,
    bytes: Uint8Array,
    offset: number,
    isPing: boolean,
  ): boolean {
    // What another replica passes on says nothing of where the client is.
    if (connection === null) return true;
    const heard = this.#clients.hear(connection, bytes, offset, isPing);
    if (heard.kind === 'moved') this.#close(heard.from, 'client-replaced');
    if (heard.kind !== 'changed') return true;
    this.#close(connection, 'client-changed');
    return false;
  }

  /** Whether it is the next request after one that is prepared and not executed yet. */
  #follows(request: Uint8Array): boolean {
    const at = RequestOffset.client;
    const number = readU32(request, RequestOffset.request);
    for (const header of this.#parts.primary.prepares()) {
      if (!bytesEqual(header, PrepareOffset.client, request, at, 16)) continue;
      return readU32(header, PrepareOffset.request) + 1 === number;
    }
    return false;
  }

  /** Whether a request or prepare of the client is under way already. */
  #isInFlight(request: Uint8Array): boolean {
    const at = RequestOffset.client;
    for (const header of this.#parts.primary.prepares()) {
      if (bytesEqual(header, PrepareOffset.client, request, at, 16)) return true;
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
    const { pool, outbox, counters } = this.#parts;
    const { releaseClientMin } = this.#options;
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
    this.#parts.counters.refuse(reason);
    this.#parts.outbox.close(connection, reason);
  }

  /** Counts; returns `false` so that a check can end with it. */
  #drop(reason: DropReason): false {
    this.#parts.counters.drop(reason);
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
