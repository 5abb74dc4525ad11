/** Rows from runs, and what is asked of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Cell, partnerOf, planSteps } from './cells.ts';
import { goalsOf } from './goals.ts';
import { drawDeadReplica } from './pictures.ts';
import type { RunResult, StepResult } from './run-result.ts';
import { type CellSummary, summarize } from './summary.ts';

const none = { count: 0, p50: 0, p99: 0, max: 0 };

function runOf(cell: Cell, fields: Partial<RunResult>): RunResult {
  return {
    cell,
    primary: 1,
    view: 1,
    viewEnd: 1,
    victim: cell.distance,
    hasEnded: true,
    error: null,
    seconds: 1,
    batches: 100,
    batchMs: none,
    batchesPerSecond: null,
    faultAtMs: null,
    troubleMs: null,
    gapMs: 5,
    faultGapMs: null,
    agreeMs: 1,
    catchUpMs: null,
    replicas: [],
    timeline: [],
    lines: [],
    ...fields,
  };
}

/** Runs of a plan; `fields` by whether it is a healthy one, and by round. */
function runs(
  cells: readonly Cell[],
  rounds: number,
  fields: (isHealthy: boolean, round: number) => Partial<RunResult>,
): StepResult[] {
  return planSteps(cells, rounds).map((step) => ({
    step,
    result: runOf(step.cell, fields(step.cell.distance === null, step.round)),
  }));
}

function only(summaries: readonly CellSummary[], distance: number | null): CellSummary {
  const found = summaries.filter(({ cell }) => cell.distance === distance);
  assert.equal(found.length, 1);
  return found[0] as CellSummary;
}

const dead: Cell = { topology: 'star', kind: 'closed', distance: 2 };

test('a row has the median ratio of pairs, and the healthy runs have a row before it', () => {
  const seconds = { healthy: [1, 2, 4], dead: [2, 2, 2] };
  const steps = runs([dead], 3, (isHealthy, round) => ({
    seconds: (isHealthy ? seconds.healthy : seconds.dead)[round] ?? 0,
  }));
  const rows = summarize([dead], steps);
  assert.deepEqual(
    rows.map(({ cell }) => cell.distance),
    [null, 2],
  );
  assert.equal(only(rows, null).seconds?.median, 2);
  assert.equal(only(rows, null).ratios, null);
  // 2, 1 and 0.5; of the medians it would be 1 as well, of the means less.
  assert.deepEqual(only(rows, 2).ratios?.seconds, { count: 3, median: 1, min: 0.5, max: 2 });
});

test('a run that broke counts as one, and its pair for nothing', () => {
  const steps = runs([dead], 2, (isHealthy, round) => {
    const isBroken = !isHealthy && round === 1;
    return isBroken ? { hasEnded: false, error: 'the server ended by itself' } : { seconds: 3 };
  });
  const row = only(summarize([dead], steps), 2);
  assert.equal(row.runs, 2);
  assert.deepEqual(row.failures, ['the server ended by itself']);
  assert.equal(row.ratios?.seconds?.count, 1);
  assert.deepEqual(
    goalsOf(row).map(({ text, isMet }) => [text, isMet]),
    [['ends', false]],
  );
});

test('CPU is given by distance from the primary, memory as the most of those alive', () => {
  const use = (distance: number, cpuSeconds: number, rssPeakBytes: number, isLive = true) => ({
    ...{ replica: (distance + 1) % 3, distance, isLive, cpuSeconds },
    ...{ rssStartBytes: 0, rssEndBytes: 0, rssPeakBytes },
  });
  const steps = runs([dead], 1, (isHealthy) => ({
    replicas: isHealthy
      ? [use(0, 3, 100), use(1, 2, 90), use(2, 1, 80)]
      : [use(0, 4, 110), use(2, 9, 500, false)],
  }));
  const row = only(summarize([dead], steps), 2);
  assert.deepEqual(row.cpuSeconds, [4, null, 9]);
  assert.equal(row.rssPeakBytes, 110);
  assert.equal(row.ratios?.rssPeak?.median, 1.1);
});

test('an open loop is judged by the time of trouble, and only where a bound is set', () => {
  const killed = (topology: Cell['topology']): Cell => ({
    topology,
    kind: 'open-kill',
    distance: 1,
  });
  const judged = (topology: Cell['topology'], gapMs: number, p99: number): string[] => {
    const steps = runs([killed(topology)], 3, (isHealthy) => ({
      batchMs: { count: 9, p50: 999, p99: 999, max: 999 },
      troubleMs: { count: 9, p50: 10, p99: isHealthy ? 10 : p99, max: 50 },
      faultGapMs: isHealthy ? 3 : gapMs,
      gapMs: 777,
    }));
    const row = only(summarize([killed(topology)], steps), 1);
    return goalsOf(row).map(({ text, isMet }) => `${text}: ${isMet}`);
  };
  const x = 'x healthy';
  assert.deepEqual(judged('star', 50, 11), [
    'ends: true',
    `p50 <= 1.1 ${x}: true`,
    `p99 <= 1.1 ${x}: true`,
    'gap <= 50 ms: true',
  ]);
  assert.deepEqual(judged('star', 51, 11.2).slice(2), [
    `p99 <= 1.1 ${x}: false`,
    'gap <= 50 ms: false',
  ]);
  assert.deepEqual(judged('alternating-ring', 150, 15).slice(2), [
    `p99 <= 1.5 ${x}: true`,
    'gap <= 150 ms: true',
  ]);
  assert.deepEqual(judged('ring', 5000, 1000), ['ends: true']);
});

test('the picture has a map for each kind and a plot for each moment of trouble', () => {
  const killed: Cell = { topology: 'star', kind: 'open-kill', distance: 1 };
  const cells = [partnerOf(dead), dead, killed];
  const timeline = [
    { atMs: 10, ms: 4 },
    { atMs: 900, ms: 40 },
  ];
  const steps = runs(cells, 1, (isHealthy) => ({
    seconds: isHealthy ? 2 : 5,
    troubleMs: { count: 2, p50: 4, p99: isHealthy ? 10 : 20, max: 40 },
    faultAtMs: 500,
    timeline,
  }));
  const calibration = { cpuCount: 2 } as never;
  const svg = drawDeadReplica({ calibration, cells: summarize(cells, steps), runs: steps });
  assert.match(svg, /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" /);
  assert.ok(svg.includes('>2.50<') && svg.includes('>2.00<'), 'the ratios');
  assert.equal(svg.match(/times healthy/g)?.length, 2);
  // Cells of both kinds have seen trouble come here; two dots each, and two of the partner.
  assert.equal(svg.match(/<circle /g)?.length, 8);
  assert.equal(svg.match(/stroke-dasharray/g)?.length, 2);
});
