/**
 * Every case of a few open operations: what each voter may have of each, as states instead of bits
 * and checksums, and what follows from them. The dumb twin of the selection.
 */
import type { Prng } from '../../stdx/index.ts';
import type { Select } from './history-test-helper.ts';
import type { Selection, Vote } from './log-selection.ts';
import { type Quorums, quorumsOf } from './quorums.ts';
import { chain, uniqueHeader } from './vote-test-helper.ts';

/**
 * Of one operation, a voter has nothing; it on disk; it in memory, but not durable; its header
 * only; another in its place; or something that it cannot read.
 */
const STATES = ['none', 'durable', 'seen', 'header', 'other', 'lost'] as const;
type State = (typeof STATES)[number];

interface Voter {
  /** Its log is one of the newest view. */
  readonly isNew: boolean;
  /** From the oldest open operation up. */
  readonly states: readonly State[];
  /** It knows the header of the last operation that is committed. */
  readonly hasBase: boolean;
}

/** Op of the last operation that everybody knows to be committed. */
const COMMITTED = 10;
const OPEN_MAX = 8;
const base = uniqueHeader({ op: COMMITTED, view: 1, commit: 9, parent: new Uint8Array(16) });
const log = chain(base, COMMITTED + 1, OPEN_MAX, 1);
const others = Array.from({ length: 6 }, () => chain(base, COMMITTED + 1, OPEN_MAX, 1));

const hasIt = (state: State | undefined): boolean =>
  state === 'durable' || state === 'seen' || state === 'header';

/** Whether a voter can look like this. */
function isPossible({ isNew, states }: Omit<Voter, 'hasBase'>): boolean {
  const top = states.findLast((state) => state !== 'none');
  // The end of its log would be uncertain, and it would not vote.
  if (top === 'lost') return false;
  if (isNew) return !states.includes('other');
  // What lies behind another operation is not of this log.
  const fork = states.indexOf('other');
  return fork === -1 || !states.slice(fork).some(hasIt);
}

function* voters(open: number): Generator<Voter> {
  for (const isNew of [true, false]) {
    for (let code = 0; code < STATES.length ** open; code++) {
      const states = Array.from({ length: open }, (_, i) => {
        return STATES[Math.floor(code / STATES.length ** i) % STATES.length]!;
      });
      if (isPossible({ isNew, states })) yield { isNew, states, hasBase: true };
    }
  }
}

function voteOf({ isNew, states, hasBase }: Voter, replica: number): Vote {
  const top = states.findLastIndex((state) => state !== 'none');
  const headers: (Uint8Array | null)[] = [];
  let present = 0;
  let nack = 0;
  for (let i = top; i >= 0; i--) {
    const state = states[i]!;
    const bit = 1 << (top - i);
    if (hasIt(state)) headers.push(log[i]!);
    else headers.push(state === 'other' ? others[replica]![i]! : null);
    if (state === 'durable' || state === 'seen' || state === 'other') present |= bit;
    if (state === 'none' || state === 'seen' || state === 'header') nack |= bit;
  }
  headers.push(hasBase ? base : null);
  return {
    replica,
    logView: isNew ? 2 : 1,
    op: COMMITTED + 1 + top,
    commitMin: 9,
    commitMax: COMMITTED,
    checkpointOp: 0,
    headers,
    present: present | (hasBase ? 1 << (top + 1) : 0),
    nack,
  };
}

