/**
 * Ids of a generated load: the n-th id is a function of the seed and n, so a run can be repeated
 * and its events looked up without keeping them. The orders are those that a database notices:
 * rising, falling, rising with random lower parts (as real clients make them), and none at all.
 */
import { assert } from '../stdx/index.ts';

export const ID_ORDERS = ['tbid', 'sequential', 'random', 'reversed'] as const;
export type IdOrder = (typeof ID_ORDERS)[number];

/** Ids that one made-up millisecond of `tbid` holds. */
const TBID_PER_MS = 1000;
/** Start of the made-up clock of `tbid`, milliseconds. */
const TBID_EPOCH_MS = 1_750_000_000_000;

export class IdSequence {
  readonly #order: IdOrder;
  readonly #count: number;
  readonly #seedLow: number;
  readonly #seedHigh: number;

  /** `count` ids at most; `seed` is a safe non-negative integer. */
  constructor(options: { readonly order: IdOrder; readonly seed: number; readonly count: number }) {
    assert(Number.isSafeInteger(options.seed) && options.seed >= 0, 'IdSequence: bad seed');
    assert(options.count >= 0 && options.count <= 0xffff_ffff, 'IdSequence: too many ids');
    this.#order = options.order;
    this.#count = options.count;
    this.#seedLow = options.seed >>> 0;
    this.#seedHigh = Math.floor(options.seed / 0x1_0000_0000);
  }

  /** Writes id `n` (0 … count − 1) as four words at `words[at]`. Never zero, never repeated. */
  write(n: number, words: Uint32Array, at: number): void {
    assert(n >= 0 && n < this.#count, 'IdSequence: out of range');
    switch (this.#order) {
      case 'sequential':
        this.#writePlain(n + 1, words, at);
        break;
      case 'reversed':
        this.#writePlain(this.#count - n, words, at);
        break;
      case 'random':
        this.#writeRandom(n, words, at);
        break;
      case 'tbid':
        this.#writeTimeBased(n, words, at);
        break;
    }
  }

  /** The seed stands above the number, so that runs with other seeds do not collide. */
  #writePlain(value: number, words: Uint32Array, at: number): void {
    assert(value > 0, 'IdSequence: zero');
    words[at] = value;
    words[at + 1] = 0;
    words[at + 2] = this.#seedLow;
    words[at + 3] = this.#seedHigh;
  }

  /** The lowest word is a bijection of n, which makes the ids distinct. */
  #writeRandom(n: number, words: Uint32Array, at: number): void {
    const w0 = mix((n + 0x9e37_79b9) ^ this.#seedLow);
    const w1 = mix(w0 ^ Math.imul(n, 0x85eb_ca6b) ^ this.#seedHigh);
    const w2 = mix(w1 + 0x7f4a_7c15 + n);
    words[at] = w0;
    words[at + 1] = w1;
    words[at + 2] = w2;
    words[at + 3] = mix(w2 ^ 0xc2b2_ae35) >>> 1;
  }

  /** 48 bits of time above 80 bits that start at random and count up within the millisecond. */
  #writeTimeBased(n: number, words: Uint32Array, at: number): void {
    const tick = Math.floor(n / TBID_PER_MS);
    const timeMs = TBID_EPOCH_MS + tick;
    const random = mix(mix(tick + 1) ^ this.#seedLow);
    const random2 = mix(random ^ this.#seedHigh);
    words[at] = (random & 0x7fff_ffff) + (n % TBID_PER_MS);
    words[at + 1] = random2;
    words[at + 2] = (((timeMs & 0xffff) << 16) | (mix(random2) & 0xffff)) >>> 0;
    words[at + 3] = Math.floor(timeMs / 0x1_0000);
  }
}

/** A bijection of 32 bits that spreads every input bit over all output bits. */
function mix(value: number): number {
  let x = value >>> 0;
  x = Math.imul(x ^ (x >>> 16), 0x85eb_ca6b) >>> 0;
  x = Math.imul(x ^ (x >>> 13), 0xc2b2_ae35) >>> 0;
  return (x ^ (x >>> 16)) >>> 0;
}
