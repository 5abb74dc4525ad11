/**
 * One connection to an OVSDB server: bytes out, frames in. `sync` asks for an echo and so knows
 * when everything that the server had to say before has arrived.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  encodeUtf8,
  isObject,
  type Json,
  JsonFramer,
  memberOf,
  serialize,
} from '../../src/ovsdb/index.ts';

/** Longest wait for anything that should come at once, ms. */
const PATIENCE_MS = 10_000;
/** How long nothing comes from a server that waits for the rest of a message, ms. */
const SILENCE_MS = 400;

/** What came on a connection, besides frames. */
export type Ending = 'closed' | 'silent';

export class WireSession {
  readonly #socket: Socket;
  readonly #frames: Json[] = [];
  #closed: boolean = false;
  #wake: () => void = () => {};
  #syncs: number = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    const framer = new JsonFramer();
    socket.on('data', (chunk) => {
      for (const result of framer.push(chunk)) {
        if (!result.ok) throw new Error(`the server sends no JSON: ${result.error}`);
        this.#frames.push(result.value);
      }
      this.#wake();
    });
    // A server that closes with bytes unread resets the connection; what it said before was read.
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#closed = true;
      this.#wake();
    });
  }

  /** To a unix socket, which may not be there yet. */
  static async open(path: string): Promise<WireSession> {
    const deadlineMs = performance.now() + PATIENCE_MS;
    for (;;) {
      const socket = await new Promise<Socket | null>((resolve) => {
        const candidate = connect(path);
        candidate.once('connect', () => resolve(candidate));
        candidate.once('error', () => resolve(null));
      });
      if (socket !== null) return new WireSession(socket);
      if (performance.now() > deadlineMs) throw new Error(`nobody listens at ${path}`);
      await sleep(10);
    }
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Frames that nobody has taken. */
  get waitingFrames(): number {
    return this.#frames.length;
  }

  write(bytes: string | Uint8Array): void {
    this.#socket.write(bytes);
  }

  send(message: Json): void {
    this.write(encodeUtf8(serialize(message)));
  }

  /** A request and its reply; other frames stay for `take`. */
  async request(method: string, params: Json, id: Json = 'request'): Promise<Json> {
    this.send({ id, method, params });
    const isReply = (frame: Json): boolean =>
      isObject(frame) && memberOf(frame, 'method') === undefined && memberOf(frame, 'id') === id;
    const at = await this.#arrived(isReply, PATIENCE_MS);
    if (at === null)
      throw new Error(
        `no reply to ${method}: ${this.#closed ? 'closed' : 'late'} ${serialize(this.#frames)}`,
      );
    return this.#frames.splice(at, 1)[0] as Json;
  }

  /**
   * Until all is here that the server says before it answers an echo. Bytes given are sent first,
   * in the same write: one that fails, because the server has closed, would lose what it said.
   */
  async sync(silenceMs: number = PATIENCE_MS, bytes?: Uint8Array): Promise<Ending | null> {
    if (bytes === undefined) await new Promise(setImmediate);
    if (this.#closed) return 'closed';
    const id = `sync-${++this.#syncs}`;
    const echo = encodeUtf8(serialize({ id, method: 'echo', params: [] }));
    this.write(bytes === undefined ? echo : Buffer.concat([bytes, echo]));
    const at = await this.#arrived(
      (frame) => isObject(frame) && memberOf(frame, 'id') === id,
      silenceMs,
    );
    if (at === null) return this.#closed ? 'closed' : 'silent';
    this.#frames.splice(at, 1);
    return null;
  }

  /** Like `sync`, where the server may be waiting for the rest of a message. */
  syncBriefly(bytes: Uint8Array): Promise<Ending | null> {
    return this.sync(SILENCE_MS, bytes);
  }

  /** Until a frame has come that nobody has taken. */
  async someFrame(): Promise<void> {
    await this.#arrived(() => true, PATIENCE_MS);
  }

  /** Frames since the last time. */
  take(): Json[] {
    return this.#frames.splice(0);
  }

  /** No more is sent; until the server has closed as well. */
  async finish(): Promise<void> {
    this.#socket.end();
    const deadlineMs = performance.now() + PATIENCE_MS;
    while (!this.#closed) {
      if (performance.now() > deadlineMs) throw new Error('the server does not close');
      await this.#change(PATIENCE_MS);
    }
  }

  /** Reads nothing until `resume`. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Index of the first such frame; `null`: closed, or too late. */
  async #arrived(wanted: (frame: Json) => boolean, patienceMs: number): Promise<number | null> {
    const deadlineMs = performance.now() + patienceMs;
    for (;;) {
      const at = this.#frames.findIndex(wanted);
      if (at >= 0) return at;
      const leftMs = deadlineMs - performance.now();
      if (this.#closed || leftMs <= 0) return null;
      await this.#change(leftMs);
    }
  }

  async #change(timeoutMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      timer = setTimeout(resolve, timeoutMs);
    });
    clearTimeout(timer);
  }
}
