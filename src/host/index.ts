/**
 * host: an engine, a machine and io put together into something that runs. Reading order:
 * `start-ledger` (what users call), `format`, `replica-file` (which file is the right one),
 * `replica-server` (a replica's life), `driver` (effects out, events in), `status`; then `homes/`
 * (which engine understands which file) and `replica/` (anybody's machine on either engine).
 */
export {
  type Address,
  AddressError,
  AddressInUseError,
  AddressUnavailableError,
  DataFileCorruptError,
  DataFileError,
  DataFileExistsError,
  DataFileLockedError,
  DataFileMismatchError,
  DataFileMissingError,
  FormatVersionError,
  type LogLevel,
  type LogRecord,
  type LogSink,
  NoSpaceError,
  NotEnoughMemoryError,
  parseAddress,
  parseAddresses,
  ReadOnlyError,
  ReplicaHaltedError,
  RoundelayError,
  StorageFailedError,
} from '../io/index.ts';
export { Driver, type DriverListener, type DriverOptions, type Network } from './driver.ts';
export { type FormatLedgerOptions, type FormattedFile, formatLedger } from './format.ts';
export { freePorts } from './free-ports.ts';
export { NodeVersionError } from './node-version.ts';
export { type ClusterId, OptionError } from './options.ts';
export {
  type Difference,
  type LifeRecord,
  type Mark,
  RECORDING_SIZE_MAX,
  type RecordingEnd,
  RecordingError,
  type RecordingErrorCode,
  type ReplayOptions,
  type ReplayReport,
  type ReplayStep,
  replayRecording,
} from './recording/index.ts';
export type { Listener, Listeners } from './replica/emitter.ts';
export type { Leader } from './replica/leader-watch.ts';
export type { MachineFactory, ReplicaIdentityOptions } from './replica/replica-plan.ts';
export {
  type StartClusterOptions,
  type StartedCluster,
  startCluster,
} from './replica/start-cluster.ts';
export {
  type AppliedEvent,
  type ReplicaEvents,
  type StartedReplica,
  type StartReplicaOptions,
  startReplica,
} from './replica/start-replica.ts';
export { type DataFileInfo, type FileExpectation, inspectDataFile } from './replica-file.ts';
export type { ReplicaServer } from './replica-server.ts';
export {
  type StartedLedger,
  type StartLedgerOptions,
  type StartReplicaServerOptions,
  startLedger,
  startReplicaServer,
} from './start-ledger.ts';
export type { HostStatus, StatusReport } from './status.ts';
