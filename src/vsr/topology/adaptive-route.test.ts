import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng } from '../../stdx/index.ts';
import { AdaptiveRoute, exploredRoute } from './adaptive-route.ts';
import { RouteTable } from './route-table.ts';
import { spread } from './topology-test-helper.ts';

/** An operation that explores nothing. */
const PLAIN_OP = 10;

test('routes: all orders with the primary in the middle, the turned identity first', () => {
  for (const [replicaCount, size] of [
    [1, 1],
    [2, 1],
    [3, 2],
    [4, 6],
    [5, 24],
    [6, 120],
  ] as const) {
    const table = new RouteTable(replicaCount);
    assert.equal(table.size, size);
    const seen = new Set<string>();
    for (let number = 0; number < size; number++) {
      for (let primary = 0; primary < replicaCount; primary++) {
        const bytes = table.encode(number, primary);
        assert.equal(bytes[Math.floor(replicaCount / 2)], primary);
        assert.equal(table.decode(bytes, primary), number);
        assert.ok(!seen.has(bytes.toString()) || replicaCount === 1);
        seen.add(bytes.toString());
      }
    }
  }
  assert.deepEqual([...new RouteTable(6).encode(0, 1)], [4, 5, 0, 1, 2, 3, 255, 255]);
  assert.deepEqual([...new RouteTable(5).encode(0, 0)], [3, 4, 0, 1, 2, 255, 255, 255]);
});

test('exploration: one pair in twenty, both operations alike, every route in turn', () => {
  const seen = new Map<number, number>();
  let explored = 0;
  const pairs = 100_000;
  for (let even = 0; even < 2 * pairs; even += 2) {
    const route = exploredRoute(even, 120);
    assert.equal(exploredRoute(even + 1, 120), route);
    if (route === -1) continue;
    explored++;
    seen.set(route, (seen.get(route) ?? 0) + 1);
  }
  assert.ok(Math.abs(explored - pairs / 20) < 300, `${explored}`);
  assert.equal(seen.size, 120);
  // 42 each are expected, give or take 6.5.
  for (const count of seen.values()) assert.ok(count > 15 && count < 75, `${count}`);
  assert.equal(exploredRoute(2 ** 40 + 2, 120), exploredRoute(2 ** 40 + 3, 120));
  for (let op = 0; op < 1000; op++) assert.equal(exploredRoute(op, 2), -1);
});

test('replicas that never spoke explore the same routes', () => {
  const a = new AdaptiveRoute(6);
  const b = new AdaptiveRoute(6);
  for (let op = 0; op < 500; op++) {
    for (let self = 0; self < 6; self++) {
      assert.deepEqual(a.next(9, op, self), b.next(9, op, self));
    }
  }
});

/**
 * Replicas on a ring in an order that only their delays betray; 10 ms from neighbour to neighbour.
 */
function hiddenRing(order: readonly number[], jitter: () => number) {
  return (from: number, to: number): number => {
    const steps = Math.abs(order.indexOf(from) - order.indexOf(to));
    return Math.min(steps, order.length - steps) * (10_000_000 + jitter());
  };
}

/** Sends operations until the route in use follows the ring, and a while on; when that was. */
function opsToLearn(view: number, order: readonly number[], jitter: () => number): number {
  const replicaCount = order.length;
  const primary = view % replicaCount;
  const delay = hiddenRing(order, jitter);
  const topology = new AdaptiveRoute(replicaCount);
  topology.onView(view);
  let learnt = -1;
  for (let op = 1; op <= 10_000; op++) {
    const { arrivals } = spread(topology, { view, op, replicaCount, delay });
    for (let replica = 0; replica < replicaCount; replica++) {
      if (replica === primary) continue;
      topology.onAck(op, replica, arrivals[replica][0] + delay(replica, primary));
    }
    if (op % 100 !== 0) continue;
    topology.onPing();
    const follows = followsRing(topology, view, order);
    if (follows && learnt === -1) learnt = op;
    // Once found it is kept: nothing is better.
    if (!follows) learnt = -1;
  }
  return learnt;
}

/** Whether the route in use hands over between neighbours on the ring only. */
function followsRing(topology: AdaptiveRoute, view: number, order: readonly number[]): boolean {
  const replicaCount = order.length;
  assert.equal(exploredRoute(PLAIN_OP, 120), -1);
  for (let self = 0; self < replicaCount; self++) {
    for (const next of topology.next(view, PLAIN_OP, self)) {
      const steps = Math.abs(order.indexOf(self) - order.indexOf(next));
      if (steps !== 1 && steps !== replicaCount - 1) return false;
    }
  }
  return true;
}

test('a hidden ring order is found within 10,000 operations, and kept', () => {
  const prng = new Prng(7);
  for (let round = 0; round < 12; round++) {
    const order = [0, 1, 2, 3, 4, 5];
    prng.shuffle(order);
    const jitter = round % 2 === 0 ? () => 0 : () => prng.below(300_000);
    const learnt = opsToLearn(round, order, jitter);
    assert.ok(learnt !== -1, `view ${round}, ring ${order}`);
  }
});

