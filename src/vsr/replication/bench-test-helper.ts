/**
 * One replica of several, on a perfect disk in memory; the test plays the others. What the replica
 * tells them is collected, what they tell it is made by hand. Clocks agree: pings are answered.
 */
import type { ConnectionId, Effect, Event, HaltCode } from '../../engine/index.ts';
import { COUNTER_ADD, CounterMachine } from '../../engine/index.ts';
import { assert, type U64, u64Add, writeSafeU64, writeU32 } from '../../stdx/index.ts';
import {
  Command,
  HEADER_SIZE,
  initHeader,
  type Message,
  MessagePool,
  Offset,
  PeerOffset,
  PrepareOffset,
  RequestOffset,
  readCommand,
  readSize,
  readView,
} from '../../wire/index.ts';
import { formatWrites } from '../file/format.ts';
import { fixedSize, SUPERBLOCK_AREA_SIZE } from '../file/geometry.ts';
import { readSuperblock } from '../file/superblock-codec.ts';
import { type Author, buildPrepare, type Position } from '../message.ts';
import type { Parts } from '../parts.ts';
import { buildPeerMessage, type PeerFields, peerNumber } from '../peer-message.ts';
import { poolSizes } from '../pool-sizes.ts';
import { RELEASE, Replica } from '../replica.ts';
import {
  CLUSTER,
  checksum,
  GEOMETRY_SMALL,
  seal,
  TestDisk,
  WALL_START,
} from '../replica-test-helper.ts';
import type { TopologyName } from '../topology/index.ts';
import { encodeVote } from '../view-change/vote-codec.ts';

export const MS = 1_000_000;

export interface Sent {
  readonly to: number;
  readonly command: number;
  /** A copy. */
  readonly bytes: Uint8Array;
}

export interface BenchOptions {
  readonly replicaCount?: number;
  readonly replica: number;
  readonly topology?: TopologyName;
  /** Whether pings are answered. Default: they are. */
  readonly hasClocks?: boolean;
  /** Nobody is connected at first. Default: all are. */
  readonly isAlone?: boolean;
  /** The file of an earlier life. Default: a fresh one. */
  readonly disk?: TestDisk;
}

export class Bench {
  readonly disk: TestDisk;
  readonly pool: MessagePool;
  readonly replica: Replica;
  readonly replicaCount: number;
  readonly index: number;
  readonly parts: Parts;
  /** To other replicas, pings and pongs left out. */
  readonly sent: Sent[] = [];
  /** To clients. */
  readonly replies: { readonly connection: ConnectionId; readonly bytes: Uint8Array }[] = [];
  readonly traces: string[] = [];
  halted: { readonly code: HaltCode; readonly reason: string } | null = null;
  /** It has asked for another life over its file. */
  hasRestarted: boolean = false;
  monoNs: number = 0;
  wall: U64 = WALL_START;
  /** How far the wall clocks of the others are ahead, nanoseconds. */
  skewNs: number = 0;
  /** Pings are answered. */
  hasClocks: boolean;
  /** Writes wait for {@link write}. */
  isHeld: boolean = false;
  readonly #events: Event[] = [];
  readonly #writes: Event[] = [];
  #wakeNs: number | null = null;
  #isCommitArmed: boolean = false;

  constructor(options: BenchOptions) {
    const { replicaCount = 3, replica, topology } = options;
    this.replicaCount = replicaCount;
    this.index = replica;
    this.hasClocks = options.hasClocks ?? true;
    this.disk = options.disk ?? formatted(replica, replicaCount);
    const superblock = readSuperblock(this.disk.read(0, SUPERBLOCK_AREA_SIZE), checksum);
    assert(superblock.ok, 'Bench: no superblock');
    this.pool = new MessagePool({ ...poolSizes(GEOMETRY_SMALL, replicaCount), poison: true });
    let parts: Parts | null = null;
    this.replica = new Replica({
      pool: this.pool,
      machine: new CounterMachine(),
      superblock,
      seed: 1,
      // What the log has overwritten is gone.
      historyBytes: 0,
      ...(topology === undefined ? {} : { topology }),
      onParts: (all) => {
        parts = all;
      },
    });
    assert(parts !== null, 'Bench: no parts');
    this.parts = parts;
    this.#step({ type: 'open' });
    if (options.isAlone !== true) for (const other of this.others) this.up(other);
    this.take();
  }

