/**
 * The timers of an engine on top of Node's, which know milliseconds and may fire a little early.
 * A timer that is armed again and again (that is what they are for) only moves its deadline; the
 * one Node timer behind it looks when it fires. A delay of 0 is no timer at all: it means right
 * after the current step.
 */
import type { TimerName } from '../engine/index.ts';
import { assert } from '../stdx/index.ts';

const NS_PER_MS = 1_000_000;

interface State {
  /** Monotonic nanoseconds; `null` while disarmed. */
  deadlineNs: number | null;
  /** When the Node timer fires, and that timer. */
  firesNs: number;
  timeout: NodeJS.Timeout | null;
}

export class Timers {
  readonly #monoNs: () => number;
  readonly #onTimer: (timer: TimerName) => void;
  readonly #states: Map<TimerName, State> = new Map();

  constructor(monoNs: () => number, onTimer: (timer: TimerName) => void) {
    this.#monoNs = monoNs;
    this.#onTimer = onTimer;
  }

  /** Reports the timer once, `afterNs` after `nowNs`; replaces an earlier deadline. */
  arm(timer: TimerName, nowNs: number, afterNs: number): void {
    assert(afterNs >= 0, 'Timers: negative delay');
    const state = this.#state(timer);
    if (afterNs === 0) {
      state.deadlineNs = null;
      this.#onTimer(timer);
      return;
    }
    state.deadlineNs = nowNs + afterNs;
    if (state.timeout !== null && state.firesNs <= state.deadlineNs) return;
    this.#schedule(timer, state, nowNs);
  }

  disarm(timer: TimerName): void {
    this.#state(timer).deadlineNs = null;
  }

  clear(): void {
    for (const state of this.#states.values()) {
      if (state.timeout !== null) clearTimeout(state.timeout);
      state.timeout = null;
      state.deadlineNs = null;
    }
  }

  #state(timer: TimerName): State {
    let state = this.#states.get(timer);
    if (state === undefined) {
      state = { deadlineNs: null, firesNs: 0, timeout: null };
      this.#states.set(timer, state);
    }
    return state;
  }

  #schedule(timer: TimerName, state: State, nowNs: number): void {
    assert(state.deadlineNs !== null, 'Timers: nothing to schedule');
    if (state.timeout !== null) clearTimeout(state.timeout);
    const delayMs = Math.max(1, Math.ceil((state.deadlineNs - nowNs) / NS_PER_MS));
    state.firesNs = state.deadlineNs;
    state.timeout = setTimeout(() => this.#fire(timer, state), delayMs);
  }

  #fire(timer: TimerName, state: State): void {
    state.timeout = null;
    if (state.deadlineNs === null) return;
    const nowNs = this.#monoNs();
    if (nowNs < state.deadlineNs) {
      this.#schedule(timer, state, nowNs);
      return;
    }
    state.deadlineNs = null;
    this.#onTimer(timer);
  }
}
