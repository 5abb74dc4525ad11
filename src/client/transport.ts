/**
 * The sockets of one client: one connection to each replica, dialled again for as long as the
 * client lives. It moves whole messages and knows nothing of sessions. For each address it keeps
 * the last thing that went wrong, so that a failed connect can say what it was.
 */
import { connect, type Socket } from 'node:net';
import type { Address } from '../io/index.ts';
import { assert } from '../stdx/index.ts';
import { Framer, type FramerError, type MessagePool } from '../wire/index.ts';

/** First wait before dialling again, milliseconds; doubles up to the maximum. */
const REDIAL_MS_MIN = 10;
const REDIAL_MS_MAX = 1000;
/** Bytes that one read takes at most. */
const CHUNK_SIZE = 131_072;
/** Messages that may wait in one socket; more are dropped, the session sends them again. */
const WRITES_MAX = 4;

/** The last thing that went wrong with an address since it last worked. */
export type LinkProblem =
  | { readonly kind: 'refused' }
  /** No connection, for another reason: `code` is the system's. */
  | { readonly kind: 'unreachable'; readonly code: string }
  /** It accepted, then closed before it had said anything. */
  | { readonly kind: 'silent-close' }
  /** A ledger of another cluster; 16 bytes. */
  | { readonly kind: 'cluster'; readonly cluster: Uint8Array }
  /** It speaks something else. */
  | { readonly kind: 'foreign'; readonly error: FramerError['kind'] };

export interface TransportOptions {
  readonly addresses: readonly Address[];
  /** 16 bytes. */
  readonly cluster: Uint8Array;
  readonly pool: MessagePool;
  onConnected(replica: number): void;
  onDisconnected(replica: number): void;
  /** `bytes` is the whole message, valid during the call. */
  onMessage(replica: number, bytes: Uint8Array): void;
}

interface Link {
  readonly replica: number;
  readonly address: Address;
  readonly framer: Framer;
  socket: Socket | null;
  connected: boolean;
  /** Something arrived on this connection. */
  heard: boolean;
  attempt: number;
  writes: number;
  redial: NodeJS.Timeout | null;
  problem: LinkProblem | null;
}

export class Transport {
  readonly #options: TransportOptions;
  readonly #links: readonly Link[];
  #closed: boolean = false;

  constructor(options: TransportOptions) {
    assert(options.addresses.length >= 1, 'Transport: no address');
    this.#options = options;
    const { pool, cluster } = options;
    this.#links = options.addresses.map((address, replica) => ({
      replica,
      address,
      framer: new Framer({ pool, cluster, requestSizeMax: pool.requestSlotSize }),
      socket: null,
      connected: false,
      heard: false,
      attempt: 0,
      writes: 0,
      redial: null,
      problem: null,
    }));
  }

  /** Dials every address. */
  start(): void {
    for (const link of this.#links) this.#dial(link);
  }

  /** Per address, in order: what went wrong last, or `null` when it works or is being tried. */
  problems(): readonly (LinkProblem | null)[] {
    return this.#links.map((link) => link.problem);
  }

  /** Writes a message, without a copy: `bytes` must not change until it is answered. */
  send(replica: number, bytes: Uint8Array): void {
    const link = this.#links[replica];
    const { socket } = link;
    if (socket === null || !link.connected || link.writes >= WRITES_MAX) return;
    link.writes += 1;
    socket.write(bytes, () => {
      if (link.socket === socket) link.writes -= 1;
    });
  }

  /**
   * The request in flight is answered and its bytes will be used again: a socket that has not
   * written all yet would send a mix of old and new, so it is given up instead.
   */
  dropUnwritten(): void {
    for (const link of this.#links) {
      if (link.writes > 0) link.socket?.destroy();
    }
  }

  /** Closes all connections and dials no more. */
  close(): void {
    this.#closed = true;
    for (const link of this.#links) {
      if (link.redial !== null) clearTimeout(link.redial);
      link.redial = null;
      link.socket?.destroy();
      link.framer.destroy();
    }
  }

  #dial(link: Link): void {
    assert(link.socket === null && !this.#closed, 'Transport: dialled twice');
    link.redial = null;
    link.heard = false;
    link.writes = 0;
    const { host, port } = link.address;
    const socket = connect({
      host,
      port,
      noDelay: true,
      onread: {
        buffer: new Uint8Array(CHUNK_SIZE),
        callback: (size, buffer) => {
          this.#onBytes(link, socket, buffer.subarray(0, size));
          return true;
        },
      },
    });
    link.socket = socket;
    socket.on('connect', () => {
      link.connected = true;
      this.#options.onConnected(link.replica);
    });
    socket.on('error', (error) => this.#onError(link, error));
    socket.on('end', () => socket.destroy());
    socket.on('close', () => this.#onClose(link));
  }

  #onBytes(link: Link, socket: Socket, chunk: Uint8Array): void {
    let offset = 0;
    while (offset < chunk.length && !socket.destroyed) {
      const result = link.framer.push(chunk, offset);
      offset += result.consumed;
      if (result.outcome === 'error') {
        assert(result.error !== null, 'Transport: error without a reason');
        link.heard = true;
        link.problem = framerProblem(result.error);
        socket.destroy();
        return;
      }
      assert(result.outcome !== 'blocked', 'Transport: the pool is too small');
      if (result.message !== null) {
        link.heard = true;
        link.attempt = 0;
        link.problem = null;
        // The framer may drop other messages when the handler closes us; this one stays ours.
        this.#options.onMessage(link.replica, result.message.bytes);
        this.#options.pool.release(result.message);
      }
    }
  }

  #onError(link: Link, error: Error): void {
    const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
    if (link.connected) return;
    link.problem = code === 'ECONNREFUSED' ? { kind: 'refused' } : { kind: 'unreachable', code };
  }

  #onClose(link: Link): void {
    const wasConnected = link.connected;
    if (wasConnected && !link.heard) link.problem = { kind: 'silent-close' };
    link.socket = null;
    link.connected = false;
    link.framer.reset();
    if (this.#closed) return;
    if (wasConnected) this.#options.onDisconnected(link.replica);
    const waitMs = Math.min(REDIAL_MS_MAX, REDIAL_MS_MIN * 2 ** Math.min(link.attempt, 10));
    link.attempt += 1;
    link.redial = setTimeout(() => this.#dial(link), waitMs);
  }
}

function framerProblem(error: FramerError): LinkProblem {
  if (error.kind === 'cluster') return { kind: 'cluster', cluster: error.cluster };
  return { kind: 'foreign', error: error.kind };
}
