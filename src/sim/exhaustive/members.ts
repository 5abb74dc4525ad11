/**
 * Members by number. A state of one member is a number, and what a move makes of it is computed
 * once, by the real engine, and then looked up: worlds of several members are many, the states of
 * each are few. So the explorer is as fast as a table, and still every step in it is a real one.
 *
 * A member is made again by repeating the moves that first led to its state. To doubt that its text
 * tells everything, each state keeps a few other ways that led to it, and every move is made at the
 * end of all of them: if they differ, the text is too coarse, and what was explored worth nothing.
 */
import { AssertionError, assert } from '../../stdx/index.ts';
import { Interner } from './interner.ts';
import type { Choice, Live, Move, Outcome, Subject } from './subject.ts';

/** A state, and one of the ways to it. */
interface Way {
  /** The state before; −1: the beginning. */
  readonly parent: number;
  readonly move: number;
}

interface State<S> {
  readonly member: number;
  readonly way: Way;
  /**
   * A few others, those from the state itself apart: what was taken for nothing must be nothing.
   */
  readonly others: Way[];
  readonly loops: Way[];
  readonly choices: readonly (Choice & { readonly move: number })[];
  readonly summary: S;
  readonly steps: Map<number, Step>;
  readonly dead: Map<number, boolean>;
}

interface Letter<M> {
  readonly from: number;
  readonly to: number;
  readonly message: M;
  /** The move of taking it. */
  readonly move: number;
  /** Whose letters to whom; these keep their order, if letters do. */
  readonly channel: number;
  /** The end of a session. */
  readonly isEnd: boolean;
}

export interface Step {
  /** The state after; the same as before when there is a problem. */
  readonly state: number;
  /** Letters. */
  readonly sent: readonly number[];
  /** Members whose letters on their way here are gone: bit i ↔ member i. */
  readonly cut: number;
  /** Number of a list of facts; 0: none. */
  readonly facts: number;
  /** The engine itself has noticed that something is wrong. */
  readonly problem: string | null;
}

export interface MembersOptions {
  /** When the search is over, make every move at the end of other ways to where it was made. */
  readonly doubts?: boolean;
  /** Members kept running for the next move. Default 256. */
  readonly livesMax?: number;
}

const LIVES_MAX = 256;
/** Other ways to a state that are kept, of each kind. */
const OTHERS_MAX = 2;

export class Members<M, F, S, G> {
  readonly subject: Subject<M, F, S, G>;
  readonly #options: MembersOptions;
  readonly #states: Interner<State<S>> = new Interner();
  readonly #letters: Interner<Letter<M>> = new Interner();
  readonly #moves: Interner<Move<M>> = new Interner();
  readonly #facts: Interner<readonly F[]> = new Interner();
  /** Members that run, by their state; the longest unused first. */
  readonly #lives: Map<number, Live<M, F, S>> = new Map();
  /** Moves that an engine has really made, those made again among them. */
  movesMade: number = 0;
  /** Moves whose outcome was compared with that at the end of another way. */
  doubted: number = 0;

  constructor(subject: Subject<M, F, S, G>, options: MembersOptions = {}) {
    this.subject = subject;
    this.#options = options;
    this.#facts.add('', () => []);
  }

  get stateCount(): number {
    return this.#states.count;
  }

  get letterCount(): number {
    return this.#letters.count;
  }

  /** The state in which a member begins. */
  begin(member: number): number {
    const live = this.subject.create(member);
    return this.#keep(live, live.text(), member, { parent: -1, move: -1 });
  }

  summary(state: number): S {
    return this.#states.at(state).summary;
  }

  choices(state: number): readonly (Choice & { readonly move: number })[] {
    return this.#states.at(state).choices;
  }

  letter(letter: number): Letter<M> {
    return this.#letters.at(letter);
  }

  move(move: number): Move<M> {
    return this.#moves.at(move);
  }

  facts(list: number): readonly F[] {
    return this.#facts.at(list);
  }

  isDead(state: number, letter: number): boolean {
    const { dead, summary } = this.#states.at(state);
    let is = dead.get(letter);
    if (is === undefined) {
      const { from, message } = this.#letters.at(letter);
      is = this.subject.isDead(summary, from, message) && this.#isNothing(state, letter);
      dead.set(letter, is);
    }
    return is;
  }

  /** The word of a subject is not taken for it: a bug may be that such a letter does something. */
  #isNothing(state: number, letter: number): boolean {
    const step = this.step(state, this.#letters.at(letter).move);
    return step.state === state && step.sent.length === 0 && step.problem === null;
  }

  step(state: number, move: number): Step {
    const { steps } = this.#states.at(state);
    let step = steps.get(move);
    if (step === undefined) {
      step = this.#make(state, move);
      steps.set(move, step);
    }
    return step;
  }

  /** The end of a search: makes all moves once more, if that was wanted, gives up what runs. */
  close(): void {
    if (this.#options.doubts === true) {
      for (let state = 0; state < this.#states.count; state++) this.#doubt(state);
    }
    for (const live of this.#lives.values()) live.close();
    this.#lives.clear();
  }

  /** Every move that was made in this state is made at the end of other ways to it. */
  #doubt(state: number): void {
    const { member, others, loops, steps } = this.#states.at(state);
    for (const other of [...others, ...loops]) {
      for (const [move, step] of [...steps]) {
        this.doubted++;
        const found = this.#run(this.#repeat(member, other), state, member, move);
        if (!isSame(found, step)) this.#fail(state, other, move);
      }
    }
  }

  #make(state: number, move: number): Step {
    const { member, way } = this.#states.at(state);
    const live = this.#take(state) ?? this.#repeat(member, way);
    const step = this.#run(live, state, member, move);
    return step;
  }

