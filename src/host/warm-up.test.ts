import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { WarmUp } from './warm-up.ts';

const WAIT_MS = 60_000;

async function until(isTrue: () => boolean): Promise<void> {
  const deadline = performance.now() + WAIT_MS;
  while (!isTrue() && performance.now() < deadline) await sleep(5);
  assert.ok(isTrue());
}

test('warming up waits while something happens, goes on while nothing does, and ends', async () => {
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
  await until(() => warmUp.isDone);
  assert.ok(asked >= 19 + 72 + 600, `every piece waits for an idle moment: ${asked}`);
  assert.equal(warmUp.answered, 600, 'the cluster in memory has answered everything');
  warmUp.stop();
});

test('real work ends a warm-up that has got as far as the cluster', async () => {
  let progress = 0;
  const warmUp = new WarmUp({ progress: () => progress });
  await until(() => warmUp.answered > 10);
  progress++;
  await until(() => warmUp.isDone);
  assert.ok(warmUp.answered < 600);
  const { answered } = warmUp;
  await sleep(30);
  assert.equal(warmUp.answered, answered);
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
