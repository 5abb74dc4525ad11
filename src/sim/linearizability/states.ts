/**
 * The states that came up in a search, each once and with a number, so that whatever was tried can
 * be remembered as numbers.
 */
import { STATE_BYTES_DEFAULT } from './limits.ts';
import { equalOf, hashOf, mix } from './model.ts';

const CAPACITY_MIN = 64;

interface StateFunctions<S> {
  equal?(a: S, b: S): boolean;
  hash?(state: S): number;
  size?(state: S): number;
}

export class States<S> {
  readonly #equal: (a: S, b: S) => boolean;
  readonly #hash: (state: S) => number;
  readonly #model: StateFunctions<S>;
  readonly #states: S[] = [];
  /** By number. */
  #hashes: Int32Array = new Int32Array(CAPACITY_MIN);
  /** Open addressing; number + 1, 0: free. Twice as many places as states, or more. */
  #table: Int32Array = new Int32Array(2 * CAPACITY_MIN);
  #bytes: number = 0;

  constructor(model: StateFunctions<S>) {
    this.#model = model;
    this.#equal = equalOf(model);
    this.#hash = hashOf(model);
  }

  /** Roughly. */
  get bytes(): number {
    return this.#bytes;
  }

  at(number: number): S {
    return this.#states[number]!;
  }

  /** The number of a state. */
  numberOf(state: S): number {
    const hash = mix(this.#hash(state));
    const mask = this.#table.length - 1;
    let place = hash & mask;
    for (let held = this.#table[place]!; held !== 0; held = this.#table[place]!) {
      const number = held - 1;
      if (this.#hashes[number] === hash && this.#equal(this.#states[number]!, state)) return number;
      place = (place + 1) & mask;
    }
    const number = this.#states.length;
    if (number === this.#hashes.length) this.#grow();
    this.#states.push(state);
    this.#hashes[number] = hash;
    this.#bytes += this.#model.size?.(state) ?? STATE_BYTES_DEFAULT;
    this.#put(number);
    return number;
  }

  #grow(): void {
    const hashes = new Int32Array(2 * this.#hashes.length);
    hashes.set(this.#hashes);
    this.#hashes = hashes;
    this.#table = new Int32Array(2 * hashes.length);
    for (let number = 0; number < this.#states.length; number++) this.#put(number);
  }

  #put(number: number): void {
    const mask = this.#table.length - 1;
    let place = this.#hashes[number]! & mask;
    while (this.#table[place] !== 0) place = (place + 1) & mask;
    this.#table[place] = number + 1;
  }
}
