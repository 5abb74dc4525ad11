/**
 * The guide to testing one's own state machine says what is so: its examples run, and a failure
 * prints what the guide shows (numbers apart, which change with the engines).
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, test } from 'node:test';

const root = resolve(import.meta.dirname, '..');
const guide = readFileSync(join(root, 'docs', 'testing.md'), 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'roundelay-guide-'));
after(() => rmSync(folder, { recursive: true }));

/** The package's rooms, where they lie in a checkout. */
const rooms: { readonly [specifier: string]: string } = {
  roundelay: 'host',
  'roundelay/client': 'client',
  'roundelay/engine': 'engine',
  'roundelay/sim': 'sim',
};

/** Code blocks by the name in their first line. */
const examples = new Map(
  [...guide.matchAll(/```ts\n\/\/ (\S+)\n([\s\S]*?)```/g)].map(([, name = '', code = '']) => {
    return [name, code];
  }),
);

for (const [name, code] of examples) {
  const imports = code.replaceAll(/from '(roundelay[^']*)'/g, (_, specifier: string) => {
    const room = rooms[specifier];
    assert.ok(room, specifier);
    return `from '${join(root, 'src', room, 'index.ts')}'`;
  });
  writeFileSync(join(folder, name), imports);
}

/** Runs an example as a program of its own. */
function run(name: string): { readonly code: number; readonly output: string } {
  const options = { cwd: folder, encoding: 'utf8', timeout: 120_000, stdio: 'pipe' } as const;
  try {
    return { code: 0, output: execFileSync(process.execPath, [name], options) };
  } catch (error) {
    assert.ok(error instanceof Error && 'stderr' in error && 'stdout' in error);
    return { code: 1, output: `${String(error.stdout)}${String(error.stderr)}` };
  }
}

test('the guide has the examples that it speaks of', () => {
  assert.deepEqual([...examples.keys()], ['bank.ts', 'bank.test.ts', 'again.ts', 'record.ts']);
  const blocks = [...guide.matchAll(/^```\w+$/gm)].length;
  assert.equal(blocks, 6, 'four of code, one of output, one of a shell');
});

test('the mistake of the example is found, and printed as the guide shows it', () => {
  const { code, output } = run('bank.test.ts');
  assert.equal(code, 1);
  const shown = /```text\n([\s\S]*?)```/.exec(guide)?.[1] ?? '';
  const lines = shown.split('\n').filter((line) => line !== '');
  assert.ok(lines.length > 6, shown);
  // Which commands came before differs with every change of an engine, and so do events.
  const isFirm = (line: string): boolean => !/^ {4}|^ +[\d.]+ |…/.test(line);
  const firm = lines.filter(isFirm);
  assert.ok(firm.length >= 6, firm.join('\n'));
  for (const line of firm) assert.ok(masked(output).includes(masked(line)), `${line}\n${output}`);
});

/** Without what depends on a seed. */
function masked(text: string): string {
  return text.replaceAll(/\d+/g, 'N').replaceAll(/ann|bob/g, 'NAME');
}

test('the same seed shows it again, event by event', () => {
  const { code, output } = run('again.ts');
  assert.equal(code, 0, output);
  assert.match(output, / > message /);
  assert.match(output, / < write /);
});

test('without the mistake it passes, and a recording is replayed', () => {
  const path = join(folder, 'bank.ts');
  const wrong = readFileSync(path, 'utf8');
  const right = wrong
    .replace('state[from] = left;', 'state[from] -= amount;')
    .replace('state[to] = got;', 'state[to] += amount;');
  assert.notEqual(right, wrong);
  writeFileSync(path, right);
  const short = readFileSync(join(folder, 'bank.test.ts'), 'utf8').replace('100', '5');
  writeFileSync(join(folder, 'short.test.ts'), short);
  assert.deepEqual(run('short.test.ts'), { code: 0, output: '' });
  const recorded = run('record.ts');
  assert.equal(recorded.code, 0, recorded.output);
  assert.match(recorded.output, /^\d+ steps, all the same$/m);
  assert.ok(existsSync(join(folder, 'bank.recording')));
});
