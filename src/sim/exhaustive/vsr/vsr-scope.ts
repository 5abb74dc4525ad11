/**
 * How much of VSR is looked at. Every number is a budget of the whole cluster: so many may happen,
 * at any moment, in any order, to anybody. It begins in a view that has begun, with a session for
 * each request registered and executed everywhere.
 *
 * One step each, though more happens in it: an update of the superblock with its four copies (a
 * crash leaves the old one or the new one); a prepare with its header on disk (a crash leaves
 * nothing, or the prepare without its header, or both); opening a file; a crash and the start after
 * it (what others do in between they may do before or after just as well); reads; the commit timer.
 *
 * Never in a scope: checkpoints and copies of them, damage, clocks (all agree; pings and pongs are
 * not sent on), more than one request of a client, membership. Of timers only those are there that
 * a budget lets end, at any time. A primary is suspected when a link to it is lost, or when the
 * timer ends that measures its silence. News of a lost link that change nothing where they come to
 * are not kept for later.
 */
import { assert } from '../../../stdx/index.ts';
import type { Budget } from '../subject.ts';

export interface VsrScope {
  /** 2 to 5. Default 3. */
  readonly replicas: number;
  /** Requests, in their order, each of a client of its own, to whichever replica leads. */
  readonly requests: number;
  /** Requests that are sent once more, to whichever replica leads. */
  readonly repeats: number;
  readonly crashes: number;
  /** Links that end and are made anew, as one side finds out first. */
  readonly losses: number;
  /** Which replica may lose its link with which; null: each with each. */
  readonly losers: readonly (readonly [number, number])[] | null;
  /** Timers that end: what is asked for again, or given up. */
  readonly timers: number;
  /** Disks that become slow, until all that they are writing is written; null: all are. */
  readonly slowDisks: number | null;
  /** Links that become slow, see `explore`; null: all are. */
  readonly slowLinks: number | null;
  /** Only deeds count: what replicas say is not compared with what they keep. */
  readonly isTrusting: boolean;
}

export const VSR_SCOPE: VsrScope = {
  replicas: 3,
  requests: 1,
  repeats: 0,
  crashes: 0,
  losses: 0,
  losers: null,
  timers: 0,
  slowDisks: 0,
  slowLinks: 0,
  isTrusting: false,
};

/** Indexes of the budgets. */
export const VsrBudget = {
  requests: 0,
  repeats: 1,
  crashes: 2,
  losses: 3,
  timers: 4,
  slowDisks: 5,
  slowLinks: 6,
} as const;

/**
 * The first checkpoint is the eighth operation: those that register clients are before it, and one
 * more of a client that comes when all has become calm.
 */
const REQUESTS_MAX = 2;

export function budgetsOf(scope: VsrScope): readonly Budget[] {
  assert(scope.replicas >= 2 && scope.replicas <= 5, 'VsrScope: replicas');
  assert(scope.requests <= REQUESTS_MAX, 'VsrScope: a checkpoint would be made');
  const names = Object.keys(VsrBudget) as (keyof typeof VsrBudget)[];
  return names.map((name) => ({
    name,
    count: scope[name] ?? 0,
    isExact: name === 'requests',
  }));
}
