import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Progress } from './progress.ts';

test('Progress: runs ahead while replicating, within the limit', () => {
  const progress = new Progress('b', 10);
  for (let i = 0; i < 3; i++) {
    assert(progress.mayAppend(3));
    progress.onSent(2);
  }
  assert.equal(progress.next, 16);
  assert(!progress.mayAppend(3));
  progress.onAppended(13);
  assert.deepEqual([progress.match, progress.next, progress.inflightCount], [13, 16, 1]);
  assert(progress.mayAppend(3));
});

test('Progress: one append at a time while probing, and next waits for the answer', () => {
  const progress = new Progress('b', 10);
  progress.onRefused(9, 5, 2);
  assert.deepEqual([progress.state, progress.next], ['probing', 5]);
  progress.onSent(3);
  assert.equal(progress.next, 5);
  assert(!progress.mayAppend(64));
  progress.onAppended(7);
  assert.deepEqual([progress.state, progress.next, progress.match], ['replicating', 8, 7]);
});

test('Progress: a refusal that says nothing new changes nothing', () => {
  const progress = new Progress('b', 10);
  progress.onAppended(5);
  assert(!progress.onRefused(4, 4, 2), 'what it has is not taken back');
  assert(progress.onRefused(9, 6, 2));
  assert.equal(progress.next, 6);
  assert(!progress.onRefused(9, 6, 2), 'the same once more');
  assert.equal(progress.next, 6);
});

test('Progress: refusals in a row go back in steps that double, to the start of the log first', () => {
  const progress = new Progress('b', 100);
  const seen = [];
  for (let i = 0; i < 7; i++) {
    assert(progress.onRefused(progress.next - 1, 200, 60));
    seen.push(progress.next);
  }
  assert.deepEqual(seen, [99, 97, 93, 85, 69, 60, 1]);
});

test('Progress: a peer with a short log is asked where that ends', () => {
  const progress = new Progress('b', 100);
  progress.onRefused(99, 30, 20);
  assert.equal(progress.next, 30);
  const empty = new Progress('c', 100);
  empty.onRefused(99, 1, 20);
  assert.equal(empty.next, 1);
});

test('Progress: nothing is appended while a snapshot is under way, and a loss ends it', () => {
  const progress = new Progress('b', 3);
  progress.onSnapshotSent(9, 0);
  assert(!progress.mayAppend(64));
  assert(!progress.onRefused(2, 1, 10));
  progress.onSessionLost();
  assert.deepEqual([progress.state, progress.next], ['probing', 3]);
  progress.onSnapshotSent(9, 0);
  progress.onSnapshotInstalled(9);
  assert.deepEqual([progress.state, progress.next], ['probing', 10]);
});

test('Progress: an old answer does not end the search for where the logs part', () => {
  const progress = new Progress('b', 10);
  progress.onRefused(9, 8, 2);
  progress.onAppended(3);
  assert.deepEqual([progress.state, progress.next, progress.match], ['probing', 8, 3]);
  progress.onAppended(7);
  assert.equal(progress.state, 'replicating');
});
