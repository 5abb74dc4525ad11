/** A real server is recorded and killed; `roundelay replay` makes its steps again. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ExitCode } from '../../src/cli/exit-codes.ts';
import { reseal, stepsOf, work } from '../../src/host/recording/recording-test-helper.ts';
import { inFolder, Running, run } from './program-test-helper.ts';

const format = ['format', '--cluster=0', '--replica=0', '--replica-count=1', '--development'];

test('start --record, kill -9, replay', async () => {
  await inFolder(async (folder) => {
    const file = join(folder, 'data');
    const record = join(folder, 'recording');
    assert.equal((await run([...format, file])).code, 0);
    const start = ['start', '--addresses=0', `--record=${record}`, file];
    const server = new Running(start);
    const port = Number((await server.saw(/^(\d+)\n/))[1]);
    await work([port], 30, 100);
    // What was recorded is written after a tenth of a second at the latest.
    await new Promise((done) => setTimeout(done, 300));
    await server.end('SIGKILL');

    const same = await run(['replay', record]);
    assert.equal(same.code, 0, same.stderr);
    assert.match(same.stdout, /ledger on vsr, \d+ steps in 1 life, all with the same effects/);
    assert.match(same.stdout, /ends in the middle of a step, as if the process had been killed/);
    const traced = await run(['replay', '--trace', '--from=2', '--to=4', record]);
    assert.equal(traced.stdout.split(' > ').length - 1, 3, traced.stdout);

    const again = await run(start);
    assert.equal(again.code, ExitCode.fileExists);
    assert.match(again.stderr, /exists already and is kept; replay it: roundelay replay /);

    const bytes = new Uint8Array(readFileSync(record));
    const steps = stepsOf(bytes);
    const index = steps.findLastIndex(({ payload }) => payload.length > 300);
    const step = steps[index];
    assert.ok(step);
    step.payload[400]! ^= 1;
    writeFileSync(`${record}-damaged`, bytes);
    const damaged = await run(['replay', `${record}-damaged`]);
    assert.equal(damaged.code, ExitCode.fileCorrupt);
    assert.match(damaged.stderr, new RegExp(`is damaged after step ${index};`));
    reseal(bytes, step);
    writeFileSync(`${record}-changed`, bytes);
    const changed = await run(['replay', `${record}-changed`]);
    assert.equal(changed.code, ExitCode.replayDiffers, changed.stdout);
    assert.match(changed.stderr, new RegExp(`error: step ${index + 1} \\(.*differs: `));
    assert.match(changed.stdout, / > /);
  });
});

test('what cannot be replayed is said on one line', async () => {
  const none = await run(['replay', 'nowhere']);
  assert.equal(none.code, ExitCode.fileCorrupt);
  assert.match(none.stderr, /^error: recording nowhere cannot be read: ENOENT; look at it: /);
  const wish = await run(['start', '--addresses=0', '--record-size-max=1000000', 'nowhere']);
  assert.equal(wish.code, ExitCode.usage);
  assert.match(wish.stderr, /--record-size-max needs --record/);
});
