/**
 * Snapshots: made of this server's own log, sent to a peer that needs what is no longer there, and
 * taken from a leader.
 *
 * A snapshot replaces a log that it contradicts, however long that is: only if the entry at its end
 * is here, in the same term, is there something after it to keep. A peer that acknowledges a
 * snapshot and then does not go on from it has it the other way round, and would be sent the same
 * snapshot for ever; to such a one the next goes only when it is longer than the log it clings to.
 */
import type { LogRecord, ServerId, Snapshot } from '../entry.ts';
import type { Event } from '../event.ts';
import type { AppendReply, InstallSnapshotReply, InstallSnapshotRequest } from '../message.ts';
import { FILLERS_MAX } from '../options.ts';
import type { Parts } from '../parts.ts';
import type { Progress } from './progress.ts';

export class Snapshots<T> {
  readonly #parts: Parts<T>;

  constructor(parts: Parts<T>) {
    this.#parts = parts;
  }

  /** The machine has made one of everything up to `index`; the log may have grown since. */
  onReady(event: Event<T> & { readonly type: 'snapshot-ready' }): void {
    const { log, member, outbox, commits, electionTimer } = this.#parts;
    const { command, index, data, size } = event;
    if (member.isStopped) outbox.complete(command, 'shutdown');
    else if (member.isJoining) outbox.complete(command, 'joining');
    else if (index <= log.snapshot.index) outbox.complete(command, 'duplicate-snapshot');
    else if (index > commits.applied) outbox.complete(command, 'no-such-index');
    else {
      log.compact(log.describe(index, data, size, electionTimer.currentMs));
      this.#replaceFile();
      outbox.trace('info', 'compacted', { index, entries: log.end - log.start });
      outbox.complete(command, 'success', index);
    }
  }

  /** To a peer whose next entry is before the log. One at a time, none twice in a row. */
  send(progress: Progress): void {
    const { log, member, outbox, storage, electionTimer } = this.#parts;
    const { snapshot } = log;
    if (progress.state === 'snapshot' || progress.hasFailed) return;
    if (progress.contradictedAt !== null && snapshot.index < progress.contradictedAt - 1) return;
    const isSame = progress.snapshotIndex === snapshot.index;
    if (isSame && outbox.nowMs < progress.snapshotSentMs + electionTimer.pingMs) return;
    progress.onSnapshotSent(snapshot.index, outbox.nowMs);
    outbox.trace('info', 'send-snapshot', { peer: progress.id, index: snapshot.index });
    const request: InstallSnapshotRequest<T> = {
      type: 'install-snapshot-request',
      term: member.term,
      snapshot: { ...snapshot, electionTimerMs: electionTimer.currentMs },
    };
    storage.send(progress.id, request, log.seqAt(snapshot.index));
  }

  onInstallReply(from: ServerId, reply: InstallSnapshotReply): void {
    const { member, leader, changes, log } = this.#parts;
    const progress = leader.peers.get(from) ?? changes.progressOf(from);
    if (!member.isLeader || progress === null) return;
    const isAwaited = reply.lastIndex === progress.snapshotIndex;
    if (!isAwaited || progress.next > reply.lastIndex) return;
    progress.onSnapshotInstalled(reply.lastIndex);
    // Nothing follows it: only an answer shows that it has all.
    if (progress.next === log.end) leader.greet(progress);
  }

  /** A peer does not have the entry it was asked to go on from. */
  onRefused(progress: Progress, reply: AppendReply): void {
    const { log, outbox } = this.#parts;
    if (!progress.hasAcknowledgedSnapshot(reply.prevIndex)) return;
    if (reply.prevIndex !== log.snapshot.index || reply.logEnd <= reply.prevIndex + 1) return;
    progress.contradictedAt = reply.logEnd;
    outbox.trace('warn', 'snapshot-contradicted', { peer: progress.id, logEnd: reply.logEnd });
  }

  /** Now and then: what nobody else will set going again. */
  upkeep(): void {
    const { leader, changes, outbox, policy, electionTimer } = this.#parts;
    const retryMs = policy.snapshotRetryTimers * electionTimer.currentMs;
    for (const progress of [...leader.peers.values(), ...changes.catchingUp()]) {
      if (progress.contradictedAt !== null) this.#outgrow(progress.contradictedAt);
      const isLost = retryMs > 0 && outbox.nowMs >= progress.snapshotSentMs + retryMs;
      if (progress.state === 'snapshot' && isLost) progress.onSnapshotLost();
    }
  }

  onInstallRequest(from: ServerId, request: InstallSnapshotRequest<T>): void {
    const { member, election, log, commits, storage } = this.#parts;
    if (member.isLeader) return;
    member.follow(from);
    election.onLeaderContact();
    const { snapshot } = request;
    if (snapshot.index > commits.index) {
      if (this.isPrefix(snapshot)) commits.follow(snapshot.index);
      else this.#install(snapshot);
    }
    if (member.isStopped) return;
    const reply: InstallSnapshotReply = {
      type: 'install-snapshot-reply',
      term: member.term,
      lastIndex: snapshot.index,
      lastTerm: snapshot.term,
    };
    const index = Math.max(snapshot.index, log.snapshot.index);
    storage.send(from, reply, log.seqAt(index));
  }

  /** The log here has the very entry that the snapshot ends with, and so everything before. */
  isPrefix(snapshot: Snapshot<T>): boolean {
    const { log } = this.#parts;
    return log.has(snapshot.index) && log.termAt(snapshot.index) === snapshot.term;
  }

  #install(snapshot: Snapshot<T>): void {
    const { log, outbox, commits, electionTimer, joining, member, commands, storage } = this.#parts;
    outbox.trace('info', 'install-snapshot', { index: snapshot.index, end: log.end });
    const seq = storage.replaceFile({ type: 'snapshot', snapshot }, this.#termRecords(), false);
    log.reset(snapshot, seq);
    electionTimer.adopt(snapshot.electionTimerMs);
    commits.onInstalled(snapshot);
    commands.onInstalled(snapshot);
    if (member.isJoining && snapshot.servers.has(member.id)) joining.complete();
    this.#parts.onConfigChanged();
  }

  /** The same log in a new file, from its snapshot on. */
  #replaceFile(): void {
    const { log, commits, storage } = this.#parts;
    const records: LogRecord<T>[] = [];
    for (let i = log.start; i < log.end; i++) records.push({ type: 'entry', entry: log.at(i) });
    records.push(...this.#termRecords());
    if (commits.index > log.snapshot.index) records.push({ type: 'commit', index: commits.index });
    storage.replaceFile({ type: 'snapshot', snapshot: log.snapshot }, records, true);
  }

  #termRecords(): LogRecord<T>[] {
    const { term, vote } = this.#parts.member;
    if (term === 0) return [];
    return [vote === null ? { type: 'term', term } : { type: 'vote', term, vote }];
  }

  /** Makes the log longer than a useless one of a peer, and a snapshot of all that. */
  #outgrow(logEnd: number): void {
    const { leader, log, commits, outbox } = this.#parts;
    for (let i = 0; i < FILLERS_MAX && log.end <= logEnd; i++) leader.append({ kind: 'noop' });
    if (log.snapshot.index < logEnd - 1 && commits.applied >= logEnd - 1) {
      outbox.emit({ type: 'want-snapshot' });
    }
  }
}
