/**
 * What members of a Raft cluster have said and are bound by: terms, votes, who leads which term,
 * and what each leader's log was like.
 */
import { check } from '../world/failure.ts';

interface Office {
  readonly leader: number;
  readonly life: number;
  /**
   * What it called committed in its first append, before anybody could answer; `null`: none yet.
   */
  commitFirst: number | null;
}

export class Promises {
  /** Highest term that each member has spoken in. */
  readonly #terms: number[];
  /** Member and term → whom it has its vote. */
  readonly #votes: Map<string, number> = new Map();
  readonly #offices: Map<number, Office> = new Map();
  /** Term → index → term of the entry there, as its leader told. */
  readonly #logs: Map<number, Map<number, number>> = new Map();

  constructor(memberCount: number) {
    this.#terms = new Array<number>(memberCount).fill(0);
  }

  /** Highest term that it has spoken in. */
  term(member: number): number {
    return this.#terms[member] as number;
  }

  /** True: nobody has spoken in a term as high. */
  speaks(member: number, term: number, what: () => string): boolean {
    const before = this.term(member);
    check(term >= before, 'view', () => `${what()}: it was in term ${before}`);
    const isNew = term > Math.max(...this.#terms);
    this.#terms[member] = term;
    return isNew;
  }

  votes(member: number, term: number, candidate: number, what: () => string): void {
    const key = `${member} ${term}`;
    const before = this.#votes.get(key);
    check(before === undefined || before === candidate, 'view', () => {
      return `${what()}: votes for r${candidate}, in this term it voted for r${before}`;
    });
    this.#votes.set(key, candidate);
  }

  /** Whom `member` has promised its vote in `term`; `null`: nobody heard of it. */
  voteOf(member: number, term: number): number | null {
    return this.#votes.get(`${member} ${term}`) ?? null;
  }

  /** True: nobody has led this term before. */
  leads(member: number, term: number, life: number, what: () => string): boolean {
    const office = this.#offices.get(term);
    if (office === undefined) {
      this.#offices.set(term, { leader: member, life, commitFirst: null });
      this.#logs.set(term, new Map());
      return true;
    }
    check(office.leader === member, 'view', () => `${what()}: r${office.leader} leads this term`);
    check(office.life === life, 'view', () => {
      return `${what()}: led this term in life ${office.life}, and does again in life ${life}`;
    });
    return false;
  }

  /** The leader of `term` calls everything up to `index` committed, in an append. */
  commits(term: number, index: number): void {
    (this.#offices.get(term) as Office).commitFirst ??= index;
  }

  /** What the leader of `term` knew to be committed from the beginning; `null`: not told. */
  commitFirst(term: number): number | null {
    return this.#offices.get(term)?.commitFirst ?? null;
  }

  /** The leader of `term` has said what is at `index` of its log. */
  tells(term: number, index: number, entryTerm: number, what: () => string): void {
    const log = this.#logs.get(term) as Map<number, number>;
    const before = log.get(index);
    check(before === undefined || before === entryTerm, 'fork', () => {
      return `${what()}: entry ${index} is of term ${entryTerm}, before it was of ${before}`;
    });
    log.set(index, entryTerm);
  }

  /** Term of the entry at `index` in the log of the leader of `term`; `null`: not told. */
  told(term: number, index: number): number | null {
    return this.#logs.get(term)?.get(index) ?? null;
  }
}
