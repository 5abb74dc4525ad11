/**
 * Runs a {@link Reconnect} by a timer. Activity only moves its deadline, and is frequent, so the
 * timer is not set anew for that: when it fires too early it is set for the rest.
 */
import type { Reconnect, ReconnectAction } from './reconnect.ts';

export class Watch {
  readonly #reconnect: Reconnect;
  readonly #nowMs: () => number;
  readonly #act: (action: ReconnectAction) => void;
  #timer: NodeJS.Timeout | null = null;
  #timerMs: number = 0;
  #stopped: boolean = false;

  constructor(reconnect: Reconnect, nowMs: () => number, act: (action: ReconnectAction) => void) {
    this.#reconnect = reconnect;
    this.#nowMs = nowMs;
    this.#act = act;
    this.arm();
  }

  /** After everything that can bring the deadline forward. */
  arm(): void {
    if (this.#stopped) return;
    const deadline = this.#reconnect.deadlineMs();
    if (deadline === null) {
      this.#clear();
      return;
    }
    if (this.#timer !== null && this.#timerMs <= deadline) return;
    this.#clear();
    this.#timerMs = deadline;
    const waitMs = Math.max(1, Math.ceil(deadline - this.#nowMs()));
    this.#timer = setTimeout(() => this.#onTimer(), Math.min(waitMs, 0x7fffffff));
  }

  #onTimer(): void {
    this.#timer = null;
    const action = this.#reconnect.run(this.#nowMs());
    if (action !== null) this.#act(action);
    this.arm();
  }

  #clear(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  stop(): void {
    this.#stopped = true;
    this.#clear();
  }
}
