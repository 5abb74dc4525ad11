/**
 * Leading: what is new in the log goes to every peer at once, many appends in a row without waiting
 * for answers; where a peer's log is another, the agreement is looked for backwards and everything
 * from there on is sent.
 *
 * Nothing is sent while a step runs: at its end `settle` sends each peer what it lacks, so that a
 * step's entries share an append, and a commit index that has moved travels with them, or alone if
 * there is nothing else to say. That is what keeps the others from waiting for the next heartbeat.
 */
import { assert } from '../../stdx/index.ts';
import type { Body, Entry, ServerId } from '../entry.ts';
import type { AppendReply, AppendRequest } from '../message.ts';
import type { Parts } from '../parts.ts';
import { Progress } from './progress.ts';

export class Leader<T> {
  readonly #parts: Parts<T>;
  readonly #peers: Map<ServerId, Progress> = new Map();
  /** First entry of this term. */
  #firstIndex: number = 0;
  #round: number = 0;

  constructor(parts: Parts<T>) {
    this.#parts = parts;
  }

  /** Of the configured others. */
  get peers(): ReadonlyMap<ServerId, Progress> {
    return this.#peers;
  }

  /** Something of this leader's own term is committed, so its commit index is the newest of all. */
  get isEstablished(): boolean {
    return this.#parts.member.isLeader && this.#parts.commits.index >= this.#firstIndex;
  }

  /** Won an election. */
  open(): void {
    const { member, log, outbox, storage, election, joining, deadlines, electionTimer } =
      this.#parts;
    member.becomeLeader();
    outbox.trace('info', 'leads', { term: member.term });
    storage.note({ type: 'leader', term: member.term, leader: member.id });
    if (member.isJoining) joining.complete();
    this.#peers.clear();
    this.reconfigure();
    this.#firstIndex = log.end;
    this.append({ kind: 'noop' });
    election.resetDeadline();
    deadlines.set('ping', outbox.nowMs + electionTimer.pingMs);
  }

  close(): void {
    this.#peers.clear();
  }

