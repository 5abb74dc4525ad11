/**
 * A driver for tests: one replica on a perfect disk in memory, one client at a time made by hand.
 * Everything happens in order and at once; what a disk can do wrong is the simulator's business.
 */
import type {
  ConnectionId,
  Effect,
  Event,
  HaltCode,
  Instant,
  Machine,
  TraceValue,
} from '../engine/index.ts';
import {
  assert,
  type Prng,
  readSafeU64,
  readU32,
  type U64,
  u64Add,
  u64FromNumber,
  writeSafeU64,
  writeU32,
} from '../stdx/index.ts';
import {
  type Checksum,
  Command,
  createChecksum,
  HEADER_SIZE,
  initHeader,
  type Message,
  MessagePool,
  PingClientOffset,
  ReplyOffset,
  RequestOffset,
  readSize,
  sealBody,
  sealHeader,
} from '../wire/index.ts';
import { formatWrites } from './file/format.ts';
import { fixedSize, type Geometry, SUPERBLOCK_AREA_SIZE } from './file/geometry.ts';
import { readSuperblock } from './file/superblock-codec.ts';
import { poolSizes } from './pool-sizes.ts';
import { RELEASE, Replica, type ReplicaOptions } from './replica.ts';

export const checksum: Checksum = createChecksum();
/** The smallest geometry: a checkpoint every 8 operations. */
export const GEOMETRY_SMALL: Geometry = { slots: 40, slotSize: 4096, requestSizeMax: 4096 };
export const CLUSTER: Uint8Array = new Uint8Array(16);
export const WALL_START: U64 = u64FromNumber(1_000_000_000_000);

export class TestDisk {
  /** The file; beyond its end nothing can be read. */
  bytes: Uint8Array = new Uint8Array(0);

  write(offset: number, bytes: Uint8Array): void {
    const end = offset + bytes.length;
    if (end > this.bytes.length) this.resize(end);
    this.bytes.set(bytes, offset);
  }

  resize(size: number): void {
    const resized = new Uint8Array(size);
    resized.set(this.bytes.subarray(0, size));
    this.bytes = resized;
  }

  read(offset: number, length: number): Uint8Array {
    return this.bytes.slice(offset, offset + length);
  }

  clone(): TestDisk {
    const disk = new TestDisk();
    disk.bytes = this.bytes.slice();
    return disk;
  }
}

export function formatDisk(geometry: Geometry = GEOMETRY_SMALL): TestDisk {
  const disk = new TestDisk();
  disk.resize(fixedSize(geometry));
  const replicaId = new Uint8Array(16).fill(7);
  const options = { cluster: CLUSTER, replica: 0, replicaCount: 1, replicaId, geometry };
  for (const write of formatWrites({ ...options, release: RELEASE }, checksum)) {
    disk.write(write.offset, write.bytes);
  }
  return disk;
}

export interface Sent {
  readonly connection: ConnectionId;
  /** A copy of the message, `size` bytes. */
  readonly bytes: Uint8Array;
}

export interface Trace {
  readonly event: string;
  readonly fields: { readonly [name: string]: TraceValue };
}

export class TestServer {
  readonly disk: TestDisk;
  readonly pool: MessagePool;
  readonly replica: Replica;
  readonly sent: Sent[] = [];
  readonly closed: { readonly connection: ConnectionId; readonly reason: string }[] = [];
  readonly traces: Trace[] = [];
  halted: { readonly code: HaltCode; readonly reason: string } | null = null;
  isReady: boolean = false;
  /** Storage effects in the order in which they were asked for. */
  readonly writes: { readonly offset: number; readonly length: number }[] = [];
  monoNs: number = 0;
  wall: U64 = WALL_START;
  /** Set to keep storage completions back until {@link run}. */
  isHeld: boolean = false;
  /** Set to deliver storage completions in random order. */
  shuffle: Prng | null = null;
  /** Storage completions of these writes wait until there is nothing else. */
  isLate: (offset: number) => boolean = () => false;
  /** Writes beyond this end fail for want of space. */
  spaceMax: number = Number.POSITIVE_INFINITY;
  readonly #events: Event[] = [];
  readonly #lateEvents: Event[] = [];
  #pulseAt: number | null = null;
  #isCommitArmed: boolean = false;

