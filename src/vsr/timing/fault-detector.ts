/**
 * Whether a peer that should be heard from regularly has been silent for too long: measured against
 * its own rhythm, so that a busy cluster notices within a few hundred milliseconds what an idle one
 * notices after a few heartbeats.
 *
 * A backup watches its primary (red: start a view change); a primary watches its own outgoing
 * prepares and commits (yellow: time for a heartbeat).
 */
import { assert } from '../../stdx/index.ts';

export type FaultColor = 'green' | 'yellow' | 'red';

export interface FaultDetectorOptions {
  /** An interval between signals counts as no less and no more than these, ns. */
  readonly intervalNsMin: number;
  readonly intervalNsMax: number;
}

export const FAULT_DETECTOR_DEFAULT: FaultDetectorOptions = {
  intervalNsMin: 100_000_000,
  intervalNsMax: 2_000_000_000,
};

/** Silence of more than so many average intervals. */
const YELLOW_INTERVALS = 1.5;
const RED_INTERVALS = 3;
/** Share of the past in the average: 4 of 5. */
const PAST_WEIGHT = 4;

export class FaultDetector {
  readonly #options: FaultDetectorOptions;
  /** Average between signals, ns. */
  #intervalNs: number;
  /** −1 before the first {@link reset}. */
  #heardNs: number = -1;
  #hasFailed: boolean = false;

  /** Nothing is known, and nothing may be asked, before {@link reset}. */
  constructor(options: FaultDetectorOptions = FAULT_DETECTOR_DEFAULT) {
    const { intervalNsMin, intervalNsMax } = options;
    assert(intervalNsMin > 0 && intervalNsMin <= intervalNsMax, 'FaultDetector: bad limits');
    this.#options = options;
    this.#intervalNs = intervalNsMax;
  }

  /** A new watch begins: as if heard right now, with the longest interval. */
  reset(nowNs: number): void {
    this.#intervalNs = this.#options.intervalNsMax;
    this.#heardNs = nowNs;
    this.#hasFailed = false;
  }

  /** The peer was heard. */
  signal(nowNs: number): void {
    const { intervalNsMin, intervalNsMax } = this.#options;
    const sample = Math.max(intervalNsMin, Math.min(intervalNsMax, this.#silenceNs(nowNs)));
    this.#intervalNs = (PAST_WEIGHT * this.#intervalNs + sample) / (PAST_WEIGHT + 1);
    this.#heardNs = nowNs;
    this.#hasFailed = false;
  }

  /** There is proof that the peer is gone: red until it is heard again. */
  fail(): void {
    this.#hasFailed = true;
  }

  color(nowNs: number): FaultColor {
    const silenceNs = this.#silenceNs(nowNs);
    if (this.#hasFailed || silenceNs > RED_INTERVALS * this.#intervalNs) return 'red';
    return silenceNs > YELLOW_INTERVALS * this.#intervalNs ? 'yellow' : 'green';
  }

  /** When the color changes next if nothing is heard, monotonic ns; Infinity when red. */
  nextChangeNs(nowNs: number): number {
    const color = this.color(nowNs);
    if (color === 'red') return Number.POSITIVE_INFINITY;
    const intervals = color === 'green' ? YELLOW_INTERVALS : RED_INTERVALS;
    return this.#heardNs + Math.floor(intervals * this.#intervalNs) + 1;
  }

  #silenceNs(nowNs: number): number {
    assert(this.#heardNs !== -1, 'FaultDetector: reset comes first');
    assert(nowNs >= this.#heardNs, 'FaultDetector: time went backwards');
    return nowNs - this.#heardNs;
  }
}
