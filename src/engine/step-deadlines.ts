/**
 * Everything that a replica does at a certain time, behind the one timer that a driver keeps for
 * it. A deadline is named, set to a moment of the monotonic clock, and fires once. Setting it again
 * moves it. At the end of a step the driver's timer is moved only if something falls due earlier
 * than it would wake us anyway: most deadlines are pushed back over and over and never fire.
 */
import { assert } from '../stdx/index.ts';
import type { StepOutbox } from './step-outbox.ts';

export class StepDeadlines<Name extends string> {
  readonly #names: readonly Name[];
  readonly #indexes: ReadonlyMap<string, number>;
  readonly #at: Float64Array;
  /** When the driver will wake us. */
  #armedNs: number = Number.POSITIVE_INFINITY;

  /** `names`: in the order in which deadlines of the same moment fire. */
  constructor(names: readonly Name[]) {
    this.#names = names;
    this.#indexes = new Map(names.map((name, index) => [name, index]));
    this.#at = new Float64Array(names.length).fill(Number.POSITIVE_INFINITY);
  }

  /** `atNs`: of the monotonic clock; may have passed already. */
  set(name: Name, atNs: number): void {
    assert(atNs >= 0, 'Deadlines: not a time');
    this.#at[this.#index(name)] = atNs;
  }

  /** Moves it to an earlier moment, never to a later one. */
  setEarlier(name: Name, atNs: number): void {
    this.set(name, Math.min(atNs, this.#at[this.#index(name)]));
  }

  clear(name: Name): void {
    this.#at[this.#index(name)] = Number.POSITIVE_INFINITY;
  }

  isSet(name: Name): boolean {
    return this.#at[this.#index(name)] < Number.POSITIVE_INFINITY;
  }

  /** The driver has woken us: takes what is due, each of which must be set anew to fire again. */
  take(nowNs: number): readonly Name[] {
    this.#armedNs = Number.POSITIVE_INFINITY;
    const due: Name[] = [];
    for (let i = 0; i < this.#at.length; i++) {
      if (this.#at[i] > nowNs) continue;
      this.#at[i] = Number.POSITIVE_INFINITY;
      due.push(this.#names[i]);
    }
    return due;
  }

  /** At the end of a step: makes sure that the driver wakes us in time. */
  arm(outbox: Pick<StepOutbox, 'now' | 'timer'>): void {
    let nextNs = Number.POSITIVE_INFINITY;
    for (let i = 0; i < this.#at.length; i++) nextNs = Math.min(nextNs, this.#at[i]);
    if (nextNs >= this.#armedNs) return;
    this.#armedNs = nextNs;
    outbox.timer('wake', Math.max(0, Math.ceil(nextNs - outbox.now.monoNs)));
  }

  #index(name: Name): number {
    const index = this.#indexes.get(name);
    assert(index !== undefined, 'Deadlines: unknown name');
    return index;
  }
}
