import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng } from '../../stdx/index.ts';
import { sameContent } from './same-bytes.ts';

test('equal content is equal wherever it lies; any other byte makes it different', () => {
  const prng = new Prng(1);
  for (let round = 0; round < 400; round++) {
    const length = prng.below(70);
    const room = new Uint8Array(200);
    prng.fill(room);
    const a = room.subarray(prng.below(8)).subarray(0, length);
    const target = new Uint8Array(200);
    const b = target.subarray(prng.below(8)).subarray(0, length);
    b.set(a);
    assert.ok(sameContent(a, b));
    assert.ok(!sameContent(a, target.subarray(0, length + 1)));
    if (length === 0) continue;
    b[prng.below(length)]! ^= 1 << prng.below(8);
    assert.ok(!sameContent(a, b));
  }
});