test('the backups take what the pings of their view carry, nonsense is ignored', () => {
  const table = new RouteTable(6);
  const backup = new AdaptiveRoute(6);
  backup.onView(8);
  assert.deepEqual(backup.route, new Uint8Array(8));
  assert.deepEqual(backup.next(8, PLAIN_OP, 2), [1, 3]);
  const route = table.encode(57, 2);
  backup.adopt(7, route);
  backup.adopt(14, route);
  backup.adopt(8, new Uint8Array(8));
  backup.adopt(8, table.encode(57, 3));
  backup.adopt(8, Uint8Array.of(0, 1, 1, 2, 4, 5, 255, 255));
  assert.deepEqual(backup.next(8, PLAIN_OP, 2), [1, 3]);
  backup.adopt(8, route);
  assert.deepEqual(backup.route, route);
  const { paths } = spread(backup, { view: 8, op: PLAIN_OP, replicaCount: 6 });
  assert.deepEqual(paths[route[0]], [route[2], route[1]]);
  assert.deepEqual(paths[route[5]], [route[4]]);
  // Of another view, and after the next, the default.
  assert.deepEqual(backup.next(2, PLAIN_OP, 2), [1, 3]);
  backup.onView(9);
  assert.deepEqual(backup.next(9, PLAIN_OP, 3), [2, 4]);
  assert.deepEqual(backup.route, new Uint8Array(8));
});

test('a dead neighbour is moved to the end of the route', () => {
  const topology = new AdaptiveRoute(6);
  const quiet = { view: 0, replicaCount: 6, dead: [1] };
  for (let op = 1; op <= 20_000; op++) {
    const { arrivals } = spread(topology, { ...quiet, op });
    for (let replica = 1; replica < 6; replica++) {
      if (arrivals[replica].length > 0) topology.onAck(op, replica, 1 + arrivals[replica][0]);
    }
    if (op % 100 === 0) topology.onPing();
  }
  const { arrivals } = spread(topology, { ...quiet, op: 10 });
  for (const replica of [2, 3, 4, 5]) assert.equal(arrivals[replica].length, 1, `${replica}`);
  const end = topology.route.indexOf(1);
  assert.ok(end === 0 || end === 5, `${topology.route}`);
});

/** First even operation from `from` on of which the route that it explores satisfies `wanted`. */
function evenOp(from: number, wanted: (route: number) => boolean): number {
  for (let op = from + (from % 2); ; op += 2) if (wanted(exploredRoute(op, 6))) return op;
}

/** All backups of four replicas acknowledge the pair of `even`. */
function acknowledge(topology: AdaptiveRoute, even: number, delayNs: number): void {
  for (const op of [even, even + 1]) {
    for (let replica = 1; replica < 4; replica++) topology.onAck(op, replica, delayNs);
  }
}

test('the route changes when pings go out and both costs are known', () => {
  const topology = new AdaptiveRoute(4);
  const trial = evenOp(0, (route) => route > 0);
  const taken = new RouteTable(4).encode(exploredRoute(trial, 6), 0);
  acknowledge(topology, trial, 10);
  topology.onPing();
  assert.deepEqual(topology.route, new Uint8Array(8), 'cost of the route in use unknown');
  const plain = evenOp(trial + 2, (route) => route === -1);
  acknowledge(topology, plain, 100);
  assert.deepEqual(topology.route, new Uint8Array(8), 'no ping yet');
  topology.onPing();
  assert.deepEqual(topology.route, taken);

  // Operations still under way are those of the old route: their cost is not that of the new one.
  const late = evenOp(plain + 2, (route) => route === -1);
  assert.ok(late <= plain + 8);
  acknowledge(topology, late, 1000);
  const number = exploredRoute(trial, 6);
  const other = evenOp(plain + 10, (route) => route !== -1 && route !== number);
  acknowledge(topology, other, 10);
  topology.onPing();
  assert.deepEqual(topology.route, taken);
  // With a cost of its own it can lose.
  acknowledge(
    topology,
    evenOp(other + 2, (route) => route === -1),
    1000,
  );
  topology.onPing();
  assert.deepEqual(topology.route, new RouteTable(4).encode(exploredRoute(other, 6), 0));
});

test('a route measured again is judged by the later measurement', () => {
  const topology = new AdaptiveRoute(4);
  const trial = evenOp(0, (route) => route > 0);
  const number = exploredRoute(trial, 6);
  acknowledge(topology, trial, 10);
  acknowledge(
    topology,
    evenOp(trial + 2, (route) => route === number),
    1000,
  );
  acknowledge(
    topology,
    evenOp(trial + 20_000, (route) => route === -1),
    100,
  );
  topology.onPing();
  assert.deepEqual(topology.route, new Uint8Array(8));
});
