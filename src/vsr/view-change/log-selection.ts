/**
 * Which log a new view begins with: the decision of a primary-to-be from the votes it has. Pure.
 *
 * Only the votes with the highest `logView` speak for the log; they are called canonical. There is
 * one log per view, so they cannot contradict each other, only know more or less of it. All votes
 * together say which of its last operations may have been committed:
 *
 * - Up to `commitMax` there is nothing to decide: somebody knows those to be committed. It lies at
 *   most P below the head.
 * - Above it, from the oldest: an operation that a nack quorum denies having acknowledged was not
 *   committed, nor was anything behind it, and the log is cut there.
 * - One that is known, and that at least one voter has in full, stays, committed or not.
 * - Else it is undecided, and more votes are needed: whoever has lost what it wrote cannot deny.
 *
 * Two rules are easily got wrong. A vote that has another header at an op than the log of the
 * newest view, or one where that log is not known to have any, counts as a denial: what it has is
 * left over from an older view and was not acknowledged in the newest. And who does not deny is
 * not thereby known to have it.
 */
import { PIPELINE_MAX } from '../../engine/index.ts';
import { assert, bytesEqual, readSafeU64 } from '../../stdx/index.ts';
import { PrepareOffset } from '../../wire/index.ts';
import type { Quorums } from './quorums.ts';

/** Headers of a vote, and of a selection. */
export const VOTE_HEADERS_MAX: number = PIPELINE_MAX + 1;

/** What a replica says of its log when it gives up a view: one DoViewChange, decoded. */
export interface Vote {
  readonly replica: number;
  readonly logView: number;
  /** The head of its log. */
  readonly op: number;
  readonly commitMin: number;
  readonly commitMax: number;
  readonly checkpointOp: number;
  /**
   * `headers[i]` is for `op − i`; `null`: none is known. All known ones are of one chain. The last
   * one is for an op that is certainly committed: `commitMax`, or P below the head.
   */
  readonly headers: readonly (Uint8Array | null)[];
  /** Bit i: the prepare of `headers[i]` can be had from this replica. */
  readonly present: number;
  /** Bit i: this replica has never acknowledged `headers[i]`, or, without one, anything there. */
  readonly nack: number;
}

export type Selection =
  /** More votes are needed. */
  | { readonly kind: 'wait' }
  /** All replicas have voted, and it remains unknown whether `op` was committed. */
  | { readonly kind: 'stuck'; readonly op: number }
  | {
      readonly kind: 'selected';
      /** The head of the new log. */
      readonly op: number;
      /** Committed for certain. */
      readonly commitMax: number;
      /** From the head down, one chain, at least one, at most P + 1. Borrowed from the votes. */
      readonly headers: readonly Uint8Array[];
      /** The view whose log this is. */
      readonly logView: number;
    };

/** `votes`: at most one of each replica. */
export function selectLog(
  votes: readonly Vote[],
  quorums: Quorums,
  replicaCount: number,
): Selection {
  const voters = new Set(votes.map((vote) => vote.replica));
  assert(voters.size === votes.length, 'selectLog: two votes of one replica');
  if (votes.length < quorums.viewChange) return { kind: 'wait' };
  const logView = Math.max(...votes.map((vote) => vote.logView));
  const canonical = votes.filter((vote) => vote.logView === logView);
  const opMax = Math.max(...canonical.map((vote) => vote.op));
  const commitMax = Math.max(...votes.map(committedOf));
  const undecided = (op: number): Selection =>
    votes.length === replicaCount ? { kind: 'stuck', op } : { kind: 'wait' };
  if (opMax < commitMax) return undecided(commitMax);
  const log = newestLog(votes, canonical, opMax, commitMax);
  let op = commitMax;
  while (op < opMax) {
    const fate = fateOf(op + 1, log[opMax - op - 1], votes, quorums);
    if (fate === 'undecided') return undecided(op + 1);
    if (fate === 'gone') break;
    op++;
  }
  const headers = chainDown(op, log[opMax - op].header, votes);
  if (headers.length === 0) return undecided(op);
  assert(headers.length >= op - commitMax, 'selectLog: an operation that stays is not known');
  return { kind: 'selected', op, commitMax, headers, logView };
}

