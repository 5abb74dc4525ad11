import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTopology, TOPOLOGY_NAMES } from './index.ts';
import { Tree } from './tree.ts';

const ascending = <T>(a: T, b: T): number => (a < b ? -1 : 1);

test('alternating-chord is what the drawing says', () => {
  const routes: readonly [number, string, string][] = [
    [1, '', ''],
    [2, '01', '01'],
    [3, '01 02', '01 02'],
    [4, '01 03 12', '01 03 32'],
    [5, '01 04 12 43', '02 03 21 34'],
    [6, '01 05 12 23 54', '02 04 21 43 45'],
  ];
  for (const [replicaCount, even, odd] of routes) {
    const topology = createTopology('alternating-chord', replicaCount);
    for (const [op, expected] of [
      [2, even],
      [3, odd],
    ] as const) {
      const links: string[] = [];
      for (let self = 0; self < replicaCount; self++) {
        for (const next of topology.next(0, op, self)) links.push(`${self}${next}`);
      }
      assert.equal(links.toSorted(ascending).join(' '), expected, `R = ${replicaCount}, op ${op}`);
    }
  }
});

test('everything turns with the primary', () => {
  const topology = createTopology('ring', 5);
  assert.deepEqual(topology.next(0, 1, 4), []);
  assert.deepEqual(topology.next(7, 1, 4), [0]);
  assert.deepEqual(topology.next(7, 1, 1), []);
  assert.deepEqual(topology.path(7, 1, 1), [3, 4, 0]);
});

test('the primary announces headers to those who get the body from others, and only then', () => {
  for (const name of TOPOLOGY_NAMES) {
    for (let replicaCount = 1; replicaCount <= 6; replicaCount++) {
      const topology = createTopology(name, replicaCount);
      for (let view = 0; view < replicaCount; view++) {
        for (const op of [6, 7]) {
          for (let self = 0; self < replicaCount; self++) {
            const announced = [...topology.announce(view, op, self)];
            if (self !== view || !['star-ring', 'star-chord'].includes(name)) {
              assert.deepEqual(announced, []);
              continue;
            }
            const told = [...announced, ...topology.next(view, op, self), self];
            assert.deepEqual(
              told.toSorted(ascending),
              [...Array(replicaCount).keys()],
              `${name} R ${replicaCount}`,
            );
          }
        }
      }
    }
  }
});

test('asking allocates nothing: the same question gives the same array', () => {
  for (const name of TOPOLOGY_NAMES) {
    const topology = createTopology(name, 6);
    for (let op = 1; op <= 100; op++) {
      assert.equal(topology.next(3, op, 3), topology.next(3, op, 3));
      assert.equal(topology.path(3, op, 0), topology.path(3, op, 0));
      assert.equal(topology.announce(3, op, 3), topology.announce(3, op, 3));
    }
  }
});

test('parity is that of the operation far beyond 32 bits', () => {
  const topology = createTopology('alternating-ring', 3);
  const op = 2 ** 52;
  assert.deepEqual(topology.next(0, op, 0), [1]);
  assert.deepEqual(topology.next(0, op + 1, 0), [2]);
});

test('fixed topologies put nothing into pings', () => {
  for (const name of TOPOLOGY_NAMES) {
    const topology = createTopology(name, 6);
    assert.deepEqual(topology.route, new Uint8Array(8), name);
    assert.equal(topology.name, name);
    topology.onAck(1, 1, 5);
    topology.onPing();
    topology.adopt(0, topology.route);
    assert.deepEqual(topology.route, new Uint8Array(8), name);
  }
});

test('a tree that misses a replica, or reaches one twice, is refused', () => {
  assert.throws(() => new Tree([[1], [], []]), /not all/);
  assert.throws(() => new Tree([[1, 2], [2], []]), /twice/);
  assert.throws(() => new Tree([[1], [0]]), /not a backup/);
  assert.throws(() => createTopology('star', 7), /bad replica count/);
  assert.throws(() => createTopology('star', 3).next(0, 1, 3), /no such replica/);
});
