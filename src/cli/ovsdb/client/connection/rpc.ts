/**
 * A JSON-RPC connection of a program that asks one thing after the other. Probes of the server are
 * answered at any time; other messages wait until they are asked for.
 */
import type { Socket } from 'node:net';
import { JsonFramer } from '../../../../ovsdb/json/framer.ts';
import { serialize } from '../../../../ovsdb/json/serialize.ts';
import { encodeUtf8 } from '../../../../ovsdb/json/utf8.ts';
import {
  type Json,
  type JsonArray,
  type JsonObject,
  jsonEqual,
} from '../../../../ovsdb/json/value.ts';
import { type Message, readMessage } from '../../../../ovsdb/server/message.ts';

/** Why a connection ended: the system's code, `EOF`, or `EPROTO`. */
export class ConnectionEnd extends Error {
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

export type Warn = (module: string, text: string) => void;

/** Messages that have arrived and wait: beyond this the socket is not read. */
const WAITING_MAX = 50;

export type Reply = Extract<Message, { kind: 'reply' | 'error' }>;

export class Rpc {
  /** As the user wrote the address. */
  readonly name: string;
  readonly #socket: Socket;
  readonly #warn: Warn;
  readonly #framer: JsonFramer = new JsonFramer();
  readonly #messages: Message[] = [];
  #ended: ConnectionEnd | null = null;
  #wake: (() => void) | null = null;
  #nextId: number = 0;
  #paused: boolean = false;

  constructor(name: string, socket: Socket, warn: Warn) {
    this.name = name;
    this.#socket = socket;
    this.#warn = warn;
    socket.on('data', (chunk: Uint8Array) => this.#received(chunk));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      const code = error.code ?? 'EPROTO';
      // Writing to who has left: what he said before is read first, as the original does.
      if (code !== 'EPIPE') this.#end(code);
    });
    socket.on('close', () => this.#end('EOF'));
  }

  get ended(): boolean {
    return this.#ended !== null && this.#messages.length === 0;
  }

  /** Sends a request and returns its id. */
  request(method: string, params: JsonArray): Json {
    const id = this.#nextId++;
    this.send({ id, method, params });
    return id;
  }

  send(message: JsonObject): void {
    if (this.#ended === null) this.#socket.write(encodeUtf8(serialize(message)));
  }

  /** The next message; rejects with {@link ConnectionEnd} after the last one. */
  async receive(): Promise<Message> {
    for (;;) {
      const message = this.#messages.shift();
      if (message !== undefined) {
        if (!this.#paused && this.#messages.length < WAITING_MAX) this.#socket.resume();
        return message;
      }
      if (this.#ended !== null) throw this.#ended;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Sends a request and waits for its reply; whatever else comes meanwhile is forgotten. */
  async transact(method: string, params: JsonArray): Promise<Reply> {
    const id = this.request(method, params);
    for (;;) {
      const message = await this.receive();
      if (message.kind !== 'reply' && message.kind !== 'error') continue;
      if (jsonEqual(message.id, id)) return message;
    }
  }

  /** Reads nothing more from the server until {@link resume}. */
  pause(): void {
    this.#paused = true;
    this.#socket.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#socket.resume();
  }

  close(): void {
    this.#socket.destroy();
  }

  /** Wakes whoever waits for a message, which then looks at what else there is. */
  #notify(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }

  #received(chunk: Uint8Array): void {
    for (const result of this.#framer.push(chunk)) {
      if (!result.ok) {
        this.#malformed(`error parsing stream: ${result.error}`);
        return;
      }
      const message = readMessage(result.value);
      if (message.kind === 'malformed') {
        this.#malformed(`received bad JSON-RPC message: ${message.reason}`);
        return;
      }
      if (message.kind === 'request' && message.method === 'echo') {
        this.send({ id: message.id, result: message.params, error: null });
      } else this.#messages.push(message);
    }
    if (this.#messages.length >= WAITING_MAX) this.#socket.pause();
    this.#notify();
  }

  #malformed(text: string): void {
    this.#warn('jsonrpc', `${this.name}: ${text}`);
    this.#end('EPROTO');
    this.#socket.destroy();
  }

  #end(code: string): void {
    if (code !== 'EOF' && code !== 'EPROTO' && this.#ended === null) {
      this.#warn('jsonrpc', `${this.name}: receive error: ${code}`);
    }
    this.#ended ??= new ConnectionEnd(code);
    this.#notify();
  }
}
