/** Some thousand mutated messages against a real server process; scripts/ovsdb/fuzz.ts has more. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { workloadSchema } from '../../src/ovsdb/transact/workload-test-helper.ts';
import { fuzz } from './ovsdb-fuzz.ts';
import { lacking, World } from './ovsdb-programs.ts';

const MESSAGES = 5000;
const SEED = 20_261_201;

test(`${MESSAGES} mutated messages (seed ${SEED}): all answered, nobody harmed`, {
  skip: lacking(['ovsdb-tool']),
  timeout: 120_000,
}, async (t) => {
  const world = new World();
  t.after(() => world.end());
  writeFileSync(world.path('D.ovsschema'), workloadSchema);
  const server = await world.startServer('ours', {
    schemas: [world.path('D.ovsschema')],
    socket: 's',
  });
  const result = await fuzz({
    socket: world.path('s'),
    pid: server.pid ?? null,
    messages: MESSAGES,
    seed: SEED,
    connections: 4,
  });
  assert.equal(server.exitCode, null, world.outputOf(server));
  assert.ok(result.answered > MESSAGES / 3, 'few messages had to be answered');
  assert.ok(result.closed > 100, 'few connections were closed');
  assert.ok(result.healthyAnswers > 5);
  t.diagnostic(JSON.stringify(result));
});
