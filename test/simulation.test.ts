/**
 * Hundreds of simulated clusters: every seed passes, each goes around its log often enough, and
 * between them everything happens that the simulator claims to do. Thousands more:
 * `npm run campaign:cluster`.
 */
import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import { runCampaign, type SimulationResult } from '../src/lab/simulation.ts';
import { CLUSTER_SWARM_COUNTERS } from '../src/sim/index.ts';
import { PINNED_SEEDS, readPins } from './simulation-pins.ts';

const SEEDS = 300;

test(`${SEEDS} simulated clusters`, async (t) => {
  const results: SimulationResult[] = [];
  const { coverage, seconds } = await runCampaign({
    from: 0,
    to: SEEDS - 1,
    jobs: Math.min(4, availableParallelism()),
    wanted: {},
    onResult: (result) => results.push(result),
  });
  t.diagnostic(`${SEEDS} seeds in ${seconds.toFixed(1)} s: ${coverage.summary()}`);

  await t.test('every seed passes', () => {
    assert.equal(results.length, SEEDS);
    const failed = results.filter(({ failure }) => failure !== null);
    const lines = failed.map(({ command, failure }) => `${command}\n  ${failure?.message}`);
    assert.deepEqual(lines, []);
  });

  await t.test('every seed commits 96 requests and goes three times around its log', () => {
    const short = results.filter(({ requests, wraps }) => requests < 96 || wraps < 3);
    const lines = short.map(({ command, requests, wraps }) => `${command}: ${requests}, ${wraps}`);
    assert.deepEqual(lines, []);
  });

  await t.test('nothing that the simulator claims to do never happens', () => {
    assert.deepEqual(coverage.missing(CLUSTER_SWARM_COUNTERS), []);
  });

  await t.test('pinned seeds have their hashes (after a change that is meant: npm run pin)', () => {
    const now = PINNED_SEEDS.map((seed) => {
      return { seed, hash: results.find((result) => result.seed === seed)?.hash };
    });
    assert.deepEqual(now, readPins());
  });
});
