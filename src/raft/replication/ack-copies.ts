/**
 * How a follower that answers somebody learns of a commit without being told. While a command of
 * its own is under way it asks the other followers to send it their acknowledgements, too; what a
 * majority has durably, itself included, is committed as soon as it knows of it. That saves it the
 * way over the leader: acknowledgement there, commit index back.
 *
 * Why that is safe: an acknowledgement says that the sender's log is that of the leader of its term
 * up to an index, durably. A follower counts those of its own term only, and only up to an entry of
 * that term in its own log, which is then the leader's log, too. That is the rule by which leaders
 * commit. So a follower may well know of a commit before its leader does, for which see `reads`.
 */
import type { ServerId } from '../entry.ts';
import type { AppendReply } from '../message.ts';
import { ACK_COPIES_MS } from '../options.ts';
import type { Parts } from '../parts.ts';

export class AckCopies<T> {
  readonly #parts: Parts<T>;
  /** What is here is of this term. */
  #term: number = 0;
  #askedMs: number = Number.NEGATIVE_INFINITY;
  /** Who wants this server's acknowledgements, and until when. */
  readonly #wanted: Map<ServerId, number> = new Map();
  /** What others have acknowledged, by their copies. */
  readonly #matches: Map<ServerId, number> = new Map();

  constructor(parts: Parts<T>) {
    this.#parts = parts;
  }

  /** A command is under way for somebody who waits here. */
  ask(): void {
    const { policy, member, outbox, log, sessions, storage } = this.#parts;
    if (!policy.ackCopies || member.isJoining || member.leader === null || member.isLeader) return;
    this.#turnToTerm();
    if (outbox.nowMs < this.#askedMs + ACK_COPIES_MS / 2) return;
    this.#askedMs = outbox.nowMs;
    for (const id of log.servers.keys()) {
      if (id === member.id || id === member.leader || !sessions.isConnected(id)) continue;
      storage.send(id, { type: 'ack-copies-request', term: member.term });
    }
  }

  onRequest(from: ServerId): void {
    const { log, outbox } = this.#parts;
    if (!log.servers.has(from)) return;
    this.#turnToTerm();
    this.#wanted.set(from, outbox.nowMs + ACK_COPIES_MS);
  }

  /** This server acknowledges something to the leader, once write `seq` is durable. */
  share(leader: ServerId, reply: AppendReply, seq: number): void {
    if (this.#wanted.size === 0 || reply.entryCount === 0) return;
    this.#turnToTerm();
    const { outbox, storage, sessions } = this.#parts;
    for (const [id, untilMs] of this.#wanted) {
      if (outbox.nowMs >= untilMs) this.#wanted.delete(id);
      else if (id !== leader && sessions.isConnected(id)) storage.send(id, reply, seq);
    }
  }

  /** Another follower's acknowledgement of this term. */
  onCopy(from: ServerId, reply: AppendReply): void {
    const { policy, commits } = this.#parts;
    if (!policy.ackCopies || reply.result !== 'ok') return;
    this.#turnToTerm();
    const index = reply.prevIndex + reply.entryCount;
    this.#matches.set(from, Math.max(index, this.#matches.get(from) ?? 0));
    commits.advance();
  }

  /** What each configured server has durably, as far as known here; empty: nobody was asked. */
  matches(): readonly number[] {
    const { log, member, storage } = this.#parts;
    this.#turnToTerm();
    if (this.#matches.size === 0) return [];
    return [...log.servers.keys()].map((id) =>
      id === member.id ? log.durableIndex(storage.synced) : (this.#matches.get(id) ?? 0),
    );
  }

  /** An acknowledgement is worth nothing in another term. */
  #turnToTerm(): void {
    const { term } = this.#parts.member;
    if (term === this.#term) return;
    this.#term = term;
    this.#askedMs = Number.NEGATIVE_INFINITY;
    this.#wanted.clear();
    this.#matches.clear();
  }
}
