import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Parts } from '../../vsr/index.ts';
import { baselinesOf, compare } from './baselines.ts';
import { spreadOf } from './figures.ts';
import { GATES, gateScenarios } from './gates.ts';
import { fullMatrix, smallMatrix } from './matrix.ts';
import { perform } from './perform.ts';
import { type Scenario, scenarioName } from './scenario.ts';
import { type Summary, summarize } from './summary.ts';

const plain: Scenario = {
  topology: 'star',
  replicaCount: 3,
  clients: 2,
  requests: 12,
  network: 'near',
};

test('a scenario and a seed decide everything', () => {
  const one = perform(plain, { seed: 7 });
  const again = perform(plain, { seed: 7 });
  assert.equal(again.hash, one.hash);
  assert.deepEqual(again.figures, one.figures);
  assert.notEqual(perform(plain, { seed: 8 }).hash, one.hash);
});

test('a trace says what happens, and changes nothing', () => {
  const lines: string[] = [];
  const { hash } = perform(plain, { seed: 7, trace: (line) => lines.push(line) });
  assert.equal(hash, perform(plain, { seed: 7 }).hash);
  assert.ok(lines.some((line) => line.includes('prepareOk')));
});

test('figures of a healthy star are what arithmetic says', () => {
  const { figures, traffic, commitments } = perform({ ...plain, network: 'hops' }, { seed: 1 });
  assert.equal(commitments.length, 12);
  // Client to primary, two hops to the quorum, and the answer.
  assert.equal(Math.round(figures.latencyP50Ns / 50e6), 4);
  assert.equal(Math.round(figures.quorumNs / 50e6), 2);
  // Two clients take turns of six requests.
  assert.equal(Math.round(figures.timeNs / 200e6), 6);
  assert.equal(traffic.get('prepare')?.messages, 2 * 12);
  assert.equal(figures.viewChanges, 0);
  assert.equal(figures.repairs, 0);
  assert.equal(figures.failoverNs, 0);
});

test('every trouble really happens', () => {
  const cluster = { topology: 'star', replicaCount: 5, clients: 2, requests: 16 } as const;
  const troubled = fullMatrix().filter(({ topology, replicaCount, trouble }) => {
    return topology === 'star' && replicaCount === 5 && trouble !== undefined;
  });
  const kinds = new Map(troubled.map(({ trouble }) => [JSON.stringify(trouble), trouble]));
  assert.equal(kinds.size, 10);
  for (const trouble of kinds.values()) {
    if (trouble?.kind === 'returns' && trouble.by === 'checkpoint') continue;
    const run = perform({ ...cluster, network: 'near', trouble: trouble! }, { seed: 1 });
    const isOfPrimary =
      trouble?.kind === 'killed' || ('distance' in trouble! && trouble.distance === 0);
    assert.equal(run.figures.failoverNs > 0, isOfPrimary, JSON.stringify(trouble));
    assert.equal(run.figures.catchUpNs > 0, trouble?.kind === 'returns');
  }
});

test('a scenario that does not happen is no measurement', () => {
  // Nothing has to be copied where the log still holds what was missed: 8 of 64 slots.
  const trouble = { kind: 'returns', distance: 1, by: 'checkpoint' } as const;
  assert.throws(() => perform({ ...plain, trouble }, { seed: 1 }), /did not happen/);
  // A message that is lost in a thousand is not lost in so few.
  assert.throws(
    () => perform({ ...plain, requests: 2, losses: 1 }, { seed: 1 }),
    /nothing was lost/,
  );
});

test('spreads: the middle, and a tenth on either side', () => {
  assert.deepEqual(spreadOf([3, 1, 2]), { median: 2, low: 1, high: 3 });
  assert.deepEqual(spreadOf([4, 1, 2, 3]), { median: 2.5, low: 1, high: 4 });
  const many = Array.from({ length: 100 }, (_, i) => i + 1);
  assert.deepEqual(spreadOf(many), { median: 50.5, low: 10, high: 90 });
});

test('baselines: worse than allowed, better, and unknown', () => {
  const summary = summarize(plain, [perform(plain, { seed: 1 })]);
  const baselines = baselinesOf([summary]);
  assert.deepEqual(compare([summary], baselines), { worse: [], better: [] });
  const { name } = summary;
  const known = baselines[name]!;
  const faster = { [name]: { ...known, timeNs: known.timeNs / 2 } };
  assert.match(compare([summary], faster).worse.join(), /timeNs is \d+, was \d+/);
  const slower = { [name]: { ...known, messages: known.messages * 2 } };
  assert.match(compare([summary], slower).better.join(), /messages is/);
  assert.match(compare([summary], {}).worse.join(), /has no baseline/);
});

test('a gate fails for a star that forgets a replica now and then', () => {
  const gate = GATES.find(({ name }) => name === 'healthy star: no repair at all')!;
  const forget = (parts: Parts): void => {
    const { topology } = parts;
    const next = topology.next.bind(topology);
    topology.next = (view, op, self) => next(view, op, self).filter((to) => (to + op) % 3 > 0);
  };
  const measured = (onParts?: (parts: Parts) => void): string[] => {
    const summaries = new Map<string, Summary>();
    for (const scenario of gate.scenarios) {
      const few = { ...scenario, requests: 12 };
      const run = perform(few, { seed: 1, onParts });
      summaries.set(scenarioName(scenario), summarize(scenario, [run]));
    }
    return gate.problems((scenario) => summaries.get(scenarioName(scenario))!);
  };
  assert.deepEqual(measured(), []);
  assert.equal(measured(forget).length, gate.scenarios.length);
});

test('names of scenarios are unique, and gates are among what is measured', () => {
  const names = (scenarios: readonly Scenario[]): string[] => scenarios.map(scenarioName);
  const full = names(fullMatrix());
  assert.equal(new Set(full).size, full.length);
  assert.ok(full.length > 1200, `${full.length}`);
  const small = names(smallMatrix());
  assert.equal(new Set(small).size, small.length);
  const gates = names(gateScenarios());
  assert.equal(new Set(gates).size, gates.length);
});
