import assert from 'node:assert/strict';
import { test } from 'node:test';
import { simulateSingle } from '../single.ts';
import { toySetup } from '../toy-engine-test-helper.ts';
import { subjects } from './subjects.ts';

test('planted: an engine that never sends a pulse leaves things undone', () => {
  const engine = { ...toySetup(), hasPulses: true };
  const codes = new Set<string | undefined>();
  for (let seed = 0; seed < 5; seed++) {
    const subject = subjects['key-value']!;
    codes.add(simulateSingle({ seed, engine, subject, requests: 60 }).failure?.code);
  }
  assert.deepEqual(codes, new Set(['liveness']));
});

for (const [name, subject] of Object.entries(subjects)) {
  test(`${name}: machine and reference agree through the toy engine`, () => {
    for (let seed = 0; seed < 10; seed++) {
      const report = simulateSingle({
        seed,
        engine: toySetup(),
        subject,
        requests: 100,
        client: { invalids: 50, repeats: 100 },
        faults: { crashes: 2, clockSteps: 2 },
      });
      assert.equal(report.failure, null, `seed ${seed}: ${report.failure?.message}`);
      assert.ok(report.coverage.count('commits') > 50);
    }
  });
}
