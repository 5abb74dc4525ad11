/**
 * How a client reaches its servers: `ClientLine` is all that a simulated client knows of networks.
 * Here is the line to a single server; `cluster-line` leads to several.
 */
import type { Prng } from '../../stdx/index.ts';
import { drawLatency, type LatencyRange } from '../world/latency.ts';
import type { World } from '../world/world.ts';
import type { Network, NetworkClient } from './network.ts';

export interface LineUser {
  /** A connection was made: what waits for one may be sent now. */
  onOpen(): void;
  onBytes(bytes: Uint8Array): void;
}

export interface ClientLine {
  /** Whether anything that is sent now goes anywhere. */
  readonly isOpen: boolean;
  /** Begins to connect, for good: what breaks is made again. */
  start(user: LineUser): void;
  /** Sends a request where a client that has heard of `view` sends it. */
  request(view: number, bytes: Uint8Array): void;
  /** Sends to every server. */
  ping(bytes: Uint8Array): void;
  /** Breaks what is connected. */
  hangUp(): void;
  /** For messages about runs that do not end. */
  describe(): string;
}

/** How long until a broken connection is made again, on top of the pause, nanoseconds. */
export const RECONNECT_NS = 1_000_000;

export class SingleLine implements ClientLine, NetworkClient {
  readonly #world: World;
  readonly #network: Network;
  readonly #prng: Prng;
  readonly #pause: LatencyRange;
  #user: LineUser | null = null;
  #connection: number | null = null;
  #isConnecting: boolean = false;

  constructor(world: World, network: Network, prng: Prng, pause: LatencyRange) {
    this.#world = world;
    this.#network = network;
    this.#prng = prng;
    this.#pause = pause;
  }

  get isOpen(): boolean {
    return this.#connection !== null;
  }

  start(user: LineUser): void {
    this.#user = user;
    this.#connect();
  }

  request(_: number, bytes: Uint8Array): void {
    if (this.#connection !== null) this.#network.toServer(this.#connection, bytes);
  }

  ping(bytes: Uint8Array): void {
    if (this.#connection !== null) this.#network.toServer(this.#connection, bytes);
  }

  hangUp(): void {
    if (this.#connection !== null) this.#network.disconnect(this.#connection);
  }

  describe(): string {
    return this.#connection === null ? 'not connected' : `on c${this.#connection}`;
  }

  onConnected(connection: number): void {
    this.#isConnecting = false;
    this.#connection = connection;
    this.#user?.onOpen();
  }

  onRefused(): void {
    this.#isConnecting = false;
    this.#reconnectLater();
  }

  onDisconnected(connection: number): void {
    if (this.#connection !== connection) return;
    this.#connection = null;
    this.#reconnectLater();
  }

  onBytes(bytes: Uint8Array): void {
    this.#user?.onBytes(bytes);
  }

  #connect(): void {
    if (this.#isConnecting || this.#connection !== null) return;
    this.#isConnecting = true;
    this.#network.connect(this);
  }

  #reconnectLater(): void {
    const delayNs = drawLatency(this.#prng, this.#pause) + RECONNECT_NS;
    this.#world.after(delayNs, () => this.#connect());
  }
}
