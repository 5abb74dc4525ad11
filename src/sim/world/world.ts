/**
 * A simulated world: one clock, one queue of things to do, one seed from which all chance comes,
 * one fingerprint. Disks, links, clients and processes are put into it; none of them knows real
 * time, and nothing happens but by taking the next item from the queue.
 *
 * Time is monotonic nanoseconds since the world began, and it jumps from item to item: an idle
 * world costs nothing. What clocks show is another matter; see `process/clock`.
 */
import { assert, Prng, type U64, u64Add, u64FromBigInt } from '../../stdx/index.ts';
import { Coverage } from './coverage.ts';
import { EventHash } from './event-hash.ts';
import { EventQueue } from './event-queue.ts';

/** Whoever needs chance has a stream of its own: more draws here change nothing there. */
export const Stream = {
  options: 0,
  disk: 1,
  link: 2,
  process: 3,
  workload: 4,
  client: 5,
  swarm: 6,
  clock: 7,
  peers: 8,
  plan: 9,
  lives: 10,
} as const;

export type Action = () => void;

export interface WorldOptions {
  /** A safe non-negative integer. */
  readonly seed: number;
  /** Gets one line per event and effect; absent: no line is ever formatted. */
  readonly trace?: ((line: string) => void) | undefined;
}

/** 2025-06-15 in nanoseconds: wall time at the beginning of every world. */
const WALL_START: U64 = u64FromBigInt(1_750_000_000_000_000_000n);

/** What a right clock on the wall shows `ns` after the beginning of the world. */
export function wallAt(ns: number): U64 {
  return u64Add(WALL_START, ns);
}

export class World {
  readonly seed: number;
  readonly hash: EventHash = new EventHash();
  readonly coverage: Coverage = new Coverage();
  readonly #queue: EventQueue<Action> = new EventQueue();
  readonly #trace: ((line: string) => void) | undefined;
  #nowNs: number = 0;
  #lines: number = 0;

  constructor(options: WorldOptions) {
    this.seed = options.seed;
    this.#trace = options.trace;
  }

  get nowNs(): number {
    return this.#nowNs;
  }

  /** When the next thing happens; `Infinity`: never. */
  get timeNextNs(): number {
    return this.#queue.timeNextNs;
  }

  /**
   * Somebody reads the trace. Lines count, so whoever skips them must do so only when nobody does.
   */
  get isTraced(): boolean {
    return this.#trace !== undefined;
  }

  /** A generator of the seed's sub-stream; `index` tells apart the users of one stream. */
  prng(stream: number, index: number = 0): Prng {
    assert(index >= 0 && index < 0x10000, 'World: stream index out of range');
    return new Prng(this.seed, stream * 0x10000 + index);
  }

  /**
   * Does `action` after `delayNs`; actions due at the same time run in the order of their making.
   */
  after(delayNs: number, action: Action): void {
    assert(delayNs >= 0, 'World: the past is over');
    this.#queue.push(this.#nowNs + delayNs, action);
  }

  /** Does the next thing; false when there is none left or it would be after `deadlineNs`. */
  step(deadlineNs: number): boolean {
    if (this.#queue.timeNextNs > deadlineNs) return false;
    assert(this.#queue.timeNextNs >= this.#nowNs, 'World: time runs backwards');
    this.#nowNs = this.#queue.timeNextNs;
    this.hash.integer(this.#nowNs);
    this.#queue.pop()();
    return true;
  }

  /** Something that is neither event nor effect happened: it counts for the fingerprint too. */
  note(subject: string, kind: string, detail: string): void {
    this.hash.text(kind);
    this.hash.text(detail);
    this.line(subject, kind, () => detail);
  }

  /** One line of the trace in fixed columns: time, number, subject, kind, detail. */
  line(subject: string, kind: string, detail: () => string): void {
    this.#lines++;
    if (this.#trace === undefined) return;
    const micros = (this.#nowNs / 1000).toFixed(3).padStart(16);
    const number = String(this.#lines).padStart(7);
    const line = `${micros} ${number} ${subject.padEnd(10)} ${kind.padEnd(14)} ${detail()}`;
    this.#trace(line.trimEnd());
  }
}
