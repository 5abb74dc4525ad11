/**
 * Everything that a replica does at a certain time, behind the one timer that a driver keeps for
 * it. A deadline is named, set to a moment of the monotonic clock, and fires once. Setting it again
 * moves it. At the end of a step the driver's timer is moved only if something falls due earlier
 * than it would wake us anyway: most deadlines are pushed back over and over and never fire.
 */
import { assert } from '../stdx/index.ts';
import type { Outbox } from './outbox.ts';

/** In the order in which deadlines of the same moment fire. */
const names = [
  /** Ask the machine whether something is due; try again what found no room. */
  'pulse',
  'ping',
  /** The first prepare without a quorum is sent again. */
  'prepare',
  /** The primary says that it is there, and what is committed. */
  'heartbeat',
  /** The fault detector changes its colour. */
  'detector',
  /** The primary gets nothing done and gives up. */
  'abdicate',
  /** The primary's disk is full: perhaps another one should lead. */
  'relief',
  /** Votes for leaving a view are forgotten. */
  'votes-expire',
  /** What a view change waits for is asked for again. */
  'view-resend',
  /** The view change itself takes too long. */
  'view-status',
  'repair',
  /** More is committed than the log here knows of. */
  'behind',
  /** Requests held for the primary go to it. */
  'held-requests',
  /** Copying a checkpoint does not get on. */
  'sync',
] as const;
export type DeadlineName = (typeof names)[number];

const indexes: ReadonlyMap<string, number> = new Map(names.map((name, index) => [name, index]));

export class Deadlines {
  readonly #at: Float64Array = new Float64Array(names.length).fill(Number.POSITIVE_INFINITY);
  /** When the driver will wake us. */
  #armedNs: number = Number.POSITIVE_INFINITY;

  /** `atNs`: of the monotonic clock; may have passed already. */
  set(name: DeadlineName, atNs: number): void {
    assert(atNs >= 0, 'Deadlines: not a time');
    this.#at[this.#index(name)] = atNs;
  }

  /** Moves it to an earlier moment, never to a later one. */
  setEarlier(name: DeadlineName, atNs: number): void {
    this.set(name, Math.min(atNs, this.#at[this.#index(name)]));
  }

  clear(name: DeadlineName): void {
    this.#at[this.#index(name)] = Number.POSITIVE_INFINITY;
  }

  isSet(name: DeadlineName): boolean {
    return this.#at[this.#index(name)] < Number.POSITIVE_INFINITY;
  }

  /** The driver has woken us: takes what is due, each of which must be set anew to fire again. */
  take(nowNs: number): readonly DeadlineName[] {
    this.#armedNs = Number.POSITIVE_INFINITY;
    const due: DeadlineName[] = [];
    for (let i = 0; i < names.length; i++) {
      if (this.#at[i] > nowNs) continue;
      this.#at[i] = Number.POSITIVE_INFINITY;
      due.push(names[i]);
    }
    return due;
  }

  /** At the end of a step: makes sure that the driver wakes us in time. */
  arm(outbox: Outbox): void {
    let nextNs = Number.POSITIVE_INFINITY;
    for (let i = 0; i < names.length; i++) nextNs = Math.min(nextNs, this.#at[i]);
    if (nextNs >= this.#armedNs) return;
    this.#armedNs = nextNs;
    outbox.timer('wake', Math.max(0, Math.ceil(nextNs - outbox.now.monoNs)));
  }

  #index(name: DeadlineName): number {
    const index = indexes.get(name);
    assert(index !== undefined, 'Deadlines: unknown name');
    return index;
  }
}
