/**
 * A client with nothing between it and the bytes: for messages that no decent client sends, and for
 * looking at every byte of an answer.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { readU32, writeSafeU64, writeU32 } from '../../src/stdx/index.ts';
import {
  type Checksum,
  Command,
  createChecksum,
  HEADER_SIZE,
  initHeader,
  Offset,
  PingClientOffset,
  ReplyOffset,
  RequestOffset,
  readCommand,
  readSize,
  sealBody,
} from '../../src/wire/index.ts';
import { until } from './server-process.ts';

export const checksum: Checksum = createChecksum();
export const RELEASE = 0x1109;
const cluster = new Uint8Array(16);

export interface RequestFields {
  readonly client: Uint8Array;
  readonly session?: number;
  readonly request?: number;
  readonly operation: number;
  readonly parent?: Uint8Array;
  readonly body?: Uint8Array;
  readonly release?: number;
}

/** A sealed request. */
export function request(fields: RequestFields): Uint8Array {
  const body = fields.body ?? new Uint8Array(0);
  const bytes = new Uint8Array(HEADER_SIZE + body.length);
  const release = fields.release ?? RELEASE;
  const size = bytes.length;
  initHeader(bytes, { command: Command.request, size, cluster, view: 0, release, replica: 0 });
  bytes.set(fields.parent ?? new Uint8Array(16), RequestOffset.parent);
  bytes.set(fields.client, RequestOffset.client);
  writeSafeU64(bytes, RequestOffset.session, fields.session ?? 0);
  writeU32(bytes, RequestOffset.request, fields.request ?? 0);
  bytes[RequestOffset.operation] = fields.operation;
  bytes.set(body, HEADER_SIZE);
  return seal(bytes);
}

export function register(client: Uint8Array, release: number = RELEASE): Uint8Array {
  return request({ client, operation: 2, body: new Uint8Array(256), release });
}

export function ping(client: Uint8Array, session: number, release: number = RELEASE): Uint8Array {
  const bytes = new Uint8Array(HEADER_SIZE);
  const size = HEADER_SIZE;
  initHeader(bytes, { command: Command.pingClient, size, cluster, view: 0, release, replica: 0 });
  bytes.set(client, PingClientOffset.client);
  writeSafeU64(bytes, PingClientOffset.pingTimestampMonotonic, 12_345);
  writeSafeU64(bytes, PingClientOffset.session, session);
  return seal(bytes);
}

/** Makes both checksums right; commands that do not exist included. */
export function seal(bytes: Uint8Array): Uint8Array {
  const size = readSize(bytes);
  if (size >= HEADER_SIZE && size <= bytes.length) sealBody(bytes, checksum);
  return sealHeaderOnly(bytes);
}

/** Makes the header's checksum right, whatever the header says. */
export function sealHeaderOnly(bytes: Uint8Array): Uint8Array {
  checksum.digest(bytes, 16, HEADER_SIZE - 16, bytes, Offset.checksum);
  return bytes;
}

export function newClientId(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(16));
}

export class RawClient {
  readonly socket: Socket;
  isClosed: boolean = false;
  readonly messages: Uint8Array[] = [];
  #bytes: Buffer = Buffer.alloc(0);

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk) => this.#onData(chunk));
    socket.on('error', () => {});
    socket.on('close', () => {
      this.isClosed = true;
    });
  }

  static async connect(port: number): Promise<RawClient> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    const client = new RawClient(socket);
    await once(socket, 'connect');
    return client;
  }

  send(bytes: Uint8Array): void {
    this.socket.write(bytes);
  }

  /** The next message of this command; others before it are dropped. */
  async next(command: Command): Promise<Uint8Array> {
    return await until(() => {
      while (this.messages.length > 0) {
        const message = this.messages.shift();
        if (message !== undefined && readCommand(message) === command) return message;
      }
      if (this.isClosed) assert.fail(`closed while waiting for command ${command}`);
      return undefined;
    }, `a message of command ${command}`);
  }

  async closed(): Promise<void> {
    await until(() => this.isClosed, 'the connection to be closed');
  }

  close(): void {
    this.socket.destroy();
  }

  #onData(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    while (this.#bytes.length >= HEADER_SIZE) {
      const size = readU32(this.#bytes, Offset.size);
      if (this.#bytes.length < size) return;
      const message = new Uint8Array(this.#bytes.subarray(0, size));
      const copy = seal(message.slice());
      assert.deepEqual(
        copy.subarray(0, HEADER_SIZE),
        message.subarray(0, HEADER_SIZE),
        'checksums',
      );
      this.messages.push(message);
      this.#bytes = this.#bytes.subarray(size);
    }
  }
}

/** A registered client that keeps the rules of the session. */
export class RawSession {
  readonly client: RawClient;
  readonly id: Uint8Array = newClientId();
  session: number = 0;
  #request: number = 0;
  #parent: Uint8Array = new Uint8Array(16);

  constructor(client: RawClient) {
    this.client = client;
  }

  static async open(port: number): Promise<RawSession> {
    const session = new RawSession(await RawClient.connect(port));
    session.client.send(register(session.id));
    const reply = await session.client.next(Command.reply);
    session.session = readU32(reply, ReplyOffset.op);
    session.#follow(reply);
    return session;
  }

  /** The next request of the session, not sent. */
  build(operation: number, body: Uint8Array): Uint8Array {
    this.#request += 1;
    return request({
      client: this.id,
      session: this.session,
      request: this.#request,
      operation,
      parent: this.#parent,
      body,
    });
  }

  /** Sends a request and returns the body of its reply. */
  async call(operation: number, body: Uint8Array): Promise<Uint8Array> {
    this.client.send(this.build(operation, body));
    const reply = await this.client.next(Command.reply);
    assert.equal(readU32(reply, ReplyOffset.request), this.#request);
    this.#follow(reply);
    return reply.slice(HEADER_SIZE);
  }

  #follow(reply: Uint8Array): void {
    this.#parent = reply.slice(ReplyOffset.context, ReplyOffset.context + 16);
  }
}

/** Reads the reason of an eviction and the release that it announces. */
export function evictionOf(message: Uint8Array): { reason: number; release: number } {
  assert.equal(readCommand(message), Command.eviction);
  return { reason: message[255], release: readU32(message, Offset.release) };
}
