import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  u64Add,
  u64Compare,
  u64Difference,
  u64FromBigInt,
  u64FromNumber,
  u64ToBigInt,
  u64ToNumber,
} from './u64.ts';

const big = fc.bigInt(0n, (1n << 64n) - 1n);
const small = fc.integer({ min: -Number.MAX_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER });

test('u64 agrees with BigInt on round trips, order and sums', () => {
  fc.assert(
    fc.property(big, big, small, (a, b, n) => {
      assert.equal(u64ToBigInt(u64FromBigInt(a)), a);
      const order = u64Compare(u64FromBigInt(a), u64FromBigInt(b));
      assert.equal(Math.sign(order), a < b ? -1 : a > b ? 1 : 0);
      const sum = a + BigInt(n);
      if (sum >= 0n && sum < 1n << 64n) {
        assert.equal(u64ToBigInt(u64Add(u64FromBigInt(a), n)), sum);
      } else {
        assert.throws(() => u64Add(u64FromBigInt(a), n), /overflow/);
      }
    }),
    { numRuns: 2000 },
  );
});

test('u64 converts safe integers both ways', () => {
  for (const value of [0, 1, 0xffff_ffff, 0x1_0000_0000, Number.MAX_SAFE_INTEGER]) {
    assert.equal(u64ToNumber(u64FromNumber(value)), value);
  }
  assert.equal(u64Difference(u64FromNumber(5), u64FromNumber(9)), -4);
});
