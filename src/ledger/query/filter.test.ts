/** Which filters are valid, field by field. An invalid one answers nothing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Filter } from './filter.ts';

type Words = { readonly [word: number]: number };
type Case = readonly [name: string, change: Words, valid: boolean];

const u32Max = 0xffff_ffff;

/** Minimum at word `min`, maximum two words later; the low word stands first. */
const timestampCases = (min: number): readonly Case[] => [
  ['timestamps 1 and 1', { [min]: 1, [min + 2]: 1 }, true],
  ['timestamp_min above timestamp_max', { [min]: 2, [min + 2]: 1 }, false],
  ['the same in the high words', { [min + 1]: 2, [min + 3]: 1 }, false],
  ['high words decide', { [min]: 9, [min + 2]: 1, [min + 3]: 1 }, true],
  ['timestamp_min alone', { [min]: 5 }, true],
  ['timestamp_max alone', { [min + 2]: 5 }, true],
  ['timestamp_min 2^63 − 1', { [min]: u32Max, [min + 1]: 0x7fff_ffff }, true],
  ['timestamp_min 2^63', { [min + 1]: 0x8000_0000 }, false],
  ['timestamp_min 2^64 − 1', { [min]: u32Max, [min + 1]: u32Max }, false],
  ['timestamp_max 2^63 − 1', { [min + 2]: u32Max, [min + 3]: 0x7fff_ffff }, true],
  ['timestamp_max 2^63', { [min + 3]: 0x8000_0000 }, false],
];

const tables: readonly {
  readonly read: 'readQuery' | 'readAccount' | 'readChangeEvents';
  readonly valid: Words;
  readonly words: number;
  readonly cases: readonly Case[];
}[] = [
  {
    read: 'readQuery',
    valid: { 14: 1 },
    words: 16,
    cases: [
      ['plain', {}, true],
      ['limit 0', { 14: 0 }, false],
      ['limit 2^32 − 1', { 14: u32Max }, true],
      ['code', { 8: 0xffff }, true],
      ['reserved after code', { 8: 0x1_0000 }, false],
      ['reserved', { 9: 1 }, false],
      ['reversed', { 15: 1 }, true],
      ['unknown flag', { 15: 2 }, false],
      ['unknown flag with a known one', { 15: 0x8000_0001 }, false],
      ...timestampCases(10),
    ],
  },
  {
    read: 'readAccount',
    valid: { 0: 7, 30: 1, 31: 3 },
    words: 32,
    cases: [
      ['plain', {}, true],
      ['limit 0', { 30: 0 }, false],
      ['account_id 0', { 0: 0 }, false],
      ['account_id with only its highest bit', { 0: 0, 3: 0x8000_0000 }, true],
      ['account_id max', { 0: u32Max, 1: u32Max, 2: u32Max, 3: u32Max }, false],
      ['account_id max − 1', { 0: u32Max - 1, 1: u32Max, 2: u32Max, 3: u32Max }, true],
      ['debits', { 31: 1 }, true],
      ['credits', { 31: 2 }, true],
      ['neither', { 31: 0 }, false],
      ['only reversed', { 31: 4 }, false],
      ['all', { 31: 7 }, true],
      ['unknown flag', { 31: 9 }, false],
      ['code', { 11: 0xffff }, true],
      ['reserved after code', { 11: 0x1_0000 }, false],
      ['first reserved word', { 12: 1 }, false],
      ['last reserved word', { 25: 0x0100_0000 }, false],
      ...timestampCases(26),
    ],
  },
  {
    read: 'readChangeEvents',
    valid: { 4: 1 },
    words: 16,
    cases: [
      ['plain', {}, true],
      ['limit 0', { 4: 0 }, false],
      ['first reserved word', { 5: 1 }, false],
      ['last reserved word', { 15: 0x0100_0000 }, false],
      ...timestampCases(0),
    ],
  },
];

for (const { read, valid, words, cases } of tables) {
  test(`${read} tells valid filters from invalid ones`, () => {
    for (const [name, change, wanted] of cases) {
      // Something on either side must not matter.
      const bytes = new Uint32Array(words + 8).fill(u32Max);
      bytes.fill(0, 4, 4 + words);
      for (const [word, value] of Object.entries({ ...valid, ...change })) {
        bytes[4 + Number(word)] = value;
      }
      assert.equal(new Filter()[read](bytes, 4), wanted, `${read}: ${name}`);
    }
  });
}

test('a valid filter after an invalid one starts afresh', () => {
  const filter = new Filter();
  const words = new Uint32Array(32);
  words[30] = 1;
  words[31] = 7 | 8;
  words[4] = 1;
  assert.equal(filter.readAccount(words, 0), false);
  const query = new Uint32Array(16);
  query[7] = 3;
  query[14] = 2;
  assert.equal(filter.readQuery(query, 0), true);
  assert.equal(filter.conditionCount, 1);
  assert.equal(filter.reversed, false);
  assert.deepEqual([filter.debits, filter.credits], [false, false]);
});
