/**
 * Wire transcripts (test/fixtures/ovsdb-wire) against ours in every run, and against the original
 * where it is installed. REWRITE=1 writes down what the original says, to be read as a diff.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { encodeUtf8 } from '../src/ovsdb/index.ts';
import { peerMissing } from './ovsdb-peer/peer.ts';
import { startOriginal, startOurs } from './ovsdb-peer/sides.ts';
import {
  expectedOfOurs,
  playTranscript,
  wireTranscript,
  wireTranscriptFolder,
  wireTranscriptNames,
} from './ovsdb-peer/wire-transcript.ts';

const skip = peerMissing();

function withoutOurs(text: string): string {
  return text
    .split('\n')
    .filter((line) => !line.startsWith('  ours '))
    .join('\n');
}

for (const name of wireTranscriptNames()) {
  test(`${name}: the original says so`, { skip }, async () => {
    const text = wireTranscript(name);
    const played = await playTranscript(text, (schema) => startOriginal('theirs', schema));
    if (process.env['REWRITE'] === '1')
      writeFileSync(join(wireTranscriptFolder, name), encodeUtf8(played));
    else assert.equal(withoutOurs(played), withoutOurs(text));
  });

  test(`${name}: ours says the same`, async () => {
    const text = wireTranscript(name);
    const played = await playTranscript(text, (schema) => startOurs('ours', schema));
    assert.equal(withoutOurs(played), expectedOfOurs(text));
  });
}

test('a line about ours replaces what the original says', () => {
  const text =
    's1 echo []\n  ours s1: b\n  s1: a\n  s2: c\ns1 echo []\n  ours s1: nothing\n  s1: a';
  assert.equal(expectedOfOurs(text), 's1 echo []\n  s1: b\n  s2: c\ns1 echo []');
});
