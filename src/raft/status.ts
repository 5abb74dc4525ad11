/** What a server tells about itself: for the status page, for tests, for whoever watches. */
import type { ServerId } from './entry.ts';
import type { ElectionReason } from './leadership/election.ts';
import type { Phase, Role } from './member.ts';
import type { ChangePhase } from './membership/changes.ts';
import type { Parts } from './parts.ts';

export interface ServerStatus {
  readonly id: ServerId;
  readonly address: string;
  readonly isConnected: boolean;
  readonly phase: ChangePhase | null;
  /** On a leader, else null. */
  readonly nextIndex: number | null;
  readonly matchIndex: number | null;
  /** On a candidate: whom it voted for, as far as heard. */
  readonly vote: ServerId | null;
  readonly lastMessageMs: number | null;
}

export interface RaftStatus {
  readonly id: ServerId;
  readonly address: string;
  readonly role: Role;
  readonly phase: Phase;
  /** Clients may rely on it: a member that had a leader and is not looking for one in vain. */
  readonly isConnected: boolean;
  readonly term: number;
  readonly vote: ServerId | null;
  readonly leader: ServerId | null;
  readonly electionTimerMs: number;
  readonly electionTimerPendingMs: number | null;
  /** First entry and one beyond the last. */
  readonly logStart: number;
  readonly logEnd: number;
  /** Name of the newest data entry. */
  readonly eid: string | null;
  readonly commitIndex: number;
  readonly appliedIndex: number;
  readonly commandCount: number;
  readonly readCount: number;
  /** Messages that wait for the disk. */
  readonly delayedCount: number;
  readonly election: {
    readonly startedMs: number | null;
    readonly wonMs: number | null;
    readonly reason: ElectionReason;
  };
  readonly remotes: readonly string[];
  /** Configured servers, this one included, and those being added or removed. */
  readonly servers: readonly ServerStatus[];
}

export function statusOf<T>(parts: Parts<T>): RaftStatus {
  const { member, electionTimer, log, commits, commands, reads, storage, election } = parts;
  const servers = new Map(log.servers);
  for (const { id, address } of parts.changes.changing()) servers.set(id, address);
  return {
    id: member.id,
    address: member.address,
    role: member.role,
    phase: member.phase,
    isConnected: member.isConnected,
    term: member.term,
    vote: member.vote,
    leader: member.leader,
    electionTimerMs: electionTimer.currentMs,
    electionTimerPendingMs: electionTimer.pendingMs,
    logStart: log.start,
    logEnd: log.end,
    eid: log.eid,
    commitIndex: commits.index,
    appliedIndex: commits.applied,
    commandCount: commands.count,
    readCount: reads.count,
    delayedCount: storage.delayedCount,
    election: election.history,
    remotes: [...parts.joining.remotes],
    servers: [...servers].map(([id, address]) => serverStatus(parts, id, address)),
  };
}

function serverStatus<T>(parts: Parts<T>, id: ServerId, address: string): ServerStatus {
  const { member, leader, changes, sessions, election } = parts;
  const progress = leader.peers.get(id) ?? changes.progressOf(id);
  return {
    id,
    address,
    isConnected: id === member.id || sessions.isConnected(id),
    phase: changes.phaseOf(id),
    nextIndex: progress?.next ?? null,
    matchIndex: progress?.match ?? null,
    vote: member.role === 'candidate' ? election.voteOf(id) : null,
    lastMessageMs: parts.lastMessageMs(id),
  };
}
