/**
 * The unmodified official client against a real server: its own test suite and its own benchmark,
 * with the normal and with the small geometry, and the tests while backups are killed.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { officialRound } from './official-kills.ts';
import { OFFICIAL_TESTS, runOfficial, testsPassed } from './official-suite.ts';
import { ServerProcess } from './server-process.ts';

const LIMIT_MS = 90_000;
const PROGRAM_LIMIT_MS = LIMIT_MS - 20_000;

for (const development of [false, true]) {
  const geometry = development ? 'small' : 'normal';

  test(`the client's own tests pass, ${geometry} geometry`, { timeout: LIMIT_MS }, async () => {
    const server = await ServerProcess.start({ development });
    try {
      const { code, output } = await runOfficial('test.js', String(server.port), PROGRAM_LIMIT_MS);
      assert.equal(code, 0, output);
      assert.equal(testsPassed(output), OFFICIAL_TESTS, output);
      assert.doesNotMatch(output, /FAILED|Error/);
      assert.ok(server.isAlive);
      const { refused, dropped, clients } = await server.status();
      assert.equal(
        Object.values(refused).reduce((sum, count) => sum + count),
        0,
      );
      assert.deepEqual(Object.keys(clients.closed), ['peer']);
      assert.equal(dropped['invalid-header'], 0);
    } finally {
      assert.ok((await server.stop()) < 2_000, 'it ends within two seconds');
    }
  });

  test(`the client's own benchmark runs, ${geometry} geometry`, { timeout: LIMIT_MS }, async () => {
    const server = await ServerProcess.start({ development });
    try {
      const { code, output } = await runOfficial(
        'benchmark.js',
        String(server.port),
        PROGRAM_LIMIT_MS,
      );
      assert.equal(code, 0, output);
      assert.match(output, /^transfers per second: \d+$/m);
      // It prints a failed check and exits with 0 all the same.
      assert.doesNotMatch(output, /Error/);
    } finally {
      await server.stop();
    }
  });
}

// Small, so that there are checkpoints, which a backup that is killed may miss.
test("the client's own tests pass while backups are killed", { timeout: 180_000 }, async (t) => {
  const { passed, kills, state, problem } = await officialRound({ seed: 1, development: true });
  assert.equal(problem, '');
  assert.equal(passed, OFFICIAL_TESTS);
  assert.ok(kills > 0, 'nobody was killed');
  assert.ok(state.checkpointOp > 0, 'there is no checkpoint to compare');
  t.diagnostic(`${kills} kills, the same at op ${state.commit}`);
});
