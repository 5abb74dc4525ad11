/**
 * Which pending transfer expires next: a binary heap of (expiry time, row). Row order is timestamp
 * order, so this is exactly the order in which transfers must expire.
 *
 * A transfer that is posted or voided stays in the heap as a dead entry, because finding it there
 * would need a second index. Dead entries at the top go at the end of each operation, so the top
 * is always worth a pulse; when more than half of the heap is dead, it is rebuilt from the rest.
 *
 * New entries wait in a list until their operation ends: a rolled-back chain drops them from there,
 * and the heap only ever names rows that stay.
 */
import { assert } from '../../stdx/index.ts';
import { PendingStatus } from '../tables.ts';
import type { PendingColumn } from './pending-column.ts';

/** An entry: high and low half of the expiry time, row. */
const ENTRY_WORDS = 3;
/** Dead entries that are tolerated in any case. */
const DEAD_MIN = 1024;

export class ExpiryQueue {
  readonly #pending: PendingColumn;
  #heap: Uint32Array = new Uint32Array(ENTRY_WORDS * 256);
  #count: number = 0;
  #staged: Uint32Array = new Uint32Array(ENTRY_WORDS * 256);
  #stagedCount: number = 0;
  /** Entries, staged ones included, whose transfer is not pending any more. */
  #dead: number = 0;

  constructor(pending: PendingColumn) {
    this.#pending = pending;
  }

  /** Entries in the heap; for tests of how many dead ones it keeps. */
  get size(): number {
    return this.#count;
  }

  /** A pending transfer with this expiry time, to be queued when the operation ends. */
  stage(time: Uint32Array, row: number): void {
    const at = this.#stagedCount * ENTRY_WORDS;
    if (at === this.#staged.length) this.#staged = grown(this.#staged);
    this.#staged[at] = time[1];
    this.#staged[at + 1] = time[0];
    this.#staged[at + 2] = row;
    this.#stagedCount++;
  }

  /** A queued or staged transfer was posted or voided. */
  bury(): void {
    this.#dead++;
  }

  /** Takes back `bury` `count` times and all staged entries of rows from `row` on. */
  rollback(row: number, count: number): void {
    assert(count <= this.#dead, 'ExpiryQueue: more rollbacks than burials');
    this.#dead -= count;
    while (this.#stagedCount > 0) {
      if (this.#staged[this.#stagedCount * ENTRY_WORDS - 1] < row) break;
      this.#stagedCount--;
    }
  }

  /** End of an operation: what is staged becomes queued, dead entries go. */
  settle(): void {
    for (let i = 0; i < this.#stagedCount; i++) {
      const at = i * ENTRY_WORDS;
      const row = this.#staged[at + 2];
      if (this.#isLive(row)) this.#push(this.#staged[at], this.#staged[at + 1], row);
      else this.#dead--;
    }
    this.#stagedCount = 0;
    if (this.#dead > DEAD_MIN && this.#dead * 2 > this.#count) this.#compact();
    while (this.#count > 0 && !this.#isLive(this.#heap[2])) {
      this.#pop();
      this.#dead--;
    }
    assert(this.#dead >= 0 && this.#dead <= this.#count, 'ExpiryQueue: dead entries miscounted');
  }

  /** Whether a transfer expires at or before this time. */
  due(hi: number, lo: number): boolean {
    if (this.#count === 0) return false;
    return this.#heap[0] < hi || (this.#heap[0] === hi && this.#heap[1] <= lo);
  }

  /** Takes the row that expires first; only when something is due, and after `settle`. */
  take(): number {
    assert(this.#count > 0, 'ExpiryQueue: empty');
    const row = this.#heap[2];
    assert(this.#isLive(row), 'ExpiryQueue: dead entry at the top');
    this.#pop();
    while (this.#count > 0 && !this.#isLive(this.#heap[2])) {
      this.#pop();
      this.#dead--;
    }
    return row;
  }

  #isLive(row: number): boolean {
    return this.#pending.get(row) === PendingStatus.pending;
  }

  #push(hi: number, lo: number, row: number): void {
    if (this.#count * ENTRY_WORDS === this.#heap.length) this.#heap = grown(this.#heap);
    const heap = this.#heap;
    let hole = this.#count++;
    while (hole > 0) {
      const parent = (hole - 1) >>> 1;
      if (!isBefore(hi, lo, row, heap, parent)) break;
      const at = parent * ENTRY_WORDS;
      put(heap, hole, heap[at], heap[at + 1], heap[at + 2]);
      hole = parent;
    }
    put(heap, hole, hi, lo, row);
  }

  #pop(): void {
    this.#count--;
    if (this.#count > 0) this.#sink(0, this.#count);
  }

  /** Lets the entry at `from` sink to its place below `hole`. */
  #sink(hole: number, from: number): void {
    const heap = this.#heap;
    const hi = heap[from * ENTRY_WORDS];
    const lo = heap[from * ENTRY_WORDS + 1];
    const row = heap[from * ENTRY_WORDS + 2];
    for (;;) {
      let child = 2 * hole + 1;
      if (child >= this.#count) break;
      const right = child + 1;
      if (right < this.#count && isEntryBefore(heap, right, child)) child = right;
      if (isBefore(hi, lo, row, heap, child)) break;
      const at = child * ENTRY_WORDS;
      put(heap, hole, heap[at], heap[at + 1], heap[at + 2]);
      hole = child;
    }
    put(heap, hole, hi, lo, row);
  }

  /** Rebuilds the heap from its live entries. */
  #compact(): void {
    const heap = this.#heap;
    let live = 0;
    for (let i = 0; i < this.#count; i++) {
      const at = i * ENTRY_WORDS;
      if (this.#isLive(heap[at + 2])) put(heap, live++, heap[at], heap[at + 1], heap[at + 2]);
    }
    assert(live === this.#count - this.#dead, 'ExpiryQueue: dead entries miscounted');
    this.#count = live;
    this.#dead = 0;
    for (let i = (live >>> 1) - 1; i >= 0; i--) this.#sink(i, i);
  }
}

function put(heap: Uint32Array, entry: number, hi: number, lo: number, row: number): void {
  const at = entry * ENTRY_WORDS;
  heap[at] = hi;
  heap[at + 1] = lo;
  heap[at + 2] = row;
}

function isBefore(hi: number, lo: number, row: number, heap: Uint32Array, entry: number): boolean {
  const at = entry * ENTRY_WORDS;
  if (hi !== heap[at]) return hi < heap[at];
  if (lo !== heap[at + 1]) return lo < heap[at + 1];
  return row < heap[at + 2];
}

function isEntryBefore(heap: Uint32Array, a: number, b: number): boolean {
  const at = a * ENTRY_WORDS;
  return isBefore(heap[at], heap[at + 1], heap[at + 2], heap, b);
}

function grown(entries: Uint32Array): Uint32Array {
  const larger = new Uint32Array(entries.length * 2);
  larger.set(entries);
  return larger;
}
