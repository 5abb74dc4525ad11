/**
 * All that can happen to a few members within a scope: breadth first, so that the first schedule
 * that breaks something is a shortest one; worlds that were seen before are not looked at again.
 *
 * What is left out because it cannot show anything new:
 * - A member that is down is one that takes no steps. A letter that is lost is one that is never
 *   taken: worlds with fewer letters on their way can do no more than those with more. So, where
 *   letters come in any order, nothing is ever lost, and taking one that does nothing is no move.
 *   Where they come in order, the end of a session lets its receiver pass over all before it.
 * - A world with no more left of any budget than an equal one that was seen.
 * - Letters that can never again do anything to their receiver are dropped (`isDead`).
 * - Members that differ by name only are named in the order in which they first change.
 *
 * Nothing else is left out: moves of different members are made in every order, though they
 * commute. What is beyond the scope (budgets, what a subject takes as one step) is not looked at.
 * One budget bounds the orders themselves: where links are fast, a letter is taken before any other
 * that is taken later in the order of links, but everything that costs a budget may come in
 * between; a link that becomes slow keeps its letters for as long as it likes, until the last is
 * taken.
 */
import { assert } from '../../stdx/index.ts';
import { Compose } from './compose.ts';
import { Judge } from './judge.ts';
import type { Members } from './members.ts';
import { BUDGET_BITS, BUDGET_MAX, BUDGETS_MAX, type Budget } from './subject.ts';
import { type Made, tellSchedule } from './tell.ts';
import { Visited } from './visited.ts';
import { EXTRA_WORDS, Ways, Worlds } from './worlds.ts';

export interface Limits {
  /** Worlds; the search ends there, unfinished. */
  readonly worldsMax?: number;
  /** Moves in a row. */
  readonly depthMax?: number;
  /**
   * Of the members of worlds in which nothing is on its way, of those that differ, every so
   * many-th are left in peace, to see whether they come to do what they are for. Default 0: none.
   */
  readonly restEvery?: number;
  /** Told after every depth: how many worlds are that deep, and how many there are so far. */
  readonly onDepth?: (depth: number, worlds: number, distinct: number) => void;
}

export interface Violation {
  readonly problem: string;
  /** One line for every move. */
  readonly schedule: readonly string[];
}

export interface Exploration {
  /** Different worlds. */
  readonly distinct: number;
  /** Worlds come to, those seen before among them. */
  readonly transitions: number;
  /** Moves on the longest of the shortest ways. */
  readonly depth: number;
  /** Different states of members, and letters. */
  readonly states: number;
  readonly letters: number;
  /** Different members of worlds in which nothing is on its way; how many were left in peace. */
  readonly quiet: number;
  readonly rested: number;
  /** Moves that engines have really made. */
  readonly movesMade: number;
  /** Moves that were made at the end of two ways and compared. */
  readonly doubted: number;
  /** Every world in the scope was looked at. */
  readonly isExhausted: boolean;
  readonly violation: Violation | null;
}

export function explore<M, F, S, G>(
  members: Members<M, F, S, G>,
  limits: Limits = {},
): Exploration {
  return new Search(members, limits).run();
}

class Search<M, F, S, G> {
  readonly #members: Members<M, F, S, G>;
  readonly #limits: Limits;
  readonly #count: number;
  readonly #begin: readonly number[];
  readonly #visited: Visited;
  readonly #ways: Ways = new Ways();
  readonly #judge: Judge<M, F, S, G>;
  readonly #compose: Compose<M, F, S, G>;
  #next: Worlds = new Worlds();
  #transitions: number = 0;
  #depth: number = 0;
  #violation: Violation | null = null;
  readonly #quiet: Set<string> = new Set();
  #rested: number = 0;
  // The world that is being looked at.
  #world: number = 0;
  #words: Int32Array = new Int32Array(0);
  #from: number = 0;
  #to: number = 0;

