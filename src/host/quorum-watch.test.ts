import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QuorumWatch } from './quorum-watch.ts';

test('a shortage is told when it lasts, once, and its end when it was told', async () => {
  const told: string[] = [];
  const watch = new QuorumWatch((text) => told.push(text), 20);
  const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 60));
  watch.update({ have: 1, need: 2 });
  watch.update({ have: 2, need: 2 });
  await settle();
  assert.deepEqual(told, [], 'it did not last');
  watch.update({ have: 1, need: 2 });
  watch.update({ have: 1, need: 2 });
  await settle();
  watch.update({ have: 1, need: 2 });
  await settle();
  assert.equal(told.length, 1);
  assert.match(told[0] ?? '', /^waiting for quorum, have 1 of 2:/);
  watch.update({ have: 3, need: 2 });
  assert.equal(told[1], 'quorum of 2 reached, 3 are connected');
  watch.update({ have: 1, need: 2 });
  watch.stop();
  await settle();
  assert.equal(told.length, 2);
});
