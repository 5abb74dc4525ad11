/** The pending status column against a plain array, over the end of a chunk and with rollbacks. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { BLOCK_SIZE_MAX } from '../../engine/index.ts';
import { Prng } from '../../stdx/index.ts';
import { PendingStatus } from '../tables.ts';
import { PendingColumn } from './pending-column.ts';

test('like an array', () => {
  const prng = new Prng(3);
  const column = new PendingColumn();
  const twin: number[] = [];
  while (twin.length < BLOCK_SIZE_MAX - 300) {
    column.appendNone();
    twin.push(PendingStatus.none);
  }
  for (let step = 0; step < 3000; step++) {
    const status = prng.below(5);
    switch (prng.below(twin.length > BLOCK_SIZE_MAX + 300 ? 5 : 4)) {
      case 0:
        column.append(status);
        twin.push(status);
        break;
      case 1:
        column.appendNone();
        twin.push(PendingStatus.none);
        break;
      case 2: {
        const row = twin.length - 1 - prng.below(600);
        column.set(row, status);
        twin[row] = status;
        break;
      }
      default:
        twin.length -= prng.below(prng.pick([2, 2, 2, 9]));
        column.truncate(twin.length);
    }
    assert.equal(column.count, twin.length);
  }
  assert(twin.length > BLOCK_SIZE_MAX - 300);
  for (const [row, status] of twin.entries()) assert.equal(column.get(row), status);
  const copy = new PendingColumn();
  for (let leaf = 0; leaf * BLOCK_SIZE_MAX < twin.length; leaf++) {
    copy.restoreLeaf(leaf, column.leaf(leaf, twin.length));
  }
  assert.equal(copy.count, twin.length);
  for (const [row, status] of twin.entries()) assert.equal(copy.get(row), status);
});