  constructor(members: Members<M, F, S, G>, limits: Limits) {
    const { subject } = members;
    this.#members = members;
    this.#limits = limits;
    this.#count = subject.members.length;
    assert(subject.budgets.length <= BUDGETS_MAX, 'explore: too many budgets');
    const counts = subject.budgets.map(({ count }) => count);
    assert(Math.max(0, ...counts) <= BUDGET_MAX, 'explore: budget too large');
    assert(this.#count * this.#count < 32, 'explore: too many members');
    this.#begin = subject.members.map((_, member) => members.begin(member));
    this.#visited = new Visited(exactOf(subject.budgets));
    this.#judge = new Judge(members);
    this.#compose = new Compose(members);
  }

  run(): Exploration {
    const { worldsMax = Number.POSITIVE_INFINITY, depthMax = Number.POSITIVE_INFINITY } =
      this.#limits;
    this.#open();
    let isStopped = false;
    let level = new Worlds();
    while (this.#next.count > 0 && this.#violation === null && !isStopped) {
      [level, this.#next] = [this.#next, level];
      this.#next.clear();
      this.#limits.onDepth?.(this.#depth, level.count, this.#visited.count);
      isStopped = this.#depth >= depthMax;
      if (isStopped) break;
      level.some((world, words, from, to) => {
        this.#look(world, words, from, to);
        isStopped = this.#visited.count >= worldsMax;
        return isStopped || this.#violation !== null;
      });
      this.#depth++;
    }
    this.#members.close();
    return {
      distinct: this.#visited.count,
      transitions: this.#transitions,
      depth: this.#depth,
      states: this.#members.stateCount,
      letters: this.#members.letterCount,
      quiet: this.#quiet.size,
      rested: this.#rested,
      movesMade: this.#members.movesMade,
      doubted: this.#members.doubted,
      isExhausted: !isStopped && this.#violation === null,
      violation: this.#violation,
    };
  }

  #open(): void {
    const { words } = this.#compose;
    for (let i = 0; i < this.#count; i++) words[i] = this.#begin[i];
    let budgets = 0;
    this.#members.subject.budgets.forEach(({ count }, i) => {
      budgets |= count << (BUDGET_BITS * i);
    });
    words[this.#count] = budgets;
    words[this.#count + 1] = 0;
    words[this.#count + 2] = 0;
    const length = this.#count + EXTRA_WORDS;
    this.#visited.add(words, length, this.#count);
    this.#next.push(this.#ways.add(0, 0, 0), words, length);
  }

  /** Makes every move that is possible in a world. */
  #look(world: number, words: Int32Array, from: number, to: number): void {
    this.#world = world;
    this.#words = words;
    this.#from = from;
    this.#to = to;
    this.#rest();
    for (let member = 0; member < this.#count; member++) this.#choose(member);
    if (this.#members.subject.slowLinks < 0) this.#takeAny();
    else this.#takeFast();
  }

  /** Where nothing is on its way: whether it would come to do what it is for. */
  #rest(): void {
    const { restEvery = 0 } = this.#limits;
    if (this.#members.subject.rest === undefined) return;
    if (restEvery === 0 || this.#to > this.#from + this.#count + EXTRA_WORDS) return;
    const states = [...this.#words.subarray(this.#from, this.#from + this.#count)];
    for (const state of states) {
      if (this.#members.choices(state).some(({ budget }) => budget < 0)) return;
    }
    const key = states.join();
    if (this.#quiet.has(key)) return;
    this.#quiet.add(key);
    if ((this.#quiet.size - 1) % restEvery !== 0) return;
    this.#rested++;
    const problem = this.#members.rest(states);
    if (problem !== null) this.#violation = { problem, schedule: this.#tell() };
  }

  /** What a member may do by itself. */
  #choose(member: number): void {
    const { budgets } = this.#members.subject;
    for (const choice of this.#members.choices(this.#words[this.#from + member])) {
      const { budget, spent } = choice;
      const left = budget < 0 ? 1 : this.#left(budget);
      if (left === 0) continue;
      if (spent >= 0 && budgets[budget].count - left !== spent) continue;
      this.#move(member, choice.move, this.#spend(budget), -1);
    }
  }

  /** Any letter that may come next, wherever it comes from. */
  #takeAny(): void {
    const { duplicates } = this.#members.subject;
    const canDouble = duplicates >= 0 && this.#left(duplicates) > 0;
    for (let at = this.#from + this.#count + EXTRA_WORDS; at < this.#to; at++) {
      if (!this.#compose.mayTake(this.#words, this.#from, at, this.#to)) continue;
      const { to, move } = this.#members.letter(this.#words[at]);
      this.#move(to, move, this.#spend(-1), at);
      if (canDouble) this.#move(to, move, this.#spend(duplicates), -1);
    }
  }

  /** A letter of the first of the fast links, or of any slow one; or a link becomes slow. */
  #takeFast(): void {
    const { slowLinks } = this.#members.subject;
    const slow = this.#words[this.#from + this.#count + 2];
    let fast = -1;
    let last = -1;
    for (let at = this.#from + this.#count + EXTRA_WORDS; at < this.#to; at++) {
      const { to, from, move, channel } = this.#members.letter(this.#words[at]);
      const isSlow = (slow & (1 << channel)) !== 0;
      if (fast < 0 && !isSlow) fast = channel;
      const mayTake = isSlow || channel === fast;
      if (mayTake && this.#compose.mayTake(this.#words, this.#from, at, this.#to)) {
        this.#move(to, move, this.#spend(-1), at);
      }
      if (!isSlow && channel !== last && this.#left(slowLinks) > 0) this.#slow(from, to, channel);
      last = channel;
    }
  }

  #left(budget: number): number {
    return (this.#words[this.#from + this.#count] >>> (BUDGET_BITS * budget)) & BUDGET_MAX;
  }

  /** Budgets after one of this is spent; −1: of none. */
  #spend(budget: number): number {
    const budgets = this.#words[this.#from + this.#count];
    return budget < 0 ? budgets : budgets - (1 << (BUDGET_BITS * budget));
  }

  #slow(from: number, to: number, channel: number): void {
    const { words } = this.#compose;
    const length = this.#to - this.#from;
    for (let i = 0; i < length; i++) words[i] = this.#words[this.#from + i];
    words[this.#count] = this.#spend(this.#members.subject.slowLinks);
    words[this.#count + 2] |= 1 << channel;
    this.#arrive(from, -1 - to, length);
  }

  /** `taken`: where the letter stands that goes; −1: none does. */
  #move(member: number, move: number, budgets: number, taken: number): void {
    if (this.#violation !== null) return;
    const before = this.#words[this.#from + member];
    const step = this.#members.step(before, move);
    const isChanged = step.state !== before;
    const isNothing = !isChanged && step.sent.length === 0 && step.problem === null;
    // Where letters come in order, even taking one for nothing lets the next one come.
    if (isNothing && (taken < 0 || !this.#members.subject.isOrdered)) return;
    if (isChanged && this.#isOutOfTurn(member)) return;
    const length = this.#compose.run(this.#words, this.#from, this.#to, member, step, taken);
    const { words } = this.#compose;
    const witness = this.#judge.testify(words[this.#count + 1], member, step.facts);
    words[this.#count] = budgets;
    words[this.#count + 1] = witness;
    let { problem } = step;
    if (witness < 0) problem ??= this.#judge.problem(witness);
    if (isChanged) problem ??= this.#judge.disagreement(words, this.#count, member);
    if (problem === null) this.#arrive(member, move, length);
    else this.#violation = { problem, schedule: this.#tell({ member, move }) };
  }

  /** At the composed world. */
  #arrive(member: number, move: number, length: number): void {
    const { words } = this.#compose;
    this.#transitions++;
    if (!this.#visited.add(words, length, this.#count)) return;
    this.#next.push(this.#ways.add(this.#world, member, move), words, length);
  }

  /** Of members that differ by name only, the one before has to change first. */
  #isOutOfTurn(member: number): boolean {
    if (!this.#members.subject.isSymmetric || member === 0) return false;
    if (this.#words[this.#from + member] !== this.#begin[member]) return false;
    return this.#words[this.#from + member - 1] === this.#begin[member - 1];
  }

  /** The way to the world that is being looked at, and on. */
  #tell(...next: readonly Made[]): string[] {
    const moves = [...this.#ways.to(this.#world), ...next];
    for (let member = 0; member < this.#count; member++) {
      const own = moves.filter((made) => made.member === member && made.move >= 0);
      this.#members.confirm(
        member,
        own.map(({ move }) => move),
      );
    }
    return tellSchedule(this.#members, this.#begin, moves);
  }
}

/** Bits of the budgets by which it is told what comes next. */
function exactOf(budgets: readonly Budget[]): number {
  let bits = 0;
  budgets.forEach(({ isExact }, i) => {
    if (isExact === true) bits |= BUDGET_MAX << (BUDGET_BITS * i);
  });
  return bits;
}
