/**
 * Time-based identifiers: 48 bits of milliseconds above 80 random bits, read as one 128-bit number.
 * Later ids are greater, so that new rows land at the end of every index; two processes do not
 * collide. Within one millisecond, and when the clock steps back, the next id is the last one plus
 * one: the random part overflows into the time, it never fails. Only the year 10889 does.
 */
import { randomFillSync } from 'node:crypto';
import { assert } from '../stdx/index.ts';

const RANDOM_BITS = 80n;
const TIME_MS_MAX = 2 ** 48 - 1;

/** What a generator needs from the world. */
export interface IdSource {
  /** Milliseconds since 1970; may step back. */
  nowMs(): number;
  /** Fills ten bytes with randomness. */
  random(bytes: Uint8Array): void;
}

export class IdGenerator {
  readonly #source: IdSource;
  readonly #bytes: Uint8Array = new Uint8Array(10);
  #timeMs: number = -1;
  #last: bigint = -1n;

  constructor(source: IdSource) {
    this.#source = source;
  }

  /** The next id: strictly greater than every earlier one of this generator, never zero. */
  next(): bigint {
    const nowMs = Math.floor(this.#source.nowMs());
    assert(nowMs >= 0 && nowMs <= TIME_MS_MAX, 'IdGenerator: clock outside 48 bits');
    let id = this.#last + 1n;
    if (nowMs > this.#timeMs) {
      this.#source.random(this.#bytes);
      const fresh = (BigInt(nowMs) << RANDOM_BITS) | toBigInt(this.#bytes);
      // An overflow of the random part may have carried the last id into this millisecond.
      if (fresh > this.#last) id = fresh;
      this.#timeMs = nowMs;
    }
    if (id === 0n) id = 1n;
    assert(id > this.#last, 'IdGenerator: not increasing');
    assert(id < (1n << 128n) - 1n, 'IdGenerator: ids are used up');
    this.#last = id;
    return id;
  }
}

function toBigInt(bytes: Uint8Array): bigint {
  let value = 0n;
  for (let i = bytes.length - 1; i >= 0; i--) value = (value << 8n) | BigInt(bytes[i]);
  return value;
}

const processWide: IdGenerator = new IdGenerator({
  nowMs: () => Date.now(),
  random: (bytes) => randomFillSync(bytes),
});

/** A new id for an account or a transfer: strictly increasing within this process. */
export function id(): bigint {
  return processWide.next();
}
