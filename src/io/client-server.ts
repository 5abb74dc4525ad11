/**
 * The listener that clients and other replicas connect to. It accepts, frames, refuses what nobody
 * may send here, limits what a connection may hold, and counts everything by reason. Nothing that
 * arrives can stop the process: the worst outcome for a stranger is a closed connection and one log
 * line.
 *
 * A connection whose first message is a hello claims to be a replica; it may send only hellos and
 * belongs to the peer links from then on (`peers/`).
 */
import net, { type Socket } from 'node:net';
import type { ConnectionId } from '../engine/index.ts';
import { assert } from '../stdx/index.ts';
import {
  Command,
  commandName,
  Framer,
  type FramerError,
  type FramerResult,
  type Message,
  type MessagePool,
  ReplyOffset,
  readCommand,
  readSize,
} from '../wire/index.ts';
import type { Address } from './address.ts';
import {
  clusterText,
  commandText,
  errorReason,
  idText,
  listenError,
  peerText,
  reasonTexts,
} from './client-text.ts';
import { Connection, type ConnectionOwner } from './connection.ts';
import { Counts } from './counts.ts';
import {
  type CrowdLimits,
  crowdLimits,
  isStalled,
  mayTake,
  noReserve,
  Regulars,
  type SlotReserve,
  whoLeaves,
} from './crowding.ts';
import { systemCode } from './errors.ts';
import { type LogLevel, type LogSink, printable, RateLimit } from './log.ts';
import type { PeerDoor } from './peers/peer-links.ts';
import { READ_BUFFER_SIZE, rewrapSocket } from './rewrap.ts';

/** What the server reports; messages carry one reference, which the handler takes over. */
export interface ClientHandler {
  onMessage(connection: ConnectionId, message: Message): void;
  /** A request above the request limit: its header alone. */
  onOversize(connection: ConnectionId, message: Message): void;
  onDisconnected(connection: ConnectionId): void;
}

export interface ClientServerLimits extends CrowdLimits {
  /** Connections at a time; for one more another gives way. Half of them may hold sessions. */
  readonly connectionsMax: number;
  /** Messages queued per connection; more are dropped, as the protocol allows. */
  readonly sendQueueMax: number;
  /** A connection that takes nothing for this long is cut, ms. */
  readonly drainTimeoutMs: number;
  /** Connections more than `connectionsMax` that may come from where other replicas are. */
  readonly peerConnectionsMax: number;
}

export const clientServerLimits: ClientServerLimits = {
  connectionsMax: 1_024,
  sendQueueMax: 4,
  drainTimeoutMs: 5_000,
  peerConnectionsMax: 16,
  ...crowdLimits,
};

export interface ClientServerOptions {
  readonly pool: MessagePool;
  /** 16 bytes. */
  readonly cluster: Uint8Array;
  /** Request limit, header included, bytes. */
  readonly requestSizeMax: number;
  readonly handler: ClientHandler;
  /** Where hellos go. Left out: there are no other replicas, and hellos are refused. */
  readonly peers?: PeerDoor;
  /** Slots that clients leave to the other replicas. */
  readonly reserve?: SlotReserve;
  readonly log: LogSink;
  readonly limits?: Partial<ClientServerLimits>;
  /** False reads accepted sockets by `data` events. */
  readonly onread?: boolean;
}

export interface ClientServerCounters {
  readonly connections: number;
  readonly accepted: number;
  /** Connections that waited for a free message slot, ever and now. */
  readonly blocked: number;
  readonly blockedNow: number;
  readonly received: { readonly [command: string]: number };
  readonly sent: { readonly [command: string]: number };
  /** Connections that ended, by reason. */
  readonly closed: { readonly [reason: string]: number };
  /** Messages that were not sent, by reason. */
  readonly dropped: { readonly [reason: string]: number };
}

/** What clients send. Anything else is a peer that has lost its way, or an attack. */
const clientCommands: readonly Command[] = [Command.pingClient, Command.request, Command.status];
const peerCommands: readonly Command[] = [...clientCommands, Command.hello];
const SWEEP_INTERVAL_MS = 250;
/** A sweep that comes this late says that this process was standing still, ms. */
const SWEEP_LATE_MS = 1_000;
const LOG_INTERVAL_MS = 1_000;
const STATUS_QUEUE_BYTES_MAX = 65_536;
const BACKLOG = 511;

