import assert from 'node:assert/strict';
import { test } from 'node:test';
import { play, transcriptNames } from './server-test-helper.ts';

for (const name of transcriptNames()) {
  test(`transcript ${name}`, () => {
    const { text, played } = play(name);
    assert.equal(played, text);
  });
}

test('there are transcripts', () => {
  assert.ok(transcriptNames().length > 5);
});
