import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createChecksum } from '../../wire/index.ts';
import { ModelMachine } from '../ledger-model/index.ts';
import { compareLedger, type Difference, formatDifference } from './index.ts';
import { plantedBugs } from './planted-bugs-test-helper.ts';

const checksum = createChecksum();

test('the model agrees with itself, also over restarts', () => {
  const create = () => new ModelMachine(checksum);
  for (const seed of [1, 3, 7]) {
    const { difference, events, histogram } = compareLedger({
      create,
      checksum,
      seed,
      events: 3000,
    });
    assert.equal(difference, null);
    assert.ok(events >= 3000);
    assert.ok(histogram.of('restart') >= 3 && histogram.of('checkpoint') >= 3);
    assert.ok(histogram.of('expiry') >= 1 && histogram.of('request invalid-body') > 1);
  }
});

test('the same seed is the same run, wherever it stops', () => {
  const create = () => new ModelMachine(checksum);
  const run = (events: number) =>
    compareLedger({ create, checksum, seed: 9, events }).histogram.format();
  assert.equal(run(500), run(500));
  assert.notEqual(run(500), run(1500));
});

for (const [name, create] of plantedBugs) {
  test(`a machine that ${name} is found out`, () => {
    let difference: Difference | null = null;
    for (let seed = 11; seed < 15 && difference === null; seed++) {
      difference = compareLedger({ create, checksum, seed, events: 8000 }).difference;
    }
    assert.ok(difference !== null, 'no difference was found');
    const text = formatDifference(difference, 'command');
    assert.match(text, /expected .*\n {2}actual .*\n {2}again: command/s);
    // The run that stops right behind the difference shows it again.
    const { seed, eventIndex } = difference;
    const again = compareLedger({ create, checksum, seed, events: eventIndex + 1 });
    assert.deepEqual(again.difference, difference);
  });
}
