import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng } from './prng.ts';

test('Prng repeats itself from a seed and differs between seeds and streams', () => {
  const draw = (seed: number, stream: number): number[] => {
    const prng = new Prng(seed, stream);
    return Array.from({ length: 8 }, () => prng.u32());
  };
  assert.deepEqual(draw(42, 0), draw(42, 0));
  assert.notDeepEqual(draw(42, 0), draw(43, 0));
  assert.notDeepEqual(draw(42, 0), draw(42, 1));
  assert.notDeepEqual(draw(1, 0), draw(1 + 2 ** 32, 0));
});

test('Prng.below covers its range evenly', () => {
  const prng = new Prng(7);
  const counts = new Array<number>(10).fill(0);
  for (let i = 0; i < 100_000; i++) counts[prng.below(10)]!++;
  for (const count of counts) assert.ok(count > 9_500 && count < 10_500, String(counts));
});

test('Prng.shuffle keeps all elements', () => {
  const items = Array.from({ length: 50 }, (_, i) => i);
  new Prng(3).shuffle(items);
  assert.deepEqual(
    [...items].sort((a, b) => a - b),
    Array.from({ length: 50 }, (_, i) => i),
  );
});
