/**
 * A cluster of one replica without sockets: it sees what a client sends and answers as it is told
 * to, with a machine if nothing else is said. Connections stand at once; answers take a turn.
 */
import assert from 'node:assert/strict';
import { type Machine, REPLY_BODY_SIZE_MAX } from '../engine/index.ts';
import { readU32, u64FromNumber, writeSafeU64, writeU32 } from '../stdx/index.ts';
import {
  type Checksum,
  Command,
  createChecksum,
  EvictionOffset,
  HEADER_SIZE,
  initHeader,
  Offset,
  OPERATION_REGISTER,
  ReplyOffset,
  RequestOffset,
  readCommand,
  sealBody,
  sealHeader,
  sealReply,
} from '../wire/index.ts';
import { CLIENT_RELEASE } from './connection.ts';
import { type Link, ReplicaConnection } from './replica-connection.ts';
import type { TransportOptions } from './transport.ts';

export const checksum: Checksum = createChecksum();
const CLUSTER = new Uint8Array(16);

/** Answers a request, or not: returns what is to be sent back. */
export type Handler = (request: Uint8Array, cluster: ScriptedCluster) => Uint8Array | null;

export interface ScriptedOptions {
  /** Executes what the handler leaves to it. */
  readonly machine?: Machine;
  /** Of requests other than registrations. Default: the machine answers. */
  readonly handler?: Handler;
  readonly register?: Handler;
  /** Default: 1 MiB less a header. */
  readonly bodySizeMax?: number;
  readonly requestTimeoutMs?: number;
  readonly connectTimeoutMs?: number;
}

export class ScriptedCluster {
  readonly options: ScriptedOptions;
  readonly connection: ReplicaConnection;
  /** Whole requests as they came, registrations too. */
  readonly requests: Uint8Array[] = [];
  /** What the connection has been told to do, newest last. */
  readonly links: TransportOptions[] = [];
  isReachable: boolean = true;
  #op: number = 1;

  constructor(options: ScriptedOptions = {}) {
    this.options = options;
    this.connection = new ReplicaConnection({
      addresses: [{ host: '127.0.0.1', port: 3001 }],
      cluster: 0n,
      connectTimeoutMs: options.connectTimeoutMs ?? 1_000,
      requestTimeoutMs: options.requestTimeoutMs ?? null,
      newClientId: () => crypto.getRandomValues(new Uint8Array(16)),
      nowMs: () => performance.now(),
      link: (transport) => this.#link(transport),
    });
  }

  /** Requests that are no registrations. */
  get calls(): Uint8Array[] {
    return this.requests.filter((request) => !isRegister(request));
  }

  get registrations(): number {
    return this.requests.length - this.calls.length;
  }

  /** Says something to the client out of its turn. */
  say(message: Uint8Array): void {
    this.links.at(-1)?.onMessage(0, message);
  }

  /** The reply of the machine. */
  execute(request: Uint8Array): Uint8Array {
    const { machine } = this.options;
    assert.ok(machine !== undefined, 'nobody executes this');
    const operation = request[RequestOffset.operation] ?? 0;
    const body = request.subarray(HEADER_SIZE);
    assert.equal(machine.validate(operation, body, REPLY_BODY_SIZE_MAX), 'valid');
    this.#op += 1;
    const context = { op: this.#op, timestamp: u64FromNumber(this.#op * 1_000_000) };
    const reply = new Uint8Array(REPLY_BODY_SIZE_MAX);
    const size = machine.apply(context, operation, body, reply);
    return this.reply(request, reply.subarray(0, size));
  }

  reply(request: Uint8Array, body: Uint8Array): Uint8Array {
    const bytes = new Uint8Array(HEADER_SIZE + body.length);
    bytes.set(body, HEADER_SIZE);
    const fields = { command: Command.reply, size: bytes.length, release: CLIENT_RELEASE };
    initHeader(bytes, { ...fields, cluster: CLUSTER, view: 0, replica: 0 });
    bytes.set(request.subarray(Offset.checksum, 16), ReplyOffset.requestChecksum);
    bytes.set(clientOf(request), ReplyOffset.client);
    writeSafeU64(bytes, ReplyOffset.op, this.#op);
    writeSafeU64(bytes, ReplyOffset.commit, this.#op);
    writeSafeU64(bytes, ReplyOffset.timestamp, this.#op);
    writeU32(bytes, ReplyOffset.request, readU32(request, RequestOffset.request));
    bytes[ReplyOffset.operation] = request[RequestOffset.operation] ?? 0;
    sealReply(bytes, checksum);
    return bytes;
  }

  eviction(request: Uint8Array, reason: number): Uint8Array {
    const bytes = new Uint8Array(HEADER_SIZE);
    const fields = { command: Command.eviction, size: HEADER_SIZE, release: CLIENT_RELEASE };
    initHeader(bytes, { ...fields, cluster: CLUSTER, view: 0, replica: 0 });
    bytes.set(clientOf(request), EvictionOffset.client);
    bytes[EvictionOffset.reason] = reason;
    sealBody(bytes, checksum);
    sealHeader(bytes, checksum);
    return bytes;
  }

  #link(transport: TransportOptions): Link {
    let isClosed = false;
    this.links.push(transport);
    return {
      start: () => setImmediate(() => this.isReachable && transport.onConnected(0)),
      problems: () => [this.isReachable ? null : { kind: 'refused' }],
      dropUnwritten: () => {},
      close: () => {
        assert.ok(!isClosed, 'closed twice');
        isClosed = true;
      },
      send: (replica, bytes) => {
        assert.ok(!isClosed && replica === 0);
        if (readCommand(bytes) !== Command.request) return;
        const request = bytes.slice();
        this.requests.push(request);
        setImmediate(() => {
          const answer = isClosed ? null : this.#answer(request);
          if (answer !== null && !isClosed) transport.onMessage(0, answer);
        });
      },
    };
  }

  #answer(request: Uint8Array): Uint8Array | null {
    const { register, handler } = this.options;
    if (!isRegister(request)) return handler ? handler(request, this) : this.execute(request);
    if (register !== undefined) return register(request, this);
    const body = new Uint8Array(64);
    writeU32(body, 0, this.options.bodySizeMax ?? REPLY_BODY_SIZE_MAX);
    return this.reply(request, body);
  }
}

export function isRegister(request: Uint8Array): boolean {
  return request[RequestOffset.operation] === OPERATION_REGISTER;
}

/** The client id in a request, 16 bytes. */
export function clientOf(request: Uint8Array): Uint8Array {
  return request.subarray(RequestOffset.client, RequestOffset.client + 16);
}
