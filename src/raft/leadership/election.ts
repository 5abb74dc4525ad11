/**
 * Who leads. A server that has not heard from a leader for an election timer and a bit of chance
 * first asks the others whether they would vote for it (pre-vote: nothing is written down, nobody
 * is disturbed), then stands in a new term. A leader that does not hear from a majority steps down.
 *
 * A request is not even looked at while a leader is heard: a server that comes back from a
 * partition, or was removed, cannot depose anybody. Who is asked and has the newer log says
 * nothing. Everything said here speaks of a term, and so waits for that term and vote to be
 * durable; the request also for the log it boasts of.
 */
import { assert } from '../../stdx/index.ts';
import type { ServerId } from '../entry.ts';
import type { VoteReply, VoteRequest } from '../message.ts';
import { PRE_VOTE_ROUNDS_MAX, UNCONFIRMED_PATIENCE } from '../options.ts';
import type { Parts } from '../parts.ts';
import { contactsNeeded, majority } from './quorum.ts';

export type ElectionReason = 'timeout' | 'leadership_transfer';

export class Election<T> {
  readonly #parts: Parts<T>;
  readonly #votes: Map<ServerId, ServerId> = new Map();
  #isPreVote: boolean = false;
  /** Pre-votes in a row that came to nothing: no majority granted them, no leader ended them. */
  #unansweredRounds: number = 0;
  /** When an append or a snapshot of the current leader came last. */
  #leaderContactMs: number = Number.NEGATIVE_INFINITY;
  /** Peers that have shown that they know pre-votes. */
  readonly #capable: Set<ServerId> = new Set();
  #startedMs: number | null = null;
  #wonMs: number | null = null;
  #reason: ElectionReason = 'timeout';

  constructor(parts: Parts<T>) {
    this.#parts = parts;
  }

