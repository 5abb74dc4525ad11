/**
 * One direction of the line between two replicas: what is put in comes out after a while, or not.
 *
 * An ordered lane is TCP's: nothing overtakes, nothing is lost while the connection holds; a
 * partition makes everything wait. A wild one loses, doubles and reorders, which no TCP connection
 * does by itself, but connections that break and are made again do; a protocol that survives the
 * wild kind survives the other, and finds its mistakes sooner.
 */
import { assert, type Prng } from '../../stdx/index.ts';
import { drawExponential, drawLatency, type LatencyTail } from '../world/latency.ts';
import type { World } from '../world/world.ts';

/** Chances are in 1,000 packets. */
export interface LaneOptions {
  readonly isOrdered: boolean;
  readonly delay: LatencyTail;
  /** Only in wild lanes. */
  readonly losses: number;
  readonly duplicates: number;
  /** Packets under way at most. What is too much is lost: of a wild lane, any of them. */
  readonly capacity: number;
  /** From such a packet on, nothing comes out for a while. */
  readonly clogs: number;
  readonly clogMeanNs: number;
}

/** What goes through a lane. */
export interface Packet {
  readonly bytes: Uint8Array;
  /** Which connection it belongs to. */
  readonly generation: number;
  /** Who sent it: the 16 bytes of a replica id. */
  readonly senderId: Uint8Array;
}

interface Flight {
  readonly packet: Packet;
  isLost: boolean;
}

/** How a lane is when the world has become good. */
const CALM_DELAY: LatencyTail = { minNs: 50_000, meanNs: 500_000 };
const CAPACITY_CALM = 1024;

export class Lane {
  readonly #world: World;
  readonly #prng: Prng;
  readonly #deliver: (packet: Packet) => void;
  #options: LaneOptions;
  readonly #flights: Flight[] = [];
  /** What an ordered lane holds back while it is shut. */
  #held: Packet[] = [];
  #isOpen: boolean = true;
  #clogEndNs: number = 0;
  /** When the last packet of an ordered lane comes out. */
  #lastNs: number = 0;

  constructor(world: World, prng: Prng, options: LaneOptions, deliver: (packet: Packet) => void) {
    const { losses, duplicates, clogs, capacity } = options;
    assert(losses < 1000 && duplicates < 1000 && clogs < 1000, 'Lane: chances are out of range');
    assert(capacity > 0, 'Lane: no room for anything');
    this.#world = world;
    this.#prng = prng;
    this.#options = options;
    this.#deliver = deliver;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Packets under way. */
  get length(): number {
    return this.#flights.length + this.#held.length;
  }

  shut(): void {
    this.#isOpen = false;
  }

  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    const held = this.#held;
    this.#held = [];
    for (const packet of held) this.#fly(packet);
  }

  /** From now on it is quick and loses nothing. */
  calm(): void {
    const { isOrdered } = this.#options;
    const none = { losses: 0, duplicates: 0, clogs: 0, clogMeanNs: 0 };
    this.#options = { isOrdered, delay: CALM_DELAY, capacity: CAPACITY_CALM, ...none };
    this.#clogEndNs = 0;
  }

  /** Everything under way is lost. */
  clear(): void {
    for (const flight of this.#flights) flight.isLost = true;
    this.#flights.length = 0;
    this.#held = [];
  }

  /** How long a small thing takes now that is not to be lost, such as a handshake. */
  latencyNs(): number {
    const clogNs = Math.max(0, this.#clogEndNs - this.#world.nowNs);
    return clogNs + drawLatency(this.#prng, this.#options.delay);
  }

  send(packet: Packet): void {
    const { isOrdered, losses, duplicates, capacity, clogs, clogMeanNs } = this.#options;
    const { coverage, nowNs } = this.#world;
    if (this.length >= capacity) {
      coverage.add('overflows');
      if (isOrdered || this.#flights.length === 0) return;
      const victim = this.#prng.below(this.#flights.length);
      (this.#flights[victim] as Flight).isLost = true;
      this.#flights.splice(victim, 1);
    }
    if (clogs > 0 && this.#prng.chance(clogs, 1000)) {
      coverage.add('clogs');
      this.#clogEndNs = Math.max(this.#clogEndNs, nowNs + drawExponential(this.#prng, clogMeanNs));
    }
    if (!isOrdered && losses > 0 && this.#prng.chance(losses, 1000)) {
      coverage.add('losses');
      return;
    }
    this.#fly(packet);
    if (isOrdered || duplicates === 0 || !this.#prng.chance(duplicates, 1000)) return;
    coverage.add('duplicates');
    this.#fly(packet);
  }

  #fly(packet: Packet): void {
    const { nowNs } = this.#world;
    const flight: Flight = { packet, isLost: false };
    this.#flights.push(flight);
    let atNs = nowNs + this.latencyNs();
    if (this.#options.isOrdered) {
      atNs = Math.max(atNs, this.#lastNs);
      this.#lastNs = atNs;
    }
    this.#world.after(atNs - nowNs, () => this.#land(flight));
  }

  #land(flight: Flight): void {
    if (flight.isLost) return;
    this.#flights.splice(this.#flights.indexOf(flight), 1);
    if (!this.#isOpen) {
      if (this.#options.isOrdered) this.#held.push(flight.packet);
      else this.#world.coverage.add('losses');
      return;
    }
    this.#deliver(flight.packet);
  }
}
