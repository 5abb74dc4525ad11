import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { WarmUp } from './warm-up.ts';

test('warming up goes on while nothing happens, waits while something does, and ends', async () => {
  let progress = 0;
  let asked = 0;
  const warmUp = new WarmUp({
    progress: () => {
      asked++;
      // Busy at every look for a while.
      if (asked < 20) progress++;
      return progress;
    },
  });
  const deadline = performance.now() + 30_000;
  while (!warmUp.isDone && performance.now() < deadline) await sleep(20);
  assert.ok(warmUp.isDone);
  assert.ok(asked >= 19 + 72, `every batch waits for an idle moment: ${asked}`);
  warmUp.stop();
});

test('a stopped warm-up does nothing more', async () => {
  let asked = 0;
  const warmUp = new WarmUp({ progress: () => asked++ * 0 });
  warmUp.stop();
  const before = asked;
  await sleep(30);
  assert.equal(asked, before);
  assert.ok(!warmUp.isDone);
});
