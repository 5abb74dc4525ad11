/** One replica is dead, and stays dead: what the others and their clients notice of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Lesson } from './lesson-test-helper.ts';

test('alternating-ring in view 2, replica 3 dead: only the first request waits for a timeout', () => {
  const t = new Lesson({ replicaCount: 6, topology: 'alternating-ring' });
  t.begin();
  while (t.primary !== 2) {
    const { primary } = t;
    t.stop(primary);
    t.until(() => t.primary >= 0 && t.primary !== primary);
    t.open(primary);
    t.run();
  }
  // Nine hops of a millisecond, and what disks take.
  for (let i = 0; i < 20; i++) t.ask(12);
  t.stop(3);
  t.ask(250);
  const resent = t.count('preparesResent');
  for (let i = 0; i < 100; i++) t.ask(36);
  assert.equal(t.primary, 2);
  // Every other operation starts into the direction of the dead one: once more, to all others.
  assert.ok(t.count('preparesResent') - resent <= 50 * 4);
  t.end();
});

const CLIENTS = 5;
const OUTAGE_S = 300;
/** Milliseconds within which a healthy cluster of three answers five clients at once. */
const HEALTHY_MS = 12;

/** A cluster of three that answers within {@link HEALTHY_MS}. */
function healthyThree(): Lesson {
  const t = new Lesson({ replicaCount: 3, clients: CLIENTS });
  t.begin(CLIENTS);
  for (let i = 0; i < 50; i++) t.ask(HEALTHY_MS, CLIENTS);
  return t;
}

/** It is killed, or nothing reaches it nor comes from it; the result takes that back. */
function lose(t: Lesson, replica: number, isSilent: boolean): () => void {
  if (isSilent) return t.isolate(replica);
  t.stop(replica);
  return () => t.open(replica);
}

function outage(t: Lesson): void {
  for (let second = 0; second < OUTAGE_S; second += 2) {
    t.ask(5 * HEALTHY_MS, CLIENTS);
    t.wait(2000);
  }
}

for (const isSilent of [false, true]) {
  const how = isSilent ? 'is cut off' : 'dies';
  test(`a backup of three ${how} for five minutes: nobody waits longer than before`, () => {
    const t = healthyThree();
    const { primary } = t;
    const [backup] = t.others(primary) as [number];
    const { view } = t.progress(primary);
    const end = lose(t, backup, isSilent);
    outage(t);
    assert.equal(t.progress(primary).view, view);
    end();
    t.wait(3000);
    t.end();
  });

  test(`a primary of three ${how} for five minutes: a moment, and then all is as before`, () => {
    const t = healthyThree();
    const { primary } = t;
    const end = lose(t, primary, isSilent);
    t.ask(isSilent ? 3000 : 1000, CLIENTS);
    outage(t);
    end();
    t.wait(3000);
    t.end();
  });
}
