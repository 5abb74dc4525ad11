/** The id index against a Map, with good hashes and with hashes that collide on purpose. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { Prng } from '../../stdx/index.ts';
import { Rows } from '../rows.ts';
import { hashId, IdIndex } from './id-index.ts';

type Hash = (words: Uint32Array, offset: number) => number;

/** All in one sub-table, around its end: clusters that wrap. */
const bad: Hash = (words, offset) => ((hashId(words, offset) & 7) - 4) & 0xff_ffff;
/** All equal. */
const worst: Hash = () => -1;

function compareWithMap(hash: Hash, options: { steps: number; ids: number; seed: number }): void {
  const prng = new Prng(options.seed);
  const rows = new Rows(16);
  const index = new IdIndex(rows, { tables: 256 });
  const map = new Map<number, number>();
  const id = new Uint32Array(4);
  const setId = (key: number): void => {
    id[0] = key * 7;
    id[1] = key % 3;
    id[3] = key % 5 === 0 ? 0xffff_ffff : 0;
  };
  for (let step = 0; step < options.steps; step++) {
    const key = prng.below(options.ids);
    setId(key);
    const expected = map.get(key) ?? -1;
    assert.equal(index.find(hash(id, 0), id, 0), expected);
    if (expected === -1) {
      const row = rows.append();
      rows.chunkOf(row).set(id, rows.baseOf(row));
      index.insert(hash(id, 0), row);
      map.set(key, row);
    } else if (prng.chance(1, 2)) {
      index.remove(hash(id, 0), expected);
      map.delete(key);
    }
  }
  for (let key = 0; key < options.ids; key++) {
    setId(key);
    assert.equal(index.find(hash(id, 0), id, 0), map.get(key) ?? -1);
  }
}

test('like a Map', () => compareWithMap(hashId, { steps: 60_000, ids: 20_000, seed: 1 }));
test('like a Map when ids collide', () => compareWithMap(bad, { steps: 20_000, ids: 40, seed: 2 }));
test('like a Map when all collide', () => {
  compareWithMap(worst, { steps: 20_000, ids: 200, seed: 3 });
});

test('a rebuilt index finds every row', () => {
  const prng = new Prng(4);
  const rows = new Rows(128);
  for (let i = 0; i < 40_000; i++) {
    const row = rows.append();
    const base = rows.baseOf(row);
    rows.chunkOf(row)[base] = i;
    rows.chunkOf(row)[base + 3] = prng.u32();
  }
  const index = new IdIndex(rows, { tables: 256 });
  index.rebuild();
  for (let row = 0; row < rows.count; row++) {
    const words = rows.chunkOf(row);
    const base = rows.baseOf(row);
    assert.equal(index.find(hashId(words, base), words, base), row);
  }
  const missing = Uint32Array.of(1, 2, 3, 4);
  assert.equal(index.find(hashId(missing, 0), missing, 0), -1);
});

test('hashes of ids in use spread over tables and slots', () => {
  // Sequential ids, ids that count in a high limb, and ids of a millisecond plus a random part.
  const prng = new Prng(5);
  const families: ((i: number) => Uint32Array)[] = [
    (i) => Uint32Array.of(i, 0, 0, 0),
    (i) => Uint32Array.of(0, 0, i, 0),
    (i) => Uint32Array.of(i & 0xff, i >>> 8, 0, 0),
    (i) => Uint32Array.of(prng.u32(), prng.u32(), (i << 16) | prng.below(1 << 16), 0x0198_0000),
    (i) => Uint32Array.of(i, i, i, i),
  ];
  const count = 65_536;
  for (const [family, idOf] of families.entries()) {
    const tables = new Uint32Array(256);
    const distinct = new Set<number>();
    for (let i = 0; i < count; i++) {
      const hash = hashId(idOf(i), 0);
      tables[hash >>> 24]++;
      distinct.add(hash);
    }
    assert(distinct.size > count - 10, `family ${family}: ${distinct.size} hashes`);
    assert(Math.max(...tables) < (count / 256) * 1.5, `family ${family}: uneven tables`);
  }
});
