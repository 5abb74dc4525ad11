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
      history.put(prepare(op, size), false);
      assert.equal(history.high, op);
      let total = 0;
      for (let kept = op; kept >= history.low; kept--) {
        const found = history.find(kept);
        assert.ok(found !== null);
        assert.deepEqual(found, prepare(kept, sizes[kept] as number).subarray(0, sizes[kept]));
        total += sizes[kept] as number;
      }
      assert.ok(total <= bytesMax);
      assert.ok(history.bytesHeld <= bytesMax);
      // Two segments (an eighth each, or a message) are let go or not full yet, and every segment
      // may end with less than a message.
      const segment = Math.max(1_500, Math.ceil(bytesMax / 8));
      const all = sizes.reduce((a, b) => a + b, 0);
      const wanted = Math.min(all, bytesMax - 2 * segment - 8 * 1_500);
      assert.ok(total >= wanted, `keeps ${total} of ${bytesMax}`);
      assert.equal(history.find(history.low - 1), null);
      assert.equal(history.find(op + 1), null);
    }
  }
});

test('a gap forgets everything before it; what is too large is not kept', () => {
  const history = new History(4_096);
  for (const op of [1, 2, 3]) history.put(prepare(op, 300), false);
  assert.deepEqual([history.low, history.high], [1, 3]);
  history.put(prepare(9, 300), false);
  assert.deepEqual([history.low, history.high], [9, 9]);
  history.put(prepare(10, 5_000), false);
  assert.equal(history.find(10), null);
  assert.equal(history.find(9), null);
  history.put(prepare(11, 300), false);
  assert.equal(history.find(11)?.length, 300);
  assert.equal(new History(0).find(1), null);
});

test('while somebody lags eight times as much is kept, and let go afterwards', () => {
  const history = new History(64_000);
  for (let op = 1; op <= 2_000; op++) history.put(prepare(op, 1_000), op > 500);
  assert.ok(history.bytesHeld <= 8 * 64_000);
  const kept = history.high - history.low + 1;
  assert.ok(kept >= 480 && kept <= 512, `${kept} operations`);
  assert.deepEqual(history.find(history.low), prepare(history.low, 1_000).subarray(0, 1_000));
  for (let op = 2_001; op <= 2_020; op++) history.put(prepare(op, 1_000), false);
  assert.ok(history.bytesHeld <= 64_000);
  assert.ok(history.high - history.low + 1 >= 48);
  assert.deepEqual(history.find(history.low), prepare(history.low, 1_000).subarray(0, 1_000));
});

test('before anybody lagged nothing more is kept, and what grew keeps the order', () => {
  const history = new History(64_000);
  for (let op = 1; op <= 500; op++) history.put(prepare(op, 1_000), false);
  assert.ok(history.low > 430);
  const low = history.low;
  for (let op = 501; op <= 900; op++) history.put(prepare(op, 1_000), true);
  assert.equal(history.low, low);
  for (let op = low; op <= 900; op++) {
    assert.deepEqual(history.find(op), prepare(op, 1_000).subarray(0, 1_000));
  }
});
