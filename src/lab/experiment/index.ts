/**
 * The experiments that say what the product is for, as far as processes are needed. Reading order:
 * `cells` (what is measured, in which order), `dead-replica` (the whole), `run-cell` (one run),
 * `cluster-watch`, `run-figures`, `statistics`, `summary` (rows), `goals`, `pictures`.
 */
export {
  type Cell,
  cellsOf,
  cellText,
  distancesOf,
  distanceText,
  KINDS,
  type Kind,
  kindRules,
  parseDistances,
  parseNames,
  planSteps,
  type Step,
} from './cells.ts';
export { statesOf, untilAgreed, untilCaughtUp } from './cluster-watch.ts';
export {
  type DeadReplicaHooks,
  type DeadReplicaOptions,
  type DeadReplicaResult,
  runDeadReplica,
} from './dead-replica.ts';
export { type Goal, goalsOf, published } from './goals.ts';
export { drawDeadReplica } from './pictures.ts';
export type { ReplicaUse, RunResult, StepResult } from './run-result.ts';
export { type Completion, longestGap, type Spread } from './statistics.ts';
export type { CellSummary, Ratios } from './summary.ts';
