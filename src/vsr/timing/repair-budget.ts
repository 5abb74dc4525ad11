/**
 * Whom to ask for a missing prepare, and how much to ask at once. Every peer has a few requests
 * outstanding at most, so that repair never crowds out new prepares; the fastest peer is asked
 * first, now and then another one, so that a peer that was fast once and is dead now is not asked
 * for ever.
 */
import { assert, type Prng } from '../../stdx/index.ts';

const MS = 1_000_000;
/** Requests under way to one replica: what fits its outgoing queue beside everything else. */
export const OUTSTANDING_MAX = 12;
/** What a peer is taken to need before it has answered anything, ns. */
const LATENCY_NS_START: number = 1 * MS;
/** A dead peer's latency grows up to here, so that it can come down again, ns. */
const LATENCY_NS_MAX: number = 1000 * MS;
/** A request is given up after twice the peer's latency, within these, ns. */
const EXPIRY_NS_MIN: number = 10 * MS;
const EXPIRY_NS_MAX: number = 1000 * MS;
/** Answers that overtake an older request to the same replica; then that one is lost. */
const OVERTAKEN_MAX = 4;
/** Share of the past in the average latency: 4 of 5. */
const PAST_WEIGHT = 4;
/** One request in so many goes to any replica. */
const EXPLORATION_PERIOD = 10;
/** No operation is outstanding in this place. */
const FREE = -1;

export interface RepairBudgetOptions {
  readonly replicaCount: number;
  readonly replica: number;
  readonly prng: Prng;
}

export class RepairBudget {
  readonly #replicaCount: number;
  readonly #replica: number;
  readonly #prng: Prng;
  /** By replica: average time to an answer, ns. */
  readonly #latencyNs: Float64Array;
  /** OUTSTANDING_MAX places per replica: operation asked for, or FREE, and when. */
  readonly #ops: Float64Array;
  readonly #askedNs: Float64Array;
  /** Later requests to the same replica that were answered before. */
  readonly #overtaken: Uint8Array;
  /** How many have been asked for each operation and may yet answer. */
  readonly #asked: Map<number, number> = new Map();
  #outstanding: number = 0;
  /** Ties go to the replica after this one: a fixed order would load the first. */
  #lastAsked: number = 0;
  /** No answer can be expected before this, ns. */
  roundTripNs: number = 0;

  constructor(options: RepairBudgetOptions) {
    const { replicaCount, replica, prng } = options;
    assert(replica >= 0 && replica < replicaCount, 'RepairBudget: no such replica');
    this.#replicaCount = replicaCount;
    this.#replica = replica;
    this.#prng = prng;
    this.#latencyNs = new Float64Array(replicaCount).fill(LATENCY_NS_START);
    this.#ops = new Float64Array(replicaCount * OUTSTANDING_MAX).fill(FREE);
    this.#askedNs = new Float64Array(replicaCount * OUTSTANDING_MAX);
    this.#overtaken = new Uint8Array(replicaCount * OUTSTANDING_MAX);
  }

  /**
   * Chooses one of the replicas in `eligible` (bit i: replica i; the own bit is ignored) to be
   * asked for `op` and counts the request. −1: all of them are busy or have been asked for it
   * already.
   */
  take(op: number, nowNs: number, eligible: number): number {
    assert(Number.isSafeInteger(op) && op >= 0, 'RepairBudget: not an operation');
    const candidates = this.#candidates(op, eligible);
    if (candidates === 0) return -1;
    const isExploring = this.#prng.chance(1, EXPLORATION_PERIOD);
    const chosen = isExploring ? this.#anyOf(candidates) : this.#fastestOf(candidates);
    const place = this.#placeOf(chosen, FREE);
    this.#ops[place] = op;
    this.#askedNs[place] = nowNs;
    this.#overtaken[place] = 0;
    this.#asked.set(op, (this.#asked.get(op) ?? 0) + 1);
    this.#outstanding++;
    this.#lastAsked = chosen;
    return chosen;
  }

  /** Somebody has been asked for the operation and may yet answer. */
  isAsked(op: number): boolean {
    return this.#asked.has(op);
  }

  /** Requests that may yet be answered. */
  get outstanding(): number {
    return this.#outstanding;
  }

