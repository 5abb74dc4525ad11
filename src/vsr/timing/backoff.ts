/**
 * How long to wait before trying again: two round trips, and a part that doubles with every attempt
 * and is spread by chance, so that replicas do not try in step.
 */
import { assert, type Prng } from '../../stdx/index.ts';

const MS = 1_000_000;
/** Chance is drawn in microseconds: ten seconds are more nanoseconds than 32 bits can say. */
const US = 1000;

/** Bounds of the spread part, ns. */
const SPREAD_NS_MIN: number = 10 * MS;
const SPREAD_NS_MAX: number = 10_000 * MS;
/** Round trip before anything was measured, and the longest that is believed, ns. */
const RTT_NS_START: number = 300 * MS;
const RTT_NS_MAX: number = 60_000 * MS;

/** The attempts of one timer. */
export class Backoff {
  readonly #prng: Prng;
  #attempts: number = 0;

  constructor(prng: Prng) {
    this.#prng = prng;
  }

  /** Waits that were handed out since the last {@link reset}. */
  get attempts(): number {
    return this.#attempts;
  }

  /**
   * The wait before the next attempt, ns: 2 × `rttNs` + [10 ms … min(10 s, 10 ms × 2^attempts)].
   */
  next(rttNs: number): number {
    assert(rttNs >= 0, 'Backoff: negative round trip');
    this.#attempts++;
    // 2^10 × 10 ms is above the bound.
    const doubled = SPREAD_NS_MIN * (1 << Math.min(this.#attempts, 10));
    const spreadNsMax = Math.min(SPREAD_NS_MAX, doubled);
    const spreadUs = this.#prng.between(SPREAD_NS_MIN / US, spreadNsMax / US);
    return 2 * Math.min(rttNs, RTT_NS_MAX) + spreadUs * US;
  }

  /** What was tried has succeeded. */
  reset(): void {
    this.#attempts = 0;
  }
}

/** The round trip of the cluster: the median of the last one measured with each peer. */
export class RoundTrip {
  /** By replica, ns; NaN: not measured. */
  readonly #measuredNs: Float64Array;
  #medianNs: number = RTT_NS_START;

  constructor(replicaCount: number) {
    this.#measuredNs = new Float64Array(replicaCount).fill(Number.NaN);
  }

  /** Lower median, ns; the start value while nothing is known. */
  get medianNs(): number {
    return this.#medianNs;
  }

  /** A pong of `replica` came `rttNs` after its ping. */
  learn(replica: number, rttNs: number): void {
    assert(replica >= 0 && replica < this.#measuredNs.length, 'RoundTrip: no such replica');
    assert(rttNs >= 0, 'RoundTrip: the answer before the question');
    this.#measuredNs[replica] = Math.min(rttNs, RTT_NS_MAX);
    this.#update();
  }

  /** The link to `replica` is gone. */
  forget(replica: number): void {
    this.#measuredNs[replica] = Number.NaN;
    this.#update();
  }

  #update(): void {
    const known = this.#measuredNs.filter((rttNs) => !Number.isNaN(rttNs)).sort();
    this.#medianNs = known.length === 0 ? RTT_NS_START : known[(known.length - 1) >> 1];
  }
}
