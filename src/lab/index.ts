/**
 * lab: experiments and load on real processes. Reading order: `benchmark` (what the command runs),
 * `load-clients`, `load` (closed loop) and `paced-load` (open loop), `workload` and `id-order` (the
 * events), `cluster-processes` and `temporary-cluster` (real replicas), `start-time`,
 * `dev-cluster`, `recover-replica`, `process-meter` and `calibration` (what is reported beside the
 * figures), `percentile`.
 */
export {
  type BenchmarkOptions,
  type BenchmarkResult,
  runBenchmark,
  type ServerUse,
} from './benchmark.ts';
export { type Calibration, calibrate, calibrationLine, fileSystemName } from './calibration.ts';
export {
  ClusterProcesses,
  type ClusterProcessesOptions,
  endText,
  type Launcher,
  type ProcessEnd,
} from './cluster-processes.ts';
export {
  DevCluster,
  type DevClusterOptions,
  devFile,
  devReplicaCount,
  ReplicaEndedError,
} from './dev-cluster.ts';
export { LoadError, TemporaryClusterError } from './errors.ts';
export { freePorts } from './free-ports.ts';
export { ID_ORDERS, type IdOrder, IdSequence } from './id-order.ts';
export { type LoadResult, runLoad } from './load.ts';
export { type BatchTiming, checkResults, type LoadOptions } from './load-clients.ts';
export { type PacedLoadOptions, type PacedLoadResult, runPacedLoad } from './paced-load.ts';
export { median, type Percentiles, percentiles } from './percentile.ts';
export { findListener, type ProcessReading, readProcess } from './process-meter.ts';
export {
  type RecoveredFile,
  type RecoverOptions,
  RecoverRefusedError,
  recoverReplica,
} from './recover-replica.ts';
export {
  type StartedCluster,
  type StartedServer,
  startAndMeasure,
  startClusterAndMeasure,
} from './start-time.ts';
export {
  ownLauncher,
  TemporaryCluster,
  type TemporaryClusterOptions,
} from './temporary-cluster.ts';
export { sealBatch, Workload, type WorkloadOptions } from './workload.ts';
