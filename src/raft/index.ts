/**
 * raft: a Raft server as a pure step function, for any payload and any dialect. Our own binary
 * dialect and the one that ovsdb-server speaks drive the same engine; what they differ in is a
 * policy.
 *
 * Reading order: `entry` and `message` (what there is), `event` and `effect` (the whole contract
 * with a driver), `options`; then `log/` (the log in memory, what is durable, how a file opens),
 * `leadership/`, `replication/`, `commands` and `reads`, `membership/`, and `raft` (how it hangs
 * together).
 *
 * Around it: `dialect/` (messages and records as bytes), `file/` (a data file), and
 * `replica/`: Raft behind the face of the engine room, so that it has the clients, machines and
 * drivers of the other engine; its members are fixed at format.
 *
 * How a driver uses it:
 * 1. a new cluster: a file whose header is a snapshot at index 1, term 1, that names one server; a
 *    server that is to join: a header with addresses;
 * 2. open: read the file, sync it once, `recover(…)`, `new Raft(…)`, `step({ type: 'open', … })`;
 * 3. carry out the effects in order, hand in the next event; `applied` after what was delivered.
 */
export {
  Assemblies,
  appendBytesMax,
  Dialect,
  type DialectCounters,
  type DialectOptions,
  type Frame,
  RAFT_MESSAGE_SIZE_MAX,
  readFrame,
  readMessage,
  SNAPSHOT_SIZE_MAX,
} from './dialect/index.ts';
export type { AdminStatus, Effect, Status, TraceLevel } from './effect.ts';
export {
  type Body,
  type Entry,
  type FileHeader,
  type LogRecord,
  type Note,
  type Position,
  type ServerId,
  type Servers,
  type Snapshot,
  serversEqual,
} from './entry.ts';
export type { Event, Token } from './event.ts';
export {
  formatRaftFile,
  RAFT_FORMAT_VERSION,
  RAFT_GEOMETRY_DEFAULT,
  RAFT_GEOMETRY_DEVELOPMENT,
  RAFT_HEAD_SIZE,
  type RaftFileState,
  type RaftFormatOptions,
  type RaftGeometry,
  type RaftHead,
  type RaftHeadError,
  type RaftHeadRead,
  raftGeometryProblem,
  readRaftHead,
  readRaftState,
} from './file/index.ts';
export type { ElectionReason } from './leadership/election.ts';
export {
  emptySnapshot,
  type RecoveredState,
  type RecoverOptions,
  type Recovery,
  type RecoveryProblem,
  recover,
} from './log/recovery.ts';
export type { Phase, Role } from './member.ts';
export type { ChangePhase } from './membership/changes.ts';
export type {
  AddServerReply,
  AddServerRequest,
  AppendReply,
  AppendRequest,
  AppendResult,
  BecomeLeader,
  CommandStatus,
  ExecuteCommandReply,
  ExecuteCommandRequest,
  HelloRequest,
  InstallSnapshotReply,
  InstallSnapshotRequest,
  Msg,
  ReadIndexReply,
  ReadIndexRequest,
  RemoveServerReply,
  RemoveServerRequest,
  VoteReply,
  VoteRequest,
} from './message.ts';
export {
  ELECTION_TIMER_MAX_MS,
  ELECTION_TIMER_MIN_MS,
  JOIN_RETRY_MS,
  POLICY_OVSDB,
  POLICY_OWN,
  type Policy,
} from './options.ts';
export type { Parts } from './parts.ts';
export { Raft, type RaftOptions } from './raft.ts';
export type { ReplicaParts as RaftReplicaParts } from './replica/parts.ts';
export { raftPoolSizes } from './replica/pool-sizes.ts';
export { RaftReplica, type RaftReplicaOptions } from './replica/replica.ts';
export { readSnapshotData } from './replica/snapshot-data.ts';
export type { RaftReplicaStatus } from './replica/status.ts';
export type { RaftStatus, ServerStatus } from './status.ts';
