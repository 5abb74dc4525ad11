/**
 * io: the only room that touches the world, and knows no protocol. Reading order: `clock` (what one
 * event's time is), `storage` (the face of a data file) with `data-file` (on a disk) and
 * `memory-file` (for tests and short-lived ledgers), `create-file` (all or nothing), `file-lock`
 * (one writer), `append-file/` (files that grow by records), `client-server` (what clients connect
 * to), `peers/peer-hello` and `peers/peer-link` (how replicas find and prove each other), `address`
 * and `errors` (what people see when something is wrong).
 */
export {
  ADDRESSES_MAX,
  type Address,
  addressText,
  DEFAULT_HOST,
  DEFAULT_PORT,
  parseAddress,
  parseAddresses,
} from './address.ts';
export {
  AppendFile,
  type AppendFileHandler,
  type AppendFileSystem,
  acquireDatabaseLock,
  type DatabaseLock,
  FileSource,
  followLinks,
  glibcErrorText,
  isDangling,
  lockPathOf,
  Replacement,
} from './append-file/index.ts';
export {
  type ClientHandler,
  ClientServer,
  type ClientServerCounters,
  type ClientServerLimits,
  type ClientServerOptions,
  clientServerLimits,
} from './client-server.ts';
export { clusterText } from './client-text.ts';
export { Clock, type ClockSource } from './clock.ts';
export { type CreateOptions, createDataFile, type FilePiece } from './create-file.ts';
export type { SlotReserve } from './crowding.ts';
export { type DataFile, type DataFileOptions, openDataFile } from './data-file.ts';
export { type DurableConstants, type DurableMode, platformConstants } from './durable-mode.ts';
export * from './errors.ts';
export { acquireFileLock, type FileLock, type FileLockOptions } from './file-lock.ts';
export { type LogLevel, type LogRecord, type LogSink, printable, RateLimit } from './log.ts';
export { MemoryFile } from './memory-file.ts';
export type { PeerIdentity } from './peers/peer-hello.ts';
export type { PeerLimits } from './peers/peer-limits.ts';
export type { PeerStatus } from './peers/peer-link.ts';
export {
  type PeerCounters,
  type PeerHandler,
  PeerLinks,
  type PeerLinksOptions,
} from './peers/peer-links.ts';
export type { Storage, StorageCounters } from './storage.ts';
