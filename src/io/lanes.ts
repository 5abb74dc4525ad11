/**
 * A bounded queue with two lanes. File operations run on a few threads that they share with the
 * rest of the process; without a bound one checkpoint would occupy them all and the log would wait
 * behind it. Work in the bulk lane therefore never fills all places.
 */
import { assert } from '../stdx/index.ts';

export type Lane = 'urgent' | 'bulk';

/** Begins an operation; it calls `release` exactly once, later, when it is over. */
export type Task = (release: () => void) => void;

export class Lanes {
  readonly #inFlightMax: number;
  readonly #bulkMax: number;
  readonly #waiting: { readonly [L in Lane]: Task[] } = { urgent: [], bulk: [] };
  #inFlight: number = 0;
  #bulkInFlight: number = 0;
  #closed: boolean = false;
  #onIdle: (() => void) | null = null;

  constructor(inFlightMax: number, bulkMax: number) {
    assert(bulkMax >= 1, 'Lanes: bulk work needs a place');
    assert(inFlightMax > bulkMax, 'Lanes: urgent work needs a place of its own');
    this.#inFlightMax = inFlightMax;
    this.#bulkMax = bulkMax;
  }

  /** Begins the task now if there is a place, else later, in order within its lane. */
  run(lane: Lane, task: Task): void {
    assert(!this.#closed, 'Lanes: closed');
    this.#waiting[lane].push(task);
    this.#start();
  }

  /** Drops what has not begun; resolves to whether all that had begun ended in time. */
  close(timeoutMs: number): Promise<boolean> {
    assert(!this.#closed, 'Lanes: closed twice');
    this.#closed = true;
    this.#waiting.urgent.length = 0;
    this.#waiting.bulk.length = 0;
    if (this.#inFlight === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), timeoutMs);
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }

  #start(): void {
    while (this.#inFlight < this.#inFlightMax) {
      const urgent = this.#waiting.urgent.shift();
      if (urgent !== undefined) {
        this.#begin(urgent, false);
        continue;
      }
      if (this.#bulkInFlight >= this.#bulkMax) return;
      const bulk = this.#waiting.bulk.shift();
      if (bulk === undefined) return;
      this.#begin(bulk, true);
    }
  }

  #begin(task: Task, isBulk: boolean): void {
    this.#inFlight += 1;
    if (isBulk) this.#bulkInFlight += 1;
    let released = false;
    task(() => {
      assert(!released, 'Lanes: released twice');
      released = true;
      this.#inFlight -= 1;
      if (isBulk) this.#bulkInFlight -= 1;
      if (!this.#closed) this.#start();
      else if (this.#inFlight === 0) this.#onIdle?.();
    });
  }
}
