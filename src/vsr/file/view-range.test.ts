import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writeBlank } from '../view-change/vote-codec.ts';
import { chain, uniqueHeader } from '../view-change/vote-test-helper.ts';
import { isPossible } from './view-range.ts';

const root = uniqueHeader({ op: 0, view: 0, commit: 0, parent: new Uint8Array(16) });
/** The log of view 7: 1 … 3 of view 2, 4 … 6 of view 4, 7 … 8 of view 7. */
const early = chain(root, 1, 3, 2);
const middle = chain(early[2]!, 4, 3, 4);
const late = chain(middle[2]!, 7, 2, 7);
const log = [root, ...early, ...middle, ...late];

function other(op: number, view: number, parent: Uint8Array | undefined = log[op - 1]): Uint8Array {
  return uniqueHeader({ op, view, commit: 0, parent: (parent ?? root).subarray(0, 16) });
}

function blank(op: number): Uint8Array {
  const bytes = new Uint8Array(256);
  writeBlank(bytes, op);
  return bytes;
}

test('what may be in a log whose last operations are known', () => {
  const known = [log[6]!, log[5]!, log[4]!];
  for (const header of log) assert.ok(isPossible(header, known, 7), String(log.indexOf(header)));
  const unrelated = other(1, 0);
  const cases: readonly (readonly [string, Uint8Array, boolean])[] = [
    ['another at a known op', other(5, 4), false],
    ['behind the known, of an older view', other(7, 6), false],
    ['behind the known, of a later view', other(7, 8), false],
    ['behind the known, of another chain', other(7, 7, unrelated), false],
    ['far behind the known, of this view', other(9, 7, unrelated), true],
    ['far behind the known, of an older view', other(9, 4, unrelated), false],
    ['before the known, not its parent', other(3, 2), false],
    ['before the known, of a later view', other(2, 5), false],
    ['before the known, of an older view', other(2, 1), true],
  ];
  for (const [what, header, isIn] of cases) assert.equal(isPossible(header, known, 7), isIn, what);
});

test('where an op is blank its neighbours bound the view', () => {
  const known = [log[8]!, blank(7), blank(6), blank(5), blank(4), log[3]!];
  for (const header of log) assert.ok(isPossible(header, known, 7), String(log.indexOf(header)));
  const unrelated = other(1, 0);
  const cases: readonly (readonly [string, Uint8Array, boolean])[] = [
    ['between the views of both', other(5, 6, unrelated), true],
    ['older than the one below', other(5, 1, unrelated), false],
    ['later than the one above', other(5, 8, unrelated), false],
    ['not the parent of the one above', other(7, 7, unrelated), false],
    ['not the child of the one below', other(4, 4, unrelated), false],
  ];
  for (const [what, header, isIn] of cases) assert.equal(isPossible(header, known, 7), isIn, what);
});

test('without any header only later views are ruled out', () => {
  for (const known of [[], [blank(8), blank(7)]]) {
    assert.ok(isPossible(other(5, 7), known, 7));
    assert.ok(isPossible(other(5, 0), known, 7));
    assert.ok(!isPossible(other(5, 8), known, 7));
  }
});
