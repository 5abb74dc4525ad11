/**
 * Each protocol rule as a transcript: `testdata/*.txt`. `REWRITE=1` takes what happened as right.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { PLANTS } from './plants-test-helper.ts';
import { Lab } from './transcript-test-helper.ts';

const folder = join(import.meta.dirname, 'testdata');

/** The text with what happens now in place of what is expected. */
function replay(text: string, lab: Lab): string {
  const lines = text.split('\n');
  const out: string[] = [];
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i];
    if (line === '' || line.startsWith('#')) {
      out.push(line);
      continue;
    }
    out.push(line, '----', lab.run(line), '');
    while (i + 1 < lines.length && lines[i + 1] !== '') i++;
    i++;
  }
  return `${out.join('\n').trimEnd()}\n`;
}

for (const file of readdirSync(folder)) {
  test(`transcript ${file}`, () => {
    const path = join(folder, file);
    const text = readFileSync(path, 'utf8');
    const actual = replay(text, new Lab());
    if (process.env['REWRITE'] === '1') writeFileSync(path, actual);
    else assert.equal(actual, text);
  });
}

test('a transcript notices that an older term is committed by counting', () => {
  const text = readFileSync(join(folder, 'commit-older-term.txt'), 'utf8');
  const lab = new Lab(PLANTS["an older term's entry is committed by counting"]);
  assert.notEqual(replay(text, lab), text);
});
