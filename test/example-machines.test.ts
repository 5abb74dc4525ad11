/** The machines of the examples live through every kind of trouble, on either engine. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { MACHINES, tryOut } from './example-machines.ts';

/** Runs of each machine on each engine; thousands: `npm run campaign:machines`. */
const SEEDS = 8;

for (const name of MACHINES) {
  for (const engine of ['vsr', 'raft'] as const) {
    test(`${name} on ${engine}`, async () => {
      const trial = { engine, seeds: SEEDS, firstSeed: 0, requests: 100 };
      const report = await tryOut(name, trial);
      assert.ok(report.ok, report.text);
      for (const counter of ['crashes', 'restarts', 'checkpoints', 'partitions', 'losses']) {
        assert.ok(Number(report.coverage[counter]) > 0, counter);
      }
    });
  }
}

test('no example is left out', () => {
  const files = readdirSync(resolve(import.meta.dirname, '..', 'examples'));
  assert.deepEqual(new Set(files), new Set(MACHINES.map((name) => `${name}.ts`)));
});
