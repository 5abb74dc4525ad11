/**
 * What a Raft server keeps to itself and what must be known to tell two servers apart: followed
 * from outside, by listening to the calls between its parts. Each is checked against the number
 * that the part itself tells, where it tells one.
 */

import type { Msg, Parts, ServerId } from '../../../raft/index.ts';
import { assert } from '../../../stdx/index.ts';
import { letterText, type Payload } from './raft-text.ts';

interface Delayed {
  readonly seq: number;
  readonly peer: ServerId;
  readonly message: Msg<Payload>;
}

export interface PeerShadow {
  /** Last index of the last append with entries. */
  sentLast: number;
  /** Refusals in a row. */
  refusals: number;
}

const termOf = (message: Msg<Payload>): number | null => ('term' in message ? message.term : null);

export class RaftShadow {
  readonly #parts: Parts<Payload>;
  #delayed: Delayed[] = [];
  /** By the progress that the leader keeps of a peer. */
  readonly #peers: WeakMap<object, PeerShadow> = new WeakMap();

  constructor(parts: Parts<Payload>) {
    this.#parts = parts;
    const { storage } = parts;
    const send = storage.send.bind(storage);
    storage.send = (peer, message, seq = 0) => {
      this.#onSend(peer, message, seq);
      send(peer, message, seq);
    };
    const onSynced = storage.onSynced.bind(storage);
    storage.onSynced = (seq) => {
      const isNews = seq > storage.synced;
      onSynced(seq);
      if (isNews) this.#delayed = this.#delayed.filter((item) => this.#isWaiting(item));
    };
  }

  /** Messages that wait for the disk, and for which write. */
  delayed(): readonly Delayed[] {
    assert(this.#delayed.length === this.#parts.storage.delayedCount, 'RaftShadow: delayed');
    return this.#delayed;
  }

  peer(id: ServerId): PeerShadow {
    const progress = this.#parts.leader.peers.get(id);
    const shadow = progress === undefined ? undefined : this.#peers.get(progress);
    assert(shadow !== undefined, 'RaftShadow: no such peer');
    return shadow;
  }

  /** After every step: a leader may have begun to watch its peers. */
  onStep(): void {
    for (const id of this.#parts.leader.peers.keys()) this.#watch(id);
  }

  #onSend(peer: ServerId, message: Msg<Payload>, seq: number): void {
    const { storage } = this.#parts;
    const needed = termOf(message) === null ? seq : Math.max(seq, storage.termSeq());
    if (needed > storage.synced) this.#delayed.push({ seq: needed, peer, message });
    if (message.type !== 'append-request' || message.entries.length === 0) return;
    const shadow = this.#watch(peer);
    if (shadow !== null) shadow.sentLast = message.prevIndex + message.entries.length;
  }

  #isWaiting({ seq, message }: Delayed): boolean {
    const term = termOf(message);
    if (term !== null && term < this.#parts.member.term) return false;
    return seq > this.#parts.storage.synced;
  }

  #watch(id: ServerId): PeerShadow | null {
    const progress = this.#parts.leader.peers.get(id);
    if (progress === undefined) return null;
    const known = this.#peers.get(progress);
    if (known !== undefined) return known;
    const shadow: PeerShadow = { sentLast: 0, refusals: 0 };
    this.#peers.set(progress, shadow);
    const onRefused = progress.onRefused.bind(progress);
    progress.onRefused = (prevIndex, logEnd, logStart) => {
      const isNews = onRefused(prevIndex, logEnd, logStart);
      if (isNews) shadow.refusals++;
      return isNews;
    };
    const onAppended = progress.onAppended.bind(progress);
    progress.onAppended = (index) => {
      shadow.refusals = 0;
      return onAppended(index);
    };
    const onSnapshotInstalled = progress.onSnapshotInstalled.bind(progress);
    progress.onSnapshotInstalled = (index) => {
      shadow.refusals = 0;
      onSnapshotInstalled(index);
    };
    return shadow;
  }
}

/** In whatever order they wait: what is sent at once is on its way at once. */
export function delayedText(delayed: readonly Delayed[], rank: (seq: number) => string): string {
  const texts = delayed.map(({ seq, peer, message }) => {
    return `${rank(seq)}>${peer} ${letterText(message)}`;
  });
  return texts.sort().join(' ');
}
