import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTopology, TOPOLOGY_NAMES, type TopologyName } from './index.ts';
import { hopsToQuorum, spread } from './topology-test-helper.ts';

type Cell = readonly (number | null)[];

/**
 * Hops until the primary holds a quorum; first with nobody dead, then with backup 1, 2, … dead.
 * null: never without a timeout or repair.
 */
const reach: {
  readonly [replicaCount: number]: {
    readonly clockwise: Cell;
    readonly counterClockwise: Cell;
    readonly route: Cell;
    readonly star: Cell;
  };
} = {
  3: {
    clockwise: [2, null, 2],
    counterClockwise: [2, 2, null],
    route: [2, 2, 2],
    star: [2, 2, 2],
  },
  4: {
    clockwise: [2, null, 2, 2],
    counterClockwise: [2, 2, 2, null],
    route: [2, 2, 2, 2],
    star: [2, 2, 2, 2],
  },
  5: {
    clockwise: [3, null, null, 3, 3],
    counterClockwise: [3, 3, 3, null, null],
    route: [2, 3, 2, 2, 3],
    star: [2, 2, 2, 2, 2],
  },
  6: {
    clockwise: [3, null, null, 3, 3, 3],
    counterClockwise: [3, 3, 3, 3, null, null],
    route: [2, 3, 2, 2, 2, 3],
    star: [2, 2, 2, 2, 2, 2],
  },
};

const counts = [2, 3, 4, 5, 6];

/** The cell of the table for views 0 … 2R, in which everything is turned by the primary. */
function measured(name: TopologyName, replicaCount: number, op: number): Cell[] {
  const cells: Cell[] = [];
  for (let view = 0; view <= 2 * replicaCount; view++) {
    const topology = createTopology(name, replicaCount);
    topology.onView(view);
    const primary = view % replicaCount;
    const cell = [hopsToQuorum(topology, { view, op, replicaCount })];
    for (let i = 1; i < replicaCount; i++) {
      const dead = [(primary + i) % replicaCount];
      cell.push(hopsToQuorum(topology, { view, op, replicaCount, dead }));
    }
    cells.push(cell);
  }
  return cells;
}

test('reach: the arithmetic of hops, every primary, every dead backup', () => {
  for (const [key, row] of Object.entries(reach)) {
    const replicaCount = Number(key);
    const cases: readonly [TopologyName, number, Cell][] = [
      ['ring', 10, row.clockwise],
      ['ring', 11, row.clockwise],
      ['alternating-ring', 10, row.clockwise],
      ['alternating-ring', 11, row.counterClockwise],
      ['star-ring', 10, row.clockwise],
      ['star-ring', 11, row.counterClockwise],
      // Neither operation is explored.
      ['adaptive-route', 10, row.route],
      ['adaptive-route', 11, row.route],
      ['star', 10, row.star],
      ['star', 11, row.star],
    ];
    for (const [name, op, expected] of cases) {
      for (const cell of measured(name, replicaCount, op)) {
        assert.deepEqual(cell, expected, `${name}, R = ${replicaCount}, op ${op}`);
      }
    }
  }
});

test('no dead backup costs alternating-chord a quorum', () => {
  for (const name of ['alternating-chord', 'star-chord'] as const) {
    for (const replicaCount of counts) {
      for (const op of [10, 11]) {
        for (const [healthy, ...oneDead] of measured(name, replicaCount, op)) {
          assert.equal(healthy, 2, `${name}, R = ${replicaCount}`);
          // Two replicas need each other: no topology helps.
          if (replicaCount === 2) assert.deepEqual(oneDead, [null]);
          else for (const hops of oneDead) assert.ok(hops === 2 || hops === 3, `${hops}`);
        }
      }
    }
  }
});

test('with one dead, every live replica gets at least one parity by chords', () => {
  for (const replicaCount of counts) {
    const topology = createTopology('alternating-chord', replicaCount);
    for (let view = 0; view < replicaCount; view++) {
      for (let i = 1; i < replicaCount; i++) {
        const dead = [(view + i) % replicaCount];
        const even = spread(topology, { view, op: 10, replicaCount, dead }).arrivals;
        const odd = spread(topology, { view, op: 11, replicaCount, dead }).arrivals;
        for (let replica = 0; replica < replicaCount; replica++) {
          if (replica === view || replica === dead[0]) continue;
          const copies = even[replica].length + odd[replica].length;
          assert.ok(copies >= 1, `R = ${replicaCount}, view ${view}, dead ${dead}: ${replica}`);
        }
      }
    }
  }
});

test('healthy: every backup gets every prepare exactly once, the primary none', () => {
  for (const name of TOPOLOGY_NAMES) {
    for (let replicaCount = 1; replicaCount <= 6; replicaCount++) {
      const topology = createTopology(name, replicaCount);
      for (let view = 0; view <= replicaCount; view++) {
        // Sixty operations of an adaptive route hold a few explored ones.
        for (let op = 1; op <= 60; op++) {
          const { arrivals } = spread(topology, { view, op, replicaCount });
          const copies = arrivals.map((times) => times.length);
          const expected = copies.map((_, i) => (i === view % replicaCount ? 0 : 1));
          assert.deepEqual(copies, expected, `${name}, R = ${replicaCount}, view ${view}`);
        }
      }
    }
  }
});

test('path says who really was on the way', () => {
  for (const name of TOPOLOGY_NAMES) {
    for (let replicaCount = 1; replicaCount <= 6; replicaCount++) {
      const topology = createTopology(name, replicaCount);
      for (let view = 0; view <= replicaCount; view++) {
        for (let op = 1; op <= 60; op++) {
          const { paths } = spread(topology, { view, op, replicaCount });
          for (let self = 0; self < replicaCount; self++) {
            assert.deepEqual(topology.path(view, op, self), paths[self], `${name} to ${self}`);
          }
        }
      }
    }
  }
});
