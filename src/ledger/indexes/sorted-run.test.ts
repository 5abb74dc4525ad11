import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng } from '../../stdx/index.ts';
import { buildRun, runWords, SortedRun } from './sorted-run.ts';

/** Rows with the key, as a run lists them; a run of one key lists none. */
function hits(run: SortedRun, key: number): number[] {
  const count = run.find(key);
  assert.equal(count, run.high - run.low);
  if (run.rows === null) return Array.from({ length: count }, (_, i) => i);
  return [...run.rows.subarray(run.low, run.high)];
}

/** Ways to draw keys: name, and a key from random bits. */
const distributions: readonly (readonly [string, (u32: number, row: number) => number])[] = [
  ['one key', () => 7],
  ['one key, all bits set', () => 0xffff_ffff],
  ['two keys', (u32) => u32 & 1],
  ['two far keys', (u32) => ((u32 & 1) === 0 ? 0 : 0xffff_ffff)],
  ['ten keys', (u32) => u32 % 10],
  ['a bit in the middle', (u32) => 0x8000_0001 | ((u32 & 1) << 17)],
  ['12 bits', (u32) => u32 & 0xfff],
  ['22 bits, high', (u32) => u32 & 0xffff_fc00],
  ['all bits', (u32) => u32],
  ['ascending', (_, row) => row * 3],
  ['descending', (_, row) => 0xffff_ffff - row],
  ['mostly one key', (u32) => ((u32 & 0xff) === 0 ? u32 >>> 8 : 5)],
];

test('runs find exactly the rows with a key, in row order', () => {
  const prng = new Prng(1);
  for (const [name, draw] of distributions) {
    for (const rowCount of [2, 4, 8, 64, 1024, 4096, 65_536]) {
      const column = new Uint32Array(rowCount);
      for (let row = 0; row < rowCount; row++) column[row] = draw(prng.u32(), row);
      const rowsOf = new Map<number, number[]>();
      column.forEach((key, row) => {
        const rows = rowsOf.get(key);
        if (rows === undefined) rowsOf.set(key, [row]);
        else rows.push(row);
      });
      const run = buildRun(column, rowCount);
      // A copy of the words is the same run: that is how runs are stored.
      const copy = new SortedRun(run.words.slice());
      assert.equal(runWords(run.words, 0), run.words.length);
      for (let i = 0; i < 40; i++) {
        const key = column[prng.below(rowCount)] as number;
        const wanted = rowsOf.get(key) as number[];
        assert.deepEqual(hits(run, key), wanted, `${name}, ${rowCount} rows, key ${key}`);
        assert.equal(copy.find(key), wanted.length);
        for (const miss of [(key + 1) >>> 0, (key - 1) >>> 0, prng.u32()]) {
          assert.deepEqual(hits(run, miss), rowsOf.get(miss) ?? [], `${name}, miss ${miss}`);
        }
      }
    }
  }
});

test('a run takes the smallest of its three forms', () => {
  const rowCount = 65_536;
  const column = new Uint32Array(rowCount);
  const size = (key: (row: number) => number): number => {
    for (let row = 0; row < rowCount; row++) column[row] = key(row);
    return buildRun(column, rowCount).words.length * 4;
  };
  assert.equal(
    size(() => 9),
    16,
  );
  assert.equal(
    size((row) => row % 100),
    16 + 100 * 8 + rowCount * 2,
  );
  assert.equal(
    size((row) => row),
    16 + rowCount * 6,
  );
});