  get others(): number[] {
    const all = Array.from({ length: this.replicaCount }, (_, i) => i);
    return all.filter((i) => i !== this.index);
  }

  up(replica: number, replicaId: Uint8Array = idOf(replica), isRecovered: boolean = false): void {
    this.#step({ type: 'peer-up', replica, replicaId, isRecovered });
  }

  down(replica: number): void {
    this.#step({ type: 'peer-down', replica });
  }

  /** What was told to others since the last call; `command`: only of these, the rest is dropped. */
  take(...commands: readonly number[]): Sent[] {
    const sent = this.sent.splice(0);
    return commands.length === 0 ? sent : sent.filter(({ command }) => commands.includes(command));
  }

  /** Replica `from` says something in `view`. */
  tell(
    from: number,
    command: Command,
    view: number,
    fields: PeerFields = {},
    headers: readonly Uint8Array[] = [],
  ): void {
    const message = this.#message('small');
    buildPeerMessage(message.bytes, command, author(from, view), fields, checksum, headers);
    this.#step({ type: 'peer-message', replica: from, message });
  }

  /** These bytes come from replica `from`. */
  deliver(from: number, bytes: Uint8Array): void {
    const isLarge = bytes.length > GEOMETRY_SMALL.slotSize;
    const message = this.#message(isLarge ? 'reply' : 'request');
    message.bytes.set(bytes);
    this.#step({ type: 'peer-message', replica: from, message });
  }

  /** A client's request of these bytes. */
  receive(connection: ConnectionId, bytes: Uint8Array): void {
    const message = this.#message('request');
    message.bytes.set(bytes);
    this.#step({ type: 'message', connection, message });
  }

  /**
   * Replica `from` acknowledges a prepare in `view`. `bits`: default, that it has all before it.
   */
  acknowledge(from: number, prepare: Uint8Array, view: number, bits: number = -1): void {
    const op = opOf(prepare);
    const { digest, commitMin } = this.parts.state;
    const told = { op, checksum: prepare.slice(0, 16), digest, bits, commitMin };
    this.tell(from, Command.prepareOk, view, told);
  }

  /** Writes that are held are done, so many, the oldest first. */
  write(count: number = Number.POSITIVE_INFINITY): void {
    for (let i = 0; i < count && this.#writes.length > 0; i++) {
      this.#step(this.#writes.shift() as Event);
    }
  }

  /** Time passes; what falls due is done at its time. */
  sleep(ms: number): void {
    const endNs = this.monoNs + ms * MS;
    let idle = 0;
    while (this.#wakeNs !== null && this.#wakeNs <= endNs && this.halted === null) {
      idle = this.#wakeNs <= this.monoNs ? idle + 1 : 0;
      assert(idle < 100, 'Bench: it wants to be woken for ever');
      this.#to(Math.max(this.#wakeNs, this.monoNs));
      this.#wakeNs = null;
      this.#step({ type: 'timer', timer: 'wake' });
    }
    this.#to(endNs);
  }

  /** Makes it the primary of `view`, which others want: they have nothing in their logs. */
  lead(view: number): void {
    assert(view % this.replicaCount === this.index, 'Bench: that is not its view');
    const root = this.parts.log.header(0);
    assert(root !== null, 'Bench: no root');
    for (const replica of this.others) {
      const message = this.#message('small');
      const op = { op: 0, commitMin: 0, commitMax: 0, checkpointOp: 0 };
      const vote = { replica, logView: 0, ...op, headers: [root.slice()], present: 1, nack: 0 };
      encodeVote(message.bytes, author(replica, view), vote, checksum);
      this.#step({ type: 'peer-message', replica, message });
    }
    assert(this.parts.member.isNormalPrimary, 'Bench: it does not lead');
    this.take();
  }

