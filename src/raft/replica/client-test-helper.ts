/** A client made by hand: numbers its requests as the protocol wants, and asks until answered. */
import assert from 'node:assert/strict';
import { COUNTER_ADD, RELEASE } from '../../engine/index.ts';
import { readSafeU64, readU32, writeSafeU64, writeU32 } from '../../stdx/index.ts';
import {
  Command,
  createChecksum,
  HEADER_SIZE,
  initHeader,
  ReplyOffset,
  RequestOffset,
  readCommand,
  readView,
  sealBody,
  sealHeader,
} from '../../wire/index.ts';
import { CLUSTER, type TestCluster } from './cluster-test-helper.ts';

const checksum = createChecksum();
const RESEND_MS = 100;

export class TestClient {
  readonly cluster: TestCluster;
  readonly id: Uint8Array = new Uint8Array(16);
  readonly connection: number;
  view: number = 0;
  session: number = 0;
  request: number = 0;
  parent: Uint8Array = new Uint8Array(16);
  /** The request under way, and when it was sent last. */
  bytes: Uint8Array | null = null;
  #sentNs: number = 0;
  #seen: number = 0;
  readonly replies: Uint8Array[] = [];
  evictions: number = 0;

  constructor(cluster: TestCluster, number: number) {
    this.cluster = cluster;
    this.connection = number;
    writeSafeU64(this.id, 0, number);
  }

  build(operation: number, body: Uint8Array = new Uint8Array(0)): Uint8Array {
    const bytes = new Uint8Array(HEADER_SIZE + body.length);
    const fields = { command: Command.request, size: bytes.length, cluster: CLUSTER } as const;
    initHeader(bytes, { ...fields, view: this.view, release: RELEASE, replica: 0 });
    bytes.set(this.parent, RequestOffset.parent);
    bytes.set(this.id, RequestOffset.client);
    writeSafeU64(bytes, RequestOffset.session, this.session);
    writeU32(bytes, RequestOffset.request, this.request);
    bytes[RequestOffset.operation] = operation;
    bytes.set(body, HEADER_SIZE);
    sealBody(bytes, checksum);
    sealHeader(bytes, checksum);
    return bytes;
  }

  /** Sends to a replica that is thought to lead; asks again now and then, anywhere. */
  begin(bytes: Uint8Array, to: number = this.view % this.cluster.options.replicas): void {
    this.bytes = bytes;
    this.send(to);
  }

  send(to: number): void {
    assert.ok(this.bytes);
    this.#sentNs = this.cluster.nowNs;
    if (this.cluster.lives[to]?.isReady === true) {
      this.cluster.receive(to, this.connection, this.bytes);
    }
  }

  /** Looks at what has come; true when nothing is under way. */
  poll(): boolean {
    const { sent } = this.cluster;
    for (; this.#seen < sent.length; this.#seen++) {
      const { connection, bytes } = sent[this.#seen]!;
      if (connection === this.connection) this.#take(bytes);
    }
    if (this.bytes === null) return true;
    if (this.cluster.nowNs > this.#sentNs + RESEND_MS * 1e6) {
      const all = this.cluster.options.replicas;
      this.send(Math.floor(this.cluster.nowNs / 1e5) % all);
    }
    return false;
  }

  /** The whole of a request's way. */
  call(operation: number, body?: Uint8Array): Uint8Array {
    this.begin(this.build(operation, body));
    this.cluster.until(() => this.poll(), 'an answer');
    return this.replies.at(-1)!.subarray(HEADER_SIZE);
  }

  register(): void {
    this.call(2, new Uint8Array(256));
  }

  /** Adds to the counter; returns the total. */
  add(amount: number): number {
    return readSafeU64(this.call(COUNTER_ADD, u32(amount)), 0) as number;
  }

  #take(bytes: Uint8Array): void {
    this.view = Math.max(this.view, readView(bytes));
    if (readCommand(bytes) === Command.eviction) this.evictions++;
    if (readCommand(bytes) !== Command.reply) return;
    if (this.bytes === null || readU32(bytes, ReplyOffset.request) !== this.request) return;
    if (this.request === 0) this.session = readSafeU64(bytes, ReplyOffset.commit) as number;
    this.parent = bytes.slice(ReplyOffset.context, ReplyOffset.context + 16);
    this.request++;
    this.replies.push(bytes);
    this.bytes = null;
  }
}

export function u32(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  writeU32(bytes, 0, value);
  return bytes;
}
