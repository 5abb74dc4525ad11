/** What is remembered of empty segments, and that thousands of hopeless filters stay cheap. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Operation } from '../format/constants.ts';
import type { IndexTable } from '../indexes/index-table.ts';
import { answer } from '../query-test-helper.ts';
import { LedgerReads } from '../reads.ts';
import { encodeAccount, FakeTables } from '../reads-test-helper.ts';
import { combinationOf, EmptySegments } from './empty-segments.ts';
import { Filter } from './filter.ts';

/** A query filter of 16 words; fields that are not named are zero. */
function filterOf(fields: { [word: number]: number }): Filter {
  const words = new Uint32Array(16);
  words[14] = 1;
  for (const [word, value] of Object.entries(fields)) words[Number(word)] = value;
  const filter = new Filter();
  assert.ok(filter.readQuery(words, 0));
  return filter;
}

const LEDGER = 7;
const CODE = 8;
const USER_DATA_64 = 4;

test('a combination is what is looked for, not how much of it or where', () => {
  const key = (fields: { [word: number]: number }, either: number = -1): string | null =>
    combinationOf(filterOf(fields), either);
  const both = key({ [LEDGER]: 1, [CODE]: 2 });
  assert.notEqual(both, null);
  const elsewhere = { [LEDGER]: 1, [CODE]: 2, 10: 5, 12: 900, 14: 77, 15: 1 };
  assert.equal(key(elsewhere), both, 'range, limit and direction do not count');
  assert.notEqual(key({ [LEDGER]: 2, [CODE]: 2 }), both);
  assert.notEqual(key({ [LEDGER]: 1, [CODE]: 2 }, 5), both);
  assert.equal(key({ [LEDGER]: 1 }), null, 'a single exact condition needs no memory');
  assert.notEqual(key({ [LEDGER]: 1 }, 5), null);
  assert.notEqual(key({ [USER_DATA_64]: 1 }), null, 'folded: hits may be of other values');
  assert.notEqual(key({ [USER_DATA_64]: 1 }), key({ [USER_DATA_64]: 2 }));
});

test('segments are remembered per table and combination, and the oldest make room', () => {
  const [a, b] = [{ sealedSegments: 3 }, { sealedSegments: 9 }] as unknown as IndexTable[];
  const empty = new EmptySegments();
  assert.equal(empty.has(a, 'x', 0), false);
  empty.add(a, 'x', 2);
  assert.deepEqual(
    [0, 1, 2].map((segment) => empty.has(a, 'x', segment)),
    [false, false, true],
  );
  assert.equal(empty.has(b, 'x', 2), false);
  assert.equal(empty.has(a, 'y', 2), false);
  (a as { sealedSegments: number }).sealedSegments = 100;
  empty.add(a, 'x', 99);
  assert.equal(empty.has(a, 'x', 99) && empty.has(a, 'x', 2), true);
  assert.throws(() => empty.add(a, 'x', 100), /not sealed/);
  for (let i = 0; i < 1_024; i++) empty.add(b, `${i}`, 0);
  assert.equal(empty.has(b, '0', 0), true);
  empty.add(b, 'one more', 8);
  assert.deepEqual([empty.has(b, '0', 0), empty.has(b, '1', 0)], [false, true]);
});

test('a range without hits says nothing about the rest of its segment', () => {
  const segmentRows = 16;
  const tables = new FakeTables();
  const reads = new LedgerReads(tables, { segmentRows });
  // Ledger 1 and code 2 are each those of half of the accounts, together of one in each segment.
  for (let row = 0; row < 4 * segmentRows; row++) {
    const isHit = row % segmentRows === 12;
    const account = {
      id: BigInt(row + 1),
      userData: [0n, 0n, 0n],
      ledger: isHit || row % 2 === 0 ? 1 : 2,
      code: isHit || row % 2 === 1 ? 2 : 1,
      timestamp: BigInt(100 + row),
      row,
      flags: 0,
      balances: [0n, 0n, 0n, 0n],
    } as const;
    tables.append(tables.accounts, encodeAccount(account));
    reads.settle();
  }
  for (let i = 0; i < 64; i++) reads.settle();
  const rowsOf = (min: number, max: number, reversed: number): number[] => {
    const words = new Uint32Array(16);
    words.set([1, 2], LEDGER);
    words.set([100 + min, 0, 100 + max, 0, 50, reversed], 10);
    const filter = new Uint8Array(words.buffer);
    return answer(reads, Operation.queryAccounts, filter).map((bytes) => (bytes[0] as number) - 1);
  };
  for (let round = 0; round < 2; round++) {
    for (const reversed of [0, 1]) {
      assert.deepEqual(rowsOf(0, 11, reversed), []);
      assert.deepEqual(rowsOf(13, 27, reversed), []);
      const all = [12, 28, 44, 60];
      assert.deepEqual(rowsOf(0, 63, reversed), reversed === 1 ? all.reverse() : all);
    }
  }
});
