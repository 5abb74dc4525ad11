/** More clients than the pipeline has room for: the cluster gets no slower. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TopologyName } from '../../vsr/index.ts';
import { perform } from '../performance/perform.ts';

/** Requests answered in a virtual second, over a few seeds. */
function throughput(topology: TopologyName, clients: number): number {
  const requests = 96;
  let ns = 0;
  for (const seed of [1, 2, 3]) {
    const scenario = { topology, replicaCount: 3, clients, requests, network: 'near' } as const;
    ns += perform(scenario, { seed }).figures.timeNs;
  }
  return (3 * requests * 1e9) / ns;
}

for (const topology of ['star'] as const) {
  test(`${topology}: eight, nine and sixteen clients get at least as much done as seven`, () => {
    const seven = throughput(topology, 7);
    for (const clients of [8, 9, 16]) {
      const found = throughput(topology, clients);
      assert.ok(found >= 0.9 * seven, `${clients} clients: ${found}, seven: ${seven}`);
    }
  });
}
