/** The command that runs the original's test suite: what it makes of lists and results. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  judge,
  parseList,
  parseResults,
  type SuiteResult,
  wantedTests,
} from '../scripts/ovsdb/suite-results.ts';

const LIST = ` NUM: FILE-NAME:LINE     TEST-GROUP-NAME
      KEYWORDS

  10: completion.at:21   not of ours
  11: ovsdb-tool.at:9    ovsdb-tool create
  12: ovsdb-server.at:5  insert row
      ovsdb server
  13: ovsdb-server.at:50 insert row
  14: ovsdb-data.at:7    integer atom
`;

const OUTPUT = `## ------ ##
 11: ovsdb-tool create                                 ok
 12: insert row                                        FAILED (ovsdb-server.at:5)
 13: insert row                                        skipped (ovsdb-server.at:50)
`;

test('tests are known by file and title, whatever their numbers', () => {
  const tests = parseList(LIST);
  assert.deepEqual(
    tests.map(({ key }) => key),
    [
      'tool: ovsdb-tool create',
      'server: insert row',
      'server: insert row #2',
      'data: integer atom',
    ],
  );
  const numbers = (groups: string | null, list: string | null): number[] =>
    wantedTests(tests, groups, list).map(({ number }) => number);
  assert.deepEqual(numbers(null, null), [11, 12, 13]);
  assert.deepEqual(numbers('server', null), [12, 13]);
  assert.deepEqual(numbers(null, '11-12,14'), [11, 12, 14]);
});

test('a new failure, a stale entry, a missing reason and a missing result are told', () => {
  const wanted = wantedTests(parseList(LIST), null, null);
  const results = parseResults(OUTPUT);
  assert.deepEqual([...results.values()], ['ok', 'failed', 'skipped']);
  const verdict = (expected: Record<string, string>, changed?: [number, SuiteResult | null]) => {
    const seen = new Map(results);
    if (changed?.[1] === null) seen.delete(changed[0]);
    else if (changed !== undefined) seen.set(changed[0], changed[1] as SuiteResult);
    const { isAsExpected, report } = judge(wanted, seen, expected);
    return isAsExpected ? 'as expected' : (report.split('\n')[0] as string);
  };
  const known = { 'server: insert row': 'because' };
  assert.equal(verdict(known), 'as expected');
  assert.match(verdict({}), /^NEW FAILURE 12/);
  assert.match(verdict({ 'server: insert row': '' }), /^NO REASON 12/);
  assert.match(verdict({ ...known, 'tool: ovsdb-tool create': 'x' }), /^STALE.*11/);
  assert.match(verdict(known, [11, null]), /^NOT RUN 11/);
  assert.match(verdict(known, [11, 'failed']), /^NEW FAILURE 11/);
  // Skipped is no proof that it would pass.
  assert.equal(verdict({ ...known, 'server: insert row #2': 'x' }), 'as expected');
});

test('every test that is known to fail has a reason', () => {
  const path = join(import.meta.dirname, 'fixtures/ovsdb-suite.json');
  const { failing } = JSON.parse(readFileSync(path, 'utf8'));
  for (const [key, reason] of Object.entries(failing)) {
    assert.match(String(reason), /\w+ \w+/, key);
  }
});
