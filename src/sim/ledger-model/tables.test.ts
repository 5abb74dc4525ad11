import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Ledger } from '../../ledger/index.ts';
import { createChecksum } from '../../wire/index.ts';
import { ModelMachine } from './index.ts';
import { parseTables } from './table-syntax-test-helper.ts';
import { runTable } from './table-test-helper.ts';

const folder = join(import.meta.dirname, 'tables');
const checksum = createChecksum();
const machines = [
  ['model', () => new ModelMachine(checksum)],
  ['ledger', () => new Ledger({ checksum })],
] as const;

for (const file of readdirSync(folder).sort()) {
  const tables = parseTables(readFileSync(join(folder, file), 'utf8'));
  for (const [title, blocks] of tables) {
    if (blocks.length === 0) continue;
    for (const [name, create] of machines) {
      test(`${file}: ${title} (${name})`, () => runTable(create(), blocks));
    }
  }
}

test('a table that is wrong fails', () => {
  const text = '# a title\naccounts\n  A1 -> exists\n';
  const [blocks] = [...parseTables(text).values()];
  assert.throws(() => runTable(new ModelMachine(checksum), blocks ?? []), /line 2/);
});
