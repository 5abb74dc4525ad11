import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isError } from '../data/error.ts';
import { excludedTablesOf, formatExclusions, parseExclusions } from './exclusions.ts';

const cases: readonly (readonly [string, string])[] = [
  ['', ''],
  ['D:T', 'D:T'],
  ['D:T,D:U E:T', 'D:T,D:U,E:T'],
  [' ,D:T,,', 'D:T'],
  ['D:T,D:T', 'D:T'],
  ['T', "Can't parse excluded table: T"],
  ['D:T,U', "Can't parse excluded table: U"],
  ['D:', "Can't parse excluded table: D:"],
  [':T', "Can't parse excluded table: :T"],
];

test('tables are excluded by database and name', () => {
  for (const [text, expected] of cases) {
    const exclusions = parseExclusions(text);
    assert.equal(isError(exclusions) ? exclusions.details : formatExclusions(exclusions), expected);
  }
});

test('the excluded tables of one database', () => {
  assert.deepEqual([...excludedTablesOf('D', 'D:T, E:U,V :W')], ['T', 'V']);
  assert.deepEqual([...excludedTablesOf('D', '')], []);
});
