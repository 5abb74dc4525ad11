/**
 * Everything that servers tell each other, as one union that every dialect round-trips. All are
 * one-way: a "reply" is a message that may be lost like any other. Who sent it and whether it was
 * meant for this cluster and server is checked by the dialect before the engine sees it.
 *
 * `comment` is prose for logs and traces, never read by the engine.
 */
import type { Entry, ServerId, Snapshot } from './entry.ts';

/** Why an append was not taken, or that it was. */
export type AppendResult = 'ok' | 'inconsistency' | 'io-error';

/**
 * What became of a command. `not-leader`, `prerequisite-failed` and `busy`: certainly nothing. All
 * other failures: it may be done or yet be done. `in-progress` is only a sign of life.
 */
export type CommandStatus =
  | 'in-progress'
  | 'success'
  | 'not-leader'
  | 'prerequisite-failed'
  | 'lost-leadership'
  | 'shutdown'
  | 'io-error'
  | 'timeout'
  | 'busy';

interface Commented {
  readonly comment?: string;
}

/** First word on a dialled connection, unless there is something better to say. */
export interface HelloRequest extends Commented {
  readonly type: 'hello-request';
  readonly address: string;
}

export interface AppendRequest<T> extends Commented {
  readonly type: 'append-request';
  readonly term: number;
  readonly prevIndex: number;
  readonly prevTerm: number;
  readonly leaderCommit: number;
  readonly entries: readonly Entry<T>[];
  /** Counts broadcasts, for reads; 0 in dialects that cannot carry it. */
  readonly round: number;
}

/** To the leader, and to followers that have asked for a copy. */
export interface AppendReply extends Commented {
  readonly type: 'append-reply';
  readonly term: number;
  /** One beyond the last entry of the replier. */
  readonly logEnd: number;
  /** What was asked, echoed. */
  readonly prevIndex: number;
  readonly prevTerm: number;
  readonly entryCount: number;
  readonly round: number;
  readonly result: AppendResult;
}

export interface VoteRequest extends Commented {
  readonly type: 'vote-request';
  /** Of the candidate; of a pre-vote, the term it has and not the one it wants. */
  readonly term: number;
  readonly lastIndex: number;
  readonly lastTerm: number;
  /** The leader has asked for this election, so nobody may call it a disruption. */
  readonly isTransfer: boolean;
  readonly isPreVote: boolean;
}

/** `vote` may name another candidate: then it only informs. */
export interface VoteReply extends Commented {
  readonly type: 'vote-reply';
  readonly term: number;
  readonly vote: ServerId;
  readonly isPreVote: boolean;
}

/** From a server that wants to join. */
export interface AddServerRequest extends Commented {
  readonly type: 'add-server-request';
  readonly address: string;
}

export interface AddServerReply extends Commented {
  readonly type: 'add-server-reply';
  readonly success: boolean;
  /** Where else to ask. */
  readonly remotes: readonly string[];
}

/** From a server that wants to leave, or passed on for an administrator. */
export interface RemoveServerRequest extends Commented {
  readonly type: 'remove-server-request';
  readonly server: ServerId;
}

export interface RemoveServerReply extends Commented {
  readonly type: 'remove-server-reply';
  readonly success: boolean;
  /** Who was to be removed; null: the receiver itself. */
  readonly target: ServerId | null;
}

export interface InstallSnapshotRequest<T> extends Commented {
  readonly type: 'install-snapshot-request';
  readonly term: number;
  readonly snapshot: Snapshot<T>;
}

export interface InstallSnapshotReply extends Commented {
  readonly type: 'install-snapshot-reply';
  readonly term: number;
  readonly lastIndex: number;
  readonly lastTerm: number;
}

/** From a leader that gives up its office to the receiver. */
export interface BecomeLeader extends Commented {
  readonly type: 'become-leader';
  readonly term: number;
}

export interface ExecuteCommandRequest<T> extends Commented {
  readonly type: 'execute-command-request';
  readonly eid: string;
  readonly data: T;
  readonly size: number;
  /** Only if this is the eid of the newest data entry; null: in any case. */
  readonly prerequisite: string | null;
}

export interface ExecuteCommandReply extends Commented {
  readonly type: 'execute-command-reply';
  readonly eid: string;
  readonly status: CommandStatus;
  /** With `success` only, else 0. */
  readonly commitIndex: number;
}

/** Own dialect only, to another follower: send me your acknowledgements, too, for a while. */
export interface AckCopiesRequest extends Commented {
  readonly type: 'ack-copies-request';
  readonly term: number;
}

/** Own dialect only: asks the leader how far one must have applied for a linearizable read. */
export interface ReadIndexRequest extends Commented {
  readonly type: 'read-index-request';
  readonly read: number;
}

export interface ReadIndexReply extends Commented {
  readonly type: 'read-index-reply';
  readonly read: number;
  readonly success: boolean;
  readonly index: number;
}

export type Msg<T> =
  | HelloRequest
  | AppendRequest<T>
  | AppendReply
  | AckCopiesRequest
  | VoteRequest
  | VoteReply
  | AddServerRequest
  | AddServerReply
  | RemoveServerRequest
  | RemoveServerReply
  | InstallSnapshotRequest<T>
  | InstallSnapshotReply
  | BecomeLeader
  | ExecuteCommandRequest<T>
  | ExecuteCommandReply
  | ReadIndexRequest
  | ReadIndexReply;

/** The term a message speaks in; null: it has none and is valid in any. */
export function termOf<T>(message: Msg<T>): number | null {
  return 'term' in message ? message.term : null;
}
