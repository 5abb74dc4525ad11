import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ID_ORDERS, type IdOrder, IdSequence } from './id-order.ts';

const COUNT = 20_000;

test('ids of every order are distinct, not zero, and the same for the same seed', () => {
  for (const order of ID_ORDERS) {
    const ids = idsOf(order, 3);
    assert.equal(new Set(ids).size, COUNT, order);
    assert.ok(
      ids.every((id) => id > 0n && id < (1n << 128n) - 1n),
      order,
    );
    assert.deepEqual(idsOf(order, 3), ids, order);
  }
});

test('ids of another seed are other ids', () => {
  for (const order of ID_ORDERS) {
    const ids = new Set(idsOf(order, 3));
    assert.ok(
      idsOf(order, 4).every((id) => !ids.has(id)),
      order,
    );
  }
});

test('the orders are what their names say', () => {
  const rises = (order: IdOrder): number => {
    const ids = idsOf(order, 5);
    return ids.filter((id, n) => n > 0 && id > ids[n - 1]).length;
  };
  assert.equal(rises('sequential'), COUNT - 1);
  assert.equal(rises('tbid'), COUNT - 1);
  assert.equal(rises('reversed'), 0);
  assert.ok(Math.abs(rises('random') - COUNT / 2) < COUNT / 20);
});

function idsOf(order: IdOrder, seed: number): bigint[] {
  const sequence = new IdSequence({ order, seed, count: COUNT });
  const words = new Uint32Array(4);
  return Array.from({ length: COUNT }, (_, n) => {
    sequence.write(n, words, 0);
    return words.reduceRight((value, word) => (value << 32n) | BigInt(word), 0n);
  });
}
