/**
 * What a replica tells about itself: for the status command, for tests, for whoever watches.
 */
import { toHex } from '../stdx/index.ts';
import type { DropReason, RefuseReason } from './counters.ts';
import type { Parts } from './parts.ts';
import type { ClockStatus } from './timing/clock-sync.ts';

export interface ReplicaStatus {
  readonly role: 'primary' | 'backup' | 'view-change' | 'recovering' | 'recovering-head' | 'halted';
  /** Hexadecimal, as stored. */
  readonly cluster: string;
  readonly replica: number;
  readonly replicaCount: number;
  readonly release: number;
  readonly topology: string;
  readonly view: number;
  /** The view that this replica's log belongs to. */
  readonly logView: number;
  /** Index of the replica that leads the view. */
  readonly primary: number;
  /** Replicas that a commit needs, and those that are connected, this one counted. */
  readonly quorum: number;
  readonly connected: number;
  /** Indexes of the replicas connected to this one. */
  readonly peers: readonly number[];
  /** Indexes of those whose file is another one than we knew: not heard, told nothing. */
  readonly strangers: readonly number[];
  /** Too few others have been heard of late, whether connected or not. */
  readonly isDeaf: boolean;
  /** Head of the log. */
  readonly op: number;
  /** Executed here. */
  readonly commitMin: number;
  /** Known to be committed. */
  readonly commitMax: number;
  /** Durable in the log without a gap from what is executed. */
  readonly opDurable: number;
  readonly checkpoint: { readonly op: number; readonly root: string; readonly id: string };
  /** Of everything executed. */
  readonly digest: string;
  readonly sessions: number;
  readonly queued: number;
  readonly held: number;
  readonly isReadOnly: boolean;
  readonly clock: ClockStatus;
  readonly dropped: { readonly [reason in DropReason]: number };
  readonly refused: { readonly [reason in RefuseReason]: number };
}

export function statusOf(parts: Parts, release: number): ReplicaStatus {
  const { superblock, member, outbox, log, state, commits, peers, counters } = parts;
  const { current } = superblock;
  const quorums = member.quorums;
  return {
    role: outbox.halted ? 'halted' : roleOf(parts),
    cluster: toHex(current.cluster),
    replica: current.replica,
    replicaCount: current.replicaCount,
    release,
    topology: parts.topology.name,
    view: member.view,
    logView: member.logView,
    primary: member.primary,
    quorum: Math.max(quorums.replication, quorums.viewChange),
    connected: peers.upCount + 1,
    peers: indexes(current.replicaCount).filter((i) => peers.isUp(i)),
    strangers: indexes(current.replicaCount).filter((i) => peers.isStranger(i)),
    isDeaf: peers.isDeaf,
    op: log.head,
    commitMin: state.commitMin,
    commitMax: commits.commitMax,
    opDurable: opDurable(parts),
    checkpoint: {
      op: current.checkpoint.op,
      root: toHex(current.checkpoint.root),
      id: toHex(current.checkpoint.id),
    },
    digest: toHex(state.digest),
    sessions: state.sessions.count,
    queued: parts.admission.queueLength,
    held: parts.heldRequests.count,
    isReadOnly: parts.checkpoints.isReadOnly,
    clock: peers.clock.status,
    dropped: { ...counters.dropped },
    refused: { ...counters.refused },
  };
}

function indexes(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i);
}

function roleOf({ member }: Parts): ReplicaStatus['role'] {
  if (member.isNormalPrimary) return 'primary';
  if (member.isNormalBackup) return 'backup';
  return member.status === 'normal' ? 'backup' : member.status;
}

function opDurable({ log, state }: Parts): number {
  let op = state.commitMin;
  while (op < log.head && log.isClean(op + 1)) op++;
  return op;
}
