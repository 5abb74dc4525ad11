/**
 * A seeded generator (sfc32): the only source of chance in pure rooms. No floating point decides
 * anything: probabilities are ratios of integers, so a seed gives the same run on every machine.
 */
import { assert } from './assert.ts';

export class Prng {
  #a: number;
  #b: number;
  #c: number;
  #counter: number = 1;

  /** `seed` is a safe non-negative integer; `stream` separates generators made from one seed. */
  constructor(seed: number, stream: number = 0) {
    assert(Number.isSafeInteger(seed) && seed >= 0, 'Prng: seed is not a safe integer');
    this.#a = seed >>> 0;
    this.#b = Math.floor(seed / 0x1_0000_0000) >>> 0;
    this.#c = stream >>> 0;
    for (let i = 0; i < 15; i++) this.u32();
  }

  /** Uniform in 0 … 2^32 − 1. */
  u32(): number {
    const result = (this.#a + this.#b + this.#counter) >>> 0;
    this.#counter = (this.#counter + 1) >>> 0;
    this.#a = (this.#b ^ (this.#b >>> 9)) >>> 0;
    this.#b = (this.#c + (this.#c << 3)) >>> 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + result) >>> 0;
    return result;
  }

  /** Uniform in 0 … bound − 1; `bound` from 1 to 2^32. Unbiased: rejects the uneven tail. */
  below(bound: number): number {
    assert(Number.isInteger(bound) && bound >= 1 && bound <= 0x1_0000_0000, 'Prng: bad bound');
    const limit = 0x1_0000_0000 - (0x1_0000_0000 % bound);
    for (;;) {
      const value = this.u32();
      if (value < limit) return value % bound;
    }
  }

  /** Uniform in min … max, both included. */
  between(min: number, max: number): number {
    assert(min <= max, 'Prng: empty range');
    return min + this.below(max - min + 1);
  }

  /** True in `numerator` of `denominator` cases. */
  chance(numerator: number, denominator: number): boolean {
    assert(numerator >= 0 && numerator <= denominator, 'Prng: not a ratio');
    return this.below(denominator) < numerator;
  }

  /** One element, uniformly. */
  pick<T>(items: readonly T[]): T {
    assert(items.length > 0, 'Prng: nothing to pick from');
    return items[this.below(items.length)] as T;
  }

  /** In place, uniformly (Fisher–Yates). */
  shuffle<T>(items: T[]): void {
    for (let i = items.length - 1; i > 0; i--) {
      const j = this.below(i + 1);
      const held = items[i] as T;
      items[i] = items[j] as T;
      items[j] = held;
    }
  }

  fill(bytes: Uint8Array): void {
    for (let i = 0; i < bytes.length; i++) bytes[i] = this.u32();
  }
}
