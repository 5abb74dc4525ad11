/** What one run of one cell has shown, as it stands in the JSON. */
import type { Percentiles } from '../percentile.ts';
import type { Cell, Step } from './cells.ts';
import type { Completion } from './statistics.ts';

export interface ReplicaUse {
  readonly replica: number;
  /** Clockwise from the primary at load start. */
  readonly distance: number;
  /** It took part until the end, as far as it was let. */
  readonly isLive: boolean;
  /** Between the first transfer and the last answer. */
  readonly cpuSeconds: number;
  readonly rssStartBytes: number;
  readonly rssEndBytes: number;
  readonly rssPeakBytes: number;
}

export interface RunResult {
  readonly cell: Cell;
  /** Index of the primary, measured when the load began, and its view. */
  readonly primary: number;
  readonly view: number;
  /** The view when the load was over. */
  readonly viewEnd: number;
  readonly victim: number | null;
  /** All transfers were answered within the time limit. */
  readonly hasEnded: boolean;
  /** What broke the run, if anything did; then the figures are those until then. */
  readonly error: string | null;
  readonly seconds: number;
  readonly batches: number;
  readonly batchMs: Percentiles;
  /** Open loop: how many batches fell due per second. */
  readonly batchesPerSecond: number | null;
  /** When the trouble came, or would have come in a healthy run, ms since the load began. */
  readonly faultAtMs: number | null;
  /** Open loop: of batches answered while the trouble lasted. */
  readonly troubleMs: Percentiles | null;
  /** Longest time without an answer, ms: of the whole load, and around the trouble. */
  readonly gapMs: number;
  readonly faultGapMs: number | null;
  /** From the load's end until all live replicas had executed and held the same, ms. */
  readonly agreeMs: number | null;
  /** From the start of a returning replica until it had caught up, ms. */
  readonly catchUpMs: number | null;
  readonly replicas: readonly ReplicaUse[];
  /** Open loop: each batch, milliseconds since the load began. */
  readonly timeline: readonly Completion[];
  /** The last lines of each replica, when the run broke. */
  readonly lines: readonly (readonly string[])[];
}

/** A run and what it was made for. */
export interface StepResult {
  readonly step: Step;
  readonly result: RunResult;
}
