/** All runs of a cell as one row: medians, spreads, and ratios to the healthy partners. */
import { median } from '../percentile.ts';
import { type Cell, isSameCell, isSameKind, kindRules } from './cells.ts';
import type { RunResult, StepResult } from './run-result.ts';
import { ratioSpread, type Spread, spreadOf } from './statistics.ts';

export interface CellSummary {
  readonly cell: Cell;
  readonly runs: number;
  /** Runs that broke or did not come to their end. */
  readonly failures: readonly string[];
  /** Runs in which somebody else led in the end than in the beginning. */
  readonly viewChanges: number;
  readonly seconds: Spread | null;
  readonly p50Ms: Spread | null;
  readonly p99Ms: Spread | null;
  readonly maxMs: Spread | null;
  /** Longest time without an answer: in an open loop around the trouble, else of the whole load. */
  readonly gapMs: Spread | null;
  readonly agreeMs: Spread | null;
  readonly catchUpMs: Spread | null;
  readonly batchesPerSecond: number | null;
  /** Median CPU seconds by distance from the primary; `null`: nobody was there. */
  readonly cpuSeconds: readonly (number | null)[];
  /** Highest resident memory of a live replica, median over the runs, bytes. */
  readonly rssPeakBytes: number;
  /** To the healthy partners, pair by pair; `null` for the healthy cell itself. */
  readonly ratios: Ratios | null;
}

export interface Ratios {
  readonly seconds: Spread | null;
  readonly p50: Spread | null;
  readonly p99: Spread | null;
  readonly rssPeak: Spread | null;
}

interface Pair {
  readonly run: RunResult;
  readonly partner: RunResult;
}

/**
 * The rows: the cells, and before those of a topology and kind their healthy partner, which has
 * been run as often as all of them together.
 */
export function summarize(cells: readonly Cell[], runs: readonly StepResult[]): CellSummary[] {
  const rows: Cell[] = [];
  for (const cell of cells) {
    const healthy = { ...cell, distance: null };
    for (const one of [healthy, cell]) {
      const wasRun = runs.some(({ step }) => isSameCell(step.cell, one));
      if (wasRun && !rows.some((row) => isSameCell(row, one))) rows.push(one);
    }
  }
  return rows.map((cell) => summarizeCell(cell, runs));
}

function summarizeCell(cell: Cell, steps: readonly StepResult[]): CellSummary {
  const runs = steps.filter(({ step }) => isSameCell(step.cell, cell)).map(({ result }) => result);
  const ended = runs.filter(({ hasEnded }) => hasEnded);
  const pick = (of: (run: RunResult) => number | null): Spread | null =>
    spreadOf(ended.map(of).filter((value) => value !== null));
  return {
    cell,
    runs: runs.length,
    failures: runs.filter(({ hasEnded }) => !hasEnded).map(failureText),
    viewChanges: runs.filter(({ view, viewEnd }) => viewEnd !== view).length,
    seconds: pick(({ seconds }) => seconds),
    p50Ms: pick((run) => latencies(run).p50),
    p99Ms: pick((run) => latencies(run).p99),
    maxMs: pick((run) => latencies(run).max),
    gapMs: pick(({ faultGapMs, gapMs }) => faultGapMs ?? gapMs),
    agreeMs: pick(({ agreeMs }) => agreeMs),
    catchUpMs: pick(({ catchUpMs }) => catchUpMs),
    batchesPerSecond: runs.find((run) => run.batchesPerSecond !== null)?.batchesPerSecond ?? null,
    cpuSeconds: cpuByDistance(ended),
    rssPeakBytes: ended.length === 0 ? 0 : median(ended.map(rssPeak)),
    ratios: cell.distance === null ? null : ratiosOf(cell, steps),
  };
}

/** In an open loop those of the time of trouble, else all. */
function latencies(run: RunResult): RunResult['batchMs'] {
  return run.troubleMs ?? run.batchMs;
}

function failureText({ error, seconds, batches }: RunResult): string {
  return error ?? `not done after ${seconds.toFixed(0)} s, ${batches} batches answered`;
}

function ratiosOf(cell: Cell, steps: readonly StepResult[]): Ratios {
  const pairs = pairsOf(cell, steps);
  const isClosed = kindRules[cell.kind].loop === 'closed';
  const ratio = (of: (run: RunResult) => number): Spread | null =>
    ratioSpread(pairs.map(({ run, partner }) => ({ value: of(run), base: of(partner) })));
  return {
    // The clock decides how long an open loop takes.
    seconds: isClosed ? ratio(({ seconds }) => seconds) : null,
    p50: ratio((run) => latencies(run).p50),
    p99: ratio((run) => latencies(run).p99),
    rssPeak: ratio(rssPeak),
  };
}

/** Each run with the healthy one that was made for it; only where both came to their end. */
function pairsOf(cell: Cell, steps: readonly StepResult[]): Pair[] {
  const partners = steps.filter(({ step }) => {
    return step.partnerOf !== null && isSameCell(step.partnerOf, cell);
  });
  return steps.flatMap(({ step, result: run }): Pair[] => {
    if (!isSameKind(step.cell, cell) || !isSameCell(step.cell, cell)) return [];
    const partner = partners.find((one) => one.step.round === step.round)?.result;
    return partner?.hasEnded === true && run.hasEnded ? [{ run, partner }] : [];
  });
}

function cpuByDistance(runs: readonly RunResult[]): (number | null)[] {
  const uses = runs.flatMap(({ replicas }) => replicas);
  const count = uses.reduce((max, { distance }) => Math.max(max, distance + 1), 0);
  return Array.from({ length: count }, (_, distance) => {
    const seconds = uses.filter((use) => use.distance === distance).map((use) => use.cpuSeconds);
    return seconds.length === 0 ? null : median(seconds);
  });
}

function rssPeak({ replicas }: RunResult): number {
  const live = replicas.filter(({ isLive }) => isLive).map(({ rssPeakBytes }) => rssPeakBytes);
  return Math.max(0, ...live);
}
