/**
 * The two connections with one peer, seen from here: the one that this replica dialled, over which
 * it receives, and the accepted one, over which it sends once that has been proven. The peer is
 * *up* when three things hold:
 *
 * 1. the dialled connection stands, and the right replica has answered on it;
 * 2. an accepted connection is proven: the replica at the configured address says it is its own;
 * 3. the peer has asked the same about our dialled connection, and we have confirmed it.
 *
 * The third costs nothing and orders the beginning: whoever is up writes behind the confirmation
 * that makes the other side up, so no message arrives before its `peer-up`.
 *
 * The newest proven connection wins. An unproven one can neither displace it nor receive anything.
 */
import { assert, bytesEqual } from '../../stdx/index.ts';
import {
  Command,
  type Message,
  type MessagePool,
  readCommand,
  readSize,
} from '../../wire/index.ts';
import { type Address, addressText } from '../address.ts';
import type { Connection } from '../connection.ts';
import type { Counts } from '../counts.ts';
import { DialledLink, type DialledLinkOwner } from './dialled-link.ts';
import { buildHelloOk, type Hello, type PeerIdentity } from './peer-hello.ts';
import type { PeerLimits } from './peer-limits.ts';
import { type DialProblem, isRefusal, problemText, refusalText } from './peer-text.ts';

export interface PeerLinkOwner {
  onPeerUp(link: PeerLink): void;
  onPeerDown(link: PeerLink): void;
  onPeerMessage(link: PeerLink, message: Message): void;
  /** `awayMs`: for how long it has been out of reach. */
  onDialProblem(link: PeerLink, problem: DialProblem, awayMs: number): void;
}

export interface PeerLinkOptions {
  readonly own: PeerIdentity;
  readonly replica: number;
  readonly address: Address;
  readonly pool: MessagePool;
  readonly requestSizeMax: number;
  readonly readBuffer: Uint8Array;
  readonly limits: PeerLimits;
  readonly dropped: Counts;
  readonly owner: PeerLinkOwner;
}

/** For status displays. */
export interface PeerStatus {
  readonly replica: number;
  readonly address: string;
  readonly isUp: boolean;
  /** The dialled connection stands. */
  readonly isReceiving: boolean;
  /** The accepted connection is proven. */
  readonly isSending: boolean;
  /** Messages that wait to be sent. */
  readonly unsent: number;
  /** Why the last attempt to dial failed; `null` when it stands. */
  readonly problem: string | null;
}

/** What an accepted connection says of itself. */
interface Claim {
  readonly connection: Connection;
  readonly nonce: Uint8Array;
  readonly replicaId: Uint8Array;
  readonly isRecovered: boolean;
}

/** How a message counts towards the limits of a link. */
type Weight = 'prepare' | 'large' | 'small';

export class PeerLink implements DialledLinkOwner {
  readonly replica: number;
  readonly address: Address;
  readonly #options: PeerLinkOptions;
  readonly #dialled: DialledLink;
  readonly #claims: Map<Connection, Claim> = new Map();
  #proven: Claim | null = null;
  /** The peer has asked about our dialled connection, and got a yes. */
  #hasConfirmed: boolean = false;
  #isUp: boolean = false;
  /** `peer-down` was reported since the link was last up. */
  #isDownReported: boolean = false;
  #problem: DialProblem | null = null;
  #awaySinceMs: number = 0;
  readonly #unsent: { [weight in Weight]: number } = { prepare: 0, large: 0, small: 0 };

