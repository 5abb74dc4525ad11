import assert from 'node:assert/strict';
import { test } from 'node:test';
import { schemaOf, TestDatabase } from './transact-test-helper.ts';
import { play, transcriptNames } from './transcript-test-helper.ts';

for (const name of transcriptNames()) {
  test(`transcript ${name}`, async () => {
    let db: TestDatabase;
    const { text, played } = await play(name, {
      schema: (schema) => {
        db = new TestDatabase(schemaOf(schema));
      },
      transact: (operations) => db.run(operations),
    });
    assert.equal(played, text);
  });
}

test('there are transcripts', () => {
  assert.ok(transcriptNames().length >= 6);
});
