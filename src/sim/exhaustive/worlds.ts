/**
 * Worlds that wait to be looked at, one after another in one array of 32-bit words: a world is its
 * number, the state of each member, what is left of the budgets, what has been witnessed, which
 * links are slow, and the letters on their way in ascending order.
 */
import { assert } from '../../stdx/index.ts';

const WORDS_MIN = 1 << 16;
/** 4 GiB. */
const WORDS_MAX: number = 2 ** 30;

/** Words of a world before its letters, besides those of the members. */
export const EXTRA_WORDS = 3;

export class Worlds {
  #words: Int32Array = new Int32Array(WORDS_MIN);
  #end: number = 0;
  #count: number = 0;

  get count(): number {
    return this.#count;
  }

  /** Of these words; `world` is its number. */
  push(world: number, words: Int32Array, length: number): void {
    const end = this.#end + length + 2;
    if (end > this.#words.length) this.#grow(end);
    this.#words[this.#end] = length;
    this.#words[this.#end + 1] = world;
    for (let i = 0; i < length; i++) this.#words[this.#end + 2 + i] = words[i];
    this.#end = end;
    this.#count++;
  }

  /**
   * Hands out all, in order: number, and its words at `words[from, to)`; until one returns true.
   */
  some(look: (world: number, words: Int32Array, from: number, to: number) => boolean): boolean {
    for (let at = 0; at < this.#end; ) {
      const length = this.#words[at];
      if (look(this.#words[at + 1], this.#words, at + 2, at + 2 + length)) return true;
      at += length + 2;
    }
    return false;
  }

  clear(): void {
    this.#end = 0;
    this.#count = 0;
  }

  #grow(least: number): void {
    let capacity = this.#words.length;
    while (capacity < least) capacity *= 2;
    assert(capacity <= WORDS_MAX, 'Worlds: too many wait');
    const words = new Int32Array(capacity);
    words.set(this.#words.subarray(0, this.#end));
    this.#words = words;
  }
}

/** How each world was first come to, so that a schedule can be told. */
export class Ways {
  #parents: Uint32Array = new Uint32Array(WORDS_MIN);
  #moves: Int32Array = new Int32Array(WORDS_MIN);
  #members: Uint8Array = new Uint8Array(WORDS_MIN);
  #count: number = 0;

  get count(): number {
    return this.#count;
  }

  /** The number of the next world. */
  add(parent: number, member: number, move: number): number {
    const world = this.#count++;
    if (world === this.#parents.length) this.#grow();
    this.#parents[world] = parent;
    this.#moves[world] = move;
    this.#members[world] = member;
    return world;
  }

  /** The moves that led to a world, from the first one on. */
  to(world: number): { readonly member: number; readonly move: number }[] {
    const way: { member: number; move: number }[] = [];
    for (let at = world; at > 0; at = this.#parents[at]) {
      way.push({ member: this.#members[at], move: this.#moves[at] });
    }
    return way.reverse();
  }

  #grow(): void {
    const capacity = this.#parents.length * 2;
    const parents = new Uint32Array(capacity);
    const moves = new Int32Array(capacity);
    const members = new Uint8Array(capacity);
    parents.set(this.#parents);
    moves.set(this.#moves);
    members.set(this.#members);
    this.#parents = parents;
    this.#moves = moves;
    this.#members = members;
  }
}
