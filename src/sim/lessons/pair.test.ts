/** Two replicas have no majority without each other. */
import { test } from 'node:test';
import { Lesson } from './lesson-test-helper.ts';

for (const distance of [0, 1]) {
  const who = distance === 0 ? 'primary' : 'backup';
  test(`one of two, the ${who}, is gone: the other waits for as long as it takes`, () => {
    const t = new Lesson({ replicaCount: 2 });
    t.begin();
    const { primary } = t;
    const gone = (primary + distance) % 2;
    const left = 1 - gone;
    t.stop(gone);
    t.request();
    t.wait(300_000);
    t.expectAnswered(false);
    t.expect(left, { isUp: true, commitMin: 2, commitMax: 2 });
    t.open(gone);
    t.until(() => t.isAnswered, 30_000);
    t.expectAll({ commitMin: 3 });
    t.end();
  });
}