export class ClientServer implements ConnectionOwner {
  readonly #options: ClientServerOptions;
  readonly #limits: ClientServerLimits;
  readonly #reserve: SlotReserve;
  readonly #server: net.Server;
  readonly #connections: Map<ConnectionId, Connection> = new Map();
  /** Connections that wait for a slot, longest wait first; the proven ones go before the others. */
  #blocked: Connection[] = [];
  readonly #regulars: Regulars<Connection>;
  #resuming: boolean = false;
  /** Accepted before `admit`: not read, so what they send waits in the kernel. */
  #early: Socket[] | null = [];
  #idLast: ConnectionId = 0;
  #sweep: NodeJS.Timeout | null = null;
  #sweptMs: number = 0;
  #closing: boolean = false;
  #onread: boolean;
  #readBuffer: Uint8Array | null = null;
  readonly #rateLimit: RateLimit = new RateLimit(LOG_INTERVAL_MS);
  #accepted: number = 0;
  #blockedEver: number = 0;
  readonly #received: Counts = new Counts();
  readonly #sent: Counts = new Counts();
  readonly #closed: Counts = new Counts();
  readonly #dropped: Counts = new Counts();

  constructor(options: ClientServerOptions) {
    assert(options.cluster.length === 16, 'ClientServer: a cluster id has 16 bytes');
    this.#options = options;
    this.#limits = { ...clientServerLimits, ...options.limits };
    this.#reserve = options.reserve ?? noReserve;
    this.#regulars = new Regulars(Math.max(1, Math.floor(this.#limits.connectionsMax / 2)));
    this.#onread = options.onread ?? true;
    this.#server = net.createServer({ noDelay: true, pauseOnConnect: true }, (socket) =>
      this.#accept(socket),
    );
  }

  /**
   * Takes the address, so that a conflict shows at once; resolves to where, with the port that the
   * system chose for port 0. Connections wait, unread, until `admit`.
   * @throws AddressInUseError, AddressUnavailableError
   */
  listen(address: Address): Promise<Address> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', (error) => reject(listenError(error, address)));
      this.#server.listen({ host: address.host, port: address.port, backlog: BACKLOG }, () => {
        this.#server.removeAllListeners('error');
        this.#server.on('error', (error) => {
          this.#warn('listen-error', `accepting failed: ${systemCode(error)}`);
        });
        const bound = this.#server.address();
        assert(bound !== null && typeof bound === 'object', 'ClientServer: no address');
        resolve({ host: bound.address, port: bound.port });
      });
    });
  }

  /** From now on connections are served, those that waited first. */
  admit(): void {
    const early = this.#early;
    this.#early = null;
    for (const socket of early ?? []) this.#serve(socket);
  }

  /** Takes over one reference and releases it when the bytes have left or were dropped. */
  send(id: ConnectionId, message: Message): void {
    const connection = this.#connections.get(id);
    if (connection === undefined || connection.closed) {
      this.#drop(message, 'disconnected');
    } else if (connection.sendingCount >= this.#limits.sendQueueMax) {
      this.#drop(message, 'send-queue-full');
    } else {
      const command = readCommand(message.bytes);
      this.#sent.add(commandName(command));
      if (command === Command.reply) {
        this.#regulars.onReply(connection, idText(message.bytes, ReplyOffset.client));
      } else if (command === Command.eviction) {
        this.#regulars.forget(connection);
      }
      connection.send(message, readSize(message.bytes), performance.now());
      this.#armSweep();
    }
  }

  /** Sends bytes that are in no pool: the answer to a status request. */
  sendBytes(id: ConnectionId, bytes: Uint8Array): void {
    const connection = this.#connections.get(id);
    if (connection === undefined || connection.closed) {
      this.#dropped.add('disconnected');
    } else if (connection.sendBytes(bytes, STATUS_QUEUE_BYTES_MAX)) {
      this.#sent.add(commandName(readCommand(bytes)));
    } else {
      this.#dropped.add('send-queue-full');
    }
  }

  /** Closes a connection for a reason that counters and the log show. */
  close(id: ConnectionId, reason: string): void {
    const connection = this.#connections.get(id);
    if (connection === undefined || connection.closed) return;
    this.#cut(connection, reason);
  }

  /** To be called when messages were released: connections that wait for a slot go on. */
  resume(): void {
    const { pool, peers } = this.#options;
    peers?.resume();
    if (this.#blocked.length === 0 || this.#resuming) return;
    const { request, small } = this.#reserve;
    if (pool.available('request') <= request && pool.available('small') <= small) return;
    this.#resuming = true;
    const waiting = this.#blocked.sort((a, b) => Number(b.isProven) - Number(a.isProven));
    this.#blocked = [];
    const nowMs = performance.now();
    for (const connection of waiting) {
      if (!connection.closed) connection.retry(nowMs);
    }
    this.#resuming = false;
  }

  counters(): ClientServerCounters {
    return {
      connections: this.#connections.size,
      accepted: this.#accepted,
      blocked: this.#blockedEver,
      blockedNow: this.#blocked.length,
      received: this.#received.values(),
      sent: this.#sent.values(),
      closed: this.#closed.values(),
      dropped: this.#dropped.values(),
    };
  }

  /** Stops listening and cuts all connections; no callback comes afterwards. */
  async shutdown(): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    if (this.#sweep !== null) clearInterval(this.#sweep);
    for (const socket of this.#early?.splice(0) ?? []) socket.destroy();
    if (!this.#server.listening) return;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const connection of this.#connections.values()) {
      this.#closed.add('shutdown');
      connection.destroy();
    }
    await closed;
  }

  onOutcome(connection: Connection, result: FramerResult): void {
    const { handler } = this.#options;
    if (result.outcome === 'error') {
      assert(result.error !== null, 'ClientServer: an error without a reason');
      this.#refuse(connection, result.error);
      return;
    }
    const { message } = result;
    assert(message !== null, 'ClientServer: an outcome without a message');
    const command = readCommand(message.bytes);
    this.#received.add(commandName(command));
    if (result.outcome === 'message') {
      if (connection.kind === 'stranger') {
        connection.kind = command === Command.hello ? 'claim' : 'client';
      }
      const isClient = connection.kind === 'client';
      if (isClient && command !== Command.hello) handler.onMessage(connection.id, message);
      else this.#onPeerMessage(connection, message, !isClient && command === Command.hello);
    } else if (connection.kind === 'claim' || connection.kind === 'peer') {
      this.#onPeerMessage(connection, message, false);
    } else {
      handler.onOversize(connection.id, message);
    }
  }

  onRefused(connection: Connection, reason: string, level: LogLevel, text: string): void {
    if (!connection.closed) this.#cut(connection, reason, level, text);
  }

  onBlocked(connection: Connection): void {
    this.#blocked.push(connection);
    if (!this.#resuming) this.#blockedEver += 1;
    this.#armSweep();
  }

  onSent(connection: Connection, message: Message): void {
    this.#options.peers?.onSent(connection, message);
    this.#options.pool.release(message);
    this.resume();
  }

  /** On a connection between replicas, or one that mixes the two: only hellos are right. */
  #onPeerMessage(connection: Connection, message: Message, isRight: boolean): void {
    const { peers, pool } = this.#options;
    if (isRight) {
      assert(peers !== undefined, 'ClientServer: a hello that nobody wants');
      peers.onHello(connection, message.bytes);
    } else {
      const command = readCommand(message.bytes);
      this.#refuse(connection, { kind: 'unexpected-command', command });
    }
    pool.release(message);
  }

  #accept(accepted: Socket): void {
    this.#accepted += 1;
    const isExpected = this.#options.peers?.isExpected(accepted.remoteAddress ?? '') === true;
    const { connectionsMax, peerConnectionsMax } = this.#limits;
    const max = connectionsMax + (isExpected ? peerConnectionsMax : 0);
    const count = this.#connections.size + (this.#early?.length ?? 0);
    if (this.#closing || (count >= max && !this.#makeRoom())) {
      this.#closed.add('connections-max');
      const peer = peerText(accepted);
      this.#warn('connections-max', `connection from ${peer} refused: too many connections`);
      accepted.destroy();
    } else if (this.#early === null) {
      this.#serve(accepted);
    } else {
      accepted.on('error', () => accepted.destroy());
      this.#early.push(accepted);
    }
  }

  /** Cuts the connection that is worth least, if any may be cut. */
  #makeRoom(): boolean {
    const open = [...this.#connections.values()].filter(
      ({ closed, kind }) => !closed && kind !== 'peer',
    );
    if (open.length < this.#limits.connectionsMax && this.#early === null) return true;
    const leaving = whoLeaves(open, performance.now(), this.#limits);
    if (leaving === null) return false;
    this.#cut(leaving, 'connections-max');
    return true;
  }

  #serve(accepted: Socket): void {
    if (accepted.destroyed) return;
    const peer = peerText(accepted);
    this.#idLast += 1;
    const { pool, cluster, requestSizeMax, peers } = this.#options;
    const commands = peers === undefined ? clientCommands : peerCommands;
    const options = { pool, cluster, requestSizeMax, commands };
    const connection = new Connection({
      id: this.#idLast,
      peer,
      host: accepted.remoteAddress ?? '',
      owner: this,
      nowMs: performance.now(),
      makeFramer: (guest) =>
        new Framer({
          ...options,
          mayTake: (slotClass) => mayTake(pool, slotClass, guest.isProven, this.#reserve),
        }),
    });
    const socket = this.#wrap(accepted, connection);
    connection.attach(socket);
    this.#connections.set(connection.id, connection);
    socket.on('error', (error) => this.#onError(connection, error));
    socket.on('close', () => this.#onClose(connection));
    // The end of the peer's stream ends ours too; `end` is only seen by a socket that flows.
    socket.resume();
  }

  /** A socket that delivers to the connection, in the cheapest way that works here. */
  #wrap(accepted: Socket, connection: Connection): Socket {
    if (this.#onread) {
      this.#readBuffer ??= new Uint8Array(READ_BUFFER_SIZE);
      const socket = rewrapSocket(accepted, this.#readBuffer, (bytes) =>
        connection.receive(bytes, performance.now(), true),
      );
      if (socket !== null) return socket;
      this.#onread = false;
    }
    accepted.on('data', (chunk: Buffer) => connection.receive(chunk, performance.now(), false));
    return accepted;
  }

  #onError(connection: Connection, error: Error): void {
    // The rest follows with `close`; what a reset looks like differs between systems.
    if (!connection.closed) this.#cut(connection, errorReason(error), 'debug');
  }

  #onClose(connection: Connection): void {
    if (!connection.closed) this.#closed.add('peer');
    connection.releaseAll();
    this.#regulars.forget(connection);
    this.#connections.delete(connection.id);
    this.#blocked = this.#blocked.filter((other) => other !== connection);
    const isPeer = connection.kind === 'claim' || connection.kind === 'peer';
    if (isPeer) this.#options.peers?.onClosed(connection);
    else if (!this.#closing) this.#options.handler.onDisconnected(connection.id);
  }

  #refuse(connection: Connection, error: FramerError): void {
    if (error.kind === 'cluster') {
      const foreign = clusterText(error.cluster);
      const own = clusterText(this.#options.cluster);
      const text = `client of cluster ${foreign} refused, this is cluster ${own}`;
      this.#cut(connection, 'cluster', 'warn', text);
      return;
    }
    const command = 'command' in error ? ` (${commandText(error.command)})` : '';
    const text = `connection from ${connection.peer} closed: ${reasonTexts[error.kind]}${command}`;
    this.#cut(connection, error.kind, 'warn', text);
  }

  #cut(connection: Connection, reason: string, level: LogLevel = 'warn', text?: string): void {
    assert(!connection.closed, 'ClientServer: cut twice');
    this.#closed.add(reason);
    const message = text ?? `connection from ${connection.peer} closed: ${reason}`;
    this.#log(level, `client-${reason}`, message);
    connection.destroy();
  }

  #drop(message: Message, reason: string): void {
    this.#dropped.add(reason);
    this.#options.pool.release(message);
  }

  /** Looks for connections that hold something for too long; runs only while any could. */
  #armSweep(): void {
    if (this.#sweep !== null || this.#closing) return;
    this.#sweptMs = performance.now();
    this.#sweep = setInterval(() => this.#sweepOnce(), SWEEP_INTERVAL_MS);
    this.#sweep.unref();
  }

  #sweepOnce(): void {
    const nowMs = performance.now();
    const wasLate = nowMs - this.#sweptMs > SWEEP_LATE_MS;
    this.#sweptMs = nowMs;
    const isFull = this.#blocked.length > 0;
    let sending = 0;
    for (const connection of this.#connections.values()) {
      if (connection.closed) continue;
      if (wasLate) connection.excuse(nowMs);
      if (connection.sendingMs(nowMs) > this.#limits.drainTimeoutMs) {
        this.#cut(connection, 'send-stalled');
      } else if (isFull && isStalled(connection, nowMs, this.#limits)) {
        this.#cut(connection, 'receive-stalled');
      }
      sending += connection.sendingCount;
    }
    // What a cut connection held in its framer is free now.
    this.resume();
    if (sending > 0 || this.#blocked.length > 0 || this.#sweep === null) return;
    clearInterval(this.#sweep);
    this.#sweep = null;
  }

  #warn(event: string, message: string): void {
    this.#log('warn', event, message);
  }

  #log(level: LogLevel, event: string, message: string): void {
    const suppressed = this.#rateLimit.pass(event, performance.now());
    if (suppressed === null) return;
    const fields = suppressed === 0 ? {} : { suppressed };
    this.#options.log({ level, event, message: printable(message), fields });
  }
}
