/** The results of an experiment for people: a line per run, tables of cells with their goals. */
import {
  type CellSummary,
  cellText,
  distanceText,
  goalsOf,
  kindRules,
  published,
  type RunResult,
  type Spread,
  type Step,
} from '../../lab/experiment/index.ts';

/** One run, while the experiment goes on. */
export function runLine({ cell, partnerOf, round }: Step, run: RunResult): string {
  const what = partnerOf === null ? cellText(cell) : `${cellText(cell)} (healthy)`;
  const victim = run.victim === null ? '' : `, victim ${run.victim}`;
  const head = `${round + 1}: ${what}: primary ${run.primary} in view ${run.view}${victim}`;
  if (run.error !== null) return `${head}, BROKEN: ${run.error}`;
  if (!run.hasEnded) return `${head}, NOT DONE in ${run.seconds.toFixed(0)} s`;
  const { p50, p99, max } = run.batchMs;
  const moved = run.viewEnd === run.view ? '' : `, view ${run.viewEnd} in the end`;
  const agreed = run.agreeMs === null ? 'never' : `${run.agreeMs.toFixed(0)} ms`;
  return [
    `${head}, ${run.batches} batches in ${run.seconds.toFixed(2)} s`,
    `p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}, max ${max.toFixed(1)} ms`,
    `gap ${(run.faultGapMs ?? run.gapMs).toFixed(0)} ms, agreed after ${agreed}${moved}`,
  ].join(', ');
}

/** One table for closed loops, one for open ones. */
export async function cellTables(cells: readonly CellSummary[]): Promise<string> {
  const closed = cells.filter(({ cell }) => kindRules[cell.kind].loop === 'closed');
  const open = cells.filter(({ cell }) => kindRules[cell.kind].loop === 'open');
  const parts: string[] = [];
  if (closed.length > 0) {
    parts.push(await table(closedColumns, closed));
    parts.push('published: what the originals took for this load, in seconds');
  }
  if (open.length > 0) {
    parts.push(await table(openColumns, open));
    parts.push(
      'p50, p99: of batches answered while the trouble lasted; gap: the longest around it',
    );
  }
  parts.push('median (lowest to highest); x: the ratio to healthy runs, pair by pair');
  return parts.join('\n');
}

type Column = readonly [name: string, text: (summary: CellSummary) => string];

const closedColumns: readonly Column[] = [
  ['topology', ({ cell }) => cell.topology],
  ['dead', deadText],
  ['runs', runsText],
  ['load s', ({ seconds }) => spreadText(seconds, 2)],
  ['x', ({ ratios }) => spreadText(ratios?.seconds ?? null, 2)],
  ['published', publishedText],
  ['p50 ms', ({ p50Ms }) => medianText(p50Ms)],
  ['p99 ms', ({ p99Ms }) => medianText(p99Ms)],
  ['max ms', ({ maxMs }) => medianText(maxMs)],
  ['agree ms', ({ agreeMs }) => spreadText(agreeMs, 0)],
  ['CPU s', cpuText],
  ['memory', memoryText],
  ['goals', goalsText],
];

const openColumns: readonly Column[] = [
  ['topology', ({ cell }) => cell.topology],
  ['kind', ({ cell }) => cell.kind],
  ['victim', ({ cell }) => distanceText(cell.distance)],
  ['runs', runsText],
  ['due/s', ({ batchesPerSecond }) => batchesPerSecond?.toFixed(0) ?? ''],
  ['p50 ms', ({ p50Ms }) => spreadText(p50Ms, 1)],
  ['x', ({ ratios }) => spreadText(ratios?.p50 ?? null, 2)],
  ['p99 ms', ({ p99Ms }) => spreadText(p99Ms, 1)],
  ['x', ({ ratios }) => spreadText(ratios?.p99 ?? null, 2)],
  ['gap ms', ({ gapMs }) => spreadText(gapMs, 0)],
  ['agree ms', agreeText],
  ['memory', memoryText],
  ['goals', goalsText],
];

async function table(columns: readonly Column[], cells: readonly CellSummary[]): Promise<string> {
  const { default: Table } = await import('cli-table3');
  const { default: colors } = await import('picocolors');
  const lines = new Table({
    head: columns.map(([name]) => colors.bold(name)),
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 1 },
    chars: { mid: '', 'left-mid': '', 'mid-mid': '', 'right-mid': '' },
  });
  for (const cell of cells) {
    const texts = columns.map(([name, text]) => {
      const plain = text(cell);
      return name === 'goals'
        ? plain.replaceAll(/^NOT .*$/gm, (found) => colors.red(found))
        : plain;
    });
    lines.push(texts);
  }
  return lines.toString();
}

function deadText({ cell: { kind, distance } }: CellSummary): string {
  const isStopped = kind === 'closed-stop' && distance !== null;
  return `${distanceText(distance)}${isStopped ? '\nstopped' : ''}`;
}

function runsText({ runs, failures, viewChanges }: CellSummary): string {
  const lines = [String(runs)];
  if (failures.length > 0) lines.push(`${failures.length} failed`);
  if (viewChanges > 0) lines.push(`${viewChanges} moved`);
  return lines.join('\n');
}

function spreadText(spread: Spread | null, digits: number): string {
  if (spread === null) return '';
  const [mid, low, high] = [spread.median, spread.min, spread.max].map((v) => v.toFixed(digits));
  return spread.count === 1 ? `${mid}` : `${mid}\n${low} to ${high}`;
}

function medianText(spread: Spread | null): string {
  return spread === null ? '' : spread.median.toFixed(1);
}

function publishedText({ cell }: CellSummary): string {
  return cell.kind === 'closed' ? (published[cell.topology]?.[cell.distance ?? 0] ?? '') : '';
}

/** By distance from the primary, which comes first. */
function cpuText({ cpuSeconds }: CellSummary): string {
  const texts = cpuSeconds.map((seconds) => (seconds === null ? '-' : seconds.toFixed(1)));
  const half = Math.ceil(texts.length / 2);
  return `${texts.slice(0, half).join(' ')}\n${texts.slice(half).join(' ')}`;
}

function agreeText(summary: CellSummary): string {
  const { agreeMs, catchUpMs } = summary;
  const text = spreadText(agreeMs, 0);
  return catchUpMs === null ? text : `${text}\nback after ${catchUpMs.median.toFixed(0)}`;
}

function memoryText({ rssPeakBytes, ratios }: CellSummary): string {
  const mebibytes = `${Math.round(rssPeakBytes / 1_048_576)} MiB`;
  const ratio = ratios?.rssPeak ?? null;
  return ratio === null ? mebibytes : `${mebibytes}\nx ${ratio.median.toFixed(2)}`;
}

function goalsText(summary: CellSummary): string {
  return goalsOf(summary)
    .map(({ text, isMet }) => (isMet ? `met: ${text}` : `NOT met: ${text}`))
    .join('\n');
}
