/**
 * A primary whose disk is full: it takes no requests any more, so another one should lead, but only
 * one that can do better. What is known of the others' disks comes with their pings and pongs. When
 * those that have room are as many as a commit needs, it gives up at once; while some are merely
 * not heard of, after the time that any primary gets; and never while no other has room, or too
 * many are known to have none: the next one would have to give up as well.
 */
import type { Parts } from '../parts.ts';
import { ABDICATE_NS, RELIEF_NS } from '../timing/intervals.ts';

export class Relief {
  readonly #parts: Parts;
  /** Since when it leads with a full disk; −1: it does not. */
  #sinceNs: number = -1;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** At the end of every step. */
  watch(): void {
    const { member, checkpoints, deadlines, outbox } = this.#parts;
    if (!member.isNormalPrimary || member.isSolo || !checkpoints.isReadOnly) {
      if (this.#sinceNs < 0) return;
      this.#sinceNs = -1;
      deadlines.clear('relief');
      return;
    }
    if (deadlines.isSet('relief')) return;
    const { monoNs } = outbox.now;
    if (this.#sinceNs < 0) this.#sinceNs = monoNs;
    // The pongs tell who has room.
    deadlines.setEarlier('ping', monoNs);
    deadlines.set('relief', monoNs + RELIEF_NS);
  }

  onDeadline(): void {
    const { member, checkpoints, outbox, primary } = this.#parts;
    if (!member.isNormalPrimary || !checkpoints.isReadOnly) return;
    const { isSure, isPossible } = this.#prospects();
    const isLate = outbox.now.monoNs >= this.#sinceNs + ABDICATE_NS;
    if (isSure || (isPossible && isLate)) primary.abdicate('disk-full');
  }

  /** Whether giving up would be of no use: the disk is full, and so are too many others. */
  get isHopeless(): boolean {
    return this.#parts.checkpoints.isReadOnly && !this.#prospects().isPossible;
  }

  #prospects(): { readonly isSure: boolean; readonly isPossible: boolean } {
    const { member, peers } = this.#parts;
    const { replication } = member.quorums;
    let free = 0;
    let unknown = 0;
    for (let replica = 0; replica < member.replicaCount; replica++) {
      if (replica === member.replica || peers.isFull(replica)) continue;
      if (peers.isUp(replica) && peers.isTrusted(replica)) free++;
      else if (!peers.isStranger(replica)) unknown++;
    }
    return { isSure: free >= replication, isPossible: free > 0 && free + unknown >= replication };
  }
}
