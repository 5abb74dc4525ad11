/**
 * What the search has tried: sets of operations that were put in their places, with the state they
 * led to. Coming to the same set and state by another order leads nowhere new, which is what makes
 * the search bearable (Lowe 2017).
 *
 * A set is kept as bits, without the words at its beginning that are full and those at its end that
 * are empty: an order grows along time, so what is left is about as long as operations overlap.
 * Operations of unknown outcome may never be placed, and have bits of their own. Sets are compared
 * bit by bit; hashes only find them.
 */
import { assert } from '../../stdx/index.ts';
import { mix } from './model.ts';

const ARENA_MIN = 512;
const TABLE_MIN = 128;
const FULL = 0xffffffff;
/** Words of a record before its bits: hash, state, first word, number of words. */
const RECORD_HEAD = 4;

export class Visited {
  /** Bits of operations that returned: what is placed now. */
  readonly #bits: Uint32Array;
  readonly #unknownBits: Uint32Array;
  readonly #returned: number;
  /** The first word that is not full. */
  #floor: number = 0;
  /** The last word that is not empty; −1: all are. */
  #top: number = -1;
  /** Changes with each operation that is placed or taken back. */
  #hash: number = 0;
  readonly #bytesMax: number;
  /** Records one after another. */
  #arena: Uint32Array = new Uint32Array(ARENA_MIN);
  #used: number = 0;
  /** Open addressing; offset in the arena + 1, 0: free. */
  #table: Uint32Array = new Uint32Array(TABLE_MIN);
  #records: number = 0;

  constructor(returned: number, unknown: number, bytesMax: number) {
    this.#returned = returned;
    this.#bits = new Uint32Array((returned + 31) >>> 5);
    this.#unknownBits = new Uint32Array((unknown + 31) >>> 5);
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return 4 * (this.#arena.length + this.#table.length);
  }

  has(operation: number): boolean {
    const isUnknown = operation >= this.#returned;
    const at = isUnknown ? operation - this.#returned : operation;
    const word = (isUnknown ? this.#unknownBits : this.#bits)[at >>> 5]!;
    return (word & (1 << (at & 31))) !== 0;
  }

  place(operation: number): void {
    assert(!this.has(operation), 'Visited: is placed already');
    this.#hash ^= mix(operation + 1);
    if (operation >= this.#returned) {
      this.#flipUnknown(operation - this.#returned);
      return;
    }
    const word = operation >>> 5;
    this.#bits[word]! |= 1 << (operation & 31);
    if (word > this.#top) this.#top = word;
    while (this.#bits[this.#floor] === FULL) this.#floor++;
  }

  takeBack(operation: number): void {
    assert(this.has(operation), 'Visited: is not placed');
    this.#hash ^= mix(operation + 1);
    if (operation >= this.#returned) {
      this.#flipUnknown(operation - this.#returned);
      return;
    }
    const word = operation >>> 5;
    this.#bits[word]! &= ~(1 << (operation & 31));
    if (word < this.#floor) this.#floor = word;
    while (this.#top >= 0 && this.#bits[this.#top] === 0) this.#top--;
  }

  /** Remembers what is placed with `state`; `known`: it was; `full`: there is no memory left. */
  add(state: number, bytesOfStates: number): 'new' | 'known' | 'full' {
    const hash = mix(this.#hash ^ Math.imul(state + 1, 0x9e3779b1)) >>> 0;
    const mask = this.#table.length - 1;
    let place = hash & mask;
    for (let held = this.#table[place]!; held !== 0; held = this.#table[place]!) {
      if (this.#isAt(held - 1, hash, state)) return 'known';
      place = (place + 1) & mask;
    }
    const count = Math.max(0, this.#top - this.#floor + 1);
    const size = RECORD_HEAD + count + this.#unknownBits.length;
    if (!this.#makeRoom(size, bytesOfStates)) return 'full';
    this.#write(hash, state, count);
    this.#insert(this.#used - size, hash);
    this.#records++;
    return 'new';
  }

  #flipUnknown(at: number): void {
    this.#unknownBits[at >>> 5]! ^= 1 << (at & 31);
  }

  #isAt(offset: number, hash: number, state: number): boolean {
    const arena = this.#arena;
    if (arena[offset] !== hash || arena[offset + 1] !== state) return false;
    const count = Math.max(0, this.#top - this.#floor + 1);
    if (arena[offset + 2] !== this.#floor || arena[offset + 3] !== count) return false;
    let at = offset + RECORD_HEAD;
    for (let i = 0; i < count; i++) if (arena[at++] !== this.#bits[this.#floor + i]) return false;
    for (let i = 0; i < this.#unknownBits.length; i++) {
      if (arena[at++] !== this.#unknownBits[i]) return false;
    }
    return true;
  }

  #write(hash: number, state: number, count: number): void {
    const arena = this.#arena;
    arena[this.#used++] = hash;
    arena[this.#used++] = state;
    arena[this.#used++] = this.#floor;
    arena[this.#used++] = count;
    for (let i = 0; i < count; i++) arena[this.#used++] = this.#bits[this.#floor + i]!;
    for (let i = 0; i < this.#unknownBits.length; i++) {
      arena[this.#used++] = this.#unknownBits[i]!;
    }
  }

  #insert(offset: number, hash: number): void {
    const mask = this.#table.length - 1;
    let place = hash & mask;
    while (this.#table[place] !== 0) place = (place + 1) & mask;
    this.#table[place] = offset + 1;
  }

  /** Room for a record of `size` words. */
  #makeRoom(size: number, bytesOfStates: number): boolean {
    let arena = this.#arena.length;
    while (this.#used + size > arena) arena *= 2;
    const isCrowded = 2 * (this.#records + 1) > this.#table.length;
    const table = this.#table.length * (isCrowded ? 2 : 1);
    if (4 * (arena + table) + bytesOfStates > this.#bytesMax) return false;
    if (arena > this.#arena.length) {
      const larger = new Uint32Array(arena);
      larger.set(this.#arena.subarray(0, this.#used));
      this.#arena = larger;
    }
    if (isCrowded) this.#rehash(table);
    return true;
  }

  #rehash(length: number): void {
    const old = this.#table;
    this.#table = new Uint32Array(length);
    for (const held of old) if (held !== 0) this.#insert(held - 1, this.#arena[held - 1]!);
  }
}
