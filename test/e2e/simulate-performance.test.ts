/** `roundelay simulate vsr --performance`: the table, the JSON, and how a regression ends. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ExitCode } from '../../src/cli/exit-codes.ts';
import { inFolder, run } from './program-test-helper.ts';

const measure = ['simulate', 'vsr', '--performance', '--jobs=2', '--only', 'star r3 hops'];

test('figures are printed as a table and as JSON', async () => {
  const { code, stdout, stderr } = await run(measure);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /star r3 c4 n48 hops dead 2 .* 2\.40 /);
  const json = await run([...measure, '--json']);
  const { scenarios, gates, comparison } = JSON.parse(json.stdout);
  assert.deepEqual(
    scenarios.map(({ name }: { name: string }) => name),
    ['star r3 c4 n48 hops', 'star r3 c4 n48 hops dead 1', 'star r3 c4 n48 hops dead 2'],
  );
  assert.ok(scenarios[0].figures.timeNs.median > 2.4e9);
  assert.equal(scenarios[0].traffic.prepare.messages, 2);
  // No gate speaks of so few scenarios alone.
  assert.deepEqual(gates, []);
  assert.deepEqual(comparison.worse, []);
});

test('a run is shown by its seed, which decides everything', async () => {
  const flags = ['simulate', 'vsr', '--performance', '--only=star r3 c4 n48 hops', '--seed=9'];
  const once = await run(flags);
  const [, hash = ''] = /^star r3 c4 n48 hops seed 9 (hash [0-9a-f]{16})\n/.exec(once.stdout) ?? [];
  assert.match(hash, /^hash/);
  const traced = await run([...flags, '--trace']);
  assert.ok(traced.stdout.includes(hash));
  assert.match(traced.stdout, / prepareOk view /);
});

test('baselines are written, kept to, and a regression is an error', async () => {
  await inFolder(async (folder) => {
    const path = join(folder, 'baselines.json');
    const flags = [...measure, '--baselines', path];
    assert.equal((await run([...flags, '--update-baselines'])).code, 0);
    assert.equal((await run(flags)).code, 0);
    const baselines = JSON.parse(readFileSync(path, 'utf8'));
    baselines['star r3 c4 n48 hops'].timeNs /= 2;
    writeFileSync(path, JSON.stringify(baselines));
    const { code, stdout, stderr } = await run(flags);
    assert.equal(code, ExitCode.simulationFailed);
    assert.match(stdout, /WORSE star r3 c4 n48 hops: timeNs is \d+, was \d+/);
    assert.match(stderr, /^error: figures worse than their baselines allow: 1\n$/);
  });
});

test('a scenario that does not exist is a usage error', async () => {
  const { code } = await run(['simulate', 'vsr', '--performance', '--only=mesh']);
  assert.equal(code, ExitCode.usage);
});

test('baselines that cannot be used are refused before anything is measured', async () => {
  await inFolder(async (folder) => {
    const path = join(folder, 'baselines.json');
    writeFileSync(path, 'not JSON');
    const list = join(folder, 'list.json');
    writeFileSync(list, '[1]');
    const lost = join(folder, 'missing', 'x');
    for (const [flags, text] of [
      [['--baselines', lost], /--baselines: \S+ does not exist/],
      [['--baselines', lost, '--update-baselines'], /cannot be written: its folder does not exist/],
      [['--baselines', folder, '--update-baselines'], /is a folder/],
      [['--baselines', path], /holds no baselines/],
      [['--baselines', list], /holds no baselines/],
      [['--baselines', path, '--update-baselines'], /holds no baselines/],
    ] as const) {
      const { code, stdout, stderr } = await run([...measure, ...flags]);
      assert.equal(code, ExitCode.usage, stderr);
      assert.match(stderr, text);
      assert.match(stderr, /^error: [^\n]+\n$/);
      assert.equal(stdout, '');
    }
  });
});
