/** Twenty seconds of what `scripts/torture-replicas.ts` does for minutes, on each engine. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ENGINES } from './replica-processes.ts';
import { tortureReplicas } from './replica-torture.ts';

for (const engine of ENGINES) {
  test(`${engine}: kill -9 every two seconds under 32 closed loops`, {
    timeout: 180_000,
  }, async (t) => {
    const result = await tortureReplicas({
      engine,
      seconds: 20,
      clients: 32,
      seed: 1,
      periodMs: 2_000,
      isSmall: true,
    });
    const { failoverMs, kills, operations } = result;
    const gaps = kills.map(({ wasLeader, gapMs }) => `${wasLeader ? 'L' : 'f'}${gapMs.toFixed(0)}`);
    t.diagnostic(`${operations} operations, ms without an answer: ${gaps.join(' ')}`);
    assert.deepEqual(result.problems, []);
    assert.equal(result.isLinearizable, true);
    assert.equal(result.unknown, 0, 'resending is safe: every outcome is known');
    assert.ok(operations > 300, `${operations} operations`);
    assert.ok(failoverMs.count >= 1, `${failoverMs.count} leaders were killed`);
  });
}
