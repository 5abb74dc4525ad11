/** What has to be done at which time, and the one timer that the driver keeps for all of it. */
import type { Outbox } from './outbox.ts';

export type DeadlineName = 'election' | 'ping' | 'upkeep' | 'join' | 'leave';

export class Deadlines {
  readonly #deadlines: Map<DeadlineName, number> = new Map();
  #armedMs: number | null = null;

  set(name: DeadlineName, deadlineMs: number): void {
    this.#deadlines.set(name, deadlineMs);
  }

  clear(name: DeadlineName): void {
    this.#deadlines.delete(name);
  }

  clearAll(): void {
    this.#deadlines.clear();
  }

  at(name: DeadlineName): number | null {
    return this.#deadlines.get(name) ?? null;
  }

  /** The time has come; it comes once. */
  take(name: DeadlineName, nowMs: number): boolean {
    const deadline = this.#deadlines.get(name);
    if (deadline === undefined || deadline > nowMs) return false;
    this.#deadlines.delete(name);
    return true;
  }

  /**
   * Tells the driver of the next one, if it is another than it knows. `isTick`: its timer is up.
   */
  arm<T>(outbox: Outbox<T>, isTick: boolean): void {
    if (isTick) this.#armedMs = null;
    const next = Math.min(...this.#deadlines.values());
    if (next === Number.POSITIVE_INFINITY || next === this.#armedMs) return;
    this.#armedMs = next;
    outbox.emit({ type: 'set-timer', deadlineMs: next });
  }
}
