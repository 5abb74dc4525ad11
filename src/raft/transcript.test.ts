/**
 * Each protocol rule as a transcript: `testdata/*.txt`. `REWRITE=1` takes what happened as right.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { PLANTS, type PlantName } from './plants-test-helper.ts';
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

/** Each bug breaks the very rule that a transcript is about. */
const noticed: { readonly [name in PlantName]: string } = {
  'read below what a follower has answered': 'forward-copies.txt',
  'copy of an acknowledgement before the sync': 'forward-copies.txt',
  'vote forgotten': 'election-vote-survives.txt',
  'two votes in a term': 'election-two-candidates.txt',
  "an older term's entry is committed by counting": 'commit-older-term.txt',
  'acknowledgement before the sync': 'replication.txt',
  'truncation keeps the synced mark': 'truncation.txt',
  'stale read as linearizable': 'read-deposed.txt',
  'snapshot and log of different histories': 'snapshot-contradicts-log.txt',
  'joiner counted early': 'join-not-counted.txt',
  'configuration applied late': 'join.txt',
  'forwarded command done twice': 'forward-twice.txt',
};

for (const name of Object.keys(noticed) as PlantName[]) {
  test(`a transcript notices: ${name}`, () => {
    const text = readFileSync(join(folder, noticed[name]), 'utf8');
    assert.throws(() => assert.equal(replay(text, new Lab(PLANTS[name])), text));
  });
}