/** What is known of one operation of the newest view's log. */
interface KnownOperation {
  readonly checksum: Uint8Array | null;
  readonly header: Uint8Array | null;
}

/** The highest op that this vote proves to be committed. */
function committedOf(vote: Vote): number {
  let committed = Math.max(vote.commitMin, vote.commitMax, vote.op - PIPELINE_MAX);
  for (const header of vote.headers) {
    if (header === null) continue;
    const commit = readSafeU64(header, PrepareOffset.commit);
    assert(commit !== null, 'selectLog: a header that should not have been accepted');
    committed = Math.max(committed, commit);
  }
  return committed;
}

/**
 * The log of the newest view from `opMax` down to `commitMax`, as far as the votes tell: by a
 * header in a canonical vote, or as the parent of the operation behind it. That holds whether or
 * not the one behind it stays. The header itself may then come from any vote.
 */
function newestLog(
  votes: readonly Vote[],
  canonical: readonly Vote[],
  opMax: number,
  commitMax: number,
): KnownOperation[] {
  assert(opMax - commitMax <= PIPELINE_MAX, 'selectLog: more than a pipeline is open');
  const log: KnownOperation[] = [];
  let checksum: Uint8Array | null = null;
  for (let op = opMax; op >= commitMax; op--) {
    for (const vote of canonical) {
      const header = headerAt(vote, op);
      if (header === null) continue;
      const isSame = checksum === null || bytesEqual(header, 0, checksum, 0, 16);
      assert(isSame, 'selectLog: two logs of one view');
      checksum = checksumOf(header);
    }
    let header = findHeader(op, checksum, votes);
    // What somebody has executed is committed, so it is in this log.
    if (op === commitMax && checksum === null) header = findExecuted(op, votes);
    log.push({ checksum, header });
    checksum = header === null ? null : parentOf(header);
  }
  return log;
}

/** Whether an operation that may or may not be committed goes into the new log. */
function fateOf(
  op: number,
  known: KnownOperation,
  votes: readonly Vote[],
  quorums: Quorums,
): 'stays' | 'gone' | 'undecided' {
  const { checksum } = known;
  let copies = 0;
  let nacks = 0;
  for (const vote of votes) {
    const header = headerAt(vote, op);
    const isOther = checksum === null || header === null || !bytesEqual(header, 0, checksum, 0, 16);
    const bit = vote.op - op;
    if (bit < 0 || (header !== null && isOther) || ((vote.nack >>> bit) & 1) !== 0) nacks++;
    if (!isOther && ((vote.present >>> bit) & 1) !== 0) copies++;
  }
  if (nacks >= quorums.nack) return 'gone';
  return copies > 0 ? 'stays' : 'undecided';
}

/** The headers from `header`, the one at `op`, down as far as any vote knows the chain. */
function chainDown(op: number, header: Uint8Array | null, votes: readonly Vote[]): Uint8Array[] {
  const headers: Uint8Array[] = [];
  for (let next = header; next !== null && headers.length < VOTE_HEADERS_MAX; ) {
    headers.push(next);
    next = findHeader(op - headers.length, parentOf(next), votes);
  }
  return headers;
}

function findHeader(
  op: number,
  checksum: Uint8Array | null,
  votes: readonly Vote[],
): Uint8Array | null {
  if (checksum === null) return null;
  for (const vote of votes) {
    const header = headerAt(vote, op);
    if (header !== null && bytesEqual(header, 0, checksum, 0, 16)) return header;
  }
  return null;
}

function findExecuted(op: number, votes: readonly Vote[]): Uint8Array | null {
  for (const vote of votes) {
    const header = headerAt(vote, op);
    if (header !== null && op <= vote.commitMin) return header;
  }
  return null;
}

/** What a vote has at `op`; `null`: nothing, or nothing is known, or it does not say. */
function headerAt(vote: Vote, op: number): Uint8Array | null {
  const index = vote.op - op;
  return index >= 0 && index < vote.headers.length ? vote.headers[index] : null;
}

function checksumOf(header: Uint8Array): Uint8Array {
  return header.subarray(0, 16);
}

function parentOf(header: Uint8Array): Uint8Array {
  return header.subarray(PrepareOffset.parent, PrepareOffset.parent + 16);
}
