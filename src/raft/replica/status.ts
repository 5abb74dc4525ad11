/**
 * What a Raft replica tells about itself: for the status command, for tests, for whoever watches.
 */
import type { EngineStatus } from '../../engine/index.ts';
import { toHex } from '../../stdx/index.ts';
import { majority } from '../leadership/quorum.ts';
import type { Role } from '../member.ts';
import type { ReplicaParts } from './parts.ts';

export interface RaftReplicaStatus extends EngineStatus {
  readonly engine: 'raft';
  readonly term: number;
  /** Raft's own role; a leader is a primary when it has executed all. */
  readonly raftRole: Role;
  /** First index of the log, behind the snapshot. */
  readonly logStart: number;
  /** A snapshot is being made, or another file written for it. */
  readonly isCompacting: boolean;
}

export function statusOf(parts: ReplicaParts, release: number): RaftReplicaStatus {
  const { head, member, peers, state, admission, heldRequests, counters, core } = parts;
  return {
    engine: 'raft',
    role: roleOf(parts),
    cluster: toHex(head.cluster),
    replica: head.replica,
    replicaCount: head.replicaCount,
    release,
    view: member.view,
    logView: state.view,
    primary: member.primary,
    quorum: majority(head.replicaCount),
    connected: peers.up.length + 1,
    peers: peers.up,
    strangers: peers.strangers,
    isDeaf: false,
    ...logOf(parts),
    commitMin: state.commitMin,
    digest: toHex(state.digest),
    sessions: state.sessions.count,
    queued: admission.queueLength,
    held: heldRequests.count,
    isReadOnly: core.isReadOnly,
    dropped: { ...counters.dropped },
    refused: { ...counters.refused },
    isCompacting: parts.snapshots.isBusy || parts.file.isReplacing,
  };
}

function logOf({ core, state }: ReplicaParts) {
  if (!core.isOpen) {
    const op = state.commitMin;
    const log = { op, opDurable: op, commitMax: op, checkpointOp: 0, logStart: 1 };
    return { ...log, term: 0, raftRole: 'follower' as const };
  }
  const { log, storage, commits, member } = core.inside;
  return {
    op: log.last,
    opDurable: log.durableIndex(storage.synced),
    commitMax: commits.index,
    checkpointOp: log.snapshot.index,
    logStart: log.start,
    term: member.term,
    raftRole: member.role,
  };
}

function roleOf({ outbox, member }: ReplicaParts): EngineStatus['role'] {
  if (outbox.halted) return 'halted';
  if (member.status === 'recovering') return 'recovering';
  if (member.isNormalPrimary) return 'primary';
  return member.isNormalBackup ? 'backup' : 'view-change';
}
