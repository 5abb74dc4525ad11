/**
 * Two replicas in memory, without sockets, to warm up the protocol: engines, drivers, framers and
 * pools are the real ones. What they are asked for are tiny requests, one at a time, as the paths
 * that run a few times per message need many messages, not large ones.
 */
import type { Effect } from '../engine/index.ts';
import { Clock, MemoryFile } from '../io/index.ts';
import { Ledger } from '../ledger/index.ts';
import { assert, readSafeU64, writeSafeU64, writeU32 } from '../stdx/index.ts';
import {
  poolSizes,
  RELEASE,
  Replica,
  readSuperblock,
  SUPERBLOCK_AREA_SIZE,
  type Superblock,
} from '../vsr/index.ts';
import {
  type Checksum,
  Command,
  createChecksum,
  Framer,
  HEADER_SIZE,
  initHeader,
  MessagePool,
  OPERATION_REGISTER,
  ReplyOffset,
  RequestOffset,
  readCommand,
  readSize,
  sealBody,
  sealHeader,
} from '../wire/index.ts';
import { Driver } from './driver.ts';
import { formatMemory } from './format.ts';

const REPLICAS = 2;
const CONNECTION = 1;
const CLUSTER = new Uint8Array(16);
const REGISTER_BODY_SIZE = 256;

export class WarmCluster {
  readonly #sites: readonly Site[];
  readonly #request: Uint8Array;
  readonly #checksum: Checksum = createChecksum();
  /** Of the last reply; the next request names it. */
  readonly #context: Uint8Array = new Uint8Array(16);
  #size: number = 0;
  #number: number = 0;
  #session: number = 0;
  #isWaiting: boolean = false;
  #ready: number = 0;
  #isStopped: boolean = false;

