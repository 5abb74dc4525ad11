/**
 * The world after a step: the state of one member is another, letters have been taken, lost and
 * sent. Letters stand in one canonical order: by number where they may come in any order; else by
 * channel, and in a channel in the order in which they were sent.
 */
import { assert } from '../../stdx/index.ts';
import type { Members, Step } from './members.ts';
import { EXTRA_WORDS } from './worlds.ts';

/** Letters on their way in one world. */
const LETTERS_MAX = 1000;

export class Compose<M, F, S, G> {
  /** The world that was composed last. */
  readonly words: Int32Array;
  readonly #members: Members<M, F, S, G>;
  readonly #first: number;
  readonly #isOrdered: boolean;

  constructor(members: Members<M, F, S, G>) {
    const count = members.subject.members.length;
    this.#members = members;
    this.#first = count + EXTRA_WORDS;
    this.#isOrdered = members.subject.isOrdered;
    this.words = new Int32Array(this.#first + LETTERS_MAX);
  }

  /** Whether the letter at `at` of `words[from, to)` may be taken now. */
  mayTake(words: Int32Array, from: number, at: number, to: number): boolean {
    // Of equal ones the last.
    if (!this.#isOrdered) return at + 1 >= to || words[at] !== words[at + 1];
    if (at === from + this.#first) return true;
    const letter = this.#members.letter(words[at]);
    return letter.isEnd || this.#channel(words[at - 1]) !== letter.channel;
  }

  /**
   * Of `words[from, to)`; `member` has made `step`; `taken`: where the letter stands that it took,
   * −1: none goes. Returns the length; budgets and witness are left to the caller.
   */
  run(
    words: Int32Array,
    from: number,
    to: number,
    member: number,
    step: Step,
    taken: number,
  ): number {
    const world = this.words;
    for (let i = 0; i < this.#first; i++) world[i] = words[from + i];
    world[member] = step.state;
    let length = this.#first;
    for (let at = from + this.#first; at < to; at++) {
      if (at === taken) continue;
      const letter = words[at];
      if (this.#members.letter(letter).to === member) {
        if (this.#isGone(words, at, step, taken)) continue;
        if (this.#isDead(step.state, letter, length)) continue;
      }
      world[length++] = letter;
    }
    assert(length + step.sent.length <= world.length, 'Compose: too many letters');
    for (const letter of step.sent) length = this.#insert(letter, length);
    this.#hasten(length);
    return length;
  }

  /** A slow link whose last letter is gone is slow no more. */
  #hasten(length: number): void {
    const at = this.#first - 1;
    if (this.words[at] === 0) return;
    let busy = 0;
    for (let i = this.#first; i < length; i++) busy |= 1 << this.#channel(this.words[i]);
    this.words[at] &= busy;
  }

  /** Passed over by a session's end that was taken, or lost with a session. */
  #isGone(words: Int32Array, at: number, step: Step, taken: number): boolean {
    if (!this.#isOrdered) return false;
    const letter = this.#members.letter(words[at]);
    if ((step.cut & (1 << letter.from)) !== 0) return true;
    return at < taken && letter.channel === this.#channel(words[taken]);
  }

  /** `length`: what comes before it has been composed. */
  #isDead(state: number, letter: number, length: number): boolean {
    if (!this.#members.isDead(state, letter)) return false;
    const { isEnd, channel } = this.#members.letter(letter);
    if (!this.#isOrdered || !isEnd) return true;
    // An end still lets its receiver pass over what comes before it.
    return length === this.#first || this.#channel(this.words[length - 1]) !== channel;
  }

  #insert(letter: number, length: number): number {
    const world = this.words;
    const key = this.#key(letter);
    let at = length;
    while (at > this.#first && this.#key(world[at - 1]) > key) at--;
    if (this.#isDead(world[this.#members.letter(letter).to], letter, at)) return length;
    for (let i = length; i > at; i--) world[i] = world[i - 1];
    world[at] = letter;
    return length + 1;
  }

  #key(letter: number): number {
    return this.#isOrdered ? this.#channel(letter) : letter;
  }

  #channel(letter: number): number {
    return this.#members.letter(letter).channel;
  }
}
