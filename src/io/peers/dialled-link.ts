/**
 * The connection that this replica dials to one peer, again and again for as long as it lives: what
 * is received from that peer comes over it, because only a dialled address says who is at the other
 * end. What is sent over it are hellos. Bytes are read into a buffer of ours (`onread`), and copied
 * once, into the slot of their message.
 *
 * A connection counts when the first helloOk has said that the right replica answers. From then on
 * it must not fall silent: it is asked from time to time, and given up when there is no answer,
 * since a machine that has vanished closes nothing.
 */
import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { assert } from '../../stdx/index.ts';
import {
  Command,
  Framer,
  type FramerResult,
  type Message,
  type MessagePool,
  readCommand,
} from '../../wire/index.ts';
import type { Address } from '../address.ts';
import { Connection, type ConnectionOwner } from '../connection.ts';
import { systemCode } from '../errors.ts';
import type { LogLevel } from '../log.ts';
import { buildHello, confirms, NONCE_SIZE, type PeerIdentity, readAnswerer } from './peer-hello.ts';
import type { PeerLimits } from './peer-limits.ts';
import { type DialProblem, framerProblem } from './peer-text.ts';

export interface DialledLinkOwner {
  /** The right replica has answered: it can be received from. */
  onGreeted(): void;
  /** The answer to {@link DialledLink.ask}. */
  onAnswer(claim: Connection, isConfirmed: boolean): void;
  /** One reference, the owner's. */
  onMessage(message: Message): void;
  /** A slot is wanted and there is none: {@link DialledLink.retry} when there may be. */
  onBlocked(): void;
  /** The connection has ended (`wasGreeted`: it had stood), or could not be made. */
  onLost(problem: DialProblem, wasGreeted: boolean): void;
}

export interface DialledLinkOptions {
  readonly own: PeerIdentity;
  /** Index of the peer. */
  readonly replica: number;
  readonly address: Address;
  readonly pool: MessagePool;
  /** Bytes, header included. */
  readonly requestSizeMax: number;
  /** Where reads go; may be shared, since a piece is dealt with before the next read begins. */
  readonly readBuffer: Uint8Array;
  readonly limits: PeerLimits;
  readonly owner: DialledLinkOwner;
}

/** What replicas say to each other. */
const peerCommands: readonly Command[] = [
  Command.ping,
  Command.pong,
  Command.request,
  Command.prepare,
  Command.prepareOk,
  Command.reply,
  Command.commit,
  Command.startViewChange,
  Command.doViewChange,
  Command.requestStartView,
  Command.requestHeaders,
  Command.requestPrepare,
  Command.requestReply,
  Command.headers,
  Command.requestBlocks,
  Command.block,
  Command.startView,
  Command.helloOk,
  Command.raft,
];

export class DialledLink implements ConnectionOwner {
  readonly #options: DialledLinkOptions;
  #connection: Connection | null = null;
  #isConnected: boolean = false;
  #isGreeted: boolean = false;
  #isClosed: boolean = false;
  #nonce: Uint8Array = new Uint8Array(NONCE_SIZE);
  /** One entry per hello that has no answer yet, oldest first; `null`: nothing was asked. */
  #questions: ({ claim: Connection; nonce: Uint8Array } | null)[] = [];
  #dialledMs: number = 0;
  #probedMs: number = 0;
  #attempt: number = 0;
  #redial: NodeJS.Timeout | null = null;
  #problem: DialProblem | null = null;

  constructor(options: DialledLinkOptions) {
    assert(options.replica !== options.own.replica, 'DialledLink: to itself');
    this.#options = options;
  }

  /** The right replica is at the other end. A connection that was given up does not count. */
  get isGreeted(): boolean {
    return this.#isGreeted && this.#connection?.closed === false;
  }

  /** Of the connection that stands or is being made. */
  get nonce(): Uint8Array {
    return this.#nonce;
  }

  get isConnected(): boolean {
    return this.#isConnected && this.#connection?.closed === false;
  }

  get isBlocked(): boolean {
    return this.#connection?.blocked ?? false;
  }

