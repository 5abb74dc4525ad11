import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contactsNeeded, majority, quorumIndex } from './quorum.ts';

test('quorum: any two majorities share a server, and half is none', () => {
  for (let n = 1; n <= 9; n++) {
    assert(2 * majority(n) > n);
    assert(2 * (majority(n) - 1) <= n);
  }
});

test('quorum: an index is reached when a majority has at least as much', () => {
  for (const [matches, expected] of [
    [[7], 7],
    [[7, 3], 3],
    [[7, 3, 5], 5],
    [[7, 3, 5, 1], 3],
    [[0, 0, 9, 9, 9], 9],
    [[0, 0, 0, 9, 9], 0],
  ] as const) {
    assert.equal(quorumIndex(matches), expected);
  }
});

test('quorum: says of every small set what counting says', () => {
  for (let code = 0; code < 4 ** 5; code++) {
    const matches = [0, 1, 2, 3, 4].map((i) => Math.floor(code / 4 ** i) % 4);
    const has = (index: number): number => matches.filter((match) => match >= index).length;
    const counted = [3, 2, 1, 0].find((index) => has(index) >= 3);
    assert.equal(quorumIndex(matches), counted);
  }
});

test('quorum: a leader and those it has to hear are a majority', () => {
  for (let n = 1; n <= 9; n++) assert.equal(1 + contactsNeeded(n), majority(n));
});
