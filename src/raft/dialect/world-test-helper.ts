/**
 * Dialects that talk over links of a virtual world: frames are verified as a framer would, then
 * lost, doubled and delayed as a seed wants. There is no Raft here; a test says what is sent.
 */
import assert from 'node:assert/strict';
import { Prng } from '../../stdx/index.ts';
import {
  bodyValid,
  HEADER_SIZE,
  headerValid,
  type Message,
  MessagePool,
  readSize,
  SMALL_SLOT_SIZE,
} from '../../wire/index.ts';
import type { Entry, Snapshot } from '../entry.ts';
import type { AppendRequest, InstallSnapshotRequest, Msg } from '../message.ts';
import { Dialect } from './dialect.ts';
import { type Frame, readFrame } from './frame.ts';

export const SLOT_SIZE = 8192;
export const CLUSTER: Uint8Array = new Uint8Array(16).fill(7);

export interface WorldOptions {
  readonly seed?: number;
  readonly count?: number;
  /** Of a hundred frames. */
  readonly lost?: number;
  readonly doubled?: number;
  /** Most, ms; frames overtake each other unless it is 0. */
  readonly delayMs?: number;
  readonly requestSlots?: number;
  /** All draw the same, so that the numbers of their transfers are the same. */
  readonly isSameSeed?: boolean;
  /** Called for each frame that enters a link; false: it is lost. */
  readonly filter?: (frame: Frame, from: number, to: number) => boolean;
}

interface Flying {
  readonly atMs: number;
  readonly from: number;
  readonly to: number;
  readonly bytes: Uint8Array;
}

export class World {
  readonly dialects: Dialect[] = [];
  readonly pools: MessagePool[] = [];
  /** What each was told: by receiver. */
  readonly received: { readonly from: number; readonly message: Msg<Uint8Array> }[][] = [];
  readonly kinds: Map<string, number> = new Map();
  readonly #options: WorldOptions;
  readonly #prng: Prng;
  #flying: Flying[] = [];
  nowMs: number = 0;

  constructor(options: WorldOptions = {}) {
    this.#options = options;
    this.#prng = new Prng(options.seed ?? 1);
    for (let replica = 0; replica < (options.count ?? 3); replica++) {
      this.#start(replica, options.isSameSeed === true ? 1 : 1 + replica);
    }
  }

  send(from: number, to: number, message: Msg<Uint8Array>): void {
    this.dialects[from].tick(this.nowMs);
    this.dialects[from].send(to, message);
  }

  /** The link between two is gone, and what was on it. */
  cut(a: number, b: number): void {
    const isOn = ({ from, to }: Flying): boolean =>
      (from === a && to === b) || (from === b && to === a);
    this.#flying = this.#flying.filter((one) => !isOn(one));
    this.dialects[a].onPeerDown(b);
    this.dialects[b].onPeerDown(a);
  }

  /** A new life: what it knew is gone; what it has sent may still come. */
  restart(replica: number): void {
    this.dialects[replica].endTurn();
    assert.equal(this.pools[replica].leaked(), 0);
    this.#start(replica, this.nowMs + 10);
  }