  /** For the status page: the last election that this server started. */
  get history(): {
    readonly startedMs: number | null;
    readonly wonMs: number | null;
    readonly reason: ElectionReason;
  } {
    return { startedMs: this.#startedMs, wonMs: this.#wonMs, reason: this.#reason };
  }

  /** Whom a peer has given its vote in the election under way. */
  voteOf(peer: ServerId): ServerId | null {
    return this.#votes.get(peer) ?? null;
  }

  resetDeadline(): void {
    const { outbox, deadlines, electionTimer, prng, policy } = this.#parts;
    const jitterMs = prng.below(policy.electionRandomMs);
    const waitMs = electionTimer.currentMs * this.#patience();
    deadlines.set('election', outbox.nowMs + waitMs + jitterMs);
  }

  /** A valid message of the current term's leader has come. */
  onLeaderContact(): void {
    this.#leaderContactMs = this.#parts.outbox.nowMs;
    this.#unansweredRounds = 0;
    this.resetDeadline();
  }

  onDeadline(): void {
    const { member, leader, log } = this.#parts;
    // Whoever is being let in is needed for a quorum as soon as the log names it.
    if (member.isStopped || (member.isJoining && !log.servers.has(member.id))) return;
    if (!member.isLeader) {
      this.start({ isTransfer: false });
    } else if (leader.takeContacts() >= contactsNeeded(log.servers.size)) {
      this.resetDeadline();
    } else {
      this.#parts.outbox.trace('warn', 'quorum-lost', { term: member.term });
      this.becomeFollower();
      this.start({ isTransfer: false });
    }
  }

  /** Nobody listens where the leader was. What others think of it, their votes will tell. */
  onLeaderRefused(): void {
    const { member, outbox, deadlines, electionTimer, prng } = this.#parts;
    if (member.role !== 'follower') return;
    this.#leaderContactMs = Number.NEGATIVE_INFINITY;
    member.forgetLeader();
    const jitterMs = prng.below(Math.max(1, Math.floor(electionTimer.currentMs / 10)));
    deadlines.set('election', outbox.nowMs + jitterMs);
  }

  /** Stands for election, or asks first whether to; does nothing outside of the configuration. */
  start(options: { readonly isTransfer: boolean }): void {
    const { member, log, policy } = this.#parts;
    if (!log.servers.has(member.id)) {
      // Removed, but not told: nobody would vote for it.
      this.resetDeadline();
      return;
    }
    const isAlone = log.servers.size === 1;
    const asksFirst = policy.preVote !== 'off' && !isAlone && !options.isTransfer;
    this.#begin(asksFirst && !this.#isPreVoteHopeless(), options.isTransfer, true);
  }

  /** Steps down, or goes on following nobody in particular. */
  becomeFollower(): void {
    const { member, leader, changes, reads } = this.#parts;
    if (member.isLeader) {
      leader.close();
      changes.onOfficeLost();
      reads.onOfficeLost();
    }
    const wasFollower = member.role === 'follower';
    member.becomeFollower();
    if (!wasFollower) this.resetDeadline();
  }

  /** Steps 2 and 3 of what every message passes: whether it is from a time that matters. */
  onTerm(term: number): void {
    const { member, outbox } = this.#parts;
    assert(term > member.term, 'Election: not a newer term');
    outbox.trace('info', 'newer-term', { term });
    member.enterTerm(term);
    this.becomeFollower();
  }

  /** A vote request that is not to be looked at: it would depose a leader that is fine. */
  isDisruptive(request: VoteRequest): boolean {
    const { member } = this.#parts;
    if (request.isTransfer) return false;
    if (member.isLeader) return true;
    return member.role !== 'candidate' && this.hearsLeader();
  }

  /** A leader has been heard within the last election timer. */
  hearsLeader(): boolean {
    const { outbox, electionTimer } = this.#parts;
    return outbox.nowMs < this.#leaderContactMs + electionTimer.currentMs;
  }

  onVoteRequest(from: ServerId, request: VoteRequest): void {
    const { member, log, outbox } = this.#parts;
    assert(request.term === member.term, 'Election: vote request of another term');
    if (request.isPreVote) {
      this.#capable.add(from);
      if (log.isUpToDate(request.lastIndex, request.lastTerm)) this.#reply(from, from, true);
      else this.refuse(from, request);
      return;
    }
    const vote = this.voteInTerm();
    if (vote !== null) {
      this.#reply(from, vote, false);
    } else if (log.isUpToDate(request.lastIndex, request.lastTerm)) {
      member.giveVote(from);
      this.resetDeadline();
      outbox.trace('debug', 'vote', { term: member.term, candidate: from });
      this.#reply(from, from, false);
    } else this.refuse(from, request);
  }

  /** It gets no answer. */
  refuse(candidate: ServerId, { isPreVote }: VoteRequest): void {
    this.#parts.outbox.trace('debug', isPreVote ? 'pre-vote-refused' : 'vote-refused', {
      candidate,
    });
  }

  onVoteReply(from: ServerId, reply: VoteReply): void {
    const { member, log } = this.#parts;
    if (reply.isPreVote) this.#capable.add(from);
    if (member.role !== 'candidate' || !log.servers.has(from)) return;
    // A late answer to the question before is no vote.
    if (reply.isPreVote !== this.#isPreVote) return;
    this.#votes.set(from, reply.vote);
    this.#tally();
  }

  /** Whom this server has voted for in its term; asked before every vote. */
  voteInTerm(): ServerId | null {
    return this.#parts.member.vote;
  }

  /**
   * A server of which it is not certain that it is in at all, and that cannot ask first, takes its
   * time: each of its elections moves its term, which whoever admits it has to catch up with.
   */
  #patience(): number {
    const { policy, joining, member } = this.#parts;
    if (policy.preVote === 'on' || member.isLeader) return 1;
    return joining.isConfirmed() ? 1 : UNCONFIRMED_PATIENCE;
  }

  #begin(isPreVote: boolean, isTransfer: boolean, isFresh: boolean): void {
    const { member, outbox, log } = this.#parts;
    if (!isPreVote) member.enterTermAsCandidate();
    member.becomeCandidate(isFresh);
    if (isFresh) {
      this.#startedMs = outbox.nowMs;
      this.#wonMs = null;
      this.#reason = isTransfer ? 'leadership_transfer' : 'timeout';
    }
    this.#isPreVote = isPreVote;
    if (isPreVote) this.#unansweredRounds++;
    this.#votes.clear();
    this.#votes.set(member.id, member.id);
    this.resetDeadline();
    outbox.trace('info', isPreVote ? 'pre-vote' : 'election', { term: member.term });
    const request: VoteRequest = {
      type: 'vote-request',
      term: member.term,
      lastIndex: log.last,
      lastTerm: log.lastTerm,
      isTransfer,
      isPreVote,
    };
    for (const peer of log.servers.keys()) {
      if (peer !== member.id) this.#parts.storage.send(peer, request, log.seqAt(log.last));
    }
    this.#tally();
  }

  #tally(): void {
    const { member, log, outbox } = this.#parts;
    let granted = 0;
    for (const [voter, vote] of this.#votes) {
      if (vote === member.id && log.servers.has(voter)) granted++;
    }
    if (granted < majority(log.servers.size)) return;
    this.#unansweredRounds = 0;
    if (this.#isPreVote) {
      this.#begin(false, false, false);
      return;
    }
    this.#wonMs = outbox.nowMs;
    this.#parts.leader.open();
  }

  /**
   * `auto`: silence alone proves nothing, since peers that hear a leader or have a newer log are
   * silent too. Only while those that are connected and understand are no majority with this
   * server, those that are connected are one, and after some rounds, is it better not to ask.
   */
  #isPreVoteHopeless(): boolean {
    const { policy, log, member, sessions } = this.#parts;
    if (policy.preVote !== 'auto' || this.#unansweredRounds < PRE_VOTE_ROUNDS_MAX) return false;
    let connected = 1;
    let capable = 1;
    for (const peer of log.servers.keys()) {
      if (peer === member.id || !sessions.isConnected(peer)) continue;
      connected++;
      if (this.#capable.has(peer)) capable++;
    }
    const needed = majority(log.servers.size);
    return capable < needed && connected >= needed;
  }

  #reply(to: ServerId, vote: ServerId, isPreVote: boolean): void {
    const { member, storage } = this.#parts;
    storage.send(to, { type: 'vote-reply', term: member.term, vote, isPreVote });
  }
}
