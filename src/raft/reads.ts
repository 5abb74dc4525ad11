/**
 * Reads that never touch the log. A local read sees whatever is applied here, on any server. A
 * linearizable read sees everything that was acknowledged before it began: the leader notes how far
 * that may go, makes sure that it still leads, and lets the read go when that much is applied.
 *
 * Making sure is one round of appends that a majority answers; all reads that come while a round is
 * under way share the next. A dialect that cannot tell rounds apart sends a no-op through the log.
 * A follower asks the leader for the index. A new leader waits for its first commit, without which
 * its commit index may be behind what its predecessor acknowledged.
 */
import type { ServerId } from './entry.ts';
import type { Event, Token } from './event.ts';
import { majority } from './leadership/quorum.ts';
import type { ReadIndexReply } from './message.ts';
import { READS_MAX } from './options.ts';
import type { Parts } from './parts.ts';

interface Read {
  readonly token: Token;
  /** Who has passed it on; null: asked for here. */
  readonly from: ServerId | null;
}

/** Reads whose index is fixed but for the proof that this server still leads. */
interface Confirmation {
  readonly reads: readonly Read[];
  /** To be committed, if it is not. */
  readonly index: number;
  /** To be answered; null: the entry at `index` is the proof. */
  readonly round: number | null;
}

export class Reads<T> {
  readonly #parts: Parts<T>;
  #queued: Read[] = [];
  #confirmation: Confirmation | null = null;
  /** Confirmed, and waiting for the machine. */
  #waiting: { readonly token: Token; readonly index: number }[] = [];
  /** Passed on to the leader: token → when. */
  readonly #forwarded: Map<Token, number> = new Map();

  constructor(parts: Parts<T>) {
    this.#parts = parts;
  }

  get count(): number {
    const confirming = this.#confirmation?.reads.length ?? 0;
    return this.#queued.length + confirming + this.#waiting.length + this.#forwarded.size;
  }

  onRead(event: Event<T> & { readonly type: 'read' }): void {
    const { member, commits, policy, storage, outbox } = this.#parts;
    const { read, mode } = event;
    const isUsable = !member.isStopped && !member.isJoining && this.count < READS_MAX;
    if (!isUsable) this.#answer(read, false, 0);
    else if (mode === 'local') this.#answer(read, true, commits.applied);
    else if (member.isLeader) this.#queued.push({ token: read, from: null });
    else if (member.leader === null || !policy.readForwarding) this.#answer(read, false, 0);
    else {
      this.#forwarded.set(read, outbox.nowMs);
      storage.send(member.leader, { type: 'read-index-request', read });
    }
  }

  onRequest(from: ServerId, token: Token): void {
    const { member, storage } = this.#parts;
    if (member.isLeader && this.count < READS_MAX) this.#queued.push({ token, from });
    else storage.send(from, { type: 'read-index-reply', read: token, success: false, index: 0 });
  }

  onReply(reply: ReadIndexReply): void {
    if (!this.#forwarded.delete(reply.read)) return;
    if (reply.success) this.#wait(reply.read, reply.index);
    else this.#answer(reply.read, false, 0);
  }

  /** At the end of a step: lets go what is confirmed, begins with what is queued. */
  settle(): void {
    const { leader, commits } = this.#parts;
    if (!leader.isEstablished) return;
    for (;;) {
      if (this.#confirmation === null && this.#queued.length > 0) {
        this.#confirmation = this.#begin();
        this.#queued = [];
      }
      if (this.#confirmation === null || !this.isConfirmed(this.#confirmation.round)) return;
      // What is not committed may yet be cut off, and then nobody ever applies that much.
      if (commits.index < this.#confirmation.index) return;
      const { reads, index } = this.#confirmation;
      this.#confirmation = null;
      for (const read of reads) this.#confirmed(read, index);
    }
  }

  /** A majority has answered this round, so nobody else leads a newer term that commits. */
  isConfirmed(round: number | null): boolean {
    const { leader, log } = this.#parts;
    return round === null || leader.answered(round) >= majority(log.servers.size);
  }

  /**
   * Up to where anything may have been acknowledged, by whomever: with copies of acknowledgements a
   * follower may have answered for what this leader does not know to be committed yet.
   */
  floor(): number {
    const { policy, log, commits } = this.#parts;
    return policy.ackCopies ? log.last : commits.index;
  }

  onApplied(): void {
    const { applied } = this.#parts.commits;
    const ready = this.#waiting.filter((read) => read.index <= applied);
    this.#waiting = this.#waiting.filter((read) => read.index > applied);
    for (const { token } of ready) this.#answer(token, true, applied);
  }

  onOfficeLost(): void {
    const { storage } = this.#parts;
    for (const { token, from } of [...this.#queued, ...(this.#confirmation?.reads ?? [])]) {
      if (from === null) this.#answer(token, false, 0);
      else storage.send(from, { type: 'read-index-reply', read: token, success: false, index: 0 });
    }
    this.#queued = [];
    this.#confirmation = null;
  }

  /** Now and then: what the leader has not answered, it will not. */
  upkeep(): void {
    const { outbox, electionTimer, policy } = this.#parts;
    const limitMs = electionTimer.currentMs * policy.commandTimeoutTimers;
    for (const [token, sinceMs] of this.#forwarded) {
      if (outbox.nowMs - sinceMs <= limitMs) continue;
      this.#forwarded.delete(token);
      this.#answer(token, false, 0);
    }
  }

  onStopped(): void {
    for (const token of this.#forwarded.keys()) this.#answer(token, false, 0);
    for (const { token } of this.#waiting) this.#answer(token, false, 0);
    this.#forwarded.clear();
    this.#waiting = [];
  }

  #begin(): Confirmation {
    const { leader, policy } = this.#parts;
    const reads = this.#queued;
    if (policy.readConfirmation === 'round') {
      return { reads, index: this.floor(), round: leader.nextRound() };
    }
    return { reads, index: leader.append({ kind: 'noop' }), round: null };
  }

  #confirmed(read: Read, index: number): void {
    const { token, from } = read;
    if (from === null) this.#wait(token, index);
    else {
      const reply = { type: 'read-index-reply', read: token, success: true, index } as const;
      this.#parts.storage.send(from, reply);
    }
  }

  #wait(token: Token, index: number): void {
    const { applied } = this.#parts.commits;
    if (index <= applied) this.#answer(token, true, applied);
    else this.#waiting.push({ token, index });
  }

  #answer(read: Token, success: boolean, index: number): void {
    this.#parts.outbox.emit({ type: 'read-ready', read, success, index });
  }
}