  /** Whether any of `eligible` could be asked for something. */
  hasRoom(eligible: number): boolean {
    for (let replica = 0; replica < this.#replicaCount; replica++) {
      if (!this.#isEligible(replica, eligible)) continue;
      if (this.#placeOf(replica, FREE) !== -1) return true;
    }
    return false;
  }

  /**
   * `op` has arrived, perhaps `from` somebody asked: releases it everywhere. Links mostly keep the
   * order: what should have come from there long before it is lost. True if it had been asked for.
   */
  received(op: number, nowNs: number, from: number = -1): boolean {
    if (!this.#asked.has(op)) return false;
    for (let replica = 0; replica < this.#replicaCount; replica++) {
      const place = this.#placeOf(replica, op);
      if (place === -1) continue;
      const elapsedNs = nowNs - this.#askedNs[place];
      assert(elapsedNs >= 0, 'RepairBudget: time went backwards');
      const average = (PAST_WEIGHT * this.#latencyNs[replica] + elapsedNs) / (PAST_WEIGHT + 1);
      this.#setLatency(replica, average);
      this.#release(place);
      if (replica === from) this.#overtake(replica, this.#askedNs[place]);
    }
    return true;
  }

  /** Gives up what has waited too long; who let us wait is slower by as much. */
  expire(nowNs: number): void {
    for (let place = 0; place < this.#ops.length; place++) {
      if (this.#ops[place] === FREE || nowNs < this.#expiryNs(place)) continue;
      const replica = Math.floor(place / OUTSTANDING_MAX);
      this.#setLatency(replica, this.#latencyNs[replica] + (nowNs - this.#askedNs[place]));
      this.#release(place);
    }
  }

  /** When {@link expire} has something to do, monotonic ns; Infinity if nothing is outstanding. */
  get nextExpiryNs(): number {
    let next = Number.POSITIVE_INFINITY;
    for (let place = 0; place < this.#ops.length; place++) {
      if (this.#ops[place] !== FREE) next = Math.min(next, this.#expiryNs(place));
    }
    return next;
  }

  /** The link to `replica` is gone, and with it what was asked and what was known. */
  forget(replica: number): void {
    assert(replica >= 0 && replica < this.#replicaCount, 'RepairBudget: no such replica');
    const first = replica * OUTSTANDING_MAX;
    for (let place = first; place < first + OUTSTANDING_MAX; place++) this.#release(place);
    this.#latencyNs[replica] = LATENCY_NS_START;
  }

  /** What was asked for is no longer wanted (another view, another checkpoint). */
  clear(): void {
    for (let place = 0; place < this.#ops.length; place++) this.#release(place);
  }

  #release(place: number): void {
    const op = this.#ops[place];
    if (op === FREE) return;
    this.#ops[place] = FREE;
    this.#outstanding--;
    const asked = this.#asked.get(op);
    assert(asked !== undefined, 'RepairBudget: not counted');
    if (asked > 1) this.#asked.set(op, asked - 1);
    else this.#asked.delete(op);
  }

  /** What `replica` was asked for before `askedNs` has been overtaken once more. */
  #overtake(replica: number, askedNs: number): void {
    const first = replica * OUTSTANDING_MAX;
    for (let place = first; place < first + OUTSTANDING_MAX; place++) {
      if (this.#ops[place] === FREE || this.#askedNs[place] >= askedNs) continue;
      this.#overtaken[place]++;
      if (this.#overtaken[place] >= OVERTAKEN_MAX) this.#release(place);
    }
  }

  #setLatency(replica: number, latencyNs: number): void {
    this.#latencyNs[replica] = Math.min(latencyNs, LATENCY_NS_MAX);
  }

  #isEligible(replica: number, eligible: number): boolean {
    return replica !== this.#replica && (eligible & (1 << replica)) !== 0;
  }

  /** Bits of those that have room and were not asked for `op`. */
  #candidates(op: number, eligible: number): number {
    let candidates = 0;
    for (let replica = 0; replica < this.#replicaCount; replica++) {
      if (!this.#isEligible(replica, eligible)) continue;
      if (this.#placeOf(replica, op) !== -1 || this.#placeOf(replica, FREE) === -1) continue;
      candidates |= 1 << replica;
    }
    return candidates;
  }

  /** The place of `replica` that holds `op`, or −1. */
  #placeOf(replica: number, op: number): number {
    const first = replica * OUTSTANDING_MAX;
    for (let place = first; place < first + OUTSTANDING_MAX; place++) {
      if (this.#ops[place] === op) return place;
    }
    return -1;
  }

  #fastestOf(candidates: number): number {
    let fastest = -1;
    for (let i = 1; i <= this.#replicaCount; i++) {
      const replica = (this.#lastAsked + i) % this.#replicaCount;
      if ((candidates & (1 << replica)) === 0) continue;
      if (fastest === -1 || this.#latencyNs[replica] < this.#latencyNs[fastest]) fastest = replica;
    }
    return fastest;
  }

  #anyOf(candidates: number): number {
    let count = 0;
    for (let rest = candidates; rest !== 0; rest &= rest - 1) count++;
    let rest = candidates;
    for (let skip = this.#prng.below(count); skip > 0; skip--) rest &= rest - 1;
    return 31 - Math.clz32(rest & -rest);
  }

  #expiryNs(place: number): number {
    const latencyNs = this.#latencyNs[Math.floor(place / OUTSTANDING_MAX)];
    const soonestNs = Math.max(2 * latencyNs, EXPIRY_NS_MIN, this.roundTripNs);
    const patienceNs = Math.min(soonestNs, EXPIRY_NS_MAX);
    return this.#askedNs[place] + Math.ceil(patienceNs);
  }
}
