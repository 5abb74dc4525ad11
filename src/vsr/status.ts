/**
 * What a replica tells about itself: for the status command, for tests, for whoever watches.
 */
import type { EngineStatus } from '../engine/index.ts';
import { toHex } from '../stdx/index.ts';
import type { Parts } from './parts.ts';
import type { ClockStatus } from './timing/clock-sync.ts';

export interface ReplicaStatus extends EngineStatus {
  readonly engine: 'vsr';
  readonly topology: string;
  readonly checkpoint: { readonly op: number; readonly root: string; readonly id: string };
  readonly clock: ClockStatus;
}

export function statusOf(parts: Parts, release: number): ReplicaStatus {
  const { superblock, member, outbox, log, state, commits, peers, counters } = parts;
  const { current } = superblock;
  const quorums = member.quorums;
  return {
    engine: 'vsr',
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
    checkpointOp: current.checkpoint.op,
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
