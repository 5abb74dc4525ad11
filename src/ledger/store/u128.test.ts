/** Limb arithmetic against BigInt, on numbers made of limbs that like to carry. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { Prng } from '../../stdx/index.ts';
import { add64, addSeconds64, equals64, isBefore64, isZero64 } from './u64.ts';
import { add, clear, copy, isEqual, isLess, isMax, isZero, subtract } from './u128.ts';

const MAX = (1n << 128n) - 1n;
const limbs = [0, 1, 2, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, 0xffff_ffff];

function randomWords(prng: Prng, count: number): Uint32Array {
  return Uint32Array.from({ length: count }, () =>
    prng.chance(3, 4) ? prng.pick(limbs) : prng.u32(),
  );
}

function toBigInt(words: Uint32Array, offset: number, count: number): bigint {
  let value = 0n;
  for (let i = count - 1; i >= 0; i--) value = (value << 32n) | BigInt(words[offset + i] as number);
  return value;
}

test('128-bit arithmetic and comparison', () => {
  const prng = new Prng(128);
  for (let round = 0; round < 50_000; round++) {
    const words = randomWords(prng, 12);
    const [to, from] = [prng.below(5), 5 + prng.below(4)];
    const a = toBigInt(words, to, 4);
    const b = toBigInt(words, from, 4);
    assert.equal(isLess(words, to, words, from), a < b);
    assert.equal(isEqual(words, to, words, from), a === b);
    assert.equal(isZero(words, to), a === 0n);
    assert.equal(isMax(words, to), a === MAX);
    const sum = words.slice();
    assert.equal(add(sum, to, words, from), a + b > MAX);
    assert.equal(toBigInt(sum, to, 4), (a + b) & MAX);
    const difference = words.slice();
    assert.equal(subtract(difference, to, words, from), a < b);
    assert.equal(toBigInt(difference, to, 4), (a - b) & MAX);
    for (const changed of [sum, difference]) {
      for (let i = 0; i < 12; i++) {
        if (i < to || i >= to + 4) assert.equal(changed[i], words[i]);
      }
    }
  }
});

test('a number may be added to itself, compared with itself and subtracted from itself', () => {
  const prng = new Prng(129);
  for (let round = 0; round < 1000; round++) {
    const words = randomWords(prng, 4);
    const value = toBigInt(words, 0, 4);
    assert.equal(isLess(words, 0, words, 0), false);
    const twice = words.slice();
    assert.equal(add(twice, 0, twice, 0), 2n * value > MAX);
    assert.equal(toBigInt(twice, 0, 4), (2n * value) & MAX);
    assert.equal(subtract(words, 0, words, 0), false);
    assert(isZero(words, 0));
  }
});

test('copy and clear touch four words', () => {
  const words = Uint32Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
  copy(words, 5, words, 1);
  assert.deepEqual([...words], [1, 2, 3, 4, 5, 2, 3, 4, 5, 10]);
  clear(words, 1);
  assert.deepEqual([...words], [1, 0, 0, 0, 0, 2, 3, 4, 5, 10]);
});

test('timestamps: comparison, nanoseconds and seconds', () => {
  const prng = new Prng(64);
  for (let round = 0; round < 20_000; round++) {
    const words = randomWords(prng, 4);
    words[1] = (words[1] as number) >>> 1;
    words[3] = (words[3] as number) >>> 1;
    const a = toBigInt(words, 0, 2);
    const time = words.slice(2, 4);
    const b = toBigInt(time, 0, 2);
    assert.equal(isBefore64(words, 0, time), a < b);
    assert.equal(equals64(words, 0, time), a === b);
    assert.equal(isZero64(words, 0), a === 0n);
    const target = new Uint32Array(2);
    const n = prng.below(0x8000_0000);
    add64(target, time, n);
    assert.equal(toBigInt(target, 0, 2), b + BigInt(n));
    const seconds = prng.chance(1, 2) ? prng.pick(limbs) : prng.u32();
    const end = a + BigInt(seconds) * 1_000_000_000n;
    assert.equal(addSeconds64(target, words, 0, seconds), end < 1n << 63n);
    if (end < 1n << 63n) assert.equal(toBigInt(target, 0, 2), end);
  }
});