  constructor(options: PeerLinkOptions) {
    this.#options = options;
    this.replica = options.replica;
    this.address = options.address;
    this.#dialled = new DialledLink({ ...options, owner: this });
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  /** Of the proven connection. */
  get replicaId(): Uint8Array {
    assert(this.#proven !== null, 'PeerLink: not proven');
    return this.#proven.replicaId;
  }

  get isRecovered(): boolean {
    assert(this.#proven !== null, 'PeerLink: not proven');
    return this.#proven.isRecovered;
  }

  get isBlocked(): boolean {
    return this.#dialled.isBlocked;
  }

  start(): void {
    this.#awaySinceMs = performance.now();
    this.#dialled.dial();
  }

  close(): void {
    this.#dialled.close();
  }

  retry(): void {
    this.#dialled.retry();
  }

  sweep(nowMs: number, wasLate: boolean): void {
    this.#dialled.sweep(nowMs, wasLate);
    const connection = this.#proven?.connection;
    if (connection === undefined || connection.closed) return;
    if (wasLate) connection.excuse(nowMs);
    if (connection.sendingMs(nowMs) > this.#options.limits.drainTimeoutMs) {
      const text = `replica ${this.replica} takes nothing, its connection is given up`;
      connection.refuse('peer-stalled', 'warn', text);
    }
  }

  status(): PeerStatus {
    const { prepare, large, small } = this.#unsent;
    return {
      replica: this.replica,
      address: addressText(this.address),
      isUp: this.#isUp,
      isReceiving: this.#dialled.isGreeted,
      isSending: this.#proven !== null,
      unsent: prepare + large + small,
      problem: this.#problem === null ? null : problemText(this.#problem),
    };
  }

  /** Takes over one reference; whether the message was sent, or will be. */
  send(message: Message): boolean {
    const connection = this.#proven?.connection;
    if (!this.#isUp || connection === undefined || connection.closed) {
      this.#drop(message, 'not-connected');
      return false;
    }
    const weight = weightOf(message);
    if (this.#unsent[weight] >= this.#unsentMax(weight)) {
      this.#drop(message, `${weight}-queue-full`);
      return false;
    }
    this.#unsent[weight] += 1;
    connection.send(message, readSize(message.bytes), performance.now());
    return true;
  }

  /** A message has left, or is lost with its connection. */
  onSent(message: Message): void {
    const weight = weightOf(message);
    assert(this.#unsent[weight] > 0, 'PeerLink: sent more than was given');
    this.#unsent[weight] -= 1;
  }

  /** A hello that names this peer as its sender and us as its receiver. */
  onHello(connection: Connection, hello: Hello): void {
    const known = this.#claims.get(connection) ?? this.#provenBy(connection);
    if (known === null && !this.#begin(connection, hello)) return;
    if (known !== null && !bytesEqual(known.nonce, 0, hello.nonce, 0, hello.nonce.length)) {
      const text = refusalText(connection.peer, 'it says twice who it is, and not the same');
      connection.refuse('peer-inconsistent', 'warn', text);
      return;
    }
    this.#answer(connection, hello);
    this.#update(false);
  }

  /** An accepted connection is gone. */
  onAcceptedClosed(connection: Connection): void {
    this.#claims.delete(connection);
    if (this.#provenBy(connection) === null) return;
    this.#proven = null;
    this.#update(false);
  }

  onGreeted(): void {
    this.#problem = null;
    for (const claim of this.#claims.values()) this.#dialled.ask(claim.connection, claim.nonce);
    this.#update(false);
  }

  onAnswer(connection: Connection, isConfirmed: boolean): void {
    const claim = this.#claims.get(connection);
    if (claim === undefined || connection.closed) return;
    if (!isConfirmed) {
      const where = addressText(this.address);
      const problem = `it says it is replica ${this.replica}, the one at ${where} says it is not`;
      connection.refuse('peer-unproven', 'warn', refusalText(connection.peer, problem));
      return;
    }
    const old = this.#proven;
    this.#claims.delete(connection);
    this.#proven = claim;
    connection.kind = 'peer';
    if (old !== null) {
      const text = `the connection to replica ${this.replica} was made anew`;
      old.connection.refuse('peer-replaced', 'debug', text);
    }
    this.#update(true);
  }

  onMessage(message: Message): void {
    if (this.#isUp) this.#options.owner.onPeerMessage(this, message);
    else this.#drop(message, 'received-early');
  }

  onBlocked(): void {}

  onLost(problem: DialProblem, wasGreeted: boolean): void {
    this.#problem = problem;
    this.#hasConfirmed = false;
    const wasUp = this.#isUp;
    this.#update(false);
    if (!wasUp && isRefusal(problem)) this.#reportDown();
    const nowMs = performance.now();
    if (wasGreeted) this.#awaySinceMs = nowMs;
    this.#options.owner.onDialProblem(this, problem, nowMs - this.#awaySinceMs);
  }

  /** Takes note of a new claim and asks whether it is true, now or as soon as somebody is there. */
  #begin(connection: Connection, hello: Hello): boolean {
    const { limits } = this.#options;
    if (this.#claims.size >= limits.claimsMax) {
      const problem = `too many already say they are replica ${this.replica}`;
      connection.refuse('peer-claims-max', 'warn', refusalText(connection.peer, problem));
      return false;
    }
    const { nonce, replicaId, isRecovered } = hello;
    this.#claims.set(connection, { connection, nonce, replicaId, isRecovered });
    if (this.#dialled.isGreeted) this.#dialled.ask(connection, nonce);
    else this.#dialled.hurry();
    return true;
  }

  /** Each hello is answered, whoever asks: the answer says no more than yes or no. */
  #answer(connection: Connection, hello: Hello): void {
    const { own, pool, limits } = this.#options;
    const { verify } = hello;
    const { nonce, isConnected } = this.#dialled;
    const isRight = isConnected && verify !== null && bytesEqual(verify, 0, nonce, 0, nonce.length);
    if (isRight) this.#hasConfirmed = true;
    const bytes = buildHelloOk(own, isRight ? verify : null, pool.checksum);
    if (connection.closed || connection.sendBytes(bytes, limits.helloBytesMax)) return;
    connection.refuse('peer-flood', 'warn', refusalText(connection.peer, 'it takes no answers'));
  }

  #update(isNew: boolean): void {
    const isUp = this.#dialled.isGreeted && this.#proven !== null && this.#hasConfirmed;
    const wasUp = this.#isUp;
    this.#isUp = isUp;
    if (isUp && (isNew || !wasUp)) {
      this.#isDownReported = false;
      this.#options.owner.onPeerUp(this);
    } else if (!isUp && wasUp) {
      this.#reportDown();
    }
  }

  /** Once until the link is up again. */
  #reportDown(): void {
    if (this.#isDownReported) return;
    this.#isDownReported = true;
    this.#options.owner.onPeerDown(this);
  }

  #provenBy(connection: Connection): Claim | null {
    return this.#proven?.connection === connection ? this.#proven : null;
  }

  #unsentMax(weight: Weight): number {
    const { preparesMax, largeMax, smallMax } = this.#options.limits;
    if (weight === 'prepare') return preparesMax;
    return weight === 'large' ? largeMax : smallMax;
  }

  #drop(message: Message, reason: string): void {
    this.#options.dropped.add(reason);
    this.#options.pool.release(message);
  }
}

function weightOf(message: Message): Weight {
  const command = readCommand(message.bytes);
  if (command === Command.prepare) return 'prepare';
  // What carries a request, or a piece of a snapshot.
  if (command === Command.raft && message.slotClass !== 'small') return 'prepare';
  return message.slotClass === 'small' ? 'small' : 'large';
}
