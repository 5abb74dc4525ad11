/** What is in the log when a part of it is gone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { running, type story } from './catalogue-test-helper.ts';

const rotting = { isRotting: true } as const;

for (const part of ['prepare', 'header', 'both'] as const) {
  test(`a committed operation whose ${part} is gone comes back from others`, () => {
    const t = running({ replicaCount: 3, ...rotting }, 5);
    const [backup] = t.others(t.primary) as [number];
    t.stop(backup);
    t.corrupt(backup, 3, part);
    t.request(1);
    t.run();
    t.open(backup);
    t.run();
    t.expectAll({ commitMin: 7, opDurable: 7 });
    if (part !== 'header') assert.ok(t.count('preparesRepaired') > 0);
    t.end();
  });
}

test('a replica whose last operation is gone has no vote before it hears of a view', () => {
  const t = running({ replicaCount: 3, ...rotting }, 5);
  const [backup, other] = t.others(t.primary) as [number, number];
  const { primary } = t;
  t.stop(backup);
  t.corrupt(backup, 6);
  t.stop(primary);
  t.open(backup);
  t.request(1);
  t.wait(8000);
  // Two of three are up, one of them without a vote: nothing may happen.
  t.expectAnswered(false);
  t.expect(backup, { role: 'recovering-head' });
  assert.ok(t.count('recovering-head') > 0);
  t.open(primary);
  t.run(20_000);
  t.expectAnswered();
  t.expect(other, { commitMin: 7 });
  t.end();
});

test('a damaged slot behind the head makes the head uncertain, whatever was there', () => {
  const t = running({ replicaCount: 3, ...rotting }, 5);
  const [backup] = t.others(t.primary) as [number];
  t.stop(backup);
  t.corrupt(backup, 7);
  t.open(backup);
  t.run();
  assert.ok(t.count('recovering-head') > 0);
  t.expectAll({ commitMin: 6 });
  t.end();
});

test('the first operation of all can be lost without harm', () => {
  for (const replica of [0, 1, 2]) {
    const t = running({ replicaCount: 3, ...rotting }, 3);
    t.stop(replica);
    t.corrupt(replica, 0);
    t.open(replica);
    t.run(20_000);
    t.end();
  }
});

test('every replica has lost another operation: together they have all', () => {
  const t = running({ replicaCount: 3, ...rotting }, 5);
  t.stop();
  for (const replica of [0, 1, 2]) t.corrupt(replica, 2 + replica);
  t.open();
  t.request(1);
  t.run(20_000);
  t.expectAnswered();
  t.expectAll({ commitMin: 7, opDurable: 7 });
  t.end();
});

test('two of three have lost an operation: they wait for the third', () => {
  const t = running({ replicaCount: 3, ...rotting }, 5);
  t.stop();
  t.corrupt(0, 5, 'prepare');
  t.corrupt(1, 5, 'prepare');
  t.open(0, 1);
  t.request(1);
  t.wait(15_000);
  t.expectAnswered(false);
  t.open(2);
  t.run(30_000);
  t.expectAnswered();
  t.expectAll({ commitMin: 7, opDurable: 7 });
  t.end();
});

/** An operation that only its primary has. Returns that primary. */
function lonely(t: ReturnType<typeof story>): number {
  const { primary } = t;
  const open = t.drop({ from: primary, command: 'prepare' });
  t.request(1);
  t.until(() => t.progress(primary).op === t.progress(primary).commitMax + 1);
  t.wait(50);
  t.stop();
  open();
  return primary;
}

test('an operation that only a dead primary had is not missed', () => {
  const t = running({ replicaCount: 3 }, 3);
  const primary = lonely(t);
  const others = t.others(primary);
  t.open(...others);
  t.run(20_000);
  t.expectAnswered();
  t.open(primary);
  t.run(20_000);
  t.expectAll({ commitMin: 5 });
  t.end();
});

test('an operation that only one had and lost is denied by all others, and forgotten', () => {
  const t = running({ replicaCount: 3, ...rotting }, 3);
  const primary = lonely(t);
  t.corrupt(primary, 5);
  t.open();
  t.run(30_000);
  t.expectAnswered();
  t.expectAll({ commitMin: 5, opDurable: 5 });
  t.end();
});

test('damage below the head is no denial either', () => {
  for (const part of ['prepare', 'both'] as const) {
    const t = running({ replicaCount: 3, ...rotting }, 2);
    const { primary } = t;
    const [first, second] = t.others(primary) as [number, number];
    // Operations 4 and 5 are in the logs of the primary and of one backup, so they are committed.
    const open = t.drop({ to: second, command: 'prepare' });
    t.request(2);
    t.until(() => t.isAnswered);
    t.stop();
    open();
    t.corrupt(first, 4, part);
    t.open(first, second);
    t.wait(15_000);
    assert.ok(t.progress(first).commitMin < 5 && t.progress(second).commitMin < 5);
    assert.equal(t.primary, -1);
    t.open(primary);
    t.run(30_000);
    t.expectAll({ commitMin: 5, opDurable: 5 });
    t.end();
  }
});

test('who has lost an operation does not deny it: the one that has it is waited for', () => {
  const t = running({ replicaCount: 3, ...rotting }, 3);
  const { primary } = t;
  const [first, second] = t.others(primary) as [number, number];
  // Operation 5 is in the logs of the primary and of one backup, so it is committed.
  const open = t.drop({ to: second, command: 'prepare' });
  t.request(1);
  t.until(() => t.isAnswered);
  t.stop();
  open();
  t.corrupt(first, 5, 'prepare');
  t.open(first, second);
  t.wait(15_000);
  assert.ok(t.progress(first).commitMin < 5 && t.progress(second).commitMin < 5);
  assert.equal(t.primary, -1);
  t.open(primary);
  t.run(30_000);
  t.expectAll({ commitMin: 5, opDurable: 5 });
  t.end();
});
