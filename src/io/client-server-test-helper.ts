/** Real sockets against a handler that answers by sending the message back. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { writeU32 } from '../stdx/index.ts';
import {
  type Checksum,
  Command,
  createChecksum,
  HEADER_SIZE,
  initHeader,
  type Message,
  MessagePool,
  Offset,
  ReplyOffset,
  RequestOffset,
  readCommand,
  sealBody,
} from '../wire/index.ts';
import { type ClientHandler, ClientServer, type ClientServerLimits } from './client-server.ts';
import type { LogRecord } from './log.ts';

export const checksum: Checksum = createChecksum();
export const cluster: Uint8Array = new Uint8Array(16);
export const REQUEST_SIZE_MAX = 65_536;

export function request(
  bodySize: number,
  seed: number = 1,
  command: number = Command.request,
): Uint8Array {
  const bytes = new Uint8Array(HEADER_SIZE + bodySize);
  const size = bytes.length;
  initHeader(bytes, { command: Command.request, size, cluster, view: 0, release: 1, replica: 0 });
  writeU32(bytes, Offset.fields, seed);
  for (let i = HEADER_SIZE; i < bytes.length; i++) bytes[i] = i * seed;
  bytes[Offset.command] = command;
  if (size <= 1_048_576) sealBody(bytes, checksum);
  checksum.digest(bytes, 16, HEADER_SIZE - 16, bytes, 0);
  return bytes;
}

export class Echo implements ClientHandler {
  server: ClientServer | null = null;
  readonly held: { connection: number; message: Message }[] = [];
  readonly disconnected: number[] = [];
  oversize = 0;
  hold: boolean = false;
  /** Answers requests with a reply to the client that they name, as a session gets it. */
  replies: boolean = false;
  /** Answers requests with an eviction. */
  evicts: boolean = false;

  onMessage(connection: number, message: Message): void {
    const { bytes } = message;
    if (this.replies && readCommand(bytes) === Command.request) {
      bytes[Offset.command] = Command.reply;
      bytes.copyWithin(ReplyOffset.client, RequestOffset.client, RequestOffset.client + 16);
    }
    if (this.evicts && readCommand(bytes) === Command.request) {
      bytes[Offset.command] = Command.eviction;
    }
    if (this.hold) this.held.push({ connection, message });
    else this.server?.send(connection, message);
  }

  onOversize(connection: number, message: Message): void {
    this.oversize += 1;
    this.server?.send(connection, message);
  }

  onDisconnected(connection: number): void {
    this.disconnected.push(connection);
  }

  answerAll(): void {
    for (const { connection, message } of this.held.splice(0))
      this.server?.send(connection, message);
    this.server?.resume();
  }
}

export interface World {
  readonly echo: Echo;
  readonly pool: MessagePool;
  readonly server: ClientServer;
  readonly port: number;
  readonly logs: LogRecord[];
  close(): Promise<void>;
}

export async function start(
  options: {
    onread?: boolean;
    requestSlots?: number;
    limits?: Partial<ClientServerLimits>;
    early?: boolean;
  } = {},
): Promise<World> {
  const pool = new MessagePool({
    requestSlotSize: 65_536,
    requestSlots: options.requestSlots ?? 8,
    replySlots: 1,
    smallSlots: 8,
    poison: true,
  });
  const echo = new Echo();
  const logs: LogRecord[] = [];
  const server = new ClientServer({
    pool,
    cluster,
    requestSizeMax: REQUEST_SIZE_MAX,
    handler: echo,
    log: (record) => logs.push(record),
    onread: options.onread ?? true,
    ...(options.limits === undefined ? {} : { limits: options.limits }),
  });
  echo.server = server;
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  if (options.early !== true) server.admit();
  const close = async (): Promise<void> => {
    echo.answerAll();
    await server.shutdown();
    await until(() => pool.leaked() === 0, 'all messages are back in the pool');
  };
  return { echo, pool, server, port, logs, close };
}

export async function until(condition: () => boolean, what: string): Promise<void> {
  const startMs = performance.now();
  while (!condition()) {
    assert.ok(performance.now() - startMs < 5_000, `waited for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** A client with raw bytes in and out. */
export class Raw {
  readonly socket: net.Socket;
  received: Buffer = Buffer.alloc(0);
  closed = false;

  constructor(port: number) {
    this.socket = net.connect({ host: '127.0.0.1', port, noDelay: true });
    this.socket.on('data', (chunk) => {
      this.received = Buffer.concat([this.received, chunk]);
    });
    this.socket.on('error', () => {});
    this.socket.on('close', () => {
      this.closed = true;
    });
  }

  static async open(port: number): Promise<Raw> {
    const raw = new Raw(port);
    await once(raw.socket, 'connect');
    return raw;
  }

  write(bytes: Uint8Array): void {
    this.socket.write(bytes);
  }

  async read(length: number): Promise<Uint8Array> {
    await until(() => this.received.length >= length, `${length} bytes`);
    const bytes = new Uint8Array(this.received.subarray(0, length));
    this.received = this.received.subarray(length);
    return bytes;
  }

  async echoes(bytes: Uint8Array): Promise<void> {
    this.write(bytes);
    assert.deepEqual(await this.read(bytes.length), bytes);
  }

  async isClosed(): Promise<void> {
    await until(() => this.closed, 'the connection to be closed');
  }
}