  /** Gives everything back; asserts that nothing was leaked. */
  stop(): void {
    this.replica.releaseMessages();
    assert(this.pool.leaked() === 0, 'Bench: messages leaked');
  }

  #to(monoNs: number): void {
    this.wall = u64Add(this.wall, monoNs - this.monoNs);
    this.monoNs = monoNs;
  }

  #message(slotClass: 'small' | 'request' | 'reply'): Message {
    const message = this.pool.acquire(slotClass);
    assert(message !== null, 'Bench: the pool is empty');
    return message;
  }

  #step(event: Event): void {
    if (this.halted !== null || this.hasRestarted) return;
    this.#events.push(event);
    // A step in a step would be another replica's.
    if (this.#events.length > 1) return;
    while (this.#events.length > 0 && this.halted === null && !this.hasRestarted) {
      this.#one(this.#events[0] as Event);
      this.#events.shift();
      if (this.#events.length === 0 && this.#isCommitArmed) {
        this.#isCommitArmed = false;
        this.#events.push({ type: 'timer', timer: 'commit' });
      }
    }
  }

  #one(event: Event): void {
    const effects = [...this.replica.step(event, { monoNs: this.monoNs, wall: this.wall })];
    if (this.halted === null) this.replica.invariants();
    for (const effect of effects) this.#execute(effect);
  }

  #execute(effect: Effect): void {
    switch (effect.type) {
      case 'send-peer':
        this.#onSent(effect.replica, effect.message);
        return;
      case 'send': {
        const { bytes } = effect.message;
        const copy = bytes.slice(0, readSize(bytes));
        this.replies.push({ connection: effect.connection, bytes: copy });
        this.pool.release(effect.message);
        return;
      }
      case 'write': {
        this.disk.write(effect.offset, effect.bytes);
        const done: Event = { type: 'written', token: effect.token, error: null };
        (this.isHeld ? this.#writes : this.#events).push(done);
        return;
      }
      case 'read': {
        const bytes = this.disk.read(effect.offset, effect.length);
        this.#events.push({ type: 'read', token: effect.token, bytes, error: null });
        return;
      }
      case 'flush':
        this.#events.push({ type: 'flushed', token: effect.token, error: null });
        return;
      case 'timer':
        if (effect.timer === 'commit') this.#isCommitArmed = effect.afterNs !== null;
        else this.#wakeNs = effect.afterNs === null ? null : this.monoNs + effect.afterNs;
        return;
      case 'trace':
        this.traces.push(effect.event);
        return;
      case 'halt':
        this.halted = { code: effect.code, reason: effect.reason };
        return;
      case 'restart':
        this.hasRestarted = true;
        return;
      case 'close':
      case 'ready':
        return;
    }
  }

  #onSent(to: number, message: Message): void {
    const bytes = message.bytes.slice(0, readSize(message.bytes));
    this.pool.release(message);
    const command = readCommand(bytes);
    if (command === Command.ping) {
      if (!this.hasClocks) return;
      const monotonic = peerNumber(bytes, PeerOffset.monotonic);
      const wall = u64Add(this.wall, this.skewNs);
      const pong = this.#message('small');
      const fields = { monotonic, wall };
      const view = Math.min(readView(bytes), this.parts.member.view);
      buildPeerMessage(pong.bytes, Command.pong, author(to, view), fields, checksum);
      this.#events.push({ type: 'peer-message', replica: to, message: pong });
    } else if (command !== Command.pong) {
      this.sent.push({ to, command, bytes });
    }
  }
}

