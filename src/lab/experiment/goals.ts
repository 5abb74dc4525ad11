/**
 * What a cell must show, beside what it has shown. Ratios are to the healthy partners, medians of
 * pairs; the gap is the longest time without an answer around the trouble, as the median of runs.
 * Where a topology has no bound its figures are only given.
 */
import type { TopologyName } from '../../vsr/index.ts';
import { cellText } from './cells.ts';
import type { Spread } from './statistics.ts';
import type { CellSummary } from './summary.ts';

export interface Goal {
  readonly cell: string;
  /** What is wanted. */
  readonly text: string;
  /** What was found. */
  readonly found: string;
  readonly isMet: boolean;
}

interface Bounds {
  readonly ratioMax: number;
  readonly gapMsMax: number;
}

/** Open loops. */
const bounds: { readonly [name in TopologyName]?: Bounds } = {
  star: { ratioMax: 1.1, gapMsMax: 50 },
  'adaptive-route': { ratioMax: 1.1, gapMsMax: 50 },
  'alternating-chord': { ratioMax: 1.1, gapMsMax: 50 },
  'alternating-ring': { ratioMax: 1.5, gapMsMax: 150 },
};

/** Memory is flat when a live replica needs no more than this much more than in a healthy run. */
const MEMORY_RATIO_MAX = 1.1;

/** What the originals took for the whole load, seconds, by distance: healthy first. */
export const published: { readonly [name in TopologyName]?: readonly string[] } = {
  ring: ['7', 'no end', 'no end', '7', '7', '7'],
  'alternating-ring': ['7', '30', '30', '7', '30', '30'],
};

export function goalsOf(summary: CellSummary): Goal[] {
  const goals = [endGoal(summary)];
  const { cell, ratios } = summary;
  const bound = bounds[cell.topology];
  if (ratios === null || summary.runs === 0) return goals;
  const { gapMs } = summary;
  switch (cell.kind) {
    case 'closed':
    case 'return':
    case 'primary':
      break;
    case 'closed-stop':
      goals.push(memoryGoal(summary));
      break;
    case 'open':
    case 'delay':
      if (bound !== undefined) goals.push(...ratioGoals(summary, bound));
      if (cell.kind === 'delay') goals.push(memoryGoal(summary));
      break;
    case 'open-kill':
    case 'open-stop':
      if (bound !== undefined) {
        goals.push(...ratioGoals(summary, bound));
        goals.push(upTo(summary, 'gap', gapMs, bound.gapMsMax, ' ms'));
      }
      if (cell.kind === 'open-stop') goals.push(memoryGoal(summary));
      break;
  }
  return goals;
}

function endGoal(summary: CellSummary): Goal {
  const { runs, failures } = summary;
  const found = failures.length === 0 ? `${runs} of ${runs} runs` : (failures[0] as string);
  return goal(summary, 'ends', found, failures.length === 0);
}

function ratioGoals(summary: CellSummary, { ratioMax }: Bounds): Goal[] {
  const { ratios } = summary;
  return [
    upTo(summary, 'p50', ratios?.p50 ?? null, ratioMax, ' x healthy'),
    upTo(summary, 'p99', ratios?.p99 ?? null, ratioMax, ' x healthy'),
  ];
}

function memoryGoal(summary: CellSummary): Goal {
  const ratio = summary.ratios?.rssPeak ?? null;
  return upTo(summary, 'memory', ratio, MEMORY_RATIO_MAX, ' x healthy');
}

function upTo(
  summary: CellSummary,
  name: string,
  spread: Spread | null,
  max: number,
  unit: string,
): Goal {
  const text = `${name} <= ${max}${unit}`;
  if (spread === null) return goal(summary, text, 'nothing', false);
  const digits = max >= 10 ? 0 : 2;
  const [low, mid, high] = [spread.min, spread.median, spread.max].map((v) => v.toFixed(digits));
  return goal(summary, text, `${mid} (${low} to ${high})`, spread.median <= max);
}

function goal(summary: CellSummary, text: string, found: string, isMet: boolean): Goal {
  return { cell: cellText(summary.cell), text, found, isMet };
}
