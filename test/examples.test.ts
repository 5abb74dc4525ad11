/**
 * The examples do what they say, on this checkout's sources. The packed build runs them as well.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { EXAMPLES } from './examples.ts';

const root = resolve(import.meta.dirname, '..');
const run = promisify(execFile);

const sorted = (lines: readonly string[]): string[] => lines.toSorted((a, b) => a.localeCompare(b));

for (const { file, argument, output } of EXAMPLES) {
  test(`examples/${file} ${argument}`, async () => {
    const options = { cwd: root, timeout: 60_000, env: { ...process.env, NODE_OPTIONS: '' } };
    const args = ['--conditions=roundelay-source', join('examples', file), argument];
    const { stdout } = await run(process.execPath, args, options);
    assert.deepEqual(sorted(stdout.trim().split('\n')), sorted(output));
  });
}

test('every example is run, and short enough to be read', () => {
  const files = readdirSync(join(root, 'examples'));
  assert.deepEqual(new Set(files), new Set(EXAMPLES.map(({ file }) => file)));
  for (const file of files) {
    const lines = readFileSync(join(root, 'examples', file), 'utf8')
      .trimEnd()
      .split('\n').length;
    assert.ok(lines >= 10 && lines <= 40, `${file} has ${lines} lines`);
  }
});
