import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng, writeSafeU64, writeU32 } from '../../stdx/index.ts';
import { Offset, PrepareOffset } from '../../wire/index.ts';
import { History } from './history.ts';

function prepare(op: number, size: number): Uint8Array {
  const bytes = new Uint8Array(size + 40).fill(op & 0xff);
  writeU32(bytes, Offset.size, size);
  writeSafeU64(bytes, PrepareOffset.op, op);
  return bytes;
}

test('what is kept is the latest, in full, as much as fits', () => {
  for (let seed = 0; seed < 200; seed++) {
    const prng = new Prng(seed);
    const bytesMax = prng.between(2_000, 20_000);
    const history = new History(bytesMax);
    const sizes: number[] = [];
    for (let op = 1; op <= 300; op++) {
      const size = prng.between(256, 1_500);
      sizes[op] = size;
      history.put(prepare(op, size));
      assert.equal(history.high, op);
      let total = 0;
      for (let kept = op; kept >= history.low; kept--) {
        const found = history.find(kept);
        assert.ok(found !== null);
        assert.deepEqual(found, prepare(kept, sizes[kept] as number).subarray(0, sizes[kept]));
        total += sizes[kept] as number;
      }
      assert.ok(total <= bytesMax);
      // At most the end of the ring and one message's worth are wasted.
      const wanted = Math.min(
        bytesMax - 2 * 1_500,
        sizes.reduce((a, b) => a + b, 0),
      );
      assert.ok(total >= wanted - 1_500, `keeps ${total} of ${bytesMax}`);
      assert.equal(history.find(history.low - 1), null);
      assert.equal(history.find(op + 1), null);
    }
  }
});

test('a gap forgets everything before it; what is too large is not kept', () => {
  const history = new History(4_096);
  for (const op of [1, 2, 3]) history.put(prepare(op, 300));
  assert.deepEqual([history.low, history.high], [1, 3]);
  history.put(prepare(9, 300));
  assert.deepEqual([history.low, history.high], [9, 9]);
  history.put(prepare(10, 5_000));
  assert.equal(history.find(10), null);
  assert.equal(history.find(9), null);
  history.put(prepare(11, 300));
  assert.equal(history.find(11)?.length, 300);
  assert.equal(new History(0).find(1), null);
});
