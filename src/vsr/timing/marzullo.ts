/**
 * Marzullo's agreement: given intervals, each claiming to hold the true value, the smallest
 * interval that the greatest number of them shares. Sources that disagree with the majority are
 * outvoted.
 */
import { assert } from '../../stdx/index.ts';

export interface Interval {
  readonly lower: number;
  readonly upper: number;
}

export interface Agreement extends Interval {
  /** How many intervals share it. */
  readonly count: number;
}

/**
 * Ends belong to their intervals: two that touch agree. Of several best stretches the narrowest
 * wins, then the lowest. Null without intervals.
 */
export function agree(intervals: readonly Interval[]): Agreement | null {
  let best: Agreement | null = null;
  // The best stretch begins where an interval begins, and ends with the first of its members.
  for (const { lower } of intervals) {
    let count = 0;
    let upper = Number.POSITIVE_INFINITY;
    for (const interval of intervals) {
      assert(interval.lower <= interval.upper, 'agree: an interval ends before it begins');
      if (interval.lower > lower || interval.upper < lower) continue;
      count++;
      upper = Math.min(upper, interval.upper);
    }
    const found = { lower, upper, count };
    if (best === null || isBetter(found, best)) best = found;
  }
  return best;
}

function isBetter(a: Agreement, b: Agreement): boolean {
  if (a.count !== b.count) return a.count > b.count;
  const difference = a.upper - a.lower - (b.upper - b.lower);
  return difference !== 0 ? difference < 0 : a.lower < b.lower;
}
