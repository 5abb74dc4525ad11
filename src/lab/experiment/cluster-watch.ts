/** Reads, from what replicas say of themselves, whether they agree and who has caught up. */
import type { ReplicaReport } from '../../client/index.ts';
import { LoadError } from '../errors.ts';
import type { TemporaryCluster } from '../temporary-cluster.ts';

/** The part of a status that the experiment looks at. */
export interface ReplicaState {
  readonly role: string;
  readonly view: number;
  readonly primary: number;
  readonly op: number;
  readonly commitMin: number;
  readonly commitMax: number;
  readonly opDurable: number;
  readonly digest: string;
}

const POLL_MS = 5;
/** A replica has caught up when it lacks no more than what may be under way. */
const BEHIND_MAX = 8;

/** `null` when the report does not say what it should. */
export function stateOf(report: ReplicaReport | null): ReplicaState | null {
  if (report === null) return null;
  const number = (name: string): number => {
    const value = report[name];
    return typeof value === 'number' ? value : Number.NaN;
  };
  const state = {
    role: String(report['role']),
    view: number('view'),
    primary: number('primary'),
    op: number('op'),
    commitMin: number('commitMin'),
    commitMax: number('commitMax'),
    opDurable: number('opDurable'),
    digest: String(report['digest']),
  };
  return Object.values(state).some((value) => Number.isNaN(value)) ? null : state;
}

/** Of each replica, in order; `null`: it does not answer. */
export async function statesOf(cluster: TemporaryCluster): Promise<(ReplicaState | null)[]> {
  return (await cluster.statuses()).map(stateOf);
}

/** All have executed everything that is known to be committed, and hold it. */
export function agree(states: readonly (ReplicaState | null)[]): boolean {
  const [first] = states;
  if (first === undefined || first === null) return false;
  return states.every((state) => {
    if (state === null || state.op !== first.op || state.view !== first.view) return false;
    return (
      state.commitMin === state.op && state.commitMax === state.op && state.opDurable >= state.op
    );
  });
}

/**
 * Milliseconds until the replicas `live` agree, or `null` when they do not within `limitMs`.
 * @throws LoadError when they have executed as many operations, but not the same
 */
export async function untilAgreed(
  cluster: TemporaryCluster,
  live: readonly number[],
  limitMs: number,
): Promise<number | null> {
  const startMs = performance.now();
  for (;;) {
    const states = await statesOf(cluster);
    const nowMs = performance.now();
    const theirs = live.map((replica) => states[replica] ?? null);
    if (agree(theirs)) {
      const digests = new Set(theirs.map((state) => state?.digest));
      if (digests.size === 1) return nowMs - startMs;
      throw new LoadError(`replicas differ after the same operations: ${[...digests].join(', ')}`);
    }
    if (nowMs - startMs > limitMs) return null;
    await sleep(POLL_MS);
  }
}

/** Milliseconds until `replica` is as far as the others, or `null` when `signal` aborts before. */
export async function untilCaughtUp(
  cluster: TemporaryCluster,
  replica: number,
  signal: AbortSignal,
): Promise<number | null> {
  const startMs = performance.now();
  while (!signal.aborted) {
    const states = await statesOf(cluster);
    const own = states[replica] ?? null;
    const most = states.reduce((max, state) => Math.max(max, state?.commitMin ?? 0), 0);
    const hasJoined = own?.role === 'backup' || own?.role === 'primary';
    if (hasJoined && own.commitMin + BEHIND_MAX >= most) return performance.now() - startMs;
    await sleep(4 * POLL_MS);
  }
  return null;
}

export function sleep(ms: number): Promise<void> {
  return new Promise((done) => {
    setTimeout(done, ms);
  });
}
