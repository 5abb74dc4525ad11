/**
 * The official client's own suite against three real replicas, again and again, while one backup
 * after another is killed and started again. Each round has a cluster of its own, in turn with the
 * normal and the small geometry; with the small one there are checkpoints to be the same. A round
 * in which nobody was killed does not count and is repeated, as often as there are rounds.
 *
 *   node scripts/official-under-kills.ts [--rounds=10] [--seed=1] [--geometries=normal,small]
 *     [--directory=FOLDER] [--json]
 *
 * Ends with 1 when a test failed, replicas differ, or too few rounds count.
 */
import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import { median } from '../src/lab/index.ts';
import { type OfficialRound, officialRound } from '../test/e2e/official-kills.ts';
import { OFFICIAL_TESTS } from '../test/e2e/official-suite.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
    geometries: { type: 'string', default: 'normal,small' },
    directory: { type: 'string', default: tmpdir() },
    json: { type: 'boolean', default: false },
  },
});
const wanted = Number(values.rounds);
const seed = Number(values.seed);
const geometries = values.geometries.split(',');
if (!geometries.every((name) => name === 'normal' || name === 'small')) {
  throw new Error('--geometries takes normal and small');
}

interface Numbered extends OfficialRound {
  readonly seed: number;
  readonly geometry: string;
}

// An exit, unlike the end by a signal, removes the cluster.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));
await main();

async function main(): Promise<void> {
  const rounds: Numbered[] = [];
  let counted = 0;
  let isGood = true;
  for (let attempt = 0; attempt < 2 * wanted && counted < wanted && isGood; attempt++) {
    const geometry = geometries[counted % geometries.length] ?? 'normal';
    const round = await oneRound(seed + attempt, geometry);
    if (round === null) {
      isGood = false;
      break;
    }
    rounds.push(round);
    isGood = round.problem === '';
    if (round.kills > 0) counted += 1;
    console.error(describe(counted, round));
    if (!isGood) console.error(round.problem);
  }
  const kills = rounds.reduce((sum, round) => sum + round.kills, 0);
  const backMs = rounds.flatMap((round) => round.backMs);
  const passed = rounds.reduce((sum, round) => sum + round.passed, 0);
  isGood &&= counted === wanted && kills >= wanted;
  const summary = {
    rounds: counted,
    wanted,
    passed,
    kills,
    seed,
    verdict: isGood ? 'good' : 'BAD',
  };
  if (values.json) console.log(JSON.stringify({ ...summary, history: rounds }));
  else {
    for (const [name, value] of Object.entries(summary)) console.log(`${name}: ${value}`);
    if (backMs.length > 0) {
      const worst = Math.max(...backMs).toFixed(0);
      console.log(`back after: median ${median(backMs).toFixed(0)} ms, worst ${worst} ms`);
    }
  }
  process.exitCode = isGood ? 0 : 1;
}

/** `null`: the cluster failed, which has been told. */
async function oneRound(roundSeed: number, geometry: string): Promise<Numbered | null> {
  const { directory } = values;
  const development = geometry === 'small';
  try {
    const round = await officialRound({ seed: roundSeed, development, directory });
    return { seed: roundSeed, geometry, ...round };
  } catch (error) {
    console.error(error);
    const flags = `--rounds=1 --seed=${roundSeed} --geometries=${geometry}`;
    console.error(`again: node scripts/official-under-kills.ts ${flags}`);
    return null;
  }
}

function describe(counted: number, round: Numbered): string {
  const { commit, checkpointOp, checkpointRoot } = round.state;
  return [
    `round ${counted} of ${wanted}, seed ${round.seed}, ${round.geometry} geometry`,
    `${round.passed} of ${OFFICIAL_TESTS} tests`,
    round.kills > 0 ? `${round.kills} kills` : 'no kill: does not count',
    ...(round.unsureKills > 0 ? [`${round.unsureKills} more in a change of view`] : []),
    `${(round.ms / 1000).toFixed(1)} s`,
    `the same on all at op ${commit}, checkpoint ${checkpointOp} ${checkpointRoot.slice(0, 8)}`,
  ].join(', ');
}
