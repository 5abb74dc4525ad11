/**
 * All of a Raft server that can ever matter, as text; and what others may know of it.
 *
 * Numbers of writes are told by their order among those that are not durable. Times are left out:
 * in a scope no deadline is ever looked at, but when its timer is made to end. Also left out is
 * what only goes into status and logs. Where that is wrong, `Members` finds it out when told to
 * doubt.
 */
import { type Parts, recover } from '../../../raft/index.ts';
import { AssertionError } from '../../../stdx/index.ts';
import type { RaftDisk } from './raft-disk.ts';
import { delayedText, type RaftShadow } from './raft-shadow.ts';
import { entryText, type Payload, recordText, snapshotText } from './raft-text.ts';

export interface RaftState {
  readonly parts: Parts<Payload>;
  readonly shadow: RaftShadow;
  readonly disk: RaftDisk<Payload>;
  /** The election under way, if there is one, is a pre-vote. */
  readonly isPreVote: boolean;
  readonly isSlow: boolean;
  readonly commands: ReadonlyMap<string, number>;
  readonly nowMs: number;
  readonly checksQuorum: boolean;
}

export interface RaftSummary {
  readonly id: string;
  readonly role: string;
  readonly term: number;
  readonly vote: string | null;
  /** Which no crash takes back. */
  readonly termDurable: number;
  readonly isLeader: boolean;
  /** Stands for election in its term, and does not merely ask. */
  readonly isCandidate: boolean;
  readonly commitIndex: number;
  /** Index of the first entry of `log`. */
  readonly start: number;
  /** Of the snapshot before it. */
  readonly startTerm: number;
  readonly log: readonly string[];
}

type Rank = (seq: number) => string;

export function stateText(state: RaftState): string {
  const { parts, shadow, disk, commands } = state;
  const { member, log, commits, storage } = parts;
  const rank = ranks(state);
  const { id, role, term, vote, leader } = member;
  const lines = [`${id} ${role} ${term} ${vote} ${leader} ${commits.index}`];
  lines.push(`${snapshotText(log.snapshot)}${rank(log.seqAt(log.snapshot.index))}`);
  for (let i = log.start; i < log.end; i++) {
    lines.push(`${entryText(log.at(i))}${rank(log.seqAt(i))}`);
  }
  lines.push(rank(storage.termSeq()), electionText(state), leaderText(state));
  if (!member.isLeader) lines.push(parts.ackCopies.matches().join());
  lines.push(delayedText(shadow.delayed(), rank));
  lines.push([...commands].map(([name, index]) => `${name}@${index}`).join());
  lines.push(diskText(disk, id, rank), state.isSlow ? 'slow' : '');
  return lines.join('|');
}

/** Writes that are not durable, by their order. */
function ranks({ parts, shadow, disk }: RaftState): Rank {
  const { log, storage } = parts;
  const seqs = new Set<number>([storage.termSeq(), ...disk.asked]);
  for (let i = log.snapshot.index; i < log.end; i++) seqs.add(log.seqAt(i));
  for (const { seq } of shadow.delayed()) seqs.add(seq);
  for (const { seq } of disk.pending()) seqs.add(seq);
  const open = [...seqs].filter((seq) => seq > storage.synced).sort((a, b) => a - b);
  return (seq) => (seq <= storage.synced ? '' : `+${open.indexOf(seq)}`);
}

/** Votes for others change nothing. */
function electionText({ parts, isPreVote }: RaftState): string {
  const { member, election, log } = parts;
  if (member.role !== 'candidate') return '';
  const voters = [...log.servers.keys()].filter((id) => election.voteOf(id) === member.id);
  return `${isPreVote ? 'asks' : 'stands'} ${voters.join()}`;
}

function leaderText({ parts, shadow, nowMs, checksQuorum }: RaftState): string {
  const { leader, log, electionTimer } = parts;
  const texts: string[] = [];
  for (const [id, progress] of leader.peers) {
    const { state, next, match, inflightCount, commitSent, hasReplied } = progress;
    const { sentLast, refusals } = shadow.peer(id);
    const isProbing = state === 'probing';
    texts.push(`${id} ${state} ${next} ${match} ${commitSent} ${refusals}`);
    texts.push(isProbing && inflightCount > 0 ? `${sentLast}` : '');
    texts.push(checksQuorum && hasReplied ? 'replied' : '');
    if (progress.snapshotIndex === 0 && progress.contradictedAt === null) continue;
    const isAcknowledged = progress.hasAcknowledgedSnapshot(log.snapshot.index);
    const isLate = nowMs >= progress.snapshotSentMs + electionTimer.pingMs;
    texts.push(`${progress.snapshotIndex} ${progress.contradictedAt} ${isAcknowledged} ${isLate}`);
  }
  return texts.join(',');
}

function diskText(disk: RaftDisk<Payload>, id: string, rank: Rank): string {
  const { term, vote, snapshot, entries, commitIndex } = durableOf(disk, id);
  const durable = `${term} ${vote} ${snapshotText(snapshot)} ${commitIndex}`;
  const pending = disk.pending().map(({ seq, what }) => `${recordText(what)}${rank(seq)}`);
  const asked = disk.asked.map(rank).join();
  return [durable, entries.map(entryText).join(), pending.join(), asked].join(';');
}

function durableOf(
  disk: RaftDisk<Payload>,
  id: string,
): (ReturnType<typeof recover<Payload>> & { ok: true })['state'] {
  const { header, records } = disk.durable();
  const found = recover<Payload>({ self: id, header, records, electionTimerMs: 100 });
  if (!found.ok) throw new AssertionError(`${id}: a crash leaves a file with ${found.problem}`);
  return found.state;
}

export function summaryOf(state: RaftState): RaftSummary {
  const { parts, disk, isPreVote } = state;
  const { member, log, commits } = parts;
  const durable = durableOf(disk, member.id);
  return {
    id: member.id,
    role: member.role,
    term: member.term,
    vote: member.vote,
    termDurable: durable.term,
    isLeader: member.isLeader,
    isCandidate: member.role === 'candidate' && !isPreVote,
    commitIndex: commits.index,
    start: log.start,
    startTerm: log.snapshot.term,
    log: Array.from({ length: log.end - log.start }, (_, i) => entryText(log.at(log.start + i))),
  };
}
