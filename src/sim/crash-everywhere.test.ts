import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CrashFailure, crashAt, crashEverywhere } from './crash-everywhere.ts';
import { type SingleOptions, simulateSingle } from './single.ts';
import { tallySubject } from './subjects/tally-test-helper.ts';
import { type ToyBug, toySetup } from './toy-engine-test-helper.ts';

function options(seed: number, bug: ToyBug | null = null): SingleOptions {
  const engine = toySetup(bug);
  return { seed, engine, subject: tallySubject, clients: 3, requests: 12 };
}

test('a correct engine survives a power cut at every write of a run', () => {
  const { writes, runs, failures, coverage } = crashEverywhere(options(1));
  assert.deepEqual(failures, []);
  assert.ok(writes >= 20, String(writes));
  assert.equal(runs, 4 * writes);
  // The cut comes while the write is in flight, always; then there is the one at the end.
  assert.ok(coverage.count('crashesWithWrites') >= runs);
  assert.ok(coverage.count('crashes') >= 2 * runs);
  for (const name of ['sectorsLost', 'sectorsTorn'] as const) {
    assert.ok(coverage.count(name) > 0, name);
  }
});

const BUGS: readonly ToyBug[] = [
  'ack-before-durable',
  'writes-not-durable',
  'torn-header-trusted',
  'torn-body-trusted',
  'lost-session',
];

for (const bug of BUGS) {
  test(`planted bug: ${bug}`, () => {
    const { failures } = crashEverywhere(options(2, bug));
    assert.notEqual(failures.length, 0);
    const [{ point, report }] = failures as [CrashFailure];
    const again =
      point === null ? simulateSingle(options(2, bug)) : crashAt(options(2, bug), point);
    assert.equal(again.hash, report.hash);
  });
}
