/** One replica is dead: how long the same load takes, and the longest that a client waits. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TopologyName } from '../../vsr/index.ts';
import { perform } from '../performance/perform.ts';

/** Time and longest latency of a run, milliseconds; `dead`: its distance, 0: nobody. */
function load(topology: TopologyName, dead: number): { ms: number; latencyMaxMs: number } {
  const cluster = { topology, replicaCount: 6, clients: 4, requests: 32 } as const;
  const scenario = { ...cluster, network: 'near', dead: dead === 0 ? [] : [dead] } as const;
  const { timeNs, latencyMaxNs } = perform(scenario, { seed: 7 }).figures;
  return { ms: timeNs / 1e6, latencyMaxMs: latencyMaxNs / 1e6 };
}

/** How many times as long as healthy a run takes at most, and its longest latency. */
const bounds: readonly [topology: TopologyName, factor: number, latencyMs: number][] = [
  ['star', 1.3, 25],
  ['alternating-chord', 1.8, 25],
  ['alternating-ring', 2.5, 50],
];

for (const [topology, factor, latencyMs] of bounds) {
  test(`${topology}: whichever of six is dead, load goes on about as before`, () => {
    const healthy = load(topology, 0);
    for (let distance = 1; distance < 6; distance++) {
      const { ms, latencyMaxMs } = load(topology, distance);
      const text = `${distance}: ${ms} ms, healthy ${healthy.ms} ms, longest ${latencyMaxMs} ms`;
      assert.ok(ms <= healthy.ms * factor && latencyMaxMs <= latencyMs, text);
    }
  });
}

test('ring: load comes to its end even where the dead one cuts the quorum off', () => {
  for (const distance of [1, 2]) {
    const { latencyMaxMs } = load('ring', distance);
    assert.ok(latencyMaxMs < 200, `${distance}: ${latencyMaxMs} ms`);
  }
});