  /** The newest configuration is in force from the moment it is in the log. */
  reconfigure(): void {
    const { log, member, changes } = this.#parts;
    const servers = log.servers;
    for (const id of this.#peers.keys()) if (!servers.has(id)) this.#peers.delete(id);
    for (const id of servers.keys()) {
      if (id === member.id || this.#peers.has(id)) continue;
      // Who has caught up before it was added has shown what it has.
      this.#peers.set(id, changes.progressOf(id) ?? new Progress(id, log.end));
    }
  }

  /** A new entry at the end of the log; returns its index. */
  append(body: Body<T>): number {
    const { log, member, storage, changes } = this.#parts;
    assert(member.isLeader, 'Leader: only the leader makes entries');
    assert(body.kind !== 'config' || changes.mayChange(), 'Leader: two configurations under way');
    const entry: Entry<T> = { term: member.term, index: log.end, ...body };
    log.append(entry, storage.writeEntries([{ type: 'entry', entry }]));
    if (entry.kind === 'config') this.#parts.onConfigChanged();
    return entry.index;
  }

  /** Peers that have answered since the last look. */
  takeContacts(): number {
    let count = 0;
    for (const peer of this.#peers.values()) {
      if (peer.hasReplied) count++;
      peer.hasReplied = false;
    }
    return count;
  }

  /** Peers that are fit to lead: nobody that is on its way in or out. */
  stablePeers(): readonly Progress[] {
    return [...this.#peers.values()].filter((peer) => !this.#parts.changes.isChanging(peer.id));
  }

  /** What each configured server has durably; this one what its own disk has. */
  matches(): readonly number[] {
    const { log, member, storage } = this.#parts;
    return [...log.servers.keys()].map((id) =>
      id === member.id ? log.durableIndex(storage.synced) : (this.#peers.get(id)?.match ?? 0),
    );
  }

  /** Begins a round of appends by which it will show whether this server still leads. */
  nextRound(): number {
    this.#round++;
    return this.#round;
  }

  /** How many configured servers, this one included, have answered round `round` or a later one. */
  answered(round: number): number {
    const { log, member } = this.#parts;
    let count = log.servers.has(member.id) ? 1 : 0;
    for (const peer of this.#peers.values()) if (peer.round >= round) count++;
    return count;
  }

  onPing(): void {
    const { deadlines, outbox, electionTimer } = this.#parts;
    for (const progress of this.#all()) this.#send(progress, []);
    deadlines.set('ping', outbox.nowMs + electionTimer.pingMs);
  }

  onAppendReply(from: ServerId, reply: AppendReply): void {
    const { log, commits, outbox } = this.#parts;
    const progress = this.#progressOf(from);
    if (progress === null) return;
    progress.hasReplied = true;
    progress.round = Math.max(progress.round, reply.round);
    if (reply.result === 'io-error') {
      progress.hasFailed = true;
      outbox.trace('warn', 'peer-disk-failed', { peer: from });
    } else if (reply.result === 'ok') {
      const index = reply.prevIndex + reply.entryCount;
      if (index > log.last) {
        outbox.trace('warn', 'reply-beyond-log', { peer: from, index });
        return;
      }
      progress.onAppended(index);
      commits.advance();
    } else if (progress.onRefused(reply.prevIndex, reply.logEnd, log.start)) {
      this.#parts.snapshots.onRefused(progress, reply);
    }
  }

  /**
   * A session with this peer has ended, or it can be talked to again: what was under way may be
   * lost. Where its log ends has to be asked.
   */
  onSessionChange(peer: ServerId): void {
    const progress = this.#progressOf(peer);
    if (progress === null) return;
    progress.onSessionLost();
    const isAskable = progress.next >= this.#parts.log.start;
    if (isAskable && this.#parts.sessions.isConnected(peer)) this.#send(progress, []);
  }

  /** To a server with nothing to be sent: its answer tells where its log ends. */
  greet(progress: Progress): void {
    if (this.#parts.sessions.isConnected(progress.id)) this.#send(progress, []);
  }

  /** At the end of a step: everybody gets what is new. */
  settle(): void {
    const { member, outbox, deadlines, electionTimer, commits, policy, sessions } = this.#parts;
    if (!member.isLeader) return;
    let isBroadcast = this.#peers.size > 0;
    for (const progress of this.#all()) {
      if (!sessions.isConnected(progress.id)) continue;
      this.#fill(progress);
      const isCommitNews = policy.immediateCommitSync && progress.commitSent < commits.index;
      if (isCommitNews || progress.roundSent < this.#round) this.#send(progress, []);
      isBroadcast &&= progress.sentMs === outbox.nowMs;
    }
    if (isBroadcast) deadlines.set('ping', outbox.nowMs + electionTimer.pingMs);
  }

  invariants(): void {
    const { log, member } = this.#parts;
    if (!member.isLeader) return;
    for (const progress of this.#peers.values()) progress.invariants(log.end);
    assert(log.termAt(log.last) === member.term, 'Leader: the end of the log is of another term');
  }

  #fill(progress: Progress): void {
    const { log, policy, snapshots } = this.#parts;
    if (progress.next < log.start) {
      snapshots.send(progress);
      return;
    }
    while (progress.next < log.end && progress.mayAppend(policy.inflightMax)) {
      const entries = log.slice(progress.next, policy.batchEntriesMax, policy.batchBytesMax);
      this.#send(progress, entries);
      progress.onSent(entries.length);
    }
  }

  /** `next` may lie before the log; then only that this server leads can be said. */
  #send(progress: Progress, entries: readonly Entry<T>[]): void {
    const { log, member, commits, outbox, storage } = this.#parts;
    const prevIndex = Math.max(progress.next, log.start) - 1;
    const request: AppendRequest<T> = {
      type: 'append-request',
      term: member.term,
      prevIndex,
      prevTerm: log.termAt(prevIndex),
      leaderCommit: commits.index,
      entries,
      round: this.#round,
    };
    progress.commitSent = commits.index;
    progress.roundSent = this.#round;
    progress.sentMs = outbox.nowMs;
    storage.send(progress.id, request);
  }

  #progressOf(id: ServerId): Progress | null {
    return this.#peers.get(id) ?? this.#parts.changes.progressOf(id);
  }

  #all(): readonly Progress[] {
    return [...this.#peers.values(), ...this.#parts.changes.catchingUp()];
  }
}
