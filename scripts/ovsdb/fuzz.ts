/**
 * Mutated messages against a server process of ours, or of the original:
 *
 *   node scripts/ovsdb/fuzz.ts [--messages 500_000] [--seed 1] [--connections 8] [--original]
 *
 * Ends with code 1 when the server has ended, a whole request was not answered, or its memory grew.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { workloadSchema } from '../../src/ovsdb/transact/workload-test-helper.ts';
import { fuzz } from '../../test/e2e/ovsdb-fuzz.ts';
import { World } from '../../test/e2e/ovsdb-programs.ts';

/** Memory at the end beside the most in the first half: a leak of 100 bytes a message shows. */
const GROWTH_MAX = 1.25;
const GROWTH_FREE_MB = 25;

const { values } = parseArgs({
  options: {
    messages: { type: 'string', default: '500_000' },
    seed: { type: 'string', default: '1' },
    connections: { type: 'string', default: '8' },
    original: { type: 'boolean', default: false },
  },
});

function integer(text: string): number {
  const value = Number(text.replaceAll('_', ''));
  if (!Number.isSafeInteger(value) || value < 1) throw new RangeError(`not a number: ${text}`);
  return value;
}

const world = new World();
try {
  writeFileSync(world.path('D.ovsschema'), workloadSchema);
  const server = await world.startServer(values.original ? 'theirs' : 'ours', {
    schemas: [world.path('D.ovsschema')],
    socket: 's',
  });
  const beganMs = performance.now();
  const result = await fuzz({
    socket: world.path('s'),
    pid: server.pid ?? null,
    messages: integer(values.messages),
    seed: integer(values.seed),
    connections: integer(values.connections),
    progress: (sent, rss) => {
      if (process.stderr.isTTY) process.stderr.write(`\r${sent} messages, ${rss.toFixed(0)} MB `);
    },
  });
  const seconds = (performance.now() - beganMs) / 1000;
  const [half, end] = result.rssMb;
  console.log(
    `${result.sent} messages in ${seconds.toFixed(1)} s, ${result.answered} answered,` +
      ` ${result.closed} connections closed; a healthy client got ${result.healthyAnswers} answers,` +
      ` the slowest in ${result.slowestMs.toFixed(0)} ms`,
  );
  console.log(
    `resident memory: ${half.toFixed(0)} MB in the first half, ${end.toFixed(0)} MB at the end`,
  );
  const isAlive = server.exitCode === null && server.signalCode === null;
  if (!isAlive) console.log(`THE SERVER HAS ENDED: ${world.outputOf(server)}`);
  const hasGrown = end > half * GROWTH_MAX + GROWTH_FREE_MB;
  if (hasGrown) console.log('ITS MEMORY HAS GROWN');
  if (!isAlive || hasGrown) process.exitCode = 1;
} finally {
  await world.end();
}
