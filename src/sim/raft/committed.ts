/**
 * What a Raft cluster has called committed: by index, for ever. It has to lie in the files of a
 * majority in the very moment in which anybody says so for the first time.
 */
import { check } from '../world/failure.ts';
import { type RaftFileState, termAt } from './files.ts';
import type { SeenEntry, SeenLog } from './seen.ts';

interface Commit {
  /** Of the entry. */
  readonly term: number;
  /** Of the leader that was the first to call it committed. */
  readonly calledIn: number;
}

/** A cluster begins with its first state, committed, at this index. */
export const INDEX_FIRST = 1;

export class Committed {
  readonly #seen: SeenLog;
  /** From {@link INDEX_FIRST} + 1 on. */
  readonly #commits: Commit[] = [];

  constructor(seen: SeenLog) {
    this.#seen = seen;
  }

  /** Highest index that was called committed. */
  get max(): number {
    return INDEX_FIRST + this.#commits.length;
  }

  /** Term of the entry committed at `index`. */
  term(index: number): number {
    return this.#at(index).term;
  }

  /** Term in which `index` was called committed for the first time. */
  calledIn(index: number): number {
    return this.#at(index).calledIn;
  }

  /** What is committed at `index`; `null`: nobody ever told what it says. */
  entry(index: number): SeenEntry | null {
    return this.#seen.get(index, this.term(index));
  }

  /**
   * The leader of `term` calls everything up to `index` committed. `files`: what a power cut now
   * would leave of each; `told`: what the leader's log has at an index, if it has said so.
   */
  advance(options: {
    readonly index: number;
    readonly term: number;
    readonly files: readonly RaftFileState[];
    readonly quorum: number;
    readonly told: (index: number) => number | null;
    readonly what: () => string;
  }): void {
    const { index, term, files, quorum, told, what } = options;
    for (let at = this.max + 1; at <= index; at++) {
      const found = files.map((file) => termAt(file, at));
      const entryTerm = told(at) ?? mostly(found);
      check(entryTerm !== null, 'not-durable', () => {
        return `${what()}: entry ${at} is committed, and in no file`;
      });
      const count = found.filter((one) => one === entryTerm || one === 'covered').length;
      check(count >= quorum, 'not-durable', () => {
        return `${what()}: entry ${at} of term ${entryTerm} is committed, and in ${count} files`;
      });
      this.#commits.push({ term: entryTerm, calledIn: term });
    }
  }

  /** A file must hold what is committed, as far as it is bound to. */
  checkFile(state: RaftFileState, isBound: (index: number) => boolean, what: () => string): void {
    const first = Math.max(state.snapshot.index, INDEX_FIRST + 1);
    for (let at = first; at <= this.max; at++) {
      if (!isBound(at)) continue;
      const term = termAt(state, at);
      check(term === this.term(at), 'lost-operation', () => {
        return `${what()}: entry ${at} is of term ${term}, committed is one of ${this.term(at)}`;
      });
    }
  }

  #at(index: number): Commit {
    const commit = this.#commits[index - INDEX_FIRST - 1];
    check(commit !== undefined, 'not-durable', () => `entry ${index} is not committed`);
    return commit;
  }
}

/** The term that most have. */
function mostly(found: readonly (number | 'covered' | null)[]): number | null {
  let best: number | null = null;
  let most = 0;
  for (const term of found) {
    if (typeof term !== 'number') continue;
    const count = found.filter((one) => one === term).length;
    if (count > most) best = term;
    most = Math.max(most, count);
  }
  return best;
}
