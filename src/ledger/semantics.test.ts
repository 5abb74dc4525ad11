/** Runs `testdata/*.txt`; see `table-test-helper` for the language. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import test from 'node:test';
import { CreateAccountStatus, CreateTransferStatus } from './format/status.ts';
import { parseTable } from './table-test-helper.ts';

const folder = new URL('testdata/', import.meta.url);
const expected = new Set<string>();

for (const file of readdirSync(folder).sort()) {
  const cases = parseTable(readFileSync(new URL(file, folder), 'utf8'));
  for (const { title, run, expects } of cases) {
    for (const status of expects) expected.add(status);
    test(`${file}: ${title}`, run);
  }
}

test('the tables show every status', () => {
  const missing = [
    ...Object.keys(CreateAccountStatus).map((status) => `account ${status}`),
    ...Object.keys(CreateTransferStatus).map((status) => `transfer ${status}`),
  ].filter((status) => !expected.has(status));
  assert.deepEqual(missing, []);
});
