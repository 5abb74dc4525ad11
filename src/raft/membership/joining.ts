/**
 * Coming and going, as the one that comes or goes. A joining server asks every address it knows of,
 * again and again, and learns more addresses from those that turn it away; it is in when the leader
 * says so, when a committed configuration names it, or when it is elected. A leaving one asks to be
 * removed; if it leads, it first finds a successor, since a leader does not remove itself.
 */
import type { ServerId } from '../entry.ts';
import type { Token } from '../event.ts';
import type { AddServerReply, RemoveServerReply } from '../message.ts';
import { JOIN_RETRY_MS, REMOTES_MAX } from '../options.ts';
import type { Parts } from '../parts.ts';

export class Joining<T> {
  readonly #parts: Parts<T>;
  /** Addresses to ask. */
  readonly #remotes: Set<string> = new Set();
  #leaveCommand: Token | null = null;

  constructor(parts: Parts<T>) {
    this.#parts = parts;
  }

  get remotes(): ReadonlySet<string> {
    return this.#remotes;
  }

  open(remotes: readonly string[]): void {
    this.#addRemotes(remotes);
    this.#armJoin();
  }

  onJoinDeadline(): void {
    const { member, outbox, log, storage } = this.#parts;
    if (!member.isJoining && this.isConfirmed()) {
      this.#remotes.clear();
      this.#parts.sessions.reconcile();
      return;
    }
    const request = { type: 'add-server-request', address: member.address } as const;
    for (const address of this.#remotes) outbox.sendToAddress(address, request);
    if (!member.isJoining) {
      for (const id of log.servers.keys()) if (id !== member.id) storage.send(id, request);
    }
    this.#armJoin();
  }

  /**
   * What the log says of this server's membership is committed, as far as known here. Until then it
   * keeps asking: the entry that names it may come to nothing, and then nobody would think of it.
   */
  isConfirmed(): boolean {
    const { member, log, commits } = this.#parts;
    return log.serversAt(commits.index).has(member.id);
  }

  /** Begins life as a member, by a log that may yet have to be confirmed. */
  openMember(): void {
    if (!this.isConfirmed()) this.#armJoin();
  }

  onAddReply(reply: AddServerReply): void {
    const { member, sessions, deadlines, outbox, electionTimer } = this.#parts;
    if (!member.isJoining && this.isConfirmed()) return;
    if (!reply.success) {
      // Whoever leads next may take it at once.
      deadlines.set('join', outbox.nowMs + Math.min(JOIN_RETRY_MS, electionTimer.currentMs));
      this.#addRemotes(reply.remotes);
      sessions.reconcile();
    } else if (member.isJoining) this.complete();
  }

  /** In: from now on a member like any other. */
  complete(): void {
    const { member, election, commits, sessions, outbox } = this.#parts;
    member.joined();
    this.#remotes.clear();
    election.resetDeadline();
    outbox.trace('info', 'joined');
    sessions.reconcile();
    commits.deliver();
  }

  onLeave(command: Token): void {
    const { member, outbox, log } = this.#parts;
    if (member.isStopped) outbox.complete(command, 'shutdown');
    else if (member.isJoining) outbox.complete(command, 'joining');
    else if (member.phase === 'leaving') outbox.complete(command, 'already-leaving');
    else if (log.servers.size <= 1) outbox.complete(command, 'would-be-empty');
    else {
      this.#leaveCommand = command;
      this.begin();
    }
  }

  /** Begins to leave, unless it does so already or would leave nobody. */
  begin(): void {
    const { member, log } = this.#parts;
    if (member.phase !== 'member' || log.servers.size <= 1) return;
    member.leave();
    this.onLeaveDeadline();
  }

  onLeaveDeadline(): void {
    const { member, transfer, log, storage, deadlines, outbox, prng, electionTimer } = this.#parts;
    if (member.phase !== 'leaving') return;
    let delayMs = electionTimer.currentMs;
    if (member.isLeader) {
      transfer.abdicate('leaving');
      const tenthMs = Math.max(1, Math.floor(electionTimer.currentMs / 10));
      delayMs = tenthMs + prng.below(tenthMs);
    } else {
      for (const peer of log.servers.keys()) {
        if (peer === member.id) continue;
        storage.send(peer, { type: 'remove-server-request', server: member.id });
      }
    }
    deadlines.set('leave', outbox.nowMs + delayMs);
  }

  onRemoveReply(from: ServerId, reply: RemoveServerReply): void {
    const { outbox } = this.#parts;
    const { success, target } = reply;
    outbox.trace('info', 'remove-reply', { from, success, comment: reply.comment ?? '' });
    if (!success || (target !== null && !this.#isDismissal(target))) return;
    this.onRemoved();
  }

  /** Out for ever: somebody has said so, or the log does, which it hardly ever comes to see. */
  onRemoved(): void {
    const { outbox, storage } = this.#parts;
    if (this.#leaveCommand !== null) outbox.complete(this.#leaveCommand, 'success');
    storage.note({ type: 'note', note: 'left' });
    this.#parts.stop('left');
  }

  /**
   * Who is named is told unasked that it has been out for some time. It knows better while it hears
   * a leader, and goes on asking to be let in if it has never been in.
   */
  #isDismissal(target: ServerId): boolean {
    const { member, election } = this.#parts;
    if (target !== member.id || member.isLeader || election.hearsLeader()) return false;
    return !member.isJoining && this.isConfirmed();
  }

  #addRemotes(addresses: readonly string[]): void {
    for (const address of addresses) {
      if (address === this.#parts.member.address) continue;
      if (this.#remotes.size < REMOTES_MAX) this.#remotes.add(address);
    }
  }

  #armJoin(): void {
    const { deadlines, outbox } = this.#parts;
    deadlines.set('join', outbox.nowMs + JOIN_RETRY_MS);
  }
}
