/**
 * The election timer of the cluster: the same everywhere, changed through the log, in force at each
 * server when that entry is committed there, carried on in snapshots.
 */
import type { Event } from '../event.ts';
import { ELECTION_TIMER_MAX_MS, ELECTION_TIMER_MIN_MS } from '../options.ts';
import type { Parts } from '../parts.ts';

export class ElectionTimer<T> {
  readonly #parts: Parts<T>;
  #currentMs: number;
  /** Index of the entry that changes it and is not yet committed. */
  #pending: { readonly index: number; readonly electionTimerMs: number } | null = null;

  constructor(parts: Parts<T>, electionTimerMs: number) {
    this.#parts = parts;
    this.#currentMs = electionTimerMs;
  }

  get currentMs(): number {
    return this.#currentMs;
  }

  /** What it is about to become; null: no change is under way. */
  get pendingMs(): number | null {
    return this.#pending?.electionTimerMs ?? null;
  }

  get pingMs(): number {
    return Math.floor(this.#currentMs / this.#parts.policy.pingDivisor);
  }

  adopt(electionTimerMs: number): void {
    this.#currentMs = electionTimerMs;
    this.#pending = null;
  }

  onChange(event: Event<T> & { readonly type: 'change-election-timer' }): void {
    const { outbox, member, leader } = this.#parts;
    const { command, electionTimerMs } = event;
    if (!member.isLeader) outbox.complete(command, 'not-leader');
    else if (this.#pending !== null) outbox.complete(command, 'change-pending');
    else if (electionTimerMs < ELECTION_TIMER_MIN_MS || electionTimerMs > ELECTION_TIMER_MAX_MS) {
      outbox.complete(command, 'out-of-range');
    } else if (electionTimerMs > this.#currentMs * 2) {
      // A large step at once would leave followers of the old timer behind.
      outbox.complete(command, 'increase-too-large');
    } else if (electionTimerMs !== this.#currentMs) {
      const index = leader.append({ kind: 'timer', electionTimerMs });
      this.#pending = { index, electionTimerMs };
      outbox.complete(command, 'success');
    } else outbox.complete(command, 'success');
  }

  onCommitted(electionTimerMs: number): void {
    const { outbox } = this.#parts;
    this.adopt(electionTimerMs);
    outbox.trace('info', 'election-timer', { electionTimerMs });
  }

  /** The log from `index` on is gone, and with it perhaps the change. */
  onTruncated(index: number): void {
    if (this.#pending !== null && this.#pending.index >= index) this.#pending = null;
  }
}
