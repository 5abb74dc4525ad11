/**
 * A cluster of Raft replicas in memory: virtual time, a disk and a pool each, links that lose
 * nothing while they are up, clients made by hand. What disks and networks can do wrong is the
 * simulator's business.
 */
import assert from 'node:assert/strict';
import {
  CounterMachine,
  type Effect,
  type Event,
  type HaltCode,
  type Machine,
  RELEASE,
  type TraceValue,
} from '../../engine/index.ts';
import { Prng, u64Add, u64FromNumber } from '../../stdx/index.ts';
import { createChecksum, HEADER_SIZE, MessagePool, readSize } from '../../wire/index.ts';
import { formatRaftFile, RAFT_HEAD_SIZE, type RaftGeometry, readRaftHead } from '../file/index.ts';
import { raftPoolSizes } from './pool-sizes.ts';
import { RaftReplica, type RaftReplicaOptions } from './replica.ts';

export const CLUSTER: Uint8Array = new Uint8Array(16).fill(0x52);
export const GEOMETRY: RaftGeometry = { extentSize: 16_384, requestSizeMax: 8_192 };
const WALL_START = u64FromNumber(1_000_000_000_000);
const DISK_NS = 40_000;
const LINK_NS = 60_000;
const REDIAL_NS = 5_000_000;
const checksum = createChecksum();

type Options = Pick<
  RaftReplicaOptions,
  'policy' | 'snapshotBytesMin' | 'onParts' | 'onReplicaParts'
>;

export interface ClusterOptions extends Options {
  readonly replicas: number;
  readonly machine?: () => Machine;
  readonly geometry?: RaftGeometry;
  readonly seed?: number;
}

export class TestDisk {
  bytes: Uint8Array = new Uint8Array(0);
  /** Writes that grow the file beyond this fail for want of space. */
  sizeMax: number = Number.POSITIVE_INFINITY;
  /** The next write fails. */
  isBroken: boolean = false;

  write(offset: number, bytes: Uint8Array): void {
    const end = offset + bytes.length;
    if (end > this.bytes.length) {
      const grown = new Uint8Array(Math.max(end, 2 * this.bytes.length));
      grown.set(this.bytes);
      this.bytes = grown;
    }
    this.bytes.set(bytes, offset);
  }

  read(offset: number, length: number): Uint8Array {
    return this.bytes.slice(offset, offset + length);
  }
}

export interface Sent {
  readonly replica: number;
  readonly connection: number;
  readonly bytes: Uint8Array;
}

interface Trace {
  readonly event: string;
  readonly fields: { readonly [name: string]: TraceValue };
}

/** One life of a replica. */
export class TestLife {
  readonly pool: MessagePool;
  readonly machine: Machine;
  readonly replica: RaftReplica;
  isReady: boolean = false;
  isOver: boolean = false;
  halted: { readonly code: HaltCode; readonly reason: string } | null = null;
  readonly traces: Trace[] = [];
  writes: number = 0;
  peerMessages: number = 0;
  /** When each timer comes, and how often it was set. */
  readonly timers: Map<string, number> = new Map();
  timerCount: number = 0;

  constructor(disk: TestDisk, seed: number, options: ClusterOptions) {
    const read = readRaftHead(disk.read(0, RAFT_HEAD_SIZE), checksum);
    assert.ok(read.ok, 'the head can be read');
    const { head } = read;
    const sizes = raftPoolSizes(head.geometry, head.replicaCount);
    this.pool = new MessagePool({ ...sizes, poison: true });
    this.machine = options.machine?.() ?? new CounterMachine();
    const { policy, snapshotBytesMin, onParts, onReplicaParts } = options;
    this.replica = new RaftReplica({
      pool: this.pool,
      machine: this.machine,
      head,
      seed,
      ...(policy === undefined ? {} : { policy }),
      ...(snapshotBytesMin === undefined ? {} : { snapshotBytesMin }),
      ...(onParts === undefined ? {} : { onParts }),
      ...(onReplicaParts === undefined ? {} : { onReplicaParts }),
    });
  }

  count(event: string): number {
    return this.traces.filter((trace) => trace.event === event).length;
  }
}

interface Planned {
  readonly atNs: number;
  readonly order: number;
  readonly run: () => void;
}

export class TestCluster {
  readonly options: ClusterOptions;
  readonly disks: TestDisk[] = [];
  readonly lives: (TestLife | null)[] = [];
  readonly sent: Sent[] = [];
  restarts: number = 0;
  nowNs: number = 1_000_000;
  readonly #prng: Prng;
  #planned: Planned[] = [];
  #order: number = 0;
  /** Links that are cut, "from to". */
  readonly #cut: Set<string> = new Set();
  readonly #up: Set<string> = new Set();

  constructor(options: ClusterOptions) {
    this.options = options;
    this.#prng = new Prng(options.seed ?? 1);
    for (let i = 0; i < options.replicas; i++) {
      this.disks.push(new TestDisk());
      this.lives.push(null);
      this.format(i, 7 + i);
    }
  }

