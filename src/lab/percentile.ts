/** Latencies of a run, kept one by one: a run has thousands of batches, not millions. */
import { assert } from '../stdx/index.ts';

export interface Percentiles {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** Nearest-rank percentiles of `samples`, in their unit; all zero for none. */
export function percentiles(samples: readonly number[]): Percentiles {
  const sorted = Float64Array.from(samples).sort();
  const count = sorted.length;
  if (count === 0) return { count, p50: 0, p99: 0, max: 0 };
  return { count, p50: rank(sorted, 50), p99: rank(sorted, 99), max: sorted[count - 1] };
}

/** The middle of `samples` (mean of the two middle ones), for repeated runs. */
export function median(samples: readonly number[]): number {
  assert(samples.length > 0, 'median: no samples');
  const sorted = Float64Array.from(samples).sort();
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

function rank(sorted: Float64Array, percent: number): number {
  assert(percent > 0 && percent <= 100, 'rank: not a percentage');
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)];
}
