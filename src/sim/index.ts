/**
 * sim: a simulated world in which the engines of this project, and yours, are tried out. Everything
 * in it is drawn from one seed, time included, so a failure is a number that anybody can run again.
 *
 * Reading order: `world/` (time, chance, fingerprint, coverage), `disk/` (what a power cut leaves),
 * `clients/` (who asks, over which network), `process/` (who drives an engine, on which clock),
 * `checks/` (who believes nobody), `faults`, `subjects/` (what is tried out), `single` (a whole run
 * with one replica), `crash-everywhere`, `swarm` (which run a seed is), `replica-setup` (the engine
 * of this project). Then several replicas: `cluster/` (links, sites, faults of all, runs and their
 * swarm), `raft/` (the same of the other engine), `simulate/` (anybody's machine, tried out),
 * `script/` (a story told step by step, for tests) and `performance/` (how fast a cluster is under
 * which trouble). `ledger-model/` and `ledger-workload/` are the ledger's reference and its
 * requests. `linearizability/` stands alone: it judges histories, whoever made them.
 */
export { ClientTestimony, type Testimony, type TestimonyOptions } from './checks/testimony.ts';
export type { NetworkOptions } from './clients/network.ts';
export { simulateCluster } from './cluster/cluster.ts';
export {
  type ClusterCrashFailure,
  type ClusterCrashOptions,
  type ClusterCrashPoint,
  type ClusterCrashReport,
  clusterCrashAt,
  clusterCrashEverywhere,
} from './cluster/cluster-crash-everywhere.ts';
export {
  CLUSTER_SWARM_COUNTERS,
  type ClusterSwarm,
  type ClusterSwarmOptions,
  clusterQuorums,
  clusterSwarm,
} from './cluster/cluster-swarm.ts';
export type { ClusterOptions, ClusterQuorums, ClusterReport } from './cluster/options.ts';
export {
  type CrashEverywhereOptions,
  type CrashEverywhereReport,
  type CrashFailure,
  crashAt,
  crashEverywhere,
} from './crash-everywhere.ts';
export { DISK_DEFAULT, Disk, type DiskOptions } from './disk/disk.ts';
export { type CrashOutcome, type CrashReport, SectorStore } from './disk/sector-store.ts';
export type { EngineSetup, FileReader, FileState } from './engine-setup.ts';
export { type CrashPoint, FAULTS_NONE, type FaultOptions } from './faults.ts';
export {
  type CheckOptions,
  type Completion,
  type CounterInput,
  type CounterOutput,
  checkLinearizable,
  counterFormat,
  counterModel,
  describeVerdict,
  deterministic,
  type EventType,
  eventsFromEdn,
  eventsFromJson,
  eventsToEdn,
  eventsToHistory,
  eventsToJson,
  type FencedLockInput,
  type FencedLockOutput,
  type FencedLockState,
  fencedLockFormat,
  fencedLockModel,
  HistoryError,
  type HistoryErrorCode,
  type HistoryEvent,
  type HistoryFormat,
  hashPrimitive,
  historyToEvents,
  type Invocation,
  type KeyValueInput,
  keyValueFormat,
  keyValueModel,
  type Model,
  type NondeterministicModel,
  type Offence,
  type Operation,
  type OperationHistory,
  partitionBy,
  type QueueInput,
  type QueueOutput,
  queueFormat,
  queueModel,
  type RegisterInput,
  type RegisterOutput,
  type RegisterState,
  type ReturnedOperation,
  registerFormat,
  registerModel,
  type Scalar,
  type UnknownOperation,
  type Value,
  type ValueMap,
  type Verdict,
} from './linearizability/index.ts';
export {
  type Baselines,
  baselinesOf,
  type Comparison,
  compare,
} from './performance/baselines.ts';
export { FIGURES, type Figure, type Run, type Spread } from './performance/figures.ts';
export { GATES, type Gate, gateScenarios } from './performance/gates.ts';
export { fullMatrix, hopScenarios, smallMatrix } from './performance/matrix.ts';
export { type PerformOptions, perform } from './performance/perform.ts';
export {
  HOP_NS,
  type NetworkName,
  type Scenario,
  scenarioName,
  type Trouble,
} from './performance/scenario.ts';
export { type Summary, summarize } from './performance/summary.ts';
export type { Life, Member, Progress } from './process/life.ts';
export { Process } from './process/process.ts';
export { RAFT_GEOMETRY_SMALL, type RaftSetupOptions, raftSetup } from './raft/setup.ts';
export {
  RAFT_SWARM_COUNTERS,
  type RaftSwarm,
  type RaftSwarmOptions,
  raftQuorums,
  raftSwarm,
} from './raft/swarm.ts';
export { GEOMETRY_SMALL, type ReplicaSetupOptions, replicaSetup } from './replica-setup.ts';
export { Script, type ScriptOptions } from './script/script.ts';
export {
  type Chance,
  type Checks,
  type EngineName,
  type FailureReport,
  type FaultChoice,
  type LinearizableCheck,
  type MachineFactory,
  type MachineFailureCode,
  type SimulateManyOptions,
  type SimulateOptions,
  type SimulationFaults,
  type SimulationReport,
  type SimulationsReport,
  simulate,
  simulateMany,
} from './simulate/index.ts';
export {
  type SingleOptions,
  type SingleReport,
  simulateSingle,
} from './single.ts';
export { type SharedCase, sharedCases, sharedSubject } from './subjects/shared-table.ts';
export type {
  Demand,
  InvalidDemand,
  ReferenceMachine,
  Subject,
  SubjectFactory,
  Workload,
  WorkloadOptions,
} from './subjects/subject.ts';
export {
  casSubject,
  counterSubject,
  keyValueSubject,
  ledgerSubject,
  subjects,
} from './subjects/subjects.ts';
export { SWARM_COUNTERS, type SwarmOptions, swarmOptions } from './swarm.ts';
export {
  CLUSTER_COUNTERS,
  COUNTERS,
  type Counter,
  Coverage,
  RAFT_COUNTERS,
} from './world/coverage.ts';
export { EventHash } from './world/event-hash.ts';
export { EventQueue } from './world/event-queue.ts';
export { check, type FailureCode, SimulationFailure } from './world/failure.ts';
export type { Latency, LatencyRange, LatencyTail } from './world/latency.ts';
export { World, type WorldOptions } from './world/world.ts';
