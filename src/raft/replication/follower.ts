/**
 * Following: takes the leader's entries if they continue what is here, cuts off what contradicts
 * them, and says so when it is durable. What is committed is never cut off, whatever is asked.
 */
import { assert } from '../../stdx/index.ts';
import type { Entry, LogRecord, ServerId } from '../entry.ts';
import type { AppendReply, AppendRequest, AppendResult } from '../message.ts';
import type { Parts } from '../parts.ts';

/** The part of a request that lies after the snapshot. */
interface Tail<T> {
  readonly prevIndex: number;
  readonly prevTerm: number;
  readonly entries: readonly Entry<T>[];
}

export class Follower<T> {
  readonly #parts: Parts<T>;

  constructor(parts: Parts<T>) {
    this.#parts = parts;
  }

  /** From a leader that does not know the current term; told so that it can step down. */
  onStaleRequest(from: ServerId, request: AppendRequest<T>): void {
    this.#reply(from, request, 'inconsistency', 'stale term');
  }

  onAppendRequest(from: ServerId, request: AppendRequest<T>): void {
    const { member, election, commits } = this.#parts;
    assert(request.term === member.term, 'Follower: append of another term');
    if (member.isLeader) {
      this.#reply(from, request, 'inconsistency', 'usurped leadership');
      return;
    }
    member.follow(from);
    election.onLeaderContact();
    const tail = this.#afterSnapshot(request);
    if (typeof tail === 'string') {
      const isCovered = tail === 'append before log start';
      this.#reply(from, request, isCovered ? 'ok' : 'inconsistency', tail);
      return;
    }
    const problem = this.#mismatch(tail);
    if (problem !== null) {
      this.#reply(from, request, 'inconsistency', problem);
      return;
    }
    const hasNews = this.#take(tail.entries);
    commits.follow(Math.min(request.leaderCommit, request.prevIndex + request.entries.length));
    // Its own removal may have been among what is committed.
    if (member.isStopped) return;
    this.#reply(from, request, 'ok', hasNews ? 'log updated' : 'no change');
  }

  /** What of a request the snapshot does not cover, or why there is nothing to look at. */
  #afterSnapshot(request: AppendRequest<T>): Tail<T> | string {
    const { log } = this.#parts;
    const { prevIndex, prevTerm, entries } = request;
    const covered = log.start - 1 - prevIndex;
    if (covered <= 0) return { prevIndex, prevTerm, entries };
    if (covered > entries.length) return 'append before log start';
    const last = entries[covered - 1];
    if (last.term !== log.snapshot.term) return 'term mismatch';
    return { prevIndex: last.index, prevTerm: last.term, entries: entries.slice(covered) };
  }

  #mismatch(tail: Tail<T>): string | null {
    const { log } = this.#parts;
    if (tail.prevIndex >= log.end) return 'mismatch past end of log';
    return log.termAt(tail.prevIndex) === tail.prevTerm ? null : 'prev_term mismatch';
  }

  /** Adds what is missing, after cutting off what differs. True: something was. */
  #take(entries: readonly Entry<T>[]): boolean {
    const { log } = this.#parts;
    const news = entries.findIndex(
      (entry) => entry.index >= log.end || log.termAt(entry.index) !== entry.term,
    );
    if (news === -1) return false;
    let hasConfig = false;
    if (entries[news].index < log.end) hasConfig = this.#truncate(entries[news].index);
    const records = entries.slice(news).map((entry): LogRecord<T> => ({ type: 'entry', entry }));
    const seq = this.#parts.storage.writeEntries(records);
    for (const entry of entries.slice(news)) {
      log.append(entry, seq);
      hasConfig ||= entry.kind === 'config';
    }
    if (hasConfig) this.#parts.onConfigChanged();
    return true;
  }

  #truncate(index: number): boolean {
    const { log, commits, electionTimer, outbox } = this.#parts;
    assert(index > commits.index, 'Follower: cuts off what is committed');
    outbox.trace('info', 'truncate', { index, end: log.end });
    electionTimer.onTruncated(index);
    return log.truncate(index);
  }

  #reply(to: ServerId, request: AppendRequest<T>, result: AppendResult, comment: string): void {
    const { member, log, storage, ackCopies } = this.#parts;
    const reply: AppendReply = {
      type: 'append-reply',
      term: member.term,
      logEnd: log.end,
      prevIndex: request.prevIndex,
      prevTerm: request.prevTerm,
      entryCount: request.entries.length,
      round: request.round,
      result,
      comment,
    };
    const seq = this.ackSeq();
    storage.send(to, reply, seq);
    if (result === 'ok') ackCopies.share(to, reply, seq);
  }

  /** The write that has to be durable before the log's end is told. */
  ackSeq(): number {
    const { log } = this.#parts;
    return log.seqAt(log.last);
  }
}
