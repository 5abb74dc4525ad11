/**
 * lab: experiments and load on real processes. Reading order: `benchmark` (what the command runs),
 * `load` (closed-loop clients), `workload` and `id-order` (the events), `temporary-cluster`,
 * `process-meter` and `calibration` (what is reported beside the figures), `percentile`.
 */
export {
  type BenchmarkOptions,
  type BenchmarkResult,
  runBenchmark,
  type ServerUse,
} from './benchmark.ts';
export { type Calibration, calibrate, calibrationLine, fileSystemName } from './calibration.ts';
export { LoadError, TemporaryClusterError } from './errors.ts';
export { ID_ORDERS, type IdOrder, IdSequence } from './id-order.ts';
export {
  type BatchTiming,
  checkResults,
  type LoadOptions,
  type LoadResult,
  runLoad,
} from './load.ts';
export { median, type Percentiles, percentiles } from './percentile.ts';
export { findListener, type ProcessReading, readProcess } from './process-meter.ts';
export { type StartedServer, startAndMeasure } from './start-time.ts';
export {
  type Launcher,
  ownLauncher,
  TemporaryCluster,
  type TemporaryClusterOptions,
} from './temporary-cluster.ts';
export { sealBatch, Workload, type WorkloadOptions } from './workload.ts';
