import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTopology, type Parts, TOPOLOGY_NAMES, type TopologyName } from '../../vsr/index.ts';
import { perform } from './perform.ts';
import { HOP_NS, type Scenario } from './scenario.ts';

/**
 * Hops until the primary holds a quorum: first with nobody dead, then with backup 1, 2, … dead.
 * null: not without somebody asking again.
 */
type Cell = readonly (number | null)[];
type Table = { readonly [replicaCount: number]: Cell };

const clockwise: Table = {
  3: [2, null, 2],
  4: [2, null, 2, 2],
  5: [3, null, null, 3, 3],
  6: [3, null, null, 3, 3, 3],
};
const counterClockwise: Table = {
  3: [2, 2, null],
  4: [2, 2, 2, null],
  5: [3, 3, 3, null, null],
  6: [3, 3, 3, 3, null, null],
};
const route: Table = {
  3: [2, 2, 2],
  4: [2, 2, 2, 2],
  5: [2, 3, 2, 2, 3],
  6: [2, 3, 2, 2, 2, 3],
};
const star: Table = { 3: [2, 2, 2], 4: [2, 2, 2, 2], 5: [2, 2, 2, 2, 2], 6: [2, 2, 2, 2, 2, 2] };
const chordEven: Table = {
  3: [2, 2, 2],
  4: [2, 2, 2, 2],
  5: [2, 3, 2, 2, 3],
  6: [2, 3, 2, 2, 2, 3],
};
const chordOdd: Table = {
  3: [2, 2, 2],
  4: [2, 2, 2, 2],
  5: [2, 2, 3, 3, 2],
  6: [2, 2, 3, 2, 3, 2],
};

/** Even operations, odd operations. */
const hops: { readonly [topology in TopologyName]: readonly [Table, Table] } = {
  ring: [clockwise, clockwise],
  'alternating-ring': [clockwise, counterClockwise],
  star: [star, star],
  'adaptive-route': [route, route],
  'alternating-chord': [chordEven, chordOdd],
  'star-ring': [clockwise, counterClockwise],
  'star-chord': [chordEven, chordOdd],
};

/** How far from a whole number of hops: replicas take a moment for everything. */
const MOMENT = 0.02;

function check(scenario: Scenario, onParts?: (parts: Parts) => void): void {
  const [distance = 0] = scenario.dead ?? [];
  const { commitments } = perform(scenario, { seed: 1, onParts });
  assert.equal(commitments.length, scenario.requests);
  for (const { op, ns, isHelped } of commitments) {
    const found = ns / HOP_NS;
    const table = hops[scenario.topology][op % 2] as Table;
    const expected = table[scenario.replicaCount]?.[distance];
    const what = `${JSON.stringify(scenario)}: op ${op} took ${found.toFixed(2)} hops`;
    if (expected === null || expected === undefined) {
      assert.ok(isHelped && found > 3, `${what} without help`);
    } else {
      assert.ok(found >= expected && found < expected + MOMENT, `${what}, not ${expected}`);
    }
  }
}

function scenarioOf(topology: TopologyName, replicaCount: number, distance: number): Scenario {
  const dead = distance === 0 ? [] : [distance];
  return { topology, replicaCount, clients: 1, requests: 6, network: 'hops', dead };
}

for (const topology of TOPOLOGY_NAMES) {
  test(`hops to a quorum by ${topology}, whoever is dead`, () => {
    for (const replicaCount of [3, 4, 5, 6]) {
      for (let distance = 0; distance < replicaCount; distance++) {
        check(scenarioOf(topology, replicaCount, distance));
      }
    }
  });
}

test('no dead backup costs alternating-chord a quorum', () => {
  for (const table of [chordEven, chordOdd]) {
    for (const cell of Object.values(table)) {
      assert.ok(cell.every((count) => count === 2 || count === 3));
    }
  }
});

test('a topology that is not what it says does not pass', () => {
  const lie = (parts: Parts): void => {
    const { replicaCount } = parts.member;
    Object.assign(parts, { topology: createTopology('ring', replicaCount) });
  };
  assert.throws(() => check(scenarioOf('star', 6, 0), lie), /took 3\.00 hops, not 2/);
  assert.throws(() => check(scenarioOf('alternating-ring', 6, 5), lie), /without help/);
});
