/**
 * Performance in virtual time: what topologies promise, and whether any figure has become worse
 * than somebody has agreed to. `roundelay simulate vsr --performance` prints the table; with
 * `--update-baselines` it writes what is compared with here.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { runPerformance } from '../src/lab/performance.ts';
import {
  type Baselines,
  compare,
  GATES,
  gateScenarios,
  type Scenario,
  type Summary,
  scenarioName,
  smallMatrix,
} from '../src/sim/index.ts';

/** As many as the baselines were made with. */
const SEEDS = 5;
const path = join(import.meta.dirname, 'fixtures/performance-baselines.json');
const baselines = JSON.parse(readFileSync(path, 'utf8')) as Baselines;

const all: readonly Scenario[] = [...gateScenarios(), ...smallMatrix()];
const named = new Map(all.map((scenario) => [scenarioName(scenario), scenario]));

test('performance in virtual time', async (t) => {
  const { summaries, failures } = await runPerformance({
    scenarios: [...named.values()],
    seeds: SEEDS,
    jobs: Math.min(4, availableParallelism()),
  });
  const found = new Map(summaries.map((summary) => [summary.name, summary]));
  const summaryOf = (scenario: Scenario): Summary => {
    const summary = found.get(scenarioName(scenario));
    assert.ok(summary !== undefined, `${scenarioName(scenario)} was not measured`);
    return summary;
  };

  await t.test('every scenario comes to its end', () => {
    assert.deepEqual(failures, []);
    assert.equal(summaries.length, named.size);
  });

  for (const gate of GATES) {
    await t.test(gate.name, () => assert.deepEqual(gate.problems(summaryOf), []));
  }

  await t.test('no figure is worse than its baseline allows', () => {
    assert.deepEqual(compare(summaries, baselines).worse, []);
  });
});

test('baselines are of what is measured', () => {
  assert.deepEqual(new Set(Object.keys(baselines)), new Set(named.keys()));
});
