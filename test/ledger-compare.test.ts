/**
 * The ledger against the naive model over random events, a few seeds of each kind of world. The
 * long form of this is `node scripts/ledger-compare.ts`.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ledger } from '../src/ledger/index.ts';
import { ModelMachine } from '../src/sim/ledger-model/index.ts';
import { compareLedger, formatDifference, Histogram } from '../src/sim/ledger-workload/index.ts';
import { createChecksum } from '../src/wire/index.ts';

const checksum = createChecksum();

test('the ledger answers like the model, also across restarts and checkpoints', () => {
  const create = () => new Ledger({ checksum });
  const histogram = new Histogram();
  // Two ordinary worlds, one with small bodies, one with full batches, one at the end of time.
  for (const seed of [101, 102, 107, 109, 111]) {
    const result = compareLedger({ create, checksum, seed, events: 8000 });
    const { difference } = result;
    const command = `node scripts/ledger-compare.ts --seed ${seed} --events 8000`;
    if (difference !== null) assert.fail(formatDifference(difference, command));
    histogram.add(result.histogram);
  }
  assert.deepEqual(histogram.rarerThan(1), [], 'every status occurs');
  assert.ok(histogram.of('restart') > 20 && histogram.of('checkpoint') > 20);
});

for (const [from, to] of [
  ['ledger', 'model'],
  ['model', 'ledger'],
] as const) {
  test(`a ${to} can be restored from the checkpoint of a ${from}`, () => {
    let kind: string = from;
    const create = () => {
      const isLedger = kind === 'ledger';
      kind = to;
      return isLedger ? new Ledger({ checksum }) : new ModelMachine(checksum);
    };
    const { difference, histogram } = compareLedger({ create, checksum, seed: 104, events: 4000 });
    assert.ok(histogram.of('restart') > 1);
    if (difference !== null) assert.fail(formatDifference(difference, 'run this test'));
  });
}
