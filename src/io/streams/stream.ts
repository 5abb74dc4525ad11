/**
 * One connection that carries messages: cut by a framer on their way in, joined to one write per
 * {@link Stream.flush} on their way out. Knows whether what was sent has left.
 */
import type { Socket } from 'node:net';
import { glibcErrorText } from '../append-file/error-text.ts';
import type { Connected } from './connected.ts';
import { STREAM_BACKLOG_MAX, STREAM_END_MS, TLS_BACKLOG_MIN } from './limits.ts';

/** Cuts bytes into messages. A chunk does not change after it was pushed. */
export interface Framer<Message> {
  push(chunk: Uint8Array): readonly Message[];
}

export interface StreamHandler<Message> {
  /** At least one. */
  messages(messages: readonly Message[]): void;
  /** The stream was backlogged, and everything has left. */
  drained(): void;
  /** The other side sends nothing more, but may still read. */
  ended(): void;
  /** Bytes came, or left that could not before. */
  activity(): void;
  /** Once; nothing follows. `null`: it was closed in order. */
  closed(error: string | null): void;
}

export interface StreamOptions<Message> extends Connected {
  readonly framer: Framer<Message>;
  readonly handler: StreamHandler<Message>;
  /** Whoever is further behind is cut off, bytes. */
  readonly backlogMax?: number;
}

const encoder = new TextEncoder();
const EMPTY: Uint8Array = new Uint8Array(0);

export class Stream<Message> {
  /** As logs have it. */
  readonly name: string;
  readonly tlsIdentity: string | null;
  readonly #socket: Socket;
  readonly #framer: Framer<Message>;
  readonly #handler: StreamHandler<Message>;
  readonly #backlogMax: number;
  /** From so many bytes on that have not left it is backlogged. */
  readonly #backlogMin: number;
  #unsent: Uint8Array[] = [];
  #backlogged: boolean = false;
  #paused: boolean = false;
  #ending: boolean = false;
  #closed: boolean = false;
  #endTimer: NodeJS.Timeout | null = null;

  constructor(options: StreamOptions<Message>) {
    const { socket, name, tlsIdentity, isTls, framer, handler } = options;
    this.name = name;
    this.tlsIdentity = tlsIdentity;
    this.#socket = socket;
    this.#framer = framer;
    this.#handler = handler;
    this.#backlogMax = options.backlogMax ?? STREAM_BACKLOG_MAX;
    this.#backlogMin = isTls ? TLS_BACKLOG_MIN : 1;
    socket.on('data', (chunk: Uint8Array) => this.#onData(chunk));
    socket.on('end', () => this.#onEnd());
    socket.on('error', (error: Error) => this.#onClosed(glibcErrorText(error)));
    socket.on('close', () => this.#onClosed(null));
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  get isPaused(): boolean {
    return this.#paused;
  }

  /** Something that was flushed has not left yet. */
  get isBacklogged(): boolean {
    return this.#backlogged;
  }

  /** Bytes that have not left. */
  get backlogBytes(): number {
    return this.#socket.writableLength;
  }

  /** Leaves with the next {@link flush}. Bytes must not change afterwards. */
  send(message: string | Uint8Array): void {
    if (this.#closed || this.#ending) return;
    this.#unsent.push(typeof message === 'string' ? encoder.encode(message) : message);
  }

  flush(): void {
    const unsent = this.#unsent;
    if (unsent.length === 0 || this.#closed) return;
    this.#unsent = [];
    const bytes = unsent.length === 1 ? (unsent[0] as Uint8Array) : Buffer.concat(unsent);
    if (this.#backlogged) this.#socket.write(bytes, this.#onWritten);
    else this.#socket.write(bytes);
    const { writableLength } = this.#socket;
    if (writableLength >= this.#backlogMin && !this.#backlogged) this.#beginBacklog();
    if (writableLength > this.#backlogMax) this.destroy('it does not read');
  }

  /**
   * From here on what leaves is looked at. Mostly all leaves at once, and nobody has to be told: a
   * callback for each write costs as much as everything else here.
   */
  #beginBacklog(): void {
    this.#backlogged = true;
    this.#socket.write(EMPTY, this.#onWritten);
  }

  pause(): void {
    if (this.#paused || this.#closed) return;
    this.#paused = true;
    this.#socket.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#socket.resume();
  }

  /** Closes when what was sent has left, or that takes too long. */
  end(): void {
    if (this.#closed || this.#ending) return;
    this.flush();
    if (this.#closed) return;
    this.#ending = true;
    // The other side may have more to say before it notices; nobody listens.
    this.#socket.resume();
    this.#socket.end(() => this.#socket.destroy());
    this.#endTimer = setTimeout(() => this.destroy(null), STREAM_END_MS);
    this.#endTimer.unref();
  }

  /** Closes at once. `error`: what the handler is told. */
  destroy(error: string | null): void {
    this.#onClosed(error);
  }

  readonly #onWritten = (error?: Error | null): void => {
    if (error || this.#closed || this.#ending || !this.#backlogged) return;
    this.#handler.activity();
    if (this.#socket.writableLength > 0) return;
    this.#backlogged = false;
    this.#handler.drained();
  };

  #onData(chunk: Uint8Array): void {
    if (this.#closed || this.#ending) return;
    this.#handler.activity();
    const messages = this.#framer.push(chunk);
    if (messages.length > 0) this.#handler.messages(messages);
  }

  #onEnd(): void {
    if (!this.#closed && !this.#ending) this.#handler.ended();
  }

  #onClosed(error: string | null): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#unsent = [];
    if (this.#endTimer !== null) clearTimeout(this.#endTimer);
    this.#socket.destroy();
    this.#handler.closed(error);
  }
}
