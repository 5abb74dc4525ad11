/**
 * How many replicas it takes, by the size of the cluster. Quorums of replication and of view
 * changes overlap, and replication is the smaller one where there is a choice: operations are many,
 * view changes are few.
 */
import { REPLICAS_MAX } from '../../engine/index.ts';
import { assert } from '../../stdx/index.ts';

export interface Quorums {
  /** Replicas on whose disks an operation is, when it counts as committed. */
  readonly replication: number;
  /** Votes with which a new primary can choose a log. */
  readonly viewChange: number;
  /** Replicas that deny having acknowledged an operation, when it cannot have been committed. */
  readonly nack: number;
  /** More than half. */
  readonly majority: number;
}

/** More copies than this are not waited for. */
const REPLICATION_MAX = 3;

export function quorumsOf(replicaCount: number): Quorums {
  const quorums = table[replicaCount];
  assert(quorums !== undefined, 'quorumsOf: 1 to 6 replicas');
  return quorums;
}

const table: readonly (Quorums | undefined)[] = Array.from({ length: REPLICAS_MAX + 1 }, (_, r) =>
  r === 0 ? undefined : compute(r),
);

function compute(replicaCount: number): Quorums {
  // Half of two would be one: then the other replica's log would count for nothing.
  const isPair = replicaCount === 2;
  const replication = isPair ? 2 : Math.min(REPLICATION_MAX, Math.ceil(replicaCount / 2));
  const viewChange = isPair ? 2 : replicaCount - replication + 1;
  const nack = replicaCount - replication + 1;
  const majority = Math.floor(replicaCount / 2) + 1;
  assert(replication + viewChange > replicaCount, 'quorums: a commit could be overlooked');
  assert(nack + replication > replicaCount, 'quorums: a commit could be denied');
  assert(viewChange >= majority, 'quorums: two primaries of one view');
  return { replication, viewChange, nack, majority };
}
