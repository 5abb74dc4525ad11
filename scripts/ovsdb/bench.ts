/**
 * Our server beside the original, in one run on one machine: interleaved pairs, medians.
 *
 *   node scripts/ovsdb/bench.ts [--rounds 3] [--only one-shot,mutate-1,…] [--json]
 *
 * Figures are rates or times of both and their ratio; the wanted ratio stands beside it. A figure
 * by itself says nothing: the load generator shares the cores.
 */
import { parseArgs } from 'node:util';
import { type Case, cases, type Figure } from './bench-cases.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    only: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});

const rounds = Number(values.rounds);
const only = values.only?.split(',');
const chosen = cases.filter(({ name }) => only?.includes(name) ?? true);
if (chosen.length === 0) throw new Error(`cases: ${cases.map(({ name }) => name).join(', ')}`);

interface Line {
  readonly name: string;
  readonly figure: string;
  readonly theirs: number;
  readonly ours: number;
  /** Better when larger, whatever the figure is. */
  readonly ratio: number;
  readonly goal: string;
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] as number;
}

/** Of nothing to nothing: 1. */
function ratioOf(ours: number, theirs: number): number {
  return ours === theirs ? 1 : ours / theirs;
}

async function measure(one: Case): Promise<Line[]> {
  const runs: { theirs: Figure[]; ours: Figure[] }[] = [];
  for (let round = 0; round < rounds; round++) {
    // Who begins takes turns.
    const order = round % 2 === 0 ? (['theirs', 'ours'] as const) : (['ours', 'theirs'] as const);
    const found: { theirs: Figure[]; ours: Figure[] } = { theirs: [], ours: [] };
    for (const whose of order) found[whose] = await one.run(whose);
    runs.push(found);
  }
  const [first] = runs as [(typeof runs)[0]];
  return first.ours.map(({ figure, goal }, i) => {
    const theirs = median(runs.map((run) => (run.theirs[i] as Figure).value));
    const ours = median(runs.map((run) => (run.ours[i] as Figure).value));
    const ratio = median(
      runs.map((run) => ratioOf((run.ours[i] as Figure).value, (run.theirs[i] as Figure).value)),
    );
    return { name: one.name, figure, theirs, ours, ratio, goal };
  });
}

const lines: Line[] = [];
for (const one of chosen) {
  const measured = await measure(one);
  lines.push(...measured);
  if (values.json) continue;
  for (const { name, figure, theirs, ours, ratio, goal } of measured) {
    const numbers = [theirs, ours].map((n) => n.toFixed(n < 10 ? 2 : 0)) as [string, string];
    console.log(
      `${name.padEnd(12)} ${figure.padEnd(34)} original ${numbers[0].padStart(8)}` +
        `  ours ${numbers[1].padStart(8)}  ratio ${ratio.toFixed(2).padStart(6)}  (${goal})`,
    );
  }
}
if (values.json) console.log(JSON.stringify(lines));