  constructor(
    disk: TestDisk,
    machine: Machine,
    options: Partial<Omit<ReplicaOptions, 'pool' | 'machine' | 'superblock'>> = {},
  ) {
    this.disk = disk;
    const superblock = readSuperblock(disk.read(0, SUPERBLOCK_AREA_SIZE), checksum);
    assert(superblock.ok, 'TestServer: no superblock');
    this.pool = new MessagePool({ ...poolSizes(superblock.superblock.geometry), poison: true });
    this.replica = new Replica({ pool: this.pool, machine, superblock, ...options });
  }

  /** Opens and runs until the replica serves (or has halted). */
  open(): this {
    this.step({ type: 'open' });
    this.run();
    return this;
  }

  step(event: Event): void {
    const now: Instant = { monoNs: this.monoNs, wall: this.wall };
    const effects = [...this.replica.step(event, now)];
    if (this.halted === null) this.replica.invariants();
    for (const effect of effects) this.#execute(effect);
    if (!this.isHeld) this.run();
  }

  /** Delivers completions until nothing is left to do. */
  run(): void {
    const held = this.isHeld;
    this.isHeld = true;
    while (this.halted === null) {
      if (this.#isCommitArmed) {
        this.#isCommitArmed = false;
        this.step({ type: 'timer', timer: 'commit' });
        continue;
      }
      if (this.#events.length === 0) this.#events.push(...this.#lateEvents.splice(0, 1));
      if (this.#events.length === 0) break;
      const at = this.shuffle?.below(this.#events.length) ?? 0;
      const [event] = this.#events.splice(at, 1);
      assert(event !== undefined, 'TestServer: no event');
      this.step(event);
      // What was read is valid during that step only.
      if (event.type === 'read') event.bytes.fill(0xdd);
    }
    this.isHeld = held;
  }

  /** Lets time pass; the pulse timer fires when it is due. */
  sleep(ns: number): void {
    const end = this.monoNs + ns;
    while (this.#pulseAt !== null && this.#pulseAt <= end && this.halted === null) {
      this.wall = u64Add(this.wall, this.#pulseAt - this.monoNs);
      this.monoNs = this.#pulseAt;
      this.#pulseAt = null;
      this.step({ type: 'timer', timer: 'wake' });
    }
    this.wall = u64Add(this.wall, end - this.monoNs);
    this.monoNs = end;
  }

  /** Delivers a message of these bytes. */
  receive(connection: ConnectionId, bytes: Uint8Array): void {
    this.step({ type: 'message', connection, message: this.#message(bytes) });
  }

  receiveOversize(connection: ConnectionId, bytes: Uint8Array): void {
    this.step({ type: 'oversize', connection, message: this.#message(bytes) });
  }

  /** The messages sent since the last call. */
  take(): Sent[] {
    return this.sent.splice(0);
  }

  /** What was sent in answer to `bytes`: at most one message. */
  ask(connection: ConnectionId, bytes: Uint8Array): Uint8Array | null {
    this.take();
    this.receive(connection, bytes);
    this.run();
    const sent = this.take();
    assert(sent.length <= 1, 'TestServer: more than one answer');
    return sent[0]?.bytes ?? null;
  }

  /** Ends this life; the disk stays. Asserts that no message is left. */
  stop(): TestDisk {
    this.replica.releaseMessages();
    assert(this.pool.leaked() === 0, 'TestServer: messages leaked');
    return this.disk;
  }

  #message(bytes: Uint8Array): Message {
    const message = this.pool.acquire(bytes.length <= 4096 ? 'small' : 'request');
    assert(message !== null, 'TestServer: pool is empty');
    message.bytes.set(bytes);
    return message;
  }

  #execute(effect: Effect): void {
    switch (effect.type) {
      case 'send': {
        const { bytes } = effect.message;
        this.sent.push({ connection: effect.connection, bytes: bytes.slice(0, readSize(bytes)) });
        this.pool.release(effect.message);
        break;
      }
      case 'close':
        this.closed.push({ connection: effect.connection, reason: effect.reason });
        break;
      case 'write': {
        const { token, offset, bytes } = effect;
        const isFull = offset + bytes.length > this.spaceMax;
        if (!isFull) this.disk.write(offset, bytes);
        this.writes.push({ offset, length: bytes.length });
        const events = this.isLate(offset) ? this.#lateEvents : this.#events;
        events.push({ type: 'written', token, error: isFull ? 'no-space' : null });
        break;
      }
      case 'read': {
        const bytes = this.disk.read(effect.offset, effect.length);
        this.#events.push({ type: 'read', token: effect.token, bytes, error: null });
        break;
      }
      case 'flush':
        this.#events.push({ type: 'flushed', token: effect.token, error: null });
        break;
      case 'timer':
        if (effect.timer === 'commit') this.#isCommitArmed = effect.afterNs !== null;
        else this.#pulseAt = effect.afterNs === null ? null : this.monoNs + effect.afterNs;
        break;
      case 'ready':
        this.isReady = true;
        break;
      case 'trace':
        this.traces.push({ event: effect.event, fields: effect.fields });
        break;
      case 'send-peer':
      case 'restart':
        throw new Error('one replica has no peers');
      case 'halt':
        this.halted = { code: effect.code, reason: effect.reason };
        break;
    }
  }
}

/** A client that numbers its requests as the protocol wants; it keeps the last request's bytes. */
export class TestClient {
  readonly id: Uint8Array;
  readonly connection: ConnectionId;
  release: number = RELEASE;
  view: number = 0;
  session: number = 0;
  request: number = 0;
  parent: Uint8Array = new Uint8Array(16);

  constructor(number: number, connection: ConnectionId = number) {
    this.id = new Uint8Array(16);
    writeSafeU64(this.id, 0, number);
    this.connection = connection;
  }

  /** The next request's bytes. */
  build(operation: number, body: Uint8Array = new Uint8Array(0)): Uint8Array {
    const bytes = new Uint8Array(HEADER_SIZE + body.length);
    initHeader(bytes, {
      command: Command.request,
      size: bytes.length,
      cluster: CLUSTER,
      view: this.view,
      release: this.release,
      replica: 0,
    });
    bytes.set(this.parent, RequestOffset.parent);
    bytes.set(this.id, RequestOffset.client);
    writeSafeU64(bytes, RequestOffset.session, this.session);
    writeU32(bytes, RequestOffset.request, this.request);
    bytes[RequestOffset.operation] = operation;
    bytes.set(body, HEADER_SIZE);
    return seal(bytes);
  }

  buildRegister(): Uint8Array {
    return this.build(2, new Uint8Array(256));
  }

  buildPing(timestamp: number = 77): Uint8Array {
    const bytes = new Uint8Array(HEADER_SIZE);
    const fields = { command: Command.pingClient, size: HEADER_SIZE, cluster: CLUSTER } as const;
    initHeader(bytes, { ...fields, view: 0, release: this.release, replica: 0 });
    bytes.set(this.id, PingClientOffset.client);
    writeSafeU64(bytes, PingClientOffset.pingTimestampMonotonic, timestamp);
    writeSafeU64(bytes, PingClientOffset.session, this.session);
    return seal(bytes);
  }

  /** Takes in the reply to the last request. */
  accept(reply: Uint8Array): void {
    assert(reply[114] === Command.reply, 'TestClient: not a reply');
    assert(readU32(reply, ReplyOffset.request) === this.request, 'TestClient: another request');
    if (this.request === 0) this.session = readSafeU64(reply, ReplyOffset.commit) ?? 0;
    this.parent = reply.slice(ReplyOffset.context, ReplyOffset.context + 16);
    this.request++;
  }

  register(server: TestServer): Uint8Array {
    const reply = server.ask(this.connection, this.buildRegister());
    assert(reply !== null, 'TestClient: no answer to register');
    this.accept(reply);
    return reply;
  }

  /** Sends, takes in the reply, and returns the reply's body. */
  call(server: TestServer, operation: number, body?: Uint8Array): Uint8Array {
    const reply = server.ask(this.connection, this.build(operation, body));
    assert(reply !== null, 'TestClient: no answer');
    this.accept(reply);
    return reply.subarray(HEADER_SIZE);
  }
}

/** Recomputes both checksums after a change of the bytes. */
export function seal(bytes: Uint8Array): Uint8Array {
  sealBody(bytes, checksum);
  sealHeader(bytes, checksum);
  return bytes;
}