/** The head of the new log; or that more votes are needed. */
function expected(all: readonly Voter[], quorums: Quorums, replicaCount: number): string {
  if (all.length < quorums.viewChange) return 'wait';
  const open = all[0]!.states.length;
  const isNewest = (voter: Voter): boolean => voter.isNew || all.every((other) => !other.isNew);
  const topOf = ({ states }: Voter): number => states.findLastIndex((state) => state !== 'none');
  const top = Math.max(...all.filter(isNewest).map(topOf));
  const isKnown = new Array<boolean>(open + 1).fill(false);
  for (let i = top; i >= 0; i--) {
    const isTold = all.some((voter) => isNewest(voter) && hasIt(voter.states[i]));
    const isBehindKnown = isKnown[i + 1] && all.some(({ states }) => hasIt(states[i + 1]));
    isKnown[i] = isTold || isBehindKnown === true;
  }
  const undecided = (op: number): string =>
    all.length === replicaCount ? `stuck at ${op}` : 'wait';
  const isBaseKnown =
    all.some((voter) => isNewest(voter) && voter.hasBase) ||
    (isKnown[0] &&
      all.some(({ states }) => hasIt(states[0])) &&
      all.some(({ hasBase }) => hasBase));
  const base = isBaseKnown === true ? String(COMMITTED) : undecided(COMMITTED);
  for (let i = 0; i <= top; i++) {
    const states = all.map((voter) => voter.states[i]!);
    const denies = states.filter(
      (state) => state !== 'lost' && !(state === 'durable' && isKnown[i]),
    );
    if (denies.length >= quorums.nack) return i === 0 ? base : String(COMMITTED + i);
    const isAtHand = states.includes('durable') || states.includes('seen');
    if (isKnown[i] && isAtHand) continue;
    return undecided(COMMITTED + 1 + i);
  }
  return top === -1 ? base : String(COMMITTED + 1 + top);
}

function found(selection: Selection): string {
  if (selection.kind === 'wait') return 'wait';
  return selection.kind === 'stuck' ? `stuck at ${selection.op}` : String(selection.op);
}

/** The oldest case that `select` gets wrong, if there is one. */
function wrong(select: Select, all: readonly Voter[], replicaCount: number): string | null {
  const quorums = quorumsOf(replicaCount);
  // Without a vote of a newer view those of the older are the newest, and cannot disagree.
  if (all.every(({ isNew }) => !isNew) && all.some(({ states }) => states.includes('other')))
    return null;
  const selection = select(all.map(voteOf), quorums, replicaCount);
  const wanted = expected(all, quorums, replicaCount);
  let isRight = found(selection) === wanted;
  if (selection.kind === 'selected') {
    const chained = log.slice(0, selection.op - COMMITTED).reverse();
    if (all.some(({ hasBase }) => hasBase)) chained.push(base);
    isRight &&= selection.headers.every((header, i) => header === chained[i]);
    isRight &&= selection.headers.length === chained.length && selection.commitMax === COMMITTED;
  }
  return isRight ? null : `${JSON.stringify(all)}: ${found(selection)}, not ${wanted}`;
}

/** Every combination of `count` voters, with `open` operations; the order does not matter. */
export function wrongOfAll(
  select: Select,
  replicaCount: number,
  count: number,
  open: number,
): { readonly problem: string | null; readonly cases: number } {
  const kinds = [...voters(open)];
  const picked: Voter[] = [];
  let cases = 0;
  const search = (from: number): string | null => {
    if (picked.length === count) {
      cases++;
      return wrong(select, picked, replicaCount);
    }
    for (let at = from; at < kinds.length; at++) {
      picked.push(kinds[at]!);
      const problem = search(at);
      picked.pop();
      if (problem !== null) return problem;
    }
    return null;
  };
  const problem = search(0);
  return { problem, cases };
}

/** Random ones, with up to P open operations. */
export function wrongOfSome(select: Select, prng: Prng, rounds: number): string | null {
  for (let round = 0; round < rounds; round++) {
    const replicaCount = prng.between(2, 6);
    const count = prng.between(quorumsOf(replicaCount).viewChange, replicaCount);
    const open = prng.between(2, OPEN_MAX);
    const all: Voter[] = [];
    while (all.length < count) {
      // Mostly what is likely, or hardly anything would ever stay.
      const pool = prng.chance(1, 2) ? STATES : (['durable', 'durable', 'seen', 'none'] as const);
      const states = Array.from({ length: open }, () => prng.pick<State>(pool));
      const voter = { isNew: prng.chance(2, 3), states, hasBase: prng.chance(2, 3) };
      if (isPossible(voter)) all.push(voter);
    }
    const problem = wrong(select, all, replicaCount);
    if (problem !== null) return problem;
  }
  return null;
}
