/**
 * What must hold, looked up: what a step shows is told to the witness, and any two members that are
 * at the same time are asked whether they agree. Each question is asked once.
 */
import { Interner } from './interner.ts';
import type { Members } from './members.ts';

/** More states than there will ever be. */
const KEYS_MAX = 0x2000000;

export class Judge<M, F, S, G> {
  readonly #members: Members<M, F, S, G>;
  readonly #witnesses: Interner<G> = new Interner();
  /** By witness: member and list of facts → witness after, or −1 − index of a problem. */
  readonly #testimonies: Map<number, number>[] = [];
  readonly #problems: string[] = [];
  readonly #agreed: Set<number> = new Set();
  readonly #agreeKeys: Interner<null> = new Interner();
  /** By state. */
  readonly #keys: number[] = [];

  constructor(members: Members<M, F, S, G>) {
    this.#members = members;
    this.#add(members.subject.witness);
  }

  /** The witness after these facts; negative: see {@link problem}. The first witness is 0. */
  testify(witness: number, member: number, facts: number): number {
    if (facts === 0) return witness;
    const { subject } = this.#members;
    const known = this.#testimonies[witness];
    const key = facts * subject.members.length + member;
    const found = known.get(key);
    if (found !== undefined) return found;
    const list = this.#members.facts(facts);
    const after = subject.testify(this.#witnesses.at(witness), member, list);
    const result = typeof after === 'string' ? -this.#problems.push(after) : this.#add(after);
    known.set(key, result);
    return result;
  }

  problem(testimony: number): string {
    return this.#problems[-1 - testimony];
  }

  /** What is wrong between member `member` and any other of the first `count` states in `words`. */
  disagreement(words: Int32Array, count: number, member: number): string | null {
    const { subject } = this.#members;
    const mine = this.#key(words[member]);
    for (let other = 0; other < count; other++) {
      if (other === member) continue;
      const key = mine * KEYS_MAX + this.#key(words[other]);
      if (this.#agreed.has(key)) continue;
      const a = this.#members.summary(words[member]);
      const b = this.#members.summary(words[other]);
      const problem = subject.agree(a, b);
      if (problem !== null) return problem;
      this.#agreed.add(key);
    }
    return null;
  }

  #key(state: number): number {
    const known = this.#keys[state];
    if (known !== undefined) return known;
    const text = this.#members.subject.agreeKey(this.#members.summary(state));
    const key = this.#agreeKeys.add(text, () => null);
    this.#keys[state] = key;
    return key;
  }

  #add(witness: G): number {
    return this.#witnesses.add(this.#members.subject.witnessText(witness), () => {
      this.#testimonies.push(new Map());
      return witness;
    });
  }
}
