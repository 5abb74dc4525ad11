/**
 * What may differ from one use of Raft to another: timing, batching, and what a dialect can carry
 * or must imitate. And the limits, each declared once.
 */
import { assert } from '../stdx/index.ts';

export interface Policy {
  /**
   * Ask whether an election could be won before starting it. `auto`: yes, but a cluster in which
   * most do not understand the question must be able to elect without.
   */
  readonly preVote: 'on' | 'off' | 'auto';
  /** Of a new cluster; afterwards the log tells. */
  readonly electionTimerMs: number;
  /** The random part of an election deadline, whatever the timer. */
  readonly electionRandomMs: number;
  /** Heartbeats per election timer. */
  readonly pingDivisor: number;
  /** Appends with entries under way to one peer. */
  readonly inflightMax: number;
  /** Entries of one append, and their size unless it is a single one. */
  readonly batchEntriesMax: number;
  readonly batchBytesMax: number;
  /** A commit index that has moved is sent to all at once instead of with the next heartbeat. */
  readonly immediateCommitSync: boolean;
  /** A refused connection to the leader starts an election: nobody listens where it was. */
  readonly suspectOnRefused: boolean;
  /**
   * How a leader makes sure of its office for a read: a round of appends that is recognised in the
   * replies (the dialect must carry `round`), or a no-op through the log.
   */
  readonly readConfirmation: 'round' | 'entry';
  /** Followers ask the leader for a read index (the dialect must have the messages). */
  readonly readForwarding: boolean;
  /**
   * A follower with commands of its own under way gets the others' acknowledgements, and commits
   * without hearing of it from the leader (the dialect must have the message, and all members it).
   */
  readonly ackCopies: boolean;
  /** A forwarding server gives up on a command after so many election timers without a sign. */
  readonly commandTimeoutTimers: number;
  /**
   * A snapshot without an answer is sent again after so many election timers; 0: only when the
   * session has been lost, which is right where sessions lose nothing while they last.
   */
  readonly snapshotRetryTimers: number;
}

/** For clusters that speak our own dialect only. */
export const POLICY_OWN: Policy = {
  preVote: 'on',
  electionTimerMs: 1000,
  electionRandomMs: 1000,
  pingDivisor: 3,
  inflightMax: 64,
  batchEntriesMax: 1024,
  batchBytesMax: 1 << 20,
  immediateCommitSync: true,
  suspectOnRefused: true,
  readConfirmation: 'round',
  readForwarding: true,
  ackCopies: true,
  commandTimeoutTimers: 2,
  snapshotRetryTimers: 0,
};

/** For clusters with members that are ovsdb-server, of any version. */
export const POLICY_OVSDB: Policy = {
  ...POLICY_OWN,
  preVote: 'auto',
  suspectOnRefused: false,
  readConfirmation: 'entry',
  readForwarding: false,
  ackCopies: false,
};

export const ELECTION_TIMER_MIN_MS = 100;
export const ELECTION_TIMER_MAX_MS = 600_000;
/** Between two requests of a server that wants to join. */
export const JOIN_RETRY_MS = 1000;
/** For how long a follower sends its acknowledgements to another that has asked for them. */
export const ACK_COPIES_MS = 200;
/** Commands under way, here and for others. */
export const COMMANDS_MAX = 10_000;
/** Linearizable reads under way. */
export const READS_MAX = 10_000;
/** Messages that wait for the disk. What is beyond is dropped, as a network might. */
export const DELAYED_MAX = 10_000;
/** Names of commands that are remembered after their entries went into a snapshot. */
export const RECENT_EIDS_MAX = 4096;
/** Servers of one configuration. */
export const SERVERS_MAX = 255;
/** Addresses that a joining server keeps asking. */
export const REMOTES_MAX = 255;
/** No-ops by which a leader grows its log in one go, past the end of a peer's useless one. */
export const FILLERS_MAX = 1000;
/** Election timers that a server waits which may be in no configuration any more. */
export const UNCONFIRMED_PATIENCE = 10;
/** Pre-votes without an answer after which `auto` begins to doubt that anybody understands. */
export const PRE_VOTE_ROUNDS_MAX = 3;

export function assertPolicy(policy: Policy): void {
  const { electionTimerMs, pingDivisor, inflightMax, batchEntriesMax, batchBytesMax } = policy;
  assert(electionTimerMs >= ELECTION_TIMER_MIN_MS, 'Policy: election timer too short');
  assert(electionTimerMs <= ELECTION_TIMER_MAX_MS, 'Policy: election timer too long');
  assert(policy.electionRandomMs >= 1, 'Policy: elections without chance');
  assert(pingDivisor >= 2, 'Policy: fewer than two heartbeats per election timer');
  assert(inflightMax >= 1 && batchEntriesMax >= 1 && batchBytesMax >= 1, 'Policy: nothing moves');
  assert(policy.commandTimeoutTimers >= 1, 'Policy: commands time out before elections');
}
