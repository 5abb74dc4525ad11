/**
 * Bugs to plant in a server, each one rule of Raft broken in the part that keeps it. Tests show
 * that the checker or a transcript notices; a checker that notices none proves nothing.
 */
import type { Parts } from './parts.ts';

export type Plant = <T>(parts: Parts<T>) => void;

export type PlantName =
  | 'vote forgotten'
  | 'two votes in a term'
  | "an older term's entry is committed by counting"
  | 'acknowledgement before the sync'
  | 'truncation keeps the synced mark'
  | 'stale read as linearizable'
  | 'snapshot and log of different histories'
  | 'joiner counted early'
  | 'configuration applied late'
  | 'forwarded command done twice'
  | 'read below what a follower has answered'
  | 'copy of an acknowledgement before the sync';

export const PLANTS: { readonly [name in PlantName]: Plant } = {
  /** The vote is given and not written down. */
  'vote forgotten': ({ storage, member }) => {
    const original = storage.writeTerm.bind(storage);
    storage.writeTerm = (record) => {
      const isGiven = record.type === 'vote' && record.vote !== member.id;
      if (isGiven) original({ type: 'term', term: record.term });
      else original(record);
    };
  },
  /** Whoever asks gets a vote. */
  'two votes in a term': ({ election, member, storage }) => {
    election.voteInTerm = () => null;
    member.giveVote = (vote) => {
      storage.writeTerm({ type: 'vote', term: member.term, vote });
    };
  },
  /** A majority has an entry of an older term, and it counts as committed. */
  "an older term's entry is committed by counting": ({ commits, log }) => {
    commits.mayCommit = (index) => log.has(index);
  },
  /** Entries are acknowledged when they are written and not yet durable. */
  'acknowledgement before the sync': ({ follower }) => {
    follower.ackSeq = () => 0;
  },
  /** What index is durable is remembered by index, and so survives a truncation. */
  'truncation keeps the synced mark': ({ follower, storage, log }) => {
    let mark = 0;
    const onSynced = storage.onSynced.bind(storage);
    storage.onSynced = (seq) => {
      mark = Math.max(mark, log.durableIndex(seq));
      onSynced(seq);
    };
    const ackSeq = follower.ackSeq.bind(follower);
    follower.ackSeq = () => (log.last <= mark ? 0 : ackSeq());
  },
  /** A leader reads without making sure that it still leads. */
  'stale read as linearizable': ({ reads }) => {
    reads.isConfirmed = () => true;
  },
  /** A snapshot counts as covered by a log that is merely as long. */
  'snapshot and log of different histories': ({ snapshots, log }) => {
    snapshots.isPrefix = (snapshot) => snapshot.index <= log.last;
  },
  /** A server that is catching up carries part of a quorum. */
  'joiner counted early': ({ leader, changes }) => {
    const original = leader.matches.bind(leader);
    leader.matches = () => {
      const matches = [...original(), ...changes.catchingUp().map((peer) => peer.match)];
      return matches.toSorted((a, b) => b - a).slice(0, original().length);
    };
  },
  /** A configuration is in force when it is committed, not when it is in the log. */
  'configuration applied late': ({ log, commits }) => {
    Object.defineProperty(log, 'servers', { get: () => log.serversAt(commits.index) });
  },
  /** A leader does not recognise a command that it has. */
  'forwarded command done twice': ({ commands }) => {
    commands.isKnown = () => false;
  },
  /** A leader reads as of its own commit index, though followers may know of later commits. */
  'read below what a follower has answered': ({ reads, commits }) => {
    reads.floor = () => commits.index;
  },
  /** What the leader is told when it is durable, another follower hears before. */
  'copy of an acknowledgement before the sync': ({ ackCopies }) => {
    const original = ackCopies.share.bind(ackCopies);
    ackCopies.share = (leader, reply) => original(leader, reply, 0);
  },
};
