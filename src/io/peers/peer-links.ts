/**
 * All links of a replica with the others of its cluster: dials them, learns from the listener who
 * claims to be one of them, reports who is up, and moves messages. See `peer-hello` for what is
 * proven and how, `peer-link` for what a link is.
 *
 * A stranger can make this room answer a hello with "no", and cost it one question to the replica
 * that was named; nothing else.
 */
import { assert } from '../../stdx/index.ts';
import {
  Command,
  commandName,
  type Message,
  type MessagePool,
  readCommand,
} from '../../wire/index.ts';
import { type Address, addressText } from '../address.ts';
import type { Connection } from '../connection.ts';
import { Counts } from '../counts.ts';
import { type LogLevel, type LogSink, printable, RateLimit } from '../log.ts';
import { READ_BUFFER_SIZE } from '../rewrap.ts';
import { buildHelloOk, type PeerIdentity, readHello } from './peer-hello.ts';
import {
  PEER_SWEEP_INTERVAL_MS,
  PEER_SWEEP_LATE_MS,
  type PeerLimits,
  peerLimits,
} from './peer-limits.ts';
import { PeerLink, type PeerLinkOwner, type PeerStatus } from './peer-link.ts';
import {
  type DialProblem,
  dialText,
  helloProblem,
  isMisconfigured,
  problemText,
  refusalText,
} from './peer-text.ts';

/** What the links report; a message carries one reference, which the handler takes over. */
export interface PeerHandler {
  onPeerUp(replica: number, replicaId: Uint8Array, isRecovered: boolean): void;
  onPeerDown(replica: number): void;
  onPeerMessage(replica: number, message: Message): void;
}

/** What the listener that accepts connections hands on. */
export interface PeerDoor {
  /** A hello, the first message of a connection or a later one; valid during the call. */
  onHello(connection: Connection, bytes: Uint8Array): void;
  /** A message has left an accepted connection, or was lost with it; the caller releases it. */
  onSent(connection: Connection, message: Message): void;
  /** A connection that had sent a hello is gone. */
  onClosed(connection: Connection): void;
  /** Slots may be free. */
  resume(): void;
  /** Whether a peer may connect from this host. */
  isExpected(host: string): boolean;
}

export interface PeerLinksOptions {
  readonly own: PeerIdentity;
  /** Of all replicas, in order, this one's included. */
  readonly addresses: readonly Address[];
  readonly pool: MessagePool;
  /** Request limit, header included, bytes. */
  readonly requestSizeMax: number;
  readonly handler: PeerHandler;
  readonly log: LogSink;
  readonly limits?: Partial<PeerLimits>;
}

export interface PeerCounters {
  readonly received: { readonly [command: string]: number };
  readonly sent: { readonly [command: string]: number };
  /** Messages that were not sent, or not handed on, by reason. */
  readonly dropped: { readonly [reason: string]: number };
  /** Dialled connections that ended or did not begin, by reason. */
  readonly dialsFailed: { readonly [reason: string]: number };
}

/** One line about the same trouble with the same peer per this time, ms. */
const TROUBLE_INTERVAL_MS = 30_000;
/** The same for who comes and goes. */
const CHANGE_INTERVAL_MS = 1_000;

export class PeerLinks implements PeerDoor, PeerLinkOwner {
  readonly #options: PeerLinksOptions;
  readonly #limits: PeerLimits;
  /** By index; `null` at our own. */
  readonly #links: readonly (PeerLink | null)[];
  readonly #hosts: Set<string>;
  /** Accepted connections and the links that they say they belong to. */
  readonly #accepted: Map<Connection, PeerLink> = new Map();
  readonly #troubles: RateLimit = new RateLimit(TROUBLE_INTERVAL_MS);
  readonly #changes: RateLimit = new RateLimit(CHANGE_INTERVAL_MS);
  readonly #received: Counts = new Counts();
  readonly #sent: Counts = new Counts();
  readonly #dropped: Counts = new Counts();
  readonly #dialsFailed: Counts = new Counts();
  #sweep: NodeJS.Timeout | null = null;
  #sweptMs: number = 0;
  #isClosed: boolean = false;
  #isResuming: boolean = false;

