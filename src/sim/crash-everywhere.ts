/**
 * Crash at every write: one run without faults counts its writes; then the same run again for each
 * of them, with a power cut while that write is in flight, once for each way in which a power cut
 * can fall out, and most of the time with a second one a few writes later, in the recovery. What a
 * random campaign finds with luck, this finds by exhaustion.
 */

import type { CrashOutcome } from './disk/sector-store.ts';
import type { CrashPoint, FaultOptions } from './faults.ts';
import { type SingleOptions, type SingleReport, simulateSingle } from './single.ts';
import { Coverage } from './world/coverage.ts';
import { check } from './world/failure.ts';

export interface CrashEverywhereOptions extends SingleOptions {
  /** Every how many writes; 1 (default): each. */
  readonly stride?: number;
  /** The first write to crash at, 1-based; with `stride`, which of them. */
  readonly first?: number;
  readonly onRun?: (point: CrashPoint, report: SingleReport) => void;
}

export interface CrashEverywhereReport {
  /** Writes of the run without faults. */
  readonly writes: number;
  readonly runs: number;
  readonly failures: readonly CrashFailure[];
  readonly coverage: Coverage;
}

export interface CrashFailure {
  /** `null`: the run fails without any fault. */
  readonly point: CrashPoint | null;
  readonly report: SingleReport;
}

const OUTCOMES: readonly CrashOutcome[] = ['old', 'new', 'mixed', 'torn'];

export function crashEverywhere(options: CrashEverywhereOptions): CrashEverywhereReport {
  const coverage = new Coverage();
  const failures: CrashFailure[] = [];
  const plain = simulateSingle(options);
  if (plain.failure !== null) {
    return { writes: plain.writes, runs: 1, failures: [{ point: null, report: plain }], coverage };
  }
  check(plain.writes > 0, 'coverage', () => 'the run without faults writes nothing');
  let runs = 0;
  for (let write = options.first ?? 1; write <= plain.writes; write += options.stride ?? 1) {
    for (const outcome of OUTCOMES) {
      const isTwice = outcome === 'mixed' || outcome === 'torn';
      const point: CrashPoint = { write, outcome, again: isTwice ? againOf(write) : 0 };
      const report = crashAt(options, point);
      runs++;
      coverage.merge(report.coverage);
      options.onRun?.(point, report);
      if (report.failure !== null) failures.push({ point, report });
    }
  }
  return { writes: plain.writes, runs, failures, coverage };
}

/** Recovery writes a few superblocks: after each of them once in eight writes, and not at all. */
function againOf(write: number): number {
  return write % 9;
}

/** The same run with one power cut at `point`, or two. */
export function crashAt(options: SingleOptions, point: CrashPoint): SingleReport {
  const faults: Partial<FaultOptions> = { ...options.faults, crashAtWrite: point };
  return simulateSingle({ ...options, faults });
}
