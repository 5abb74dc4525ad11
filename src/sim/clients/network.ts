/**
 * The network between clients and one server: connections that deliver whole messages after a
 * delay drawn from the seed, so messages overtake each other; that lose some, deliver some twice,
 * and break.
 *
 * A TCP connection would not reorder or duplicate, but a client that reconnects and sends again
 * makes both happen across connections, and engines must not care; doing it within one finds the
 * same mistakes sooner.
 */
import type { ConnectionId } from '../../engine/index.ts';
import { assert, type Prng } from '../../stdx/index.ts';
import { drawLatency, type Latency } from '../world/latency.ts';
import { Stream, type World } from '../world/world.ts';

/** Chances are in 1,000 messages. */
export interface NetworkOptions {
  readonly latency: Latency;
  readonly losses: number;
  readonly duplicates: number;
  readonly disconnects: number;
}

/** Whether a message gets through. */
export type LineFilter = (direction: 'to-server' | 'to-client', bytes: Uint8Array) => boolean;

export interface NetworkServer {
  /** Whether a connection can be made now. */
  readonly isListening: boolean;
  onConnected(connection: ConnectionId): void;
  /** The server's own copy of a message's bytes. */
  onBytes(connection: ConnectionId, bytes: Uint8Array): void;
  onDisconnected(connection: ConnectionId): void;
}

export interface NetworkClient {
  onConnected(connection: ConnectionId): void;
  onRefused(): void;
  onBytes(bytes: Uint8Array): void;
  onDisconnected(connection: ConnectionId): void;
}

export class Network {
  readonly #world: World;
  readonly #prng: Prng;
  readonly #options: NetworkOptions;
  readonly #server: NetworkServer;
  readonly #connections: Map<ConnectionId, NetworkClient> = new Map();
  /** The server is gone, the client does not know yet: what was on its way still arrives. */
  readonly #ending: Set<ConnectionId> = new Set();
  #connectionNext: ConnectionId = 1;
  #isCalm: boolean = false;
  #filter: LineFilter | null = null;

  /** `index`: which server of several it leads to. */
  constructor(world: World, options: NetworkOptions, server: NetworkServer, index: number = 0) {
    assert(options.losses + options.disconnects < 1000, 'Network: nothing would get through');
    this.#world = world;
    this.#options = options;
    this.#prng = world.prng(Stream.link, index);
    this.#server = server;
  }

  /** From now on nothing is lost, doubled or broken. */
  calm(): void {
    this.#isCalm = true;
  }

  /** What `filter` does not let through is lost; `null`: nothing is. */
  filter(filter: LineFilter | null): void {
    this.#filter = filter;
  }

  /** Asks for a connection; the client hears later whether it has one. */
  connect(client: NetworkClient): void {
    this.#later(() => {
      if (!this.#server.isListening) {
        client.onRefused();
        return;
      }
      const connection = this.#connectionNext++;
      this.#connections.set(connection, client);
      this.#world.note('network', 'connect', `c${connection}`);
      this.#server.onConnected(connection);
      client.onConnected(connection);
    });
  }

  toServer(connection: ConnectionId, bytes: Uint8Array): void {
    if (!this.#connections.has(connection)) return;
    if (this.#filter?.('to-server', bytes) === false) return;
    this.#send(connection, bytes, (copy) => {
      const isThere = this.#connections.has(connection) && !this.#ending.has(connection);
      if (isThere) this.#server.onBytes(connection, copy);
    });
  }

  toClient(connection: ConnectionId, bytes: Uint8Array): void {
    if (!this.#connections.has(connection)) return;
    if (this.#filter?.('to-client', bytes) === false) return;
    this.#send(connection, bytes, (copy) => this.#connections.get(connection)?.onBytes(copy));
  }

  /** Either side hangs up, or the line breaks: both hear of it. */
  disconnect(connection: ConnectionId): void {
    const client = this.#connections.get(connection);
    if (client === undefined) return;
    this.#connections.delete(connection);
    this.#world.note('network', 'disconnect', `c${connection}`);
    // A server that is gone hears of nothing.
    if (!this.#ending.delete(connection)) this.#server.onDisconnected(connection);
    client.onDisconnected(connection);
  }

  /** The server is gone and hears of nothing more; clients hear of that a little later. */
  serverDown(): void {
    for (const connection of this.#connections.keys()) {
      if (this.#ending.has(connection)) continue;
      this.#ending.add(connection);
      this.#later(() => this.disconnect(connection));
    }
  }

  #send(connection: ConnectionId, bytes: Uint8Array, deliver: (bytes: Uint8Array) => void): void {
    const { losses, duplicates, disconnects } = this.#options;
    const coverage = this.#world.coverage;
    const fate = this.#isCalm ? 1000 : this.#prng.below(1000);
    if (fate < losses) {
      coverage.add('losses');
      return;
    }
    if (fate < losses + disconnects) {
      coverage.add('disconnects');
      // Not within the caller's turn: a line never breaks inside a handler.
      this.#later(() => this.disconnect(connection));
      return;
    }
    const copy = bytes.slice();
    this.#later(() => deliver(copy));
    if (this.#isCalm || !this.#prng.chance(duplicates, 1000)) return;
    coverage.add('duplicates');
    const second = bytes.slice();
    this.#later(() => deliver(second));
  }

  #later(action: () => void): void {
    this.#world.after(drawLatency(this.#prng, this.#options.latency), action);
  }
}
