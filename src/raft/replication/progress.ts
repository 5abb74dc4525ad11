/**
 * What a leader knows of one peer's log: up to where it is certainly the same, and what to send
 * next.
 *
 * `probing`: where the logs agree is a guess. One append at a time, `next` moves with the answers.
 * `replicating`: the guess was right. Appends follow each other without waiting, `next` runs ahead.
 * `snapshot`: what the peer needs is no longer in the log; one snapshot is under way to it.
 */
import { assert } from '../../stdx/index.ts';
import type { ServerId } from '../entry.ts';

export type ProgressState = 'probing' | 'replicating' | 'snapshot';

/** Limits the step back to what a log in memory may be long. */
const REFUSALS_MAX = 30;

export class Progress {
  readonly id: ServerId;
  #state: ProgressState = 'replicating';
  #next: number;
  #match: number = 0;
  /** Last index of each append with entries that has not been answered. */
  #inflight: number[] = [];
  /** Answered an append since the leader last looked. */
  hasReplied: boolean = false;
  /** Newest round of appends that it has answered. */
  round: number = 0;
  /** Newest round that was asked of it. */
  roundSent: number = 0;
  /** Commit index that the last append to it carried. */
  commitSent: number = 0;
  sentMs: number = Number.NEGATIVE_INFINITY;
  lastMessageMs: number | null = null;
  /** Snapshot under way, or sent last. */
  snapshotIndex: number = 0;
  snapshotSentMs: number = Number.NEGATIVE_INFINITY;
  /** The log end it told after refusing to go on from a snapshot that it had acknowledged. */
  contradictedAt: number | null = null;
  #snapshotAcknowledged: number = 0;
  /** In a row. */
  #refusals: number = 0;
  /** Cannot write; nothing is sent to it until it reconnects. */
  hasFailed: boolean = false;

  constructor(id: ServerId, next: number) {
    this.id = id;
    this.#next = next;
  }

  get state(): ProgressState {
    return this.#state;
  }

  get next(): number {
    return this.#next;
  }

  get match(): number {
    return this.#match;
  }

  get inflightCount(): number {
    return this.#inflight.length;
  }

  /** Whether one more append with entries may leave. */
  mayAppend(inflightMax: number): boolean {
    if (this.hasFailed || this.#state === 'snapshot') return false;
    return this.#inflight.length < (this.#state === 'probing' ? 1 : inflightMax);
  }

  /** `count` entries from `next` on have left. */
  onSent(count: number): void {
    assert(count > 0, 'Progress: nothing sent');
    this.#inflight.push(this.#next + count - 1);
    if (this.#state === 'replicating') this.#next += count;
  }

  /** It has everything up to `index` durably. True: that is news. */
  onAppended(index: number): boolean {
    this.#inflight = this.#inflight.filter((last) => last > index);
    const hasSnapshot = this.#state === 'snapshot' && index >= this.snapshotIndex;
    // Of what was asked; an older answer says nothing of where the logs part.
    const hasAgreed = this.#state === 'probing' && index >= this.#next - 1;
    if (hasAgreed || hasSnapshot) {
      this.#inflight = [];
      this.#state = 'replicating';
    }
    this.contradictedAt = null;
    this.#refusals = 0;
    this.#next = Math.max(this.#next, index + 1);
    if (index <= this.#match) return false;
    this.#match = index;
    return true;
  }

  /**
   * It does not have the entry at `prevIndex`. False: an old answer, which must not undo what newer
   * ones have taught. While replicating any position beyond `match` is news; while probing only the
   * one asked for, else each duplicate would take `next` one further back. Each refusal in a row
   * doubles the step; no further than to the start of the log, unless that is refused.
   */
  onRefused(prevIndex: number, logEnd: number, logStart: number): boolean {
    if (this.#state === 'snapshot') return false;
    if (this.#state === 'probing' && prevIndex !== this.#next - 1) return false;
    if (prevIndex <= this.#match) return false;
    const nearest = Math.min(prevIndex, logEnd, this.#next);
    const floor = Math.max(this.#match + 1, nearest >= logStart ? logStart : 1);
    this.#next = Math.max(floor, nearest - (2 ** this.#refusals - 1));
    this.#refusals = Math.min(this.#refusals + 1, REFUSALS_MAX);
    this.#state = 'probing';
    this.#inflight = [];
    return true;
  }

  onSnapshotSent(index: number, nowMs: number): void {
    this.#state = 'snapshot';
    this.#inflight = [];
    this.snapshotIndex = index;
    this.snapshotSentMs = nowMs;
  }

  /** It says it has installed the snapshot that ends at `index`; what follows will show. */
  onSnapshotInstalled(index: number): void {
    this.#state = 'probing';
    this.#inflight = [];
    this.#next = index + 1;
    this.#refusals = 0;
    this.#snapshotAcknowledged = index;
  }

  /** The snapshot on its way to it will not arrive any more. */
  onSnapshotLost(): void {
    assert(this.#state === 'snapshot', 'Progress: no snapshot under way');
    this.#state = 'probing';
    this.snapshotIndex = 0;
  }

  /** Its acknowledgement of the snapshot up to `index` cannot be true. */
  hasAcknowledgedSnapshot(index: number): boolean {
    return this.#snapshotAcknowledged === index;
  }

  /** A session has ended, and what was under way may be lost. */
  onSessionLost(): void {
    if (this.#match > 0) this.#next = this.#match + 1;
    this.#state = 'probing';
    this.#inflight = [];
    this.snapshotIndex = 0;
    this.hasFailed = false;
  }

  invariants(logEnd: number): void {
    assert(this.#match < this.#next, 'Progress: next is what the peer has');
    assert(this.#next <= logEnd, 'Progress: next is beyond the log');
  }
}
