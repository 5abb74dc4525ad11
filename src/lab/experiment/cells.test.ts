import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Cell,
  cellsOf,
  cellText,
  distancesOf,
  KINDS,
  kindRules,
  parseDistances,
  parseNames,
  partnerOf,
  planSteps,
} from './cells.ts';

test('lists name what there is, once each, or are refused', () => {
  assert.deepEqual(parseNames('closed,primary,closed', KINDS), ['closed', 'primary']);
  assert.deepEqual(parseNames(' open , return', KINDS), ['open', 'return']);
  for (const bad of ['', 'closed,', 'closed,nonsense', 'closed open']) {
    assert.equal(parseNames(bad, KINDS), null, bad);
  }
});

test('distances are none and those that a backup of the cluster can have', () => {
  assert.deepEqual(parseDistances('none,1,5', 6), [null, 1, 5]);
  assert.deepEqual(parseDistances('2', 3), [2]);
  for (const bad of ['0', '3', '-1', '1.5', '1,none,6', '']) {
    assert.equal(parseDistances(bad, 3), null, bad);
  }
  assert.deepEqual(distancesOf(6), [1, 2, 3, 4, 5]);
});

test('cells are all combinations; a dead primary has one distance', () => {
  const cells = cellsOf({
    topologies: ['star', 'ring'],
    kinds: ['closed', 'primary'],
    distances: [null, 2],
  });
  assert.deepEqual(cells.map(cellText), [
    'star, closed, none',
    'star, closed, 2',
    'star, primary, primary',
    'ring, closed, none',
    'ring, closed, 2',
    'ring, primary, primary',
  ]);
});

test('each run of a cell follows one of its healthy partner, round after round', () => {
  const one: Cell = { topology: 'star', kind: 'closed', distance: 1 };
  const two: Cell = { topology: 'star', kind: 'closed', distance: 2 };
  const steps = planSteps([partnerOf(one), one, two], 2);
  const order = [partnerOf(one), one, partnerOf(two), two];
  assert.deepEqual(
    steps.map(({ cell }) => cell),
    [...order, ...order],
  );
  assert.deepEqual(
    steps.map(({ round }) => round),
    [0, 0, 0, 0, 1, 1, 1, 1],
  );
  assert.deepEqual(
    steps.map((step) => step.partnerOf),
    [one, null, two, null, one, null, two, null],
  );
});

test('a healthy cell that is nobody’s partner is run for itself', () => {
  const healthy: Cell = { topology: 'ring', kind: 'open', distance: null };
  const other: Cell = { topology: 'ring', kind: 'closed', distance: 1 };
  const steps = planSteps([healthy, other], 1);
  assert.deepEqual(
    steps.map(({ cell }) => cellText(cell)),
    ['ring, open, none', 'ring, closed, none', 'ring, closed, 1'],
  );
  assert.equal(steps[0]?.partnerOf, null);
});

test('only kinds that do something half-way are without trouble before', () => {
  for (const kind of KINDS) {
    const { before, during, loop } = kindRules[kind];
    assert.ok(before !== null || during !== null, kind);
    assert.ok(during === null || loop === 'open', `${kind}: a closed loop is over too soon`);
  }
});
