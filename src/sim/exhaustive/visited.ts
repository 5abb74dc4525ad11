/**
 * Which worlds were seen, and with how much of every budget left. A world with no more left of any
 * than an equal one that was seen can do nothing that the other could not, so it counts as seen.
 *
 * Kept are 64-bit hashes and budgets, with open addressing over arrays of 32-bit words: twelve
 * bytes a place and no objects, so that a hundred million worlds fit into memory. Hashes may
 * collide: then one of two different worlds is never looked at. With n worlds the chance that this
 * happened at all is about n² / 2^65: one in 36,000 for thirty million.
 */
import { assert } from '../../stdx/index.ts';
import { BUDGET_BITS, BUDGET_MAX, BUDGETS_MAX } from './subject.ts';

const CAPACITY_MIN = 1 << 12;
/** 3 GiB. */
const CAPACITY_MAX: number = 2 ** 28;
/** Places of ten that may be taken before the table grows. */
const LOAD = 6;

export class Visited {
  /** Budgets of which the same must be left: how much is left tells what comes next. */
  readonly #exact: number;
  #high: Uint32Array = new Uint32Array(CAPACITY_MIN);
  #low: Uint32Array = new Uint32Array(CAPACITY_MIN);
  #budgets: Int32Array = new Int32Array(CAPACITY_MIN);
  #count: number = 0;

  /** `exact`: bits of packed budgets. */
  constructor(exact: number) {
    this.#exact = exact;
  }

  get count(): number {
    return this.#count;
  }

  /**
   * `words[0, length)`: a world, whole, with its budgets at `words[at]`. Returns whether it is
   * news.
   */
  add(words: Int32Array, length: number, at: number): boolean {
    let high = 0x9e3779b9 | 0;
    let low = 0x7f4a7c15 | 0;
    for (let i = 0; i < length; i++) {
      const word = i === at ? 0 : words[i];
      high = Math.imul(high ^ word, 0x85ebca6b);
      high ^= high >>> 13;
      low = Math.imul(low + word, 0xc2b2ae35) ^ (low >>> 16);
      low = (low << 5) | (low >>> 27);
    }
    high = Math.imul(high ^ (low >>> 15) ^ length, 0x2c1b3c6d);
    low = Math.imul(low ^ (high >>> 13), 0x297a2d39);
    high ^= low >>> 16;
    // Two zeros mark an empty place.
    if (high === 0 && low === 0) low = 1;
    return this.#insert(high >>> 0, low >>> 0, words[at]);
  }

  #insert(high: number, low: number, budgets: number): boolean {
    if (this.#count * 10 >= this.#high.length * LOAD) this.#grow();
    const mask = this.#high.length - 1;
    let at = placeOf(high, low, mask);
    while (this.#high[at] !== 0 || this.#low[at] !== 0) {
      const isSame = this.#high[at] === high && this.#low[at] === low;
      if (isSame && this.#covers(this.#budgets[at], budgets)) return false;
      at = (at + 1) & mask;
    }
    this.#high[at] = high;
    this.#low[at] = low;
    this.#budgets[at] = budgets;
    this.#count++;
    return true;
  }

  /** Whether `a` leaves at least as much of everything as `b`. */
  #covers(a: number, b: number): boolean {
    if (a === b) return true;
    if (((a ^ b) & this.#exact) !== 0) return false;
    for (let shift = 0; shift < BUDGETS_MAX * BUDGET_BITS; shift += BUDGET_BITS) {
      if (((a >>> shift) & BUDGET_MAX) < ((b >>> shift) & BUDGET_MAX)) return false;
    }
    return true;
  }

  #grow(): void {
    const capacity = this.#high.length * 2;
    assert(capacity <= CAPACITY_MAX, 'Visited: more worlds than there is room for');
    const [highs, lows, all] = [this.#high, this.#low, this.#budgets];
    this.#high = new Uint32Array(capacity);
    this.#low = new Uint32Array(capacity);
    this.#budgets = new Int32Array(capacity);
    for (let i = 0; i < highs.length; i++) {
      if (highs[i] === 0 && lows[i] === 0) continue;
      let at = placeOf(highs[i], lows[i], capacity - 1);
      while (this.#high[at] !== 0 || this.#low[at] !== 0) at = (at + 1) & (capacity - 1);
      this.#high[at] = highs[i];
      this.#low[at] = lows[i];
      this.#budgets[at] = all[i];
    }
  }
}

function placeOf(high: number, low: number, mask: number): number {
  return (low ^ (high << 7)) & mask;
}
