/**
 * The shapes of the topologies that do not adapt, counted from the primary (0): `plan[i]` is to
 * whom replica i hands over. Even and odd operations have a plan each; a shape that does not
 * alternate uses one plan twice.
 */
import { assert } from '../../stdx/index.ts';

export type Plan = readonly (readonly number[])[];

/** Even operations, odd operations. */
export type PlanPair = readonly [Plan, Plan];

/** 0→1→2→…, ending before the primary. */
function chain(replicaCount: number, direction: 1 | -1): Plan {
  const plan: number[][] = Array.from({ length: replicaCount }, () => []);
  for (let step = 1; step < replicaCount; step++) {
    const from = ((step - 1) * direction + replicaCount) % replicaCount;
    plan[from].push((step * direction + replicaCount) % replicaCount);
  }
  return plan;
}

export function ring(replicaCount: number): PlanPair {
  const plan = chain(replicaCount, 1);
  return [plan, plan];
}

export function alternatingRing(replicaCount: number): PlanPair {
  return [chain(replicaCount, 1), chain(replicaCount, -1)];
}

export function star(replicaCount: number): PlanPair {
  const plan: number[][] = Array.from({ length: replicaCount }, () => []);
  for (let backup = 1; backup < replicaCount; backup++) plan[0].push(backup);
  return [plan, plan];
}

/**
 * By R. Healthy, two backups (R ≤ 4: one) answer after two hops, as in the star. One dead backup
 * costs one hop at most, because what it cuts off of one chain is less than the other chain and
 * the live part have. No live backup depends on the same other one in both parities, so it gets
 * every second operation whoever is dead, and sees a gap at the next one.
 */
const CHORDS: readonly PlanPair[] = [
  [[[]], [[]]],
  [
    [[1], []],
    [[1], []],
  ],
  [
    [[1, 2], [], []],
    [[1, 2], [], []],
  ],
  [
    [[1, 3], [2], [], []],
    [[3, 1], [], [], [2]],
  ],
  [
    [[1, 4], [2], [], [], [3]],
    [[2, 3], [], [1], [4], []],
  ],
  [
    [[1, 5], [2], [3], [], [], [4]],
    [[2, 4], [], [1], [], [5, 3], []],
  ],
];

export function alternatingChord(replicaCount: number): PlanPair {
  assert(replicaCount >= 1 && replicaCount <= CHORDS.length, 'alternatingChord: bad count');
  return CHORDS[replicaCount - 1];
}
