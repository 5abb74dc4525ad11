import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng } from '../../stdx/index.ts';
import { mix } from './model.ts';
import { Visited } from './visited.ts';

const BYTES_MAX = 64 * 1024 * 1024;

test('what was tried is known again, and nothing else: compared with a set of strings', () => {
  for (const [returned, unknown] of [
    [300, 0],
    [90, 10],
    [32, 33],
    [0, 40],
  ] as const) {
    const prng = new Prng(returned);
    const visited = new Visited(returned, unknown, BYTES_MAX);
    const placed = new Set<number>();
    const tried = new Set<string>();
    let known = 0;
    for (let i = 0; i < 2000; i++) {
      // Mostly in order, so that words fill up; now and then a step back.
      const free = [...Array(returned + unknown).keys()].filter((at) => !placed.has(at));
      if (free.length === 0 || prng.chance(1, 2)) {
        const last = prng.pick([...placed, -1].slice(-4));
        if (last >= 0) visited.takeBack(last);
        placed.delete(last);
      } else {
        const next = prng.chance(9, 10) ? free[0]! : prng.pick(free);
        visited.place(next);
        placed.add(next);
      }
      const state = prng.below(2);
      const key = `${state} ${[...placed].sort((a, b) => a - b).join(' ')}`;
      const isKnown = tried.has(key);
      assert.equal(visited.add(state, 0), isKnown ? 'known' : 'new');
      tried.add(key);
      if (isKnown) known++;
    }
    assert.ok(known > 100 && tried.size > 100, `${known} ${tried.size}`);
  }
});

/** Operations whose shares of the hash cancel out: among more than 32 there always are some. */
function invisible(): number[] {
  const basis: { value: number; operations: bigint }[] = [];
  for (let operation = 0; ; operation++) {
    let value = mix(operation + 1);
    let operations = 1n << BigInt(operation);
    for (const other of basis) {
      if ((value ^ other.value) >>> 0 >= value >>> 0) continue;
      value ^= other.value;
      operations ^= other.operations;
    }
    if (value === 0) {
      const all = Array.from({ length: operation + 1 }, (_, at) => at);
      return all.filter((at) => ((operations >> BigInt(at)) & 1n) === 1n);
    }
    basis.push({ value, operations });
    basis.sort((a, b) => (b.value >>> 0) - (a.value >>> 0));
  }
}

test('sets of one hash are told apart', () => {
  const operations = invisible();
  assert.ok(operations.length > 1);
  for (const [returned, unknown] of [
    [64, 0],
    [0, 64],
  ] as const) {
    // One more everywhere, so that the words that are kept are as many.
    const visited = new Visited(returned, unknown, BYTES_MAX);
    visited.place(63);
    assert.equal(visited.add(7, 0), 'new');
    for (const operation of operations) visited.place(operation);
    assert.equal(visited.add(7, 0), 'new');
    assert.equal(visited.add(7, 0), 'known');
    for (const operation of operations) visited.takeBack(operation);
    assert.equal(visited.add(7, 0), 'known');
    assert.equal(visited.add(8, 0), 'new');
  }
});

test('memory is never more than was allowed, states included', () => {
  const fill = (bytesOfStates: number): number => {
    const visited = new Visited(1000, 0, 100_000);
    for (let operation = 0; operation < 1000; operation++) {
      visited.place(operation);
      if (visited.add(0, bytesOfStates) === 'full') return operation;
      assert.ok(visited.bytes + bytesOfStates <= 100_000);
    }
    return 1000;
  };
  assert.equal(fill(0), 1000);
  assert.ok(fill(90_000) < 500);
  assert.equal(fill(100_000), 0);
});
