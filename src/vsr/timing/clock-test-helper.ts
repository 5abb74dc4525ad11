/**
 * Clocks that are wrong in every way, asked by one replica over links with a delay per direction.
 * Time runs in whole milliseconds; at each the clocks may step and messages arrive.
 */
import type { Instant } from '../../engine/index.ts';
import { type U64, u64Difference, u64FromBigInt } from '../../stdx/index.ts';
import { ClockSync } from './clock-sync.ts';

export const MS = 1_000_000;
/** True time at the start: a day in 2024, ns. */
const START = 1_710_000_000_000_000_000n;
/** Where our monotonic clock starts, ns. */
const MONO_START = 77_000_000_000;

export interface ClockWorldOptions {
  readonly replicaCount: number;
  readonly quorum: number;
  /** By replica (0 is we): wall clock minus true time at a true time since the start, ms. */
  readonly errorMs: readonly ((atMs: number) => number)[];
  /** One-way delays to and from a peer, for a ping sent at a time, ms. Default 1 each. */
  readonly delaysMs?: (replica: number, atMs: number) => readonly [number, number];
  /** Whether the peer answers a ping sent then. Default: always. */
  readonly answers?: (replica: number, atMs: number) => boolean;
}

interface Pong {
  readonly replica: number;
  readonly m0: number;
  readonly t1: U64;
  readonly arrivesMs: number;
}

export class ClockWorld {
  readonly clock: ClockSync;
  nowMs: number = 0;
  /** Rounds of pings that were sent. */
  pingRounds: number = 0;
  readonly #options: ClockWorldOptions;
  #pings: { readonly replica: number; readonly sentMs: number; readonly arrivesMs: number }[] = [];
  #pongs: Pong[] = [];
  #nextPingMs: number = 0;

  constructor(options: ClockWorldOptions) {
    this.#options = options;
    const { replicaCount, quorum } = options;
    this.clock = new ClockSync({ replicaCount, replica: 0, quorum });
  }

  get now(): Instant {
    return { monoNs: monoNs(this.nowMs), wall: this.wallOf(0, this.nowMs) };
  }

  wallOf(replica: number, atMs: number): U64 {
    const ms = BigInt(Math.round((atMs + this.#options.errorMs[replica](atMs)) * MS));
    return u64FromBigInt(START + ms);
  }

  /** Agreed time minus true time, ms; null without agreement. */
  errorMs(): number | null {
    this.clock.tick(this.now);
    const realtime = this.clock.realtime(this.now);
    if (realtime === null) return null;
    return u64Difference(realtime, u64FromBigInt(START)) / MS - this.nowMs;
  }

  /** Lets time pass until `untilMs` (included). */
  run(untilMs: number): void {
    for (; this.nowMs <= untilMs; this.nowMs++) this.#step();
    this.nowMs = untilMs;
  }

  /** The first time at which there is an agreement. */
  runUntilSynchronized(limitMs: number): number | null {
    for (; this.nowMs <= limitMs; this.nowMs++) {
      this.#step();
      if (this.clock.status.isSynchronized) return this.nowMs;
    }
    return null;
  }

  #step(): void {
    const { replicaCount, delaysMs = () => [1, 1], answers = () => true } = this.#options;
    const { nowMs } = this;
    for (const { replica, sentMs } of this.#pings.filter((ping) => ping.arrivesMs === nowMs)) {
      const arrivesMs = nowMs + delaysMs(replica, sentMs)[1];
      this.#pongs.push({
        replica,
        m0: monoNs(sentMs),
        t1: this.wallOf(replica, nowMs),
        arrivesMs,
      });
    }
    this.#pings = this.#pings.filter((ping) => ping.arrivesMs > nowMs);
    for (const pong of this.#pongs.filter((each) => each.arrivesMs === nowMs)) {
      this.clock.tick(this.now);
      this.clock.learn(pong.replica, pong.m0, pong.t1, this.now);
    }
    this.#pongs = this.#pongs.filter((pong) => pong.arrivesMs > nowMs);
    this.clock.tick(this.now);
    if (nowMs < this.#nextPingMs) return;
    this.#nextPingMs = nowMs + this.clock.pingIntervalNs / MS;
    this.pingRounds++;
    for (let replica = 1; replica < replicaCount; replica++) {
      if (!answers(replica, nowMs)) continue;
      const arrivesMs = nowMs + Math.max(1, delaysMs(replica, nowMs)[0]);
      this.#pings.push({ replica, sentMs: nowMs, arrivesMs });
    }
  }
}

function monoNs(atMs: number): number {
  return MONO_START + atMs * MS;
}