function formatted(replica: number, replicaCount: number): TestDisk {
  const disk = new TestDisk();
  disk.resize(fixedSize(GEOMETRY_SMALL));
  const file = { cluster: CLUSTER, replica, replicaCount, replicaId: idOf(replica) };
  const fields = { ...file, geometry: GEOMETRY_SMALL, release: RELEASE };
  for (const { offset, bytes } of formatWrites(fields, checksum)) disk.write(offset, bytes);
  return disk;
}

/** The id of a file; `view`: in which it was made again, 0: it was formatted. */
export function idOf(replica: number, view: number = 0): Uint8Array {
  const id = new Uint8Array(16).fill(1 + replica);
  writeU32(id, 0, view);
  return id;
}

export function author(replica: number, view: number): Author {
  return { cluster: CLUSTER, view, replica, release: RELEASE };
}

export function opOf(prepare: Uint8Array): number {
  return new DataView(prepare.buffer, prepare.byteOffset).getUint32(PrepareOffset.op, true);
}

/** Prepares of one primary, each the parent of the next: additions to the counter. */
export class Prepares {
  readonly #all: Uint8Array[] = [];
  readonly #bench: Bench;
  readonly #view: number;

  constructor(bench: Bench, view: number) {
    this.#bench = bench;
    this.#view = view;
    const root = bench.parts.log.header(0);
    assert(root !== null, 'Prepares: no root');
    this.#all.push(root.slice());
  }

  /** The one at `op`; those before it are made too. `commit`: what it says is committed. */
  at(op: number, commit: number = 0): Uint8Array {
    for (let next = this.#all.length; next <= op; next++) {
      const parent = (this.#all[next - 1] as Uint8Array).slice(0, 16);
      this.#all.push(this.make(next, parent, next === op ? commit : 0));
    }
    return this.#all[op] as Uint8Array;
  }

  make(op: number, parent: Uint8Array, commit: number, amount: number = op): Uint8Array {
    const bytes = new Uint8Array(HEADER_SIZE + 4);
    const { checkpoints } = this.#bench.parts;
    // Further on it depends on checkpoints that are not made yet, and is not looked at.
    const isKnown = op <= checkpoints.authorMax;
    const checkpointId = isKnown ? checkpoints.idFor(op) : new Uint8Array(16);
    const timestamp = u64Add(WALL_START, op);
    const position: Position = { op, parent, checkpointId, commit, timestamp };
    const primary = this.#view % this.#bench.replicaCount;
    buildPrepare(bytes, COUNTER_ADD, author(primary, this.#view), position, checksum);
    writeU32(bytes, Offset.size, bytes.length);
    bytes[PrepareOffset.client] = 9;
    writeU32(bytes, PrepareOffset.request, op);
    writeU32(bytes, HEADER_SIZE, amount);
    return seal(bytes);
  }
}

/** A request of a client, sealed; `session` 0 and `request` 0: it registers. */
export function request(
  client: number,
  fields: { readonly session?: number; readonly request?: number; readonly parent?: Uint8Array },
): Uint8Array {
  const { session = 0, request: number = 0, parent } = fields;
  const isRegister = number === 0;
  const bytes = new Uint8Array(HEADER_SIZE + (isRegister ? 256 : 4));
  initHeader(bytes, {
    command: Command.request,
    size: bytes.length,
    cluster: CLUSTER,
    view: 0,
    release: RELEASE,
    replica: 0,
  });
  writeSafeU64(bytes, RequestOffset.client, client);
  if (parent !== undefined) bytes.set(parent, RequestOffset.parent);
  writeSafeU64(bytes, RequestOffset.session, session);
  writeU32(bytes, RequestOffset.request, number);
  bytes[RequestOffset.operation] = isRegister ? 2 : COUNTER_ADD;
  if (!isRegister) writeU32(bytes, HEADER_SIZE, 1);
  return seal(bytes);
}
