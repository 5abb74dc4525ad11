/**
 * The heart of virtual time: a binary heap of things to do, ordered by (time, sequence). The
 * sequence makes the order total: two items due at the same nanosecond come out in the order in
 * which they went in, on every machine. Keys live in a typed array so that sifting touches no
 * object.
 */
import { assert } from '../../stdx/index.ts';

export class EventQueue<T> {
  #times: Float64Array = new Float64Array(64);
  #sequences: Float64Array = new Float64Array(64);
  #items: T[] = [];
  #sequenceNext: number = 0;

  get length(): number {
    return this.#items.length;
  }

  /** Due time of the first item, nanoseconds; `Infinity` when there is none. */
  get timeNextNs(): number {
    return this.#items.length === 0 ? Number.POSITIVE_INFINITY : this.#times[0];
  }

  push(timeNs: number, item: T): void {
    assert(Number.isSafeInteger(timeNs) && timeNs >= 0, 'EventQueue: time is not a safe integer');
    if (this.#items.length === this.#times.length) this.#grow();
    const sequence = this.#sequenceNext++;
    let hole = this.#items.length;
    this.#items.push(item);
    while (hole > 0) {
      const parent = (hole - 1) >>> 1;
      if (!this.#isBefore(timeNs, sequence, parent)) break;
      this.#move(parent, hole);
      hole = parent;
    }
    this.#set(hole, timeNs, sequence, item);
  }

  /** Takes the first item out; asserts that there is one. */
  pop(): T {
    assert(this.#items.length > 0, 'EventQueue: empty');
    const first = this.#items[0] as T;
    const last = this.#items.length - 1;
    const timeNs = this.#times[last];
    const sequence = this.#sequences[last];
    const item = this.#items.pop() as T;
    if (last === 0) return first;
    let hole = 0;
    for (;;) {
      let child = 2 * hole + 1;
      if (child >= last) break;
      const right = child + 1;
      if (right < last && this.#isBefore(this.#times[right], this.#sequences[right], child)) {
        child = right;
      }
      if (this.#isBefore(timeNs, sequence, child)) break;
      this.#move(child, hole);
      hole = child;
    }
    this.#set(hole, timeNs, sequence, item);
    return first;
  }

  #isBefore(timeNs: number, sequence: number, slot: number): boolean {
    const other = this.#times[slot];
    return timeNs !== other ? timeNs < other : sequence < this.#sequences[slot];
  }

  #move(from: number, to: number): void {
    this.#set(to, this.#times[from], this.#sequences[from], this.#items[from] as T);
  }

  #set(slot: number, timeNs: number, sequence: number, item: T): void {
    this.#times[slot] = timeNs;
    this.#sequences[slot] = sequence;
    this.#items[slot] = item;
  }

  #grow(): void {
    const times = new Float64Array(this.#times.length * 2);
    times.set(this.#times);
    this.#times = times;
    const sequences = new Float64Array(times.length);
    sequences.set(this.#sequences);
    this.#sequences = sequences;
  }
}
