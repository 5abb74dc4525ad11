/**
 * Hundreds of simulated Raft clusters: every seed passes, each makes snapshots enough, and between
 * them everything happens that the simulator claims to do. Thousands more: `npm run campaign:raft`.
 */
import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import { runCampaign, type SimulationResult } from '../src/lab/simulation.ts';
import { RAFT_SWARM_COUNTERS } from '../src/sim/index.ts';
import { PINNED_SEEDS_RAFT, raftPinsPath, readPins } from './simulation-pins.ts';

const SEEDS = 200;

test(`${SEEDS} simulated Raft clusters`, async (t) => {
  const results: SimulationResult[] = [];
  const { coverage, seconds } = await runCampaign({
    from: 0,
    to: SEEDS - 1,
    jobs: Math.min(4, availableParallelism()),
    wanted: { protocol: 'raft' },
    onResult: (result) => results.push(result),
  });
  t.diagnostic(`${SEEDS} seeds in ${seconds.toFixed(1)} s: ${coverage.summary()}`);

  await t.test('every seed passes', () => {
    assert.equal(results.length, SEEDS);
    const failed = results.filter(({ failure }) => failure !== null);
    const lines = failed.map(({ command, failure }) => `${command}\n  ${failure?.message}`);
    assert.deepEqual(lines, []);
  });

  await t.test('every seed commits 96 requests', () => {
    const short = results.filter(({ requests }) => requests < 96);
    assert.deepEqual(
      short.map(({ command, requests }) => `${command}: ${requests}`),
      [],
    );
  });

  await t.test('clusters are of 3, 5 and 7 members, and of every machine', () => {
    const sizes = new Set(results.map(({ replicaCount }) => replicaCount));
    const machines = new Set(results.map(({ machine }) => machine));
    assert.deepEqual(sizes, new Set([3, 5, 7]));
    assert.deepEqual(machines, new Set(['counter', 'key-value', 'ledger']));
  });

  await t.test('nothing that the simulator claims to do never happens', () => {
    assert.deepEqual(coverage.missing(RAFT_SWARM_COUNTERS), []);
  });

  await t.test('pinned seeds have their hashes (after a change that is meant: npm run pin)', () => {
    const now = PINNED_SEEDS_RAFT.map((seed) => {
      return { seed, hash: results.find((result) => result.seed === seed)?.hash };
    });
    assert.deepEqual(now, readPins(raftPinsPath));
  });
});