  dial(): void {
    assert(this.#connection === null, 'DialledLink: dialled twice');
    if (this.#isClosed) return;
    const { pool, own, requestSizeMax, address, replica, readBuffer } = this.#options;
    const nowMs = performance.now();
    const framerOptions = { pool, requestSizeMax, cluster: own.cluster, commands: peerCommands };
    const connection = new Connection({
      id: replica,
      peer: '',
      host: '',
      owner: this,
      nowMs,
      makeFramer: () => new Framer(framerOptions),
    });
    this.#redial = null;
    this.#problem = null;
    this.#dialledMs = nowMs;
    this.#connection = connection;
    this.#nonce = new Uint8Array(randomBytes(NONCE_SIZE));
    const { host, port } = address;
    const callback = (length: number, bytes: Uint8Array): boolean => {
      if (connection.closed) return false;
      return connection.receive(bytes.subarray(0, length), performance.now(), true);
    };
    const onread = { buffer: readBuffer, callback };
    const socket = connect({ host, port, noDelay: true, onread });
    connection.attach(socket);
    socket.on('connect', () => this.#onConnect(socket));
    socket.on('error', (error) => this.#fail({ kind: 'system', code: systemCode(error) }));
    socket.on('end', () => this.#fail({ kind: 'closed' }));
    socket.on('close', () => this.#onClose(connection));
  }

  /** Somebody says that the peer is there: no reason to wait with the next attempt. */
  hurry(): void {
    const sinceMs = performance.now() - this.#dialledMs;
    if (this.#redial === null || sinceMs < this.#options.limits.hurryAfterMs) return;
    clearTimeout(this.#redial);
    this.dial();
  }

  /** Asks whoever is at the configured address whether this nonce is its own. */
  ask(claim: Connection, nonce: Uint8Array): void {
    assert(this.isConnected, 'DialledLink: nobody to ask');
    this.#hello(nonce, { claim, nonce });
  }

  /** Slots may be free again. */
  retry(): void {
    const connection = this.#connection;
    if (connection?.blocked === true && !connection.closed) connection.retry(performance.now());
  }

  /** Gives up what takes too long; `wasLate`: this process stood still until now. */
  sweep(nowMs: number, wasLate: boolean): void {
    const connection = this.#connection;
    if (connection === null || connection.closed) return;
    const { greetTimeoutMs, probeAfterMs, silenceMs } = this.#options.limits;
    if (wasLate) {
      connection.excuse(nowMs);
      this.#dialledMs = nowMs;
    } else if (!this.#isGreeted) {
      if (nowMs - this.#dialledMs > greetTimeoutMs) this.#fail({ kind: 'no-answer' });
    } else if (!connection.blocked && connection.idleMs(nowMs) > probeAfterMs) {
      if (connection.idleMs(nowMs) > silenceMs) this.#fail({ kind: 'silent' });
      else if (nowMs - this.#probedMs > probeAfterMs) this.#hello(null, null);
    }
  }

  /** Ends it for good; nothing is reported afterwards. */
  close(): void {
    this.#isClosed = true;
    if (this.#redial !== null) clearTimeout(this.#redial);
    this.#redial = null;
    this.#connection?.destroy();
  }

  onOutcome(_connection: Connection, result: FramerResult): void {
    const { pool } = this.#options;
    const { message } = result;
    if (this.#isClosed) {
      if (message !== null) pool.release(message);
    } else if (message === null) {
      assert(result.error !== null, 'DialledLink: an outcome without a message');
      this.#fail(framerProblem(result.error));
    } else if (result.outcome === 'oversize') {
      pool.release(message);
      this.#fail({ kind: 'foreign', reason: 'size' });
    } else if (readCommand(message.bytes) === Command.helloOk) {
      this.#onHelloOk(message.bytes);
      pool.release(message);
    } else if (this.isGreeted) {
      this.#options.owner.onMessage(message);
    } else {
      pool.release(message);
      this.#fail({ kind: 'foreign', reason: 'no-hello' });
    }
  }

  onRefused(_connection: Connection, reason: string, _level: LogLevel, _text: string): void {
    this.#fail({ kind: 'foreign', reason });
  }

  onBlocked(_connection: Connection): void {
    this.#options.owner.onBlocked();
  }

  onSent(): void {
    assert(false, 'DialledLink: messages are sent on accepted connections');
  }

  #onConnect(socket: Socket): void {
    if (this.#connection === null || this.#connection.closed) return;
    // A port that nobody listens on can be dialled from itself.
    if (socket.localPort === socket.remotePort && socket.localAddress === socket.remoteAddress) {
      this.#fail({ kind: 'system', code: 'ECONNREFUSED' });
      return;
    }
    this.#isConnected = true;
    this.#hello(null, null);
  }

  #hello(
    verify: Uint8Array | null,
    question: { claim: Connection; nonce: Uint8Array } | null,
  ): void {
    const { own, replica, pool, limits } = this.#options;
    assert(this.#connection !== null && this.isConnected, 'DialledLink: not connected');
    const bytes = buildHello(own, replica, this.#nonce, verify, pool.checksum);
    this.#probedMs = performance.now();
    // Whoever takes no hellos is not alive enough; the sweep will find it silent.
    if (this.#connection.sendBytes(bytes, limits.helloBytesMax)) this.#questions.push(question);
  }

  #onHelloOk(bytes: Uint8Array): void {
    const { own, replica, owner } = this.#options;
    const answerer = readAnswerer(bytes);
    if (answerer.replicaCount !== own.replicaCount || answerer.replica !== replica) {
      this.#fail({ kind: 'other-replica', ...answerer });
      return;
    }
    const question = this.#questions.shift();
    if (question === undefined) {
      this.#fail({ kind: 'foreign', reason: 'no-hello' });
      return;
    }
    if (!this.#isGreeted) {
      this.#isGreeted = true;
      this.#attempt = 0;
      owner.onGreeted();
    }
    if (question !== null) owner.onAnswer(question.claim, confirms(bytes, question.nonce));
  }

  /** Ends this connection; the first problem is the one that is told. */
  #fail(problem: DialProblem): void {
    this.#problem ??= problem;
    this.#connection?.destroy();
  }

  #onClose(connection: Connection): void {
    assert(this.#connection === connection, 'DialledLink: another connection was closed');
    connection.releaseAll();
    const wasGreeted = this.#isGreeted;
    this.#connection = null;
    this.#isConnected = false;
    this.#isGreeted = false;
    this.#questions = [];
    if (this.#isClosed) return;
    const { redialMsMin, redialMsMax } = this.#options.limits;
    const waitMs = Math.min(redialMsMax, redialMsMin * 2 ** Math.min(this.#attempt, 10));
    this.#attempt += 1;
    this.#redial = setTimeout(() => this.dial(), waitMs * (1 - Math.random() / 4));
    this.#options.owner.onLost(this.#problem ?? { kind: 'closed' }, wasGreeted);
  }
}