  format(replica: number, idByte: number): void {
    const disk = new TestDisk();
    const fields = {
      cluster: CLUSTER,
      replica,
      replicaCount: this.options.replicas,
      replicaId: new Uint8Array(16).fill(idByte),
      geometry: this.options.geometry ?? GEOMETRY,
      release: RELEASE,
      electionTimerMs: 200,
    };
    for (const { offset, bytes } of formatRaftFile(fields, checksum)) disk.write(offset, bytes);
    this.disks[replica] = disk;
  }

  /** All that do not run. */
  startAll(): this {
    for (const [replica, life] of this.lives.entries()) if (life === null) this.start(replica);
    return this;
  }

  start(replica: number): void {
    assert.equal(this.lives[replica], null, 'runs already');
    const life = new TestLife(this.disks[replica] as TestDisk, this.#prng.u32(), this.options);
    this.lives[replica] = life;
    this.#step(replica, life, { type: 'open' });
  }

  /** Ends a life at once; what is not on the disk is lost. */
  kill(replica: number): TestLife {
    const life = this.life(replica);
    this.#end(replica, life);
    for (const other of this.#others(replica)) this.#unlink(replica, other);
    return life;
  }

  life(replica: number): TestLife {
    const life = this.lives[replica];
    assert.ok(life, `replica ${replica} runs`);
    return life;
  }

  /** Cuts a replica off from all others, or lets it talk to them again. */
  isolate(replica: number, isCut: boolean): void {
    for (const other of this.#others(replica)) {
      const name = linkName(replica, other);
      if (isCut) this.#cut.add(name);
      else this.#cut.delete(name);
    }
  }

  /** The replica that serves; undefined: none does. */
  get primary(): number | undefined {
    const roles = this.lives.map((life) => life?.replica.status().role);
    const views = this.lives.map((life) => life?.replica.status().view ?? -1);
    let best: number | undefined;
    for (const [i, role] of roles.entries()) {
      if (role === 'primary' && (best === undefined || views[i]! > views[best]!)) best = i;
    }
    return best;
  }

  /** Hands a message to a replica as its client server would. */
  receive(replica: number, connection: number, bytes: Uint8Array): void {
    const life = this.life(replica);
    const message = life.pool.acquire(bytes.length <= 4096 ? 'small' : 'request');
    assert.ok(message, 'a slot for what clients send');
    // Of what is too large there is only the header.
    const isOversize = bytes.length > (this.options.geometry ?? GEOMETRY).requestSizeMax;
    message.bytes.set(isOversize ? bytes.subarray(0, HEADER_SIZE) : bytes);
    this.#step(replica, life, { type: isOversize ? 'oversize' : 'message', connection, message });
  }

  /** Lets time pass until something is so; asserts that it becomes so in time. */
  until(isSo: () => boolean, what: string, msMax: number = 20_000): void {
    const endNs = this.nowNs + msMax * 1e6;
    while (!isSo()) {
      assert.ok(this.#runNext(endNs), `${what}: not within ${msMax} ms`);
    }
  }

  /** Lets so much time pass. */
  sleep(ms: number): void {
    const endNs = this.nowNs + ms * 1e6;
    while (this.#runNext(endNs));
    this.nowNs = endNs;
  }

  /** All that run have executed the same, which is all there is. */
  settled(): boolean {
    const all = this.lives.flatMap((life) => (life === null ? [] : [life.replica.status()]));
    const first = all[0]!;
    return all.every(
      ({ commitMin, digest, op, role }) =>
        role !== 'recovering' &&
        commitMin === first.commitMin &&
        op === commitMin &&
        digest === first.digest,
    );
  }

  /** Ends everything; no message may be left. */
  stop(): void {
    for (const [replica, life] of this.lives.entries()) {
      if (life !== null) this.#end(replica, life);
    }
  }

  #others(replica: number): number[] {
    return [...this.lives.keys()].filter((other) => other !== replica);
  }

  #end(replica: number, life: TestLife): void {
    life.isOver = true;
    this.lives[replica] = null;
    life.replica.releaseMessages();
    assert.equal(life.pool.leaked(), 0, `replica ${replica} leaks messages`);
  }

  #plan(afterNs: number, run: () => void): void {
    this.#planned.push({ atNs: this.nowNs + afterNs, order: this.#order++, run });
  }

  #runNext(endNs: number): boolean {
    let next: Planned | undefined;
    for (const one of this.#planned) {
      if (next === undefined || one.atNs < next.atNs) next = one;
      else if (one.atNs === next.atNs && one.order < next.order) next = one;
    }
    if (next === undefined || next.atNs > endNs) return false;
    this.#planned = this.#planned.filter((one) => one !== next);
    this.nowNs = Math.max(this.nowNs, next.atNs);
    next.run();
    return true;
  }

