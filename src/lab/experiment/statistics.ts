/** What is made of repeated runs: medians with their spread, ratios within pairs, and gaps. */
import { assert } from '../../stdx/index.ts';
import { median } from '../percentile.ts';

/** Of some runs: the middle one, and the two at the ends. */
export interface Spread {
  readonly count: number;
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** `null` for no samples. */
export function spreadOf(samples: readonly number[]): Spread | null {
  if (samples.length === 0) return null;
  return {
    count: samples.length,
    median: median(samples),
    min: Math.min(...samples),
    max: Math.max(...samples),
  };
}

/** Of the ratios `value / base` of pairs; pairs without a base are left out. */
export function ratioSpread(
  pairs: readonly { readonly value: number; readonly base: number }[],
): Spread | null {
  return spreadOf(pairs.filter(({ base }) => base > 0).map(({ value, base }) => value / base));
}

/** A request that was answered. */
export interface Completion {
  /** When, milliseconds from the same zero as everything beside it. */
  readonly atMs: number;
  /** How long it took. */
  readonly ms: number;
}

/** Those answered from `fromMs` until before `toMs`. */
export function between<T extends Completion>(
  completions: readonly T[],
  fromMs: number,
  toMs: number,
): T[] {
  return completions.filter(({ atMs }) => atMs >= fromMs && atMs < toMs);
}

/**
 * The longest time without an answer that touches `fromMs` … `toMs`. `completions` are in order of
 * time; what lies before the first and behind the last one is bounded by `beginMs` and `endMs`.
 */
export function longestGap(
  completions: readonly Completion[],
  range: {
    readonly beginMs: number;
    readonly endMs: number;
    readonly fromMs?: number;
    readonly toMs?: number;
  },
): number {
  const { beginMs, endMs, fromMs = beginMs, toMs = endMs } = range;
  assert(beginMs <= endMs, 'longestGap: it ends before it begins');
  let longest = 0;
  let lastMs = beginMs;
  for (const atMs of [...completions.map((one) => one.atMs), endMs]) {
    assert(atMs >= lastMs, 'longestGap: not in order');
    const touches = atMs >= fromMs && lastMs <= toMs;
    if (touches) longest = Math.max(longest, atMs - lastMs);
    lastMs = atMs;
  }
  return longest;
}
