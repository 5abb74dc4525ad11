/** From one primary to the next. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { running } from './catalogue-test-helper.ts';

test('a primary that dies is replaced quickly, one after another', () => {
  const t = running({ replicaCount: 5 });
  for (let death = 0; death < 2; death++) {
    const { primary } = t;
    t.stop(primary);
    t.request(2);
    t.until(() => t.isAnswered, 5000);
    assert.notEqual(t.primary, primary);
  }
  t.end();
});

test('a primary that restarts does not go on with its view', () => {
  const t = running({ replicaCount: 3 });
  const { primary } = t;
  const { view } = t.progress(primary);
  t.stop(primary);
  t.open(primary);
  t.request(2);
  t.run(20_000);
  t.expectAnswered();
  assert.ok(t.progress(primary).view > view);
  t.end();
});

test('all die at once and go on where they were', () => {
  for (const replicaCount of [1, 2, 3, 4, 5, 6]) {
    const t = running({ replicaCount }, 20);
    t.stop();
    t.open();
    t.request(2);
    t.run(20_000);
    t.expectAnswered();
    t.expectAll({ commitMin: 23 });
    t.end();
  }
});

test('a paused primary is replaced and does no harm when it wakes', () => {
  const t = running({ replicaCount: 3 });
  const { primary } = t;
  t.pause(primary);
  t.request(3);
  t.until(() => t.isAnswered, 30_000);
  t.resume(primary);
  t.request(3);
  t.run(20_000);
  t.expectAnswered();
  t.expect(primary, { role: 'backup' });
  t.end();
});

test('a primary that never had the last operations does not lead before it has them', () => {
  const t = running({ replicaCount: 3 }, 3);
  const { primary } = t;
  const [next, other] = t.others(primary) as [number, number];
  const end = t.isolate(next);
  t.request(6);
  t.until(() => t.isAnswered);
  t.stop(primary);
  end();
  t.request(1);
  t.until(() => t.isAnswered, 30_000);
  // Whoever leads now: the two that are left know all that was answered.
  for (const replica of [next, other]) t.expect(replica, { commitMin: 11 });
  t.end();
});

test('who missed more than a log holds cannot lead, and does not stand in the way', () => {
  const t = running({ replicaCount: 3 }, 3);
  const { primary } = t;
  const [next] = t.others(primary) as [number];
  t.stop(next);
  t.request(100);
  t.until(() => t.isAnswered, 60_000);
  t.open(next);
  t.stop(primary);
  t.request(1);
  t.until(() => t.isAnswered, 60_000);
  t.end();
});

test('votes that are lost are asked for again', () => {
  for (const command of ['startViewChange', 'doViewChange', 'startView'] as const) {
    const t = running({ replicaCount: 3 });
    const { primary } = t;
    const end = t.drop({ command });
    t.stop(primary);
    t.request(1);
    t.wait(5000);
    t.expectAnswered(false);
    end();
    t.until(() => t.isAnswered, 30_000);
    t.end();
  }
});

test('a view change that begins during another one comes to an end', () => {
  const t = running({ replicaCount: 5 }, 5);
  const { primary } = t;
  const [next] = t.others(primary) as [number];
  const end = t.drop({ from: next, command: ['startView', 'commit', 'prepare'] });
  t.stop(primary);
  t.request(3);
  t.until(() => t.isAnswered, 60_000);
  assert.ok(t.primary !== primary && t.primary !== next);
  end();
  t.run(20_000);
  t.end();
});
