/**
 * host: an engine, a machine and io put together into something that runs. Reading order:
 * `start-ledger` (what users call), `format`, `replica-file` (which file is the right one),
 * `replica-server` (a replica's life), `driver` (effects out, events in), `status`.
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
export { NodeVersionError } from './node-version.ts';
export type { ClusterId } from './options.ts';
export { type DataFileInfo, type FileExpectation, inspectDataFile } from './replica-file.ts';
export type { ReplicaServer } from './replica-server.ts';
export {
  type StartedLedger,
  type StartLedgerOptions,
  type StartReplicaServerOptions,
  startLedger,
  startReplicaServer,
} from './start-ledger.ts';
export type { StatusReport } from './status.ts';