  #run(live: Live<M, F, S>, state: number, member: number, move: number): Step {
    return this.#try(live, state, member, move, (after) =>
      this.#keep(live, after, member, { parent: state, move }),
    );
  }

  /** `number`: of the state whose text is `after`. */
  #try(
    live: Live<M, F, S>,
    state: number,
    member: number,
    move: number,
    number: (after: string) => number,
  ): Step {
    let outcome: Outcome<M, F>;
    let after: string;
    this.movesMade++;
    try {
      outcome = live.move(this.#moves.at(move));
      after = live.text();
    } catch (error) {
      if (!(error instanceof AssertionError)) throw error;
      return { state, sent: [], cut: 0, facts: 0, problem: error.message };
    }
    const sent = outcome.sent.map(({ to, message }) => this.#post(member, to, message));
    const text = outcome.facts.map((fact) => this.subject.factText(fact)).join('\n');
    const facts = this.#facts.add(text, () => outcome.facts);
    const cut = outcome.cut.reduce((bits, from) => bits | (1 << from), 0);
    return { state: number(after), sent, cut, facts, problem: null };
  }

  #fail(state: number, other: Way, move: number): never {
    const ways = [this.#states.at(state).way, other].map((way) => this.#tell(way));
    const what = `${this.describeMove(move)} differs after [${ways.join('] and [')}]`;
    throw new Error(`members that are alike by their texts are not: ${what}`);
  }

  #tell(way: Way): string {
    return this.#wayTo(way)
      .map((move) => this.describeMove(move))
      .join('; ');
  }

  /**
   * Makes all moves of one member in a row, as in a schedule, and fails unless they come to what
   * was looked up: what a search has found is nothing that only the table says.
   */
  confirm(member: number, moves: readonly number[]): void {
    const live = this.subject.create(member);
    const known = (text: string): number =>
      this.#states.add(`${member} ${text}`, () => {
        throw new Error('a schedule comes to a state that was never seen');
      });
    let state = known(live.text());
    for (const move of moves) {
      const step = this.step(state, move);
      const found = this.#try(live, state, member, move, known);
      if (!isSame(found, step)) throw new Error(`it is not so: ${this.describeMove(move)}`);
      if (found.problem !== null) return;
      state = step.state;
    }
    live.close();
  }

  /** Whether members in these states come to do what they are for, once all is well. */
  rest(states: readonly number[]): string | null {
    const lives = states.map((state) => {
      const { member, way } = this.#states.at(state);
      return this.#repeat(member, way);
    });
    const problem = this.subject.rest?.(lives) ?? null;
    if (problem === null) for (const live of lives) live.close();
    return problem;
  }

  describeMove(id: number): string {
    const move = this.#moves.at(id);
    if (move.type === 'do') return move.at < 0 ? move.kind : `${move.kind} ${move.at}`;
    return `${this.subject.describe(move.message)} from ${this.subject.members[move.from]}`;
  }

  #post(from: number, to: number, message: M): number {
    const text = this.subject.messageText(message);
    return this.#letters.add(`${from}>${to} ${text}`, () => {
      const move = this.#moves.add(`${from}>${to} ${text}`, () => ({
        type: 'take',
        from,
        message,
      }));
      const channel = from * this.subject.members.length + to;
      return { from, to, message, move, channel, isEnd: this.subject.isEnd(message) };
    });
  }

  /** The state that a member has come to, which is kept running in case it goes on from there. */
  #keep(live: Live<M, F, S>, text: string, member: number, way: Way): number {
    const id = this.#states.add(`${member} ${text}`, () => ({
      member,
      way,
      others: [],
      loops: [],
      choices: live.choices().map((choice) => {
        const { kind, at } = choice;
        const move = this.#moves.add(`${kind} ${at}`, () => ({ type: 'do', kind, at }));
        return { ...choice, move };
      }),
      summary: live.summary(),
      steps: new Map(),
      dead: new Map(),
    }));
    const state = this.#states.at(id);
    const isOther = way.parent !== state.way.parent || way.move !== state.way.move;
    const ways = way.parent === id ? state.loops : state.others;
    if (isOther && ways.length < OTHERS_MAX) ways.push(way);
    if (this.#lives.has(id)) live.close();
    else {
      this.#lives.set(id, live);
      if (this.#lives.size > (this.#options.livesMax ?? LIVES_MAX)) this.#drop();
    }
    return id;
  }

  #drop(): void {
    for (const [id, live] of this.#lives) {
      this.#lives.delete(id);
      live.close();
      return;
    }
  }

  #take(state: number): Live<M, F, S> | null {
    const live = this.#lives.get(state) ?? null;
    this.#lives.delete(state);
    return live;
  }

  #repeat(member: number, way: Way): Live<M, F, S> {
    const live = this.subject.create(member);
    for (const move of this.#wayTo(way)) {
      this.movesMade++;
      live.move(this.#moves.at(move));
    }
    return live;
  }

  /** The moves of a way, from the beginning. */
  #wayTo(way: Way): number[] {
    const moves: number[] = [];
    for (let at = way; at.parent >= 0; at = this.#states.at(at.parent).way) {
      moves.push(at.move);
      assert(moves.length < 1_000_000, 'Members: a way without a beginning');
    }
    return moves.reverse();
  }
}

function isSame(a: Step, b: Step): boolean {
  const isAlike = a.state === b.state && a.facts === b.facts && a.cut === b.cut;
  return isAlike && a.problem === b.problem && sorted(a.sent) === sorted(b.sent);
}

function sorted(letters: readonly number[]): string {
  return letters.toSorted((x, y) => x - y).join();
}
