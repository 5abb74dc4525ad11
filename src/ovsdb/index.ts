/**
 * ovsdb: a database of RFC 7047 with the Open vSwitch extensions, as far as it needs no socket, no
 * file and no clock: what goes in is JSON, what comes out is JSON and change sets.
 *
 * Reading order: `json/` (values exact over 64 bits, parser, stream framer), `data/` (atoms, types,
 * datums), `schema/`, `store/` (immutable rows, tables, change sets), `transact/` (`draft`, the
 * operations, `execute`, then `precommit`: every check of a commit in its order), `record/` (change
 * sets as files and logs keep them), `file/` (such files: frames, replay, snapshots),
 * `monitor/` (what clients that watch are told), `server/` (the core of a server), `replication/`
 * (databases whose content another server decides).
 */
export { type Atom, type AtomicType, compareAtoms } from './data/atom.ts';
export { atomToText } from './data/atom-text.ts';
export type { BaseType, Reference, ReferenceKind } from './data/base-type.ts';
export { type ColumnType, columnTypeToJson, parseColumnType } from './data/column-type.ts';
export { applyDiff, type Datum, datumsEqual, diffDatums } from './data/datum.ts';
export { datumToJson, parseDatum, parseTransientDatum } from './data/datum-json.ts';
export { datumFromText, TextProblem } from './data/datum-parse-text.ts';
export { datumToText } from './data/datum-text.ts';
export { isError, OvsdbError, plainError } from './data/error.ts';
export { isId, MemberParser } from './data/member-parser.ts';
export { parseUuid, UUID_ZERO, type Uuid, type UuidSource, uuidsFromPrng } from './data/uuid.ts';
export {
  encodeRecord,
  formatHeader,
  LENGTH_DIGITS_MAX,
  type Magic,
  type Sha1,
} from './file/frame.ts';
export { OvsdbIoError } from './file/io-error.ts';
export {
  identifyLog,
  LogReader,
  type LogReaderOptions,
  type LogRecord,
  type LogSource,
} from './file/log-reader.ts';
export { parseBody, readSchema } from './file/record-json.ts';
export {
  type Replayed,
  type ReplayOptions,
  type ReplayProblem,
  replayStandalone,
} from './file/replay.ts';
export {
  captureSnapshot,
  type Snapshot,
  type SnapshotNotes,
  schemaText,
  snapshotText,
} from './file/snapshot.ts';
export { JSON_SIZE_MAX, JsonFramer, type JsonFramerOptions } from './json/framer.ts';
export { JSON_DEPTH_MAX, type JsonResult, parseJson } from './json/parse.ts';
export { compareText, serialize, serializeSorted } from './json/serialize.ts';
export { decodeUtf8, encodeUtf8 } from './json/utf8.ts';
export {
  type Integer,
  isArray,
  isInteger,
  isNumber,
  isObject,
  type Json,
  type JsonArray,
  type JsonObject,
  jsonEqual,
  memberOf,
  RawJson,
} from './json/value.ts';
export {
  DatabaseMonitors,
  type IdTaken,
  type Monitor,
  type MonitorMethod,
  type MonitorsOptions,
} from './monitor/index.ts';
export { convertDatabase, draftOfRecord, type ReadOptions } from './record/read.ts';
export { changeSetToRecord, databaseToRecord, type RecordOptions } from './record/write.ts';
export {
  Backup,
  type BackupOptions,
  type BackupState,
  backupStatus,
  type Exclusions,
  excludedTablesOf,
  formatExclusions,
  parseExclusions,
  Relay,
  type RelayOptions,
  type RelayState,
  type SourceEffect,
} from './replication/index.ts';
export type { Column } from './schema/column.ts';
export {
  checkNoEphemeral,
  parseSchema,
  persistEphemeral,
  type Schema,
  schemasEqual,
  schemaToJson,
} from './schema/schema.ts';
export { parseColumnSet, type TableSchema } from './schema/table-schema.ts';
export {
  type AppendEffect,
  type CoreCounters,
  type CoreEffect,
  type CoreLimits,
  type CoreOptions,
  type DatabaseModel,
  type DatabaseStatus,
  defaultLimits,
  type ForwardReply,
  type LockStates,
  type Message,
  OvsdbCore,
  readMessage,
  SERVER_DATABASE,
  type ServedOptions,
  type SessionId,
  type SessionOptions,
  type TaskDone,
} from './server/index.ts';
export type { ChangeSet, Recount, RowChange, TableChanges } from './store/change-set.ts';
export { Database } from './store/database.ts';
export { type Row, rowToJson } from './store/row.ts';
export type { Table } from './store/table.ts';
export {
  type Clause,
  type Condition,
  compareClauses,
  conditionToJson,
  matchesAny,
  matchesEvery,
  parseCondition,
} from './transact/condition.ts';
export { Draft } from './transact/draft.ts';
export { execute, type Outcome } from './transact/execute.ts';
export type { ExecutionContext } from './transact/execution.ts';
export type { Client } from './transact/permissions.ts';
export { precommit } from './transact/precommit.ts';