  /** Runs until nothing is on the way and nothing due before `untilMs`. */
  run(untilMs: number): void {
    for (;;) {
      const deadlines = this.dialects.map((dialect) => dialect.deadlineMs);
      const next = Math.min(...deadlines, ...this.#flying.map(({ atMs }) => atMs));
      if (next > untilMs) break;
      this.nowMs = Math.max(next, this.nowMs);
      for (const dialect of this.dialects) dialect.tick(this.nowMs);
      const due = this.#flying.filter(({ atMs }) => atMs <= this.nowMs);
      this.#flying = this.#flying.filter(({ atMs }) => atMs > this.nowMs);
      due.sort((a, b) => a.atMs - b.atMs);
      for (const flying of due) this.#arrive(flying);
    }
    this.nowMs = Math.max(this.nowMs, untilMs);
    for (const dialect of this.dialects) dialect.tick(this.nowMs);
  }

  /** Nobody holds a slot. */
  settle(): void {
    for (const dialect of this.dialects) dialect.endTurn();
    for (const pool of this.pools) assert.equal(pool.leaked(), 0);
  }

  messages(replica: number, type: Msg<Uint8Array>['type']): Msg<Uint8Array>[] {
    return this.received[replica].map(({ message }) => message).filter((one) => one.type === type);
  }

  deliver(from: number, to: number, bytes: Uint8Array): void {
    const pool = this.pools[to];
    const slotClass = bytes.length <= SMALL_SLOT_SIZE ? 'small' : 'request';
    const message = pool.acquire(slotClass);
    if (message === null) return;
    message.bytes.set(bytes);
    const result = this.dialects[to].onMessage(from, message);
    if (result !== null) this.received[to].push({ from, message: result });
  }

  #start(replica: number, seed: number): void {
    const { requestSlots = 12, count = 3 } = this.#options;
    const pool = new MessagePool({
      requestSlotSize: SLOT_SIZE,
      requestSlots,
      replySlots: 0,
      smallSlots: 16,
      poison: true,
      checksumKind: 'typescript',
    });
    this.pools[replica] = pool;
    this.received[replica] ??= [];
    this.dialects[replica] = new Dialect({
      pool,
      cluster: CLUSTER,
      replica,
      replicaCount: count,
      release: 1,
      seed,
      send: (to, message) => this.#leave(replica, to, message),
    });
    this.dialects[replica].tick(this.nowMs);
  }

  #leave(from: number, to: number, message: Message): void {
    const { lost = 0, doubled = 0, delayMs = 0, filter } = this.#options;
    const pool = this.pools[from];
    const bytes = message.bytes.slice(0, readSize(message.bytes));
    assert(headerValid(bytes, pool.checksum) && bodyValid(bytes, pool.checksum), 'not sealed');
    pool.release(message);
    const frame = readFrame(bytes, from);
    assert(frame !== null, 'sends what it would not take');
    this.kinds.set(frame.kind, (this.kinds.get(frame.kind) ?? 0) + 1);
    if (filter?.(frame, from, to) === false || this.#prng.below(100) < lost) return;
    const copies = this.#prng.below(100) < doubled ? 2 : 1;
    for (let i = 0; i < copies; i++) {
      const atMs = this.nowMs + (delayMs === 0 ? 1 : this.#prng.between(1, delayMs));
      this.#flying.push({ atMs, from, to, bytes });
    }
  }

  #arrive({ from, to, bytes }: Flying): void {
    this.deliver(from, to, bytes);
  }
}

export function dataEntry(term: number, index: number, size: number): Entry<Uint8Array> {
  const data = new Uint8Array(size);
  new Prng(index).fill(data);
  return { term, index, kind: 'data', eid: `e${index}`, data, size };
}

export function appendOf(
  entries: readonly Entry<Uint8Array>[],
  fields: Partial<AppendRequest<Uint8Array>> = {},
): AppendRequest<Uint8Array> {
  return {
    type: 'append-request',
    term: 3,
    prevIndex: (entries[0]?.index ?? 10) - 1,
    prevTerm: 2,
    leaderCommit: 4,
    entries,
    round: 0,
    ...fields,
  };
}

export function installOf(
  index: number,
  size: number | null,
  term: number = 3,
): InstallSnapshotRequest<Uint8Array> {
  const data = size === null ? null : new Uint8Array(size);
  if (data !== null) new Prng(index * 7 + term).fill(data);
  const servers = new Map([
    ['0', ''],
    ['1', ''],
    ['2', ''],
  ]);
  const snapshot: Snapshot<Uint8Array> = {
    term: 2,
    index,
    eid: 'x',
    servers,
    electionTimerMs: 1000,
    data,
    size: size ?? 0,
  };
  return { type: 'install-snapshot-request', term, snapshot };
}

/** Bytes of a frame's body. */
export const UNIT: number = SLOT_SIZE - HEADER_SIZE;
