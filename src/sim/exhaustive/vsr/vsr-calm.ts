/**
 * What becomes of a cluster when nothing happens to it any more: clocks go on, all timers end in
 * their time, no message is lost, no disk is slow. It must come to one view with one primary, all
 * must execute the same, and a client that comes must be served.
 */
import { AssertionError } from '../../../stdx/index.ts';
import type { VsrLive } from './vsr-live.ts';
import type { VsrLetter } from './vsr-text.ts';

const MS = 1_000_000;
const LATENCY_NS: number = MS;
/** Patience with a cluster that nothing happens to. */
const CALM_NS: number = 30_000 * MS;
const STEPS_MAX = 20_000;
/** A client that was never there before. */
const CLIENT = 90;

interface Post {
  readonly atNs: number;
  readonly from: number;
  readonly to: number;
  readonly letter: VsrLetter;
}

/** What is wrong with it, if anything. */
export function comeToRest(lives: readonly VsrLive[]): string | null {
  try {
    return new Calm(lives).run();
  } catch (error) {
    if (!(error instanceof AssertionError)) throw error;
    return `when all is calm: ${error.message}`;
  }
}

class Calm {
  readonly #lives: readonly VsrLive[];
  /** In the order in which they come. */
  readonly #posts: Post[] = [];
  #nowNs: number;
  #steps: number = 0;

  constructor(lives: readonly VsrLive[]) {
    this.#lives = lives;
    // All clocks show the same again: the latest time of any that stood still.
    this.#nowNs = Math.max(...lives.map((live) => live.process.nowNs)) + MS;
  }

  run(): string | null {
    for (const [member, live] of this.#lives.entries()) {
      live.isFree = true;
      // What it has set while its clock stood still is looked at now.
      this.#move(member, () => live.wake());
    }
    if (!this.#runUntil(() => this.#areTogether)) return this.#failed('do not come together');
    const { commitMin } = this.#lives[0].summary();
    // As a client does, until it is answered.
    for (let attempt = 0; attempt < 3; attempt++) {
      const primary = this.#lives.findIndex((live) => live.summary().isPrimary);
      this.#move(primary, () => this.#lives[primary].register(CLIENT));
      const isServed = this.#runUntil(
        () => this.#areTogether && this.#lives[0].summary().commitMin > commitMin,
      );
      if (isServed) return null;
    }
    return this.#failed('do not serve a client');
  }

  #failed(what: string): string {
    const states = this.#lives.map((live) => {
      const { name, status, view, head, commitMin, commitMax } = live.summary();
      return `${name} is ${status} in view ${view} at ${head}, commit ${commitMin}/${commitMax}`;
    });
    return `when all is calm they ${what}: ${states.join('; ')}`;
  }

  /** One view, one log, all of it executed. */
  get #areTogether(): boolean {
    const all = this.#lives.map((live) => live.summary());
    const [first] = all;
    return all.every(
      ({ status, view, head, commitMin }) =>
        status === 'normal' &&
        view === first.view &&
        head === first.head &&
        commitMin === first.head,
    );
  }

  #runUntil(isDone: () => boolean): boolean {
    const endNs = this.#nowNs + CALM_NS;
    while (this.#nowNs < endNs && this.#steps++ < STEPS_MAX) {
      if (isDone()) return true;
      this.#next();
    }
    return false;
  }

  /** The next letter comes, or somebody is woken. */
  #next(): void {
    const wakes = this.#lives.map((live) => live.process.wakeNs);
    const wakeNs = Math.min(...wakes);
    const [post] = this.#posts;
    if (post !== undefined && post.atNs <= wakeNs) {
      this.#posts.shift();
      this.#nowNs = post.atNs;
      const move = { type: 'take', from: post.from, message: post.letter } as const;
      this.#move(post.to, () => this.#lives[post.to].move(move));
      return;
    }
    if (wakeNs === Number.POSITIVE_INFINITY) throw new AssertionError('nobody waits for anything');
    this.#nowNs = Math.max(this.#nowNs, wakeNs);
    const member = wakes.indexOf(wakeNs);
    this.#move(member, () => this.#lives[member].wake());
  }

  #move(member: number, move: () => ReturnType<VsrLive['move']>): void {
    this.#lives[member].process.free(this.#nowNs);
    const { sent } = move();
    const atNs = this.#nowNs + LATENCY_NS;
    for (const { to, message } of sent) {
      this.#posts.push({ atNs, from: member, to, letter: message });
    }
  }
}
