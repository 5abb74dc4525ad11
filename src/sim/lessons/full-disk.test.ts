/** A primary whose disk is full takes no requests: who has room leads, if that is of any use. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Lesson } from './lesson-test-helper.ts';

/** A cluster whose replicas have these disks full, up to the moment when the primary knows. */
function filled(replicaCount: number, isFull: (distance: number) => boolean): Lesson {
  const t = new Lesson({ replicaCount, clients: 2 });
  t.begin(2);
  const { primary } = t;
  for (const replica of [primary, ...t.others(primary)]) {
    const distance = (replica - primary + replicaCount) % replicaCount;
    if (isFull(distance)) t.fill(replica);
  }
  t.request(40);
  t.until(() => t.parts[primary]?.checkpoints.isReadOnly === true, 2000);
  t.expect(primary, { isPrimary: true });
  return t;
}

for (const replicaCount of [3, 5]) {
  test(`one of ${replicaCount}: the next one serves within 300 ms`, () => {
    const t = filled(replicaCount, (distance) => distance === 0);
    const { primary } = t;
    t.request(1, 1);
    t.until(() => t.primary >= 0 && t.primary !== primary, 250);
    const before = t.progress(t.primary).commitMax;
    t.until(() => t.progress(t.primary).commitMax > before, 50);
    assert.equal(t.count('abdicated'), 1);
    assert.equal(t.progress(t.primary).view, t.progress(primary).view);
  });
}

test('two of five: whoever has room leads after two view changes', () => {
  const t = filled(5, (distance) => distance < 2);
  const { primary } = t;
  const { view } = t.progress(primary);
  t.until(() => t.primary >= 0 && t.progress(t.primary).view === view + 2, 1000);
  t.until(() => t.isAnswered, 20_000);
  t.expect(t.primary, { view: view + 2 });
});

test('too many of them, or all: nobody gives up, and all goes on when there is room', () => {
  for (const full of [2, 3]) {
    const t = filled(3, (distance) => distance < full);
    const { primary } = t;
    const { view } = t.progress(primary);
    t.wait(60_000);
    t.expect(primary, { isPrimary: true, view });
    assert.equal(t.count('abdicated'), 0);
    t.end();
  }
});

test('all of them, and what is under way is not acknowledged: nobody gives up either', () => {
  let isFull = false;
  const get = (): boolean => isFull;
  const t = new Lesson({
    replicaCount: 3,
    onParts: ({ checkpoints }) => Object.defineProperty(checkpoints, 'isReadOnly', { get }),
  });
  t.begin();
  const { primary } = t;
  const { view } = t.progress(primary);
  const pass = t.drop({ command: 'prepareOk' });
  t.request(1);
  t.wait(20);
  isFull = true;
  t.wait(60_000);
  t.expect(primary, { isPrimary: true, view });
  isFull = false;
  pass();
  t.end();
});

test('the others are gone: it waits', () => {
  const t = filled(3, (distance) => distance === 0);
  const { primary } = t;
  t.stop(...t.others(primary));
  const { view } = t.progress(primary);
  t.wait(30_000);
  t.expect(primary, { isPrimary: true, view });
  t.end();
});
