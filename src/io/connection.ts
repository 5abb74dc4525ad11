/**
 * One accepted connection: bytes in through a framer, messages out through the socket's queue, and
 * the two limits that keep one slow or hostile client from hurting the others. A connection that
 * finds no free slot stops reading; one that does not take its replies is cut.
 */
import type { Socket } from 'node:net';
import { assert } from '../stdx/index.ts';
import type { Framer, FramerResult, Message } from '../wire/index.ts';
import type { Guest, Regular } from './crowding.ts';
import type { LogLevel } from './log.ts';

/**
 * What is at the other end: `stranger` until its first whole message; then a `client`, or somebody
 * who claims to be a replica (`claim`), or a replica that has proven it (`peer`).
 */
export type ConnectionKind = 'stranger' | 'client' | 'claim' | 'peer';

export interface ConnectionOwner {
  onOutcome(connection: Connection, result: FramerResult): void;
  /** It is to be cut, for a reason that counters show; the text is for the log. */
  onRefused(connection: Connection, reason: string, level: LogLevel, text: string): void;
  /** The framer wants a slot and there is none. */
  onBlocked(connection: Connection): void;
  /** One reference to the message comes back. */
  onSent(connection: Connection, message: Message): void;
}

export interface ConnectionOptions {
  readonly id: number;
  readonly peer: string;
  /** Whence it connected, without the port. */
  readonly host: string;
  readonly owner: ConnectionOwner;
  readonly nowMs: number;
  makeFramer(connection: Connection): Framer;
}

export class Connection implements Guest, Regular {
  readonly id: number;
  readonly peer: string;
  readonly host: string;
  readonly #framer: Framer;
  readonly #owner: ConnectionOwner;
  #socket: Socket | null = null;
  /** What could not be pushed yet; not null exactly while blocked. */
  #rest: Uint8Array | null = null;
  #closed: boolean = false;
  /** Messages handed to the socket and not yet taken by the kernel, oldest first. */
  readonly #sending: Message[] = [];
  /** When the oldest of them was handed over, and when the message being received began. */
  #sendingSinceMs: number = 0;
  #receivingSinceMs: number | null = null;
  /** When bytes last arrived; at first, when it connected. */
  #heardMs: number;
  kind: ConnectionKind = 'stranger';
  /** Of the session that it holds. */
  client: string | null = null;

  constructor(options: ConnectionOptions) {
    this.id = options.id;
    this.peer = options.peer;
    this.host = options.host;
    this.#framer = options.makeFramer(this);
    this.#owner = options.owner;
    this.#heardMs = options.nowMs;
  }

  /** It has sent a whole valid message, and does not only claim something. */
  get isProven(): boolean {
    return this.kind === 'client' || this.kind === 'peer';
  }

  get hasSession(): boolean {
    return this.client !== null;
  }

  get closed(): boolean {
    return this.#closed;
  }

  get blocked(): boolean {
    return this.#rest !== null;
  }

  get sendingCount(): number {
    return this.#sending.length;
  }

  attach(socket: Socket): void {
    assert(this.#socket === null, 'Connection: two sockets');
    this.#socket = socket;
  }

  /**
   * Handles a chunk. `borrowed`: the bytes change when this returns, so a rest is copied. Returns
   * false when reading must pause.
   */
  receive(chunk: Uint8Array, nowMs: number, borrowed: boolean): boolean {
    assert(this.#rest === null, 'Connection: bytes arrived while blocked');
    this.#heardMs = nowMs;
    let offset = 0;
    while (offset < chunk.length && !this.#closed) {
      const result = this.#framer.push(chunk, offset);
      offset += result.consumed;
      if (result.outcome === 'need-more') {
        this.#receivingSinceMs ??= nowMs;
      } else if (result.outcome === 'blocked') {
        const rest = chunk.subarray(offset);
        this.#rest = borrowed ? new Uint8Array(rest) : rest;
        this.#receivingSinceMs = null;
        this.#socket?.pause();
        this.#owner.onBlocked(this);
        return false;
      } else {
        this.#receivingSinceMs = null;
        this.#owner.onOutcome(this, result);
      }
    }
    return !this.#closed;
  }

  /** Tries again after a slot may have become free; reads on if it got through. */
  retry(nowMs: number): void {
    assert(this.#rest !== null, 'Connection: not blocked');
    const rest = this.#rest;
    this.#rest = null;
    const result = this.#framer.push(rest, 0);
    if (result.outcome === 'blocked') {
      this.#rest = rest.subarray(result.consumed);
      this.#owner.onBlocked(this);
      return;
    }
    // It was not read while it waited: that was our silence, not its.
    this.#heardMs = nowMs;
    if (result.outcome === 'need-more') this.#receivingSinceMs = nowMs;
    else this.#owner.onOutcome(this, result);
    if (this.#closed) return;
    // The rest is a copy of ours by now, whatever the chunk was.
    if (this.receive(rest.subarray(result.consumed), nowMs, false)) this.#socket?.resume();
  }

  /** Hands the message to the socket; `onSent` gives the reference back. */
  send(message: Message, size: number, nowMs: number): void {
    assert(this.#socket !== null && !this.#closed, 'Connection: closed');
    if (this.#sending.length === 0) this.#sendingSinceMs = nowMs;
    this.#sending.push(message);
    this.#socket.write(message.bytes.subarray(0, size), () => {
      // Callbacks come in order, but not all of them once the socket is destroyed.
      if (this.#sending[0] !== message) return;
      this.#sending.shift();
      this.#sendingSinceMs = performance.now();
      this.#owner.onSent(this, message);
    });
  }

  /** Sends bytes that are in no pool; false: dropped, because it takes none. */
  sendBytes(bytes: Uint8Array, queuedBytesMax: number): boolean {
    assert(this.#socket !== null && !this.#closed, 'Connection: closed');
    if (this.#socket.writableLength > queuedBytesMax) return false;
    this.#socket.write(bytes);
    return true;
  }

  /** How long the oldest unsent message has been waiting; 0 when there is none. */
  sendingMs(nowMs: number): number {
    return this.#sending.length === 0 ? 0 : nowMs - this.#sendingSinceMs;
  }

  /** How long the message that is half here has been arriving; 0 when there is none. */
  receivingMs(nowMs: number): number {
    return this.#receivingSinceMs === null ? 0 : nowMs - this.#receivingSinceMs;
  }

  /** How long nothing has arrived. */
  idleMs(nowMs: number): number {
    return Math.max(0, nowMs - this.#heardMs);
  }

  /** This process itself was standing still until now: nobody else's silence counts. */
  excuse(nowMs: number): void {
    this.#heardMs = nowMs;
    if (this.#receivingSinceMs !== null) this.#receivingSinceMs = nowMs;
    this.#sendingSinceMs = nowMs;
  }

  /** Asks the owner to cut it. */
  refuse(reason: string, level: LogLevel, text: string): void {
    if (!this.#closed) this.#owner.onRefused(this, reason, level, text);
  }

  /** Cuts the connection; what the kernel has not taken is lost. */
  destroy(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#rest = null;
    this.#receivingSinceMs = null;
    this.#framer.destroy();
    this.#socket?.destroy();
  }

  /** The socket is gone: nothing reads the messages any more. */
  releaseAll(): void {
    this.destroy();
    for (const message of this.#sending.splice(0)) this.#owner.onSent(this, message);
  }
}
