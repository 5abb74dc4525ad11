/**
 * How long it takes until a prepare has its quorum, and how much that varies: what a primary grants
 * a prepare before it sends it again.
 */
import { PREPARE_TIMEOUT_MAX_NS, PREPARE_TIMEOUT_MIN_NS } from './intervals.ts';

/** When nothing was measured yet, not even pings, ns. */
const USUAL_START_NS = 125_000_000;

export class QuorumTime {
  /** 0: not known yet. */
  #usualNs: number = 0;
  #varNs: number = 0;

  /** A quorum took `ns`. */
  measure(ns: number): void {
    if (this.#usualNs === 0) {
      this.#usualNs = ns;
      this.#varNs = ns / 2;
      return;
    }
    this.#varNs = (3 * this.#varNs + Math.abs(ns - this.#usualNs)) / 4;
    this.#usualNs = (7 * this.#usualNs + ns) / 8;
  }

  /** What to wait for a quorum; `roundTripNs`: what pings say, 0 when they say nothing yet. */
  timeoutNs(roundTripNs: number): number {
    const startNs = roundTripNs === 0 ? USUAL_START_NS : roundTripNs;
    const usualNs = this.#usualNs === 0 ? startNs : this.#usualNs;
    const ns = Math.max(2 * usualNs, usualNs + 4 * this.#varNs);
    return Math.min(Math.max(ns, PREPARE_TIMEOUT_MIN_NS), PREPARE_TIMEOUT_MAX_NS);
  }
}