  /** `bodySizeMax`: of the requests that will be made, bytes. */
  constructor(bodySizeMax: number) {
    this.#request = new Uint8Array(HEADER_SIZE + Math.max(bodySizeMax, REGISTER_BODY_SIZE));
    this.#sites = Array.from({ length: REPLICAS }, (_, replica) => this.#makeSite(replica));
    for (const site of this.#sites) site.begin();
  }

  /** Whether the last request is answered, or the session can be registered. */
  get isIdle(): boolean {
    return !this.#isWaiting && this.#ready === REPLICAS;
  }

  /** Requests that were answered. */
  get answered(): number {
    return this.#number - (this.#isWaiting ? 1 : 0);
  }

  get isRegistered(): boolean {
    return this.#session > 0;
  }

  register(): void {
    assert(this.isIdle && this.#number === 0, 'WarmCluster: registered already');
    this.#launch(OPERATION_REGISTER, new Uint8Array(REGISTER_BODY_SIZE));
  }

  request(operation: number, body: Uint8Array): void {
    assert(this.isIdle && this.isRegistered, 'WarmCluster: not ready for a request');
    this.#launch(operation, body);
  }

  /** The request in flight once more: it may have met a replica that was not ready for it. */
  resend(): void {
    if (!this.#isWaiting) return;
    const bytes = this.#request.subarray(0, this.#size);
    for (const site of this.#sites) if (site.isPrimary) site.receiveRequest(bytes);
  }

  stop(): void {
    this.#isStopped = true;
    for (const site of this.#sites) site.stop();
  }

  #launch(operation: number, body: Uint8Array): void {
    const bytes = this.#request;
    this.#size = HEADER_SIZE + body.length;
    const fields = { command: Command.request, size: this.#size, cluster: CLUSTER, view: 0 };
    initHeader(bytes, { ...fields, release: RELEASE, replica: 0 });
    bytes.set(body, HEADER_SIZE);
    bytes.set(this.#context, RequestOffset.parent);
    bytes[RequestOffset.client] = 1;
    writeSafeU64(bytes, RequestOffset.session, this.#session);
    writeU32(bytes, RequestOffset.request, this.#number);
    bytes[RequestOffset.operation] = operation;
    sealBody(bytes, this.#checksum);
    sealHeader(bytes, this.#checksum);
    this.#number += 1;
    this.#isWaiting = true;
    this.resend();
  }

  #makeSite(replica: number): Site {
    return new Site(replica, {
      onReady: () => this.#onReady(),
      onPeerMessage: (to, bytes) => this.#sites[to]?.receive(replica, bytes),
      onReply: (bytes) => this.#onReply(bytes),
    });
  }

  #onReady(): void {
    this.#ready += 1;
    if (this.#ready < REPLICAS || this.#isStopped) return;
    for (const site of this.#sites) {
      for (const peer of this.#sites) if (peer !== site) site.meet(peer);
    }
  }

  #onReply(bytes: Uint8Array): void {
    if (readCommand(bytes) !== Command.reply) return;
    this.#context.set(bytes.subarray(ReplyOffset.context, ReplyOffset.context + 16));
    if (this.#session === 0) this.#session = readSafeU64(bytes, ReplyOffset.commit) ?? 0;
    this.#isWaiting = false;
  }
}

interface SiteListener {
  onReady(): void;
  /** The bytes are valid during the call. */
  onPeerMessage(replica: number, bytes: Uint8Array): void;
  onReply(bytes: Uint8Array): void;
}

class Site {
  readonly replica: number;
  readonly #superblock: Superblock;
  readonly #listener: SiteListener;
  readonly #pool: MessagePool;
  readonly #engine: Replica;
  readonly #driver: Driver;
  readonly #framer: Framer;

  constructor(replica: number, listener: SiteListener) {
    const storage = new MemoryFile();
    formatMemory(storage, { replica, replicaCount: REPLICAS, development: true });
    const superblock = readSuperblock(storage.peek(0, SUPERBLOCK_AREA_SIZE), createChecksum());
    assert(superblock.ok, 'WarmCluster: what was formatted cannot be read');
    const { geometry } = superblock.superblock;
    const pool = new MessagePool(poolSizes(geometry, REPLICAS));
    this.replica = replica;
    this.#superblock = superblock.superblock;
    this.#listener = listener;
    this.#pool = pool;
    const machine = new Ledger({ checksum: pool.checksum });
    this.#engine = new Replica({ pool, machine, superblock, seed: replica });
    this.#driver = this.#makeDriver(storage);
    const { requestSizeMax } = geometry;
    this.#framer = new Framer({ pool, requestSizeMax, cluster: CLUSTER });
  }

  get isPrimary(): boolean {
    return this.#engine.status().role === 'primary';
  }

  begin(): void {
    this.#driver.begin(this.#engine);
  }

  meet({ replica, replicaId }: Site): void {
    this.#driver.onPeerUp(replica, replicaId, false);
  }

  get replicaId(): Uint8Array {
    return this.#superblock.replicaId;
  }

  receive(replica: number, bytes: Uint8Array): void {
    const { message } = this.#framer.push(bytes, 0);
    if (message === null) this.#framer.reset();
    else this.#driver.onPeerMessage(replica, message);
  }

  receiveRequest(bytes: Uint8Array): void {
    const { message } = this.#framer.push(bytes, 0);
    if (message === null) this.#framer.reset();
    else this.#driver.onMessage(CONNECTION, message);
  }

  stop(): void {
    this.#driver.stop();
  }

  #makeDriver(storage: MemoryFile): Driver {
    const clock = new Clock();
    const pool = this.#pool;
    const listener = this.#listener;
    const nothing = (): void => {};
    return new Driver({
      pool,
      storage,
      network: {
        send: (_connection, message) => {
          listener.onReply(message.bytes);
          pool.release(message);
        },
        close: nothing,
        sendPeer: (replica, message) => {
          listener.onPeerMessage(replica, message.bytes.subarray(0, readSize(message.bytes)));
          pool.release(message);
        },
        resume: nothing,
      },
      now: () => clock.now(),
      listener: {
        onReady: () => listener.onReady(),
        onRestart: nothing,
        onTrace: (_trace: Effect) => {},
        onStatus: nothing,
        onHalt: nothing,
        onCrash: nothing,
      },
    });
  }
}