  #step(replica: number, life: TestLife, event: Event): void {
    if (life.isOver) {
      if ('message' in event) life.pool.release(event.message);
      return;
    }
    const wall = u64Add(WALL_START, Math.floor(this.nowNs));
    const effects = life.replica.step(event, { monoNs: Math.floor(this.nowNs), wall });
    life.replica.invariants();
    for (const effect of [...effects]) this.#execute(replica, life, effect);
  }

  #execute(replica: number, life: TestLife, effect: Effect): void {
    switch (effect.type) {
      case 'send': {
        const { bytes } = effect.message;
        const copy = bytes.slice(0, readSize(bytes));
        this.sent.push({ replica, connection: effect.connection, bytes: copy });
        life.pool.release(effect.message);
        break;
      }
      case 'send-peer': {
        const { bytes } = effect.message;
        this.#carry(replica, effect.replica, bytes.slice(0, readSize(bytes)));
        life.peerMessages++;
        life.pool.release(effect.message);
        break;
      }
      case 'write':
        this.#write(replica, life, effect);
        break;
      case 'read': {
        const { token, offset, length } = effect;
        this.#plan(DISK_NS, () => {
          const bytes = this.disks[replica]!.read(offset, length);
          this.#step(replica, life, { type: 'read', token, bytes, error: null });
          bytes.fill(0xdd);
        });
        break;
      }
      case 'flush': {
        const { token } = effect;
        const done: Event = { type: 'flushed', token, error: null };
        this.#plan(DISK_NS, () => this.#step(replica, life, done));
        break;
      }
      case 'timer':
        this.#arm(replica, life, effect.timer, effect.afterNs);
        break;
      case 'ready':
        life.isReady = true;
        for (const other of this.#others(replica)) this.#link(replica, other);
        break;
      case 'trace':
        life.traces.push({ event: effect.event, fields: effect.fields });
        break;
      case 'restart':
        this.restarts++;
        this.kill(replica);
        this.start(replica);
        break;
      case 'halt':
        life.halted = { code: effect.code, reason: effect.reason };
        break;
      case 'close':
        break;
    }
  }

  #write(replica: number, life: TestLife, effect: Effect & { readonly type: 'write' }): void {
    const { token, offset, bytes } = effect;
    const disk = this.disks[replica] as TestDisk;
    life.writes++;
    this.#plan(DISK_NS, () => {
      if (life.isOver) return;
      const isFull = offset + bytes.length > Math.max(disk.sizeMax, 0);
      const error = disk.isBroken ? 'io' : isFull ? 'no-space' : null;
      if (error === null) disk.write(offset, bytes);
      this.#step(replica, life, { type: 'written', token, error });
    });
  }

  #arm(replica: number, life: TestLife, timer: 'wake' | 'commit', afterNs: number | null): void {
    const count = ++life.timerCount;
    life.timers.set(timer, count);
    if (afterNs === null) return;
    this.#plan(afterNs, () => {
      if (life.timers.get(timer) !== count) return;
      this.#step(replica, life, { type: 'timer', timer });
    });
  }

  #carry(from: number, to: number, bytes: Uint8Array): void {
    if (!this.#up.has(linkName(from, to))) return;
    this.#plan(LINK_NS, () => {
      const life = this.lives[to] ?? null;
      if (life === null || !this.#up.has(linkName(from, to))) return;
      if (this.#cut.has(linkName(from, to))) return;
      const message = life.pool.acquire(bytes.length <= 4096 ? 'small' : 'request');
      if (message === null) return;
      message.bytes.set(bytes);
      this.#step(to, life, { type: 'peer-message', replica: from, message });
    });
  }

  /** Both are ready: they are connected a little later. */
  #link(a: number, b: number): void {
    const isReady = (replica: number): boolean => this.lives[replica]?.isReady === true;
    if (!isReady(a) || !isReady(b) || this.#up.has(linkName(a, b))) return;
    this.#plan(LINK_NS, () => {
      if (!isReady(a) || !isReady(b) || this.#up.has(linkName(a, b))) return;
      if (this.#cut.has(linkName(a, b))) {
        this.#plan(REDIAL_NS, () => this.#link(a, b));
        return;
      }
      this.#up.add(linkName(a, b));
      this.#greet(a, b);
      this.#greet(b, a);
    });
  }

  /** A link is made anew, and only one side has noticed. */
  greetAgain(replica: number, other: number): void {
    assert.ok(this.#up.has(linkName(replica, other)));
    this.#greet(replica, other);
  }

  #greet(replica: number, other: number): void {
    const head = readRaftHead(this.disks[other]!.read(0, RAFT_HEAD_SIZE), checksum);
    assert.ok(head.ok);
    const { replicaId } = head.head;
    const event: Event = { type: 'peer-up', replica: other, replicaId, isRecovered: false };
    this.#step(replica, this.life(replica), event);
  }

  #unlink(gone: number, other: number): void {
    if (!this.#up.delete(linkName(gone, other))) return;
    this.#plan(LINK_NS, () => {
      const life = this.lives[other] ?? null;
      if (life !== null) this.#step(other, life, { type: 'peer-down', replica: gone });
      this.#link(gone, other);
    });
  }
}

function linkName(a: number, b: number): string {
  return a < b ? `${a} ${b}` : `${b} ${a}`;
}
