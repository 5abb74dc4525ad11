/** Everything that follows from when the batches of a run were answered. */
import { type Percentiles, percentiles } from '../percentile.ts';
import type { RunResult } from './run-result.ts';
import { between, type Completion, longestGap } from './statistics.ts';

/** Moments on one clock, milliseconds. */
export interface RunMoments {
  readonly beginMs: number;
  readonly endMs: number;
  /** When the trouble came; `null`: it was there from the beginning, or never. */
  readonly faultMs: number | null;
  /** When it went away again; `null`: not before the end. */
  readonly troubleEndMs: number | null;
  readonly isOpen: boolean;
}

export type RunFigures = Pick<
  RunResult,
  | 'seconds'
  | 'batches'
  | 'batchMs'
  | 'faultAtMs'
  | 'troubleMs'
  | 'gapMs'
  | 'faultGapMs'
  | 'timeline'
>;

/** A gap belongs to the trouble when it touches this long after it. */
const FAULT_WINDOW_MS = 3000;

export function runFigures(completions: readonly Completion[], moments: RunMoments): RunFigures {
  const { beginMs, endMs, faultMs, isOpen } = moments;
  const fromMs = faultMs ?? beginMs;
  const trouble = between(completions, fromMs, moments.troubleEndMs ?? Number.POSITIVE_INFINITY);
  const whole = { beginMs, endMs };
  const fault = { ...whole, fromMs, toMs: fromMs + FAULT_WINDOW_MS };
  return {
    seconds: (endMs - beginMs) / 1000,
    batches: completions.length,
    batchMs: latencies(completions),
    faultAtMs: faultMs === null ? null : faultMs - beginMs,
    troubleMs: isOpen ? latencies(trouble) : null,
    gapMs: longestGap(completions, whole),
    faultGapMs: faultMs === null ? null : longestGap(completions, fault),
    timeline: isOpen ? completions.map(({ atMs, ms }) => ({ atMs: atMs - beginMs, ms })) : [],
  };
}

function latencies(completions: readonly Completion[]): Percentiles {
  return percentiles(completions.map(({ ms }) => ms));
}