  constructor(options: PeerLinksOptions) {
    const { own, addresses, pool, requestSizeMax } = options;
    assert(addresses.length === own.replicaCount, 'PeerLinks: an address for each replica');
    assert(own.replica < own.replicaCount, 'PeerLinks: own index out of range');
    this.#options = options;
    this.#limits = { ...peerLimits, ...options.limits };
    this.#hosts = new Set(addresses.map(({ host }) => plainHost(host)));
    const readBuffer = new Uint8Array(READ_BUFFER_SIZE);
    this.#links = addresses.map((address, replica) => {
      if (replica === own.replica) return null;
      // On Windows a read may be posted before the last piece was dealt with.
      const buffer = process.platform === 'win32' ? new Uint8Array(READ_BUFFER_SIZE) : readBuffer;
      return new PeerLink({
        own,
        replica,
        address,
        pool,
        requestSizeMax,
        readBuffer: buffer,
        limits: this.#limits,
        dropped: this.#dropped,
        owner: this,
      });
    });
  }

  /** Dials everybody. */
  start(): void {
    assert(this.#sweep === null && !this.#isClosed, 'PeerLinks: started twice');
    this.#sweptMs = performance.now();
    this.#sweep = setInterval(() => this.#sweepOnce(), PEER_SWEEP_INTERVAL_MS);
    this.#sweep.unref();
    for (const link of this.#links) link?.start();
  }

  /** Reports again who is up: for an engine that has just begun. */
  announce(): void {
    for (const link of this.#links) if (link?.isUp === true) this.onPeerUp(link);
  }

  /** Takes over one reference, and releases it when the bytes have left or were dropped. */
  send(replica: number, message: Message): void {
    const link = this.#links[replica] ?? null;
    assert(link !== null, 'PeerLinks: no such peer');
    const command = readCommand(message.bytes);
    if (link.send(message)) this.#sent.add(commandName(command));
  }

  resume(): void {
    if (this.#isResuming || this.#isClosed) return;
    this.#isResuming = true;
    for (const link of this.#links) if (link?.isBlocked === true) link.retry();
    this.#isResuming = false;
  }

  counters(): PeerCounters {
    return {
      received: this.#received.values(),
      sent: this.#sent.values(),
      dropped: this.#dropped.values(),
      dialsFailed: this.#dialsFailed.values(),
    };
  }

  /** By index, without this replica. */
  status(): readonly PeerStatus[] {
    return this.#links.flatMap((link) => (link === null ? [] : [link.status()]));
  }

  /**
   * Closes what was dialled; accepted connections are the listener's. Nothing is reported after.
   */
  shutdown(): void {
    this.#isClosed = true;
    if (this.#sweep !== null) clearInterval(this.#sweep);
    this.#sweep = null;
    for (const link of this.#links) link?.close();
  }

  onHello(connection: Connection, bytes: Uint8Array): void {
    assert(readCommand(bytes) === Command.hello, 'PeerLinks: not a hello');
    if (this.#isClosed) return;
    const { own, pool } = this.#options;
    const hello = readHello(bytes);
    if (hello === null) {
      const text = refusalText(connection.peer, 'its hello makes no sense');
      connection.refuse('peer-malformed', 'warn', text);
      return;
    }
    const problem = helloProblem(own, hello);
    const known = this.#accepted.get(connection);
    const link = this.#links[hello.replica] ?? null;
    if (problem !== null || link === null || (known ?? link) !== link) {
      // Told before it is closed, so that both logs name both replicas.
      connection.sendBytes(buildHelloOk(own, null, pool.checksum), this.#limits.helloBytesMax);
      const text = problem ?? 'it says twice who it is, and not the same';
      connection.refuse('peer-wrong', 'warn', refusalText(connection.peer, text));
      return;
    }
    this.#accepted.set(connection, link);
    link.onHello(connection, hello);
  }

  onSent(connection: Connection, message: Message): void {
    this.#accepted.get(connection)?.onSent(message);
  }

  onClosed(connection: Connection): void {
    const link = this.#accepted.get(connection);
    this.#accepted.delete(connection);
    if (!this.#isClosed) link?.onAcceptedClosed(connection);
  }

  isExpected(host: string): boolean {
    return this.#hosts.has(plainHost(host));
  }

  onPeerUp(link: PeerLink): void {
    if (this.#isClosed) return;
    const { replica } = link;
    this.#change('peer-up', link, 'is connected');
    this.#options.handler.onPeerUp(replica, link.replicaId, link.isRecovered);
  }

  onPeerDown(link: PeerLink): void {
    if (this.#isClosed) return;
    const { replica } = link;
    this.#change('peer-down', link, 'is not connected');
    this.#options.handler.onPeerDown(replica);
  }

  onPeerMessage(link: PeerLink, message: Message): void {
    if (this.#isClosed) {
      this.#options.pool.release(message);
      return;
    }
    this.#received.add(commandName(readCommand(message.bytes)));
    this.#options.handler.onPeerMessage(link.replica, message);
  }

  onDialProblem(link: PeerLink, problem: DialProblem, awayMs: number): void {
    const { own } = this.#options;
    const reason = problem.kind === 'system' ? problemText(problem) : problem.kind;
    this.#dialsFailed.add(reason);
    const isWrong = isMisconfigured(problem);
    // Waiting may help; that one who was there is gone is told by `peer-down`.
    if (awayMs < this.#limits.troubleAfterMs && !isWrong) return;
    const key = `peer-${problem.kind}`;
    const suppressed = this.#troubles.pass(`${key} ${link.replica}`, performance.now());
    const text = dialText(own, link.replica, link.address, problem);
    this.#log(isWrong ? 'error' : 'warn', key, link.replica, text, suppressed);
  }

  #sweepOnce(): void {
    const nowMs = performance.now();
    const wasLate = nowMs - this.#sweptMs > PEER_SWEEP_LATE_MS;
    this.#sweptMs = nowMs;
    for (const link of this.#links) link?.sweep(nowMs, wasLate);
  }

  #change(event: string, { replica, address }: PeerLink, what: string): void {
    const suppressed = this.#changes.pass(`${event} ${replica}`, performance.now());
    const text = `replica ${replica} at ${addressText(address)} ${what}`;
    this.#log('info', event, replica, text, suppressed);
  }

  /** `suppressed`: how many like it were held back before, or `null`: this one is too. */
  #log(
    level: LogLevel,
    event: string,
    peer: number,
    text: string,
    suppressed: number | null,
  ): void {
    if (suppressed === null) return;
    const fields = suppressed === 0 ? { peer } : { peer, suppressed };
    this.#options.log({ level, event, message: printable(text), fields });
  }
}

/** An IPv4 address is also seen as an IPv6 one that maps it. */
function plainHost(host: string): string {
  return host.startsWith('::ffff:') ? host.slice(7) : host;
}
