/**
 * Crash at every write, of every replica: one run without faults counts the writes of each; then
 * the same run again for each of them, with a power cut of that replica while that write is in
 * flight, once for each way in which a power cut can fall out, and often a second one in the
 * recovery. The others go on meanwhile.
 */
import type { CrashOutcome } from '../disk/sector-store.ts';
import type { CrashPoint } from '../faults.ts';
import { Coverage } from '../world/coverage.ts';
import { check } from '../world/failure.ts';
import { simulateCluster } from './cluster.ts';
import type { ClusterOptions, ClusterReport } from './options.ts';

export interface ClusterCrashOptions extends ClusterOptions {
  /** Every how many writes; 1 (default): each. */
  readonly stride?: number;
  /** The first write to crash at, 1-based; with `stride`, which of them. */
  readonly first?: number;
}

/** Which replica is cut off from power, and when. */
export interface ClusterCrashPoint extends CrashPoint {
  readonly replica: number;
}

export interface ClusterCrashReport {
  readonly runs: number;
  readonly failures: readonly ClusterCrashFailure[];
  readonly coverage: Coverage;
}

export interface ClusterCrashFailure {
  /** `null`: the run fails without any fault. */
  readonly point: ClusterCrashPoint | null;
  readonly report: ClusterReport;
}

const OUTCOMES: readonly CrashOutcome[] = ['old', 'new', 'mixed', 'torn'];

export function clusterCrashEverywhere(options: ClusterCrashOptions): ClusterCrashReport {
  const coverage = new Coverage();
  const failures: ClusterCrashFailure[] = [];
  const plain = simulateCluster(options);
  if (plain.failure !== null) {
    return { runs: 1, failures: [{ point: null, report: plain }], coverage };
  }
  let runs = 0;
  plain.writes.forEach((writes, replica) => {
    check(writes > 0, 'coverage', () => `r${replica} writes nothing`);
    for (let write = options.first ?? 1; write <= writes; write += options.stride ?? 1) {
      for (const outcome of OUTCOMES) {
        const isTwice = outcome === 'mixed' || outcome === 'torn';
        const point = { replica, write, outcome, again: isTwice ? write % 9 : 0 };
        const report = clusterCrashAt(options, point);
        runs++;
        coverage.merge(report.coverage);
        if (report.failure !== null) failures.push({ point, report });
      }
    }
  });
  return { runs, failures, coverage };
}

/** The same run with one power cut at `point`, or two. */
export function clusterCrashAt(options: ClusterOptions, point: ClusterCrashPoint): ClusterReport {
  const { replicaCount, siteFaults } = options;
  const faults = Array.from({ length: replicaCount }, (_, index) => {
    return { ...siteFaults?.[index], crashAtWrite: index === point.replica ? point : null };
  });
  return simulateCluster({ ...options, siteFaults: faults });
}
