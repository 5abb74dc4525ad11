/**
 * The experiment as one picture: for each kind of trouble a map of topology and distance with the
 * ratio to healthy, and below latency over time for the runs that saw the trouble come.
 */
import { type Drawing, drawHeatMap } from '../draw/heat-map.ts';
import { drawLatencies, type LatencyPoint } from '../draw/latency-plot.ts';
import { label, picture, type Svg, shifted } from '../draw/svg.ts';
import { cellText, distanceText, isSameCell, KINDS, type Kind, kindRules } from './cells.ts';
import type { DeadReplicaResult } from './dead-replica.ts';
import type { StepResult } from './run-result.ts';
import type { CellSummary } from './summary.ts';

const MARGIN = 24;
const PLOTS_A_ROW = 2;
const LEGEND =
  'A dot is a batch: blue with the trouble, grey in the healthy run before; it comes at the line.';

export function drawDeadReplica({ cells, runs }: DeadReplicaResult): Svg {
  const maps = KINDS.flatMap((kind) => mapsOf(kind, cells));
  const plots = plotsOf(runs);
  const parts: Svg[] = [];
  let y = MARGIN;
  let width = 0;
  const put = (drawing: Drawing, x: number): void => {
    parts.push(shifted([x, y], drawing.svg));
    width = Math.max(width, x + drawing.width + MARGIN);
  };
  for (const map of maps) {
    put(map, MARGIN);
    y += map.height + MARGIN;
  }
  if (plots.length > 0) {
    parts.push(label([MARGIN, y + 4], LEGEND, { fill: '#555555' }));
    y += MARGIN;
  }
  for (let first = 0; first < plots.length; first += PLOTS_A_ROW) {
    const row = plots.slice(first, first + PLOTS_A_ROW);
    let x = MARGIN;
    for (const plot of row) {
      put(plot, x);
      x += plot.width + MARGIN;
    }
    y += Math.max(...row.map(({ height }) => height)) + MARGIN;
  }
  return picture(Math.max(width, 2 * MARGIN), y, ...parts);
}

/** Closed loops by their time, open ones by their tail. */
function mapsOf(kind: Kind, cells: readonly CellSummary[]): Drawing[] {
  const some = cells.filter(({ cell, ratios }) => cell.kind === kind && ratios !== null);
  if (some.length === 0) return [];
  const isClosed = kindRules[kind].loop === 'closed';
  const rows = [...new Set(some.map(({ cell }) => cell.topology))];
  const distances = [...new Set(some.map(({ cell }) => cell.distance ?? 0))].sort((a, b) => a - b);
  const values = rows.map((topology) =>
    distances.map((distance) => {
      const found = some.find(({ cell }) => isSameCell(cell, { topology, kind, distance }));
      if (found === undefined) return null;
      const ratio = isClosed ? found.ratios?.seconds : found.ratios?.p99;
      return ratio?.median ?? (found.failures.length > 0 ? 'no end' : null);
    }),
  );
  const what = isClosed ? 'time for the whole load' : 'p99 of a batch';
  const map = {
    title: `${kindRules[kind].text}: ${what}, times healthy`,
    rowTitle: 'topology',
    columnTitle: 'distance of the victim, clockwise from the primary',
    rows,
    columns: distances.map(distanceText),
    values,
  };
  return [drawHeatMap(map)];
}

/** The first run of each cell in which the trouble came while the load ran. */
function plotsOf(runs: readonly StepResult[]): Drawing[] {
  return runs.flatMap(({ step, result }): Drawing[] => {
    const isShown = step.round === 0 && step.cell.distance !== null && result.faultAtMs !== null;
    if (!isShown || result.timeline.length === 0) return [];
    const partner = runs.find((other) => {
      const { partnerOf, round } = other.step;
      return partnerOf !== null && round === step.round && isSameCell(partnerOf, step.cell);
    });
    const plot = {
      title: cellText(step.cell),
      points: pointsOf(result.timeline),
      healthy: pointsOf(partner?.result.timeline ?? []),
      troubleAtSeconds: (result.faultAtMs ?? 0) / 1000,
    };
    return [drawLatencies(plot)];
  });
}

function pointsOf(timeline: StepResult['result']['timeline']): LatencyPoint[] {
  return timeline.map(({ atMs, ms }) => ({ atSeconds: atMs / 1000, ms }));
}
