/**
 * What is explored: some members that really run, and what must hold between them. A member is one
 * engine with its disk; it is driven by moves only, has no clock, and draws no chance. Everything
 * else (who gets which message when, who crashes, how often) is the explorer's.
 *
 * Members cannot be copied. So a member is known by the moves that led to it, made again when it is
 * needed, and two of them are taken for the same when their texts are equal. That is sound only if
 * the text tells everything that can ever matter; `Members` can be told to doubt it.
 */

/** A step that a member may take by itself: `kind` and, where there are several, which one. */
export interface Choice {
  readonly kind: string;
  readonly at: number;
  /** Index of the budget that it costs one of; −1: none. */
  readonly budget: number;
  /** Only when so many of that budget are spent: the first command goes first. −1: whenever. */
  readonly spent: number;
}

/** What a member is made to do. */
export type Move<M> =
  | { readonly type: 'take'; readonly from: number; readonly message: M }
  | { readonly type: 'do'; readonly kind: string; readonly at: number };

export interface Sent<M> {
  readonly to: number;
  readonly message: M;
}

/** What came of a move, besides the state after it. `F`: facts for the witness. */
export interface Outcome<M, F> {
  readonly sent: readonly Sent<M>[];
  /** Where letters go over sessions: members whose letters on their way here are gone. */
  readonly cut: readonly number[];
  readonly facts: readonly F[];
}

/** A member that runs. Throws where the engine's own assertions fail. */
export interface Live<M, F, S> {
  move(move: Move<M>): Outcome<M, F>;
  /** All that can ever matter of it: members with equal texts behave alike for ever. */
  text(): string;
  choices(): readonly Choice[];
  summary(): S;
  /** It is not needed any more. */
  close(): void;
}

export interface Budget {
  readonly name: string;
  /** At most {@link BUDGET_MAX}. */
  readonly count: number;
  /** Choices depend on how much of it is spent. */
  readonly isExact?: boolean;
}

export const BUDGETS_MAX = 10;
export const BUDGET_BITS = 3;
export const BUDGET_MAX = 7;

/**
 * `M`: messages, `F`: facts, `S`: what others may know of a member, `G`: what has been witnessed,
 * `L`: members that run.
 */
export interface Subject<M, F, S, G, L extends Live<M, F, S> = Live<M, F, S>> {
  /** Names of the members, in order. */
  readonly members: readonly string[];
  readonly budgets: readonly Budget[];
  /** The budget of deliveries that leave the message on its way; −1: none. */
  readonly duplicates: number;
  /** The budget of links that become slow; −1: all links always are. */
  readonly slowLinks: number;
  /** Members differ by name only, so that they may be named in the order of their first steps. */
  readonly isSymmetric: boolean;
  /** Letters from one member to another come in order; else in any. */
  readonly isOrdered: boolean;
  /** The end of a session, as the receiver finds it: what was sent before may be lost. */
  isEnd(message: M): boolean;
  create(member: number): L;
  /**
   * Never again will this message do anything to a member in this state or a later one. That it
   * does nothing now is seen to by others.
   */
  isDead(member: S, from: number, message: M): boolean;
  messageText(message: M): string;
  /** For people. */
  describe(message: M): string;
  describeMember(member: S): string;
  factText(fact: F): string;
  readonly witness: G;
  witnessText(witness: G): string;
  /** What is witnessed after these facts of one step; a text: what is wrong. */
  testify(witness: G, member: number, facts: readonly F[]): G | string;
  /** Members with equal keys are alike to {@link agree}. */
  agreeKey(member: S): string;
  /** What must hold between any two members at any time; a text: what is wrong. */
  agree(a: S, b: S): string | null;
  /**
   * From here on all is well: whether all members come to do what they are for; a text: what is
   * wrong. They are spent.
   */
  rest?(members: readonly L[]): string | null;
}
