/**
 * Walks prepares through a topology, hop by hop or with a delay per link. One hop is one one-way
 * delay; acknowledgements go straight to the primary.
 */
import type { Topology } from './topology.ts';

export function replicationQuorum(replicaCount: number): number {
  return replicaCount === 2 ? 2 : Math.min(3, Math.ceil(replicaCount / 2));
}

export interface Spread {
  /** By replica: when each copy of the prepare arrived. Index of the primary: none. */
  readonly arrivals: readonly number[][];
  /** By replica: through whom the first copy came, primary and self left out. */
  readonly paths: readonly (readonly number[])[];
}

export interface SpreadOptions {
  readonly view: number;
  readonly op: number;
  readonly replicaCount: number;
  readonly dead?: readonly number[];
  readonly delay?: (from: number, to: number) => number;
}

/** Sends one prepare from the primary and lets everyone forward what it gets first. */
export function spread(topology: Topology, options: SpreadOptions): Spread {
  const { view, op, replicaCount, dead = [], delay = () => 1 } = options;
  const primary = view % replicaCount;
  const arrivals: number[][] = Array.from({ length: replicaCount }, () => []);
  const paths: number[][] = Array.from({ length: replicaCount }, () => []);
  const pending = [{ at: 0, to: primary, path: [] as number[] }];
  while (pending.length > 0) {
    pending.sort((a, b) => a.at - b.at);
    const { at, to, path } = pending.shift()!;
    if (dead.includes(to)) continue;
    if (to !== primary || at > 0) {
      arrivals[to].push(at);
      if (arrivals[to].length > 1) continue;
      paths[to] = path;
    }
    for (const next of topology.next(view, op, to)) {
      const along = to === primary ? path : [...path, to];
      pending.push({ at: at + delay(to, next), to: next, path: along });
    }
  }
  return { arrivals, paths };
}

/** When the primary holds a replication quorum, its own vote at 0; null: never without help. */
export function hopsToQuorum(topology: Topology, options: SpreadOptions): number | null {
  const { view, replicaCount, delay = () => 1 } = options;
  const primary = view % replicaCount;
  const { arrivals } = spread(topology, options);
  const acks = [0];
  for (const [replica, times] of arrivals.entries()) {
    if (times.length > 0) acks.push(times[0] + delay(replica, primary));
  }
  acks.sort((a, b) => a - b);
  return acks[replicationQuorum(replicaCount) - 1] ?? null;
}
