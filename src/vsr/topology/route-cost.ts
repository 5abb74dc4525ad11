/**
 * What a route costs: how long after the sending of a prepare the acknowledgements of the backups
 * came in, disks included. Measured by the primary, two operations (a pair) at a time because an
 * exploration lasts that long.
 */
import { PIPELINE_MAX } from '../../engine/index.ts';
import { assert } from '../../stdx/index.ts';

/** Counted for an acknowledgement that did not come: ten hours, ns. */
export const MISSING_NS: number = 10 * 3600 * 1_000_000_000;

/** Of one operation (or an average), ns. */
export interface Cost {
  /** The lower median of all replicas, the primary counting as 0: when the quorum was complete. */
  readonly median: number;
  readonly maximum: number;
  readonly sum: number;
}

/** `delays` has one element per replica; it is sorted in place. */
export function costOf(delays: Float64Array): Cost {
  assert(delays.length > 0, 'costOf: no replica');
  delays.sort();
  return {
    median: delays[(delays.length - 1) >> 1],
    maximum: delays[delays.length - 1],
    sum: delays.reduce((sum, delay) => sum + delay, 0),
  };
}

/**
 * Whether `a` is worth a change from `b`: first the median, then the maximum (more than 10 %
 * better), then the sum (more than 5 %). What differs less is noise and counts as equal.
 */
export function isBetter(a: Cost, b: Cost): boolean {
  if (a.median < 0.9 * b.median) return true;
  if (b.median < 0.9 * a.median) return false;
  if (a.maximum < 0.9 * b.maximum) return true;
  if (b.maximum < 0.9 * a.maximum) return false;
  return a.sum < 0.95 * b.sum;
}

/** `(weight · a + b) / (weight + 1)`. */
export function blend(a: Cost, b: Cost, weight: number): Cost {
  const mix = (x: number, y: number): number => (weight * x + y) / (weight + 1);
  return {
    median: mix(a.median, b.median),
    maximum: mix(a.maximum, b.maximum),
    sum: mix(a.sum, b.sum),
  };
}

export interface MeasuredPair {
  /** The even operation of the pair. */
  readonly even: number;
  /** One per operation of the pair that was acknowledged at all. */
  readonly costs: readonly Cost[];
}

interface Record {
  /** Even operation; −1 while unused. */
  even: number;
  /** Acknowledgements still missing; 0 when it has been handed out. */
  missing: number;
  /** Of the even and the odd operation; by replica, ns. */
  readonly delays: readonly [Float64Array, Float64Array];
}

/** The last 2 × {@link PIPELINE_MAX} operations: no more can be on their way. */
export class AckHistory {
  readonly #replicaCount: number;
  readonly #records: readonly Record[];
  #primary: number = 0;

  constructor(replicaCount: number) {
    this.#replicaCount = replicaCount;
    this.#records = Array.from({ length: PIPELINE_MAX }, () => ({
      even: -1,
      missing: 0,
      delays: [new Float64Array(replicaCount), new Float64Array(replicaCount)],
    }));
  }

  clear(primary: number): void {
    this.#primary = primary;
    for (const record of this.#records) record.even = -1;
  }

  /**
   * Learns one acknowledgement. Returns a pair that is complete with it, or that had to give way
   * with acknowledgements missing; else null.
   */
  learn(op: number, replica: number, delayNs: number): MeasuredPair | null {
    assert(delayNs >= 0, 'AckHistory: an acknowledgement before the prepare');
    if (replica === this.#primary) return null;
    const even = op - (op % 2);
    const record = this.#records[(even / 2) % PIPELINE_MAX];
    if (record.even > even) return null;
    let measured: MeasuredPair | null = null;
    if (record.even < even) {
      if (record.even !== -1 && record.missing > 0) measured = this.#finish(record);
      this.#begin(record, even);
    }
    const delays = record.delays[op % 2];
    if (record.missing === 0 || delays[replica] !== MISSING_NS) return measured;
    delays[replica] = Math.min(delayNs, MISSING_NS - 1);
    record.missing--;
    return record.missing === 0 ? this.#finish(record) : measured;
  }

  #begin(record: Record, even: number): void {
    record.even = even;
    record.missing = 2 * (this.#replicaCount - 1);
    for (const delays of record.delays) {
      delays.fill(MISSING_NS);
      delays[this.#primary] = 0;
    }
  }

  #finish(record: Record): MeasuredPair {
    const silent = (this.#replicaCount - 1) * MISSING_NS;
    const costs = record.delays.map(costOf).filter((cost) => cost.sum < silent);
    record.missing = 0;
    return { even: record.even, costs };
  }
}
