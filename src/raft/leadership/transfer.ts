/**
 * A leader that gives up its office on purpose: before it stops, leaves, or is busy writing a large
 * snapshot. It tells the most suitable other to stand at once, without asking first, which takes a
 * round trip instead of an election timer. Nothing depends on its working.
 */
import type { ServerId } from '../entry.ts';
import type { Event } from '../event.ts';
import type { Parts } from '../parts.ts';

export class Transfer<T> {
  readonly #parts: Parts<T>;

  constructor(parts: Parts<T>) {
    this.#parts = parts;
  }

  onTransfer(event: Event<T> & { readonly type: 'transfer' }): void {
    const { member, outbox } = this.#parts;
    const { command, target, reason } = event;
    if (!member.isLeader) outbox.complete(command, 'not-leader');
    else outbox.complete(command, this.abdicate(reason, target) ? 'success' : 'no-target');
  }

  /**
   * Hands over to `target`, or to whom it chooses, and follows from now on. False: nobody is fit.
   */
  abdicate(reason: string, target: ServerId | null = null): boolean {
    const { member, storage, election, outbox } = this.#parts;
    const successor = this.#choose(target);
    if (successor === null) return false;
    outbox.trace('info', 'transfer', { term: member.term, to: successor, reason });
    storage.send(successor, { type: 'become-leader', term: member.term, comment: reason });
    storage.note({ type: 'note', note: 'transfer leadership' });
    election.becomeFollower();
    return true;
  }

  onBecomeLeader(from: ServerId): void {
    const { member, election, outbox } = this.#parts;
    if (member.role !== 'follower') return;
    outbox.trace('info', 'asked-to-lead', { from });
    election.start({ isTransfer: true });
  }

  /**
   * Of those that can be reached: with the most of the log, then with what is committed, then any.
   */
  #choose(target: ServerId | null): ServerId | null {
    const { leader, sessions, prng } = this.#parts;
    const reachable = leader.stablePeers().filter((peer) => sessions.isConnected(peer.id));
    if (target !== null) return reachable.some((peer) => peer.id === target) ? target : null;
    if (reachable.length === 0) return null;
    const best = Math.max(...reachable.map((peer) => peer.match));
    return prng.pick(reachable.filter((peer) => peer.match === best)).id;
  }
}
