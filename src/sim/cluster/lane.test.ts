import assert from 'node:assert/strict';
import { test } from 'node:test';
import { World } from '../world/world.ts';
import { Lane, type LaneOptions } from './lane.ts';

const PLAIN: LaneOptions = {
  isOrdered: false,
  delay: { minNs: 1000, meanNs: 1_000_000 },
  losses: 0,
  duplicates: 0,
  capacity: 1000,
  clogs: 0,
  clogMeanNs: 0,
};

function scene(options: Partial<LaneOptions>) {
  const world = new World({ seed: 1 });
  const out: number[] = [];
  const lane = new Lane(world, world.prng(1), { ...PLAIN, ...options }, (packet) => {
    out.push(packet.bytes[0]! + 256 * packet.bytes[1]!);
  });
  const send = (n: number): void => {
    const bytes = new Uint8Array([n % 256, n >>> 8]);
    lane.send({ bytes, generation: 1, senderId: new Uint8Array(16) });
  };
  const run = (untilNs: number = Number.MAX_SAFE_INTEGER): void => {
    while (world.step(untilNs));
  };
  return { world, lane, out, send, run };
}

const count = 500;
const inOrder = Array.from({ length: count }, (_, i) => i);

test('an ordered lane keeps the order and loses nothing, a wild one does neither', () => {
  const ordered = scene({ isOrdered: true, losses: 300, duplicates: 300 });
  for (const n of inOrder) ordered.send(n);
  ordered.run();
  assert.deepEqual(ordered.out, inOrder);
  const wild = scene({ losses: 100, duplicates: 200 });
  for (const n of inOrder) wild.send(n);
  wild.run();
  const lost = count - new Set(wild.out).size;
  const doubled = wild.out.length - new Set(wild.out).size;
  assert.ok(lost > 25 && lost < 80, `${lost} lost`);
  assert.ok(doubled > 50 && doubled < 140, `${doubled} doubled`);
  assert.notDeepEqual(
    wild.out,
    wild.out.toSorted((a, b) => a - b),
  );
  assert.equal(wild.world.coverage.count('losses'), lost);
});

test('a full lane loses something: the newest when it is ordered, anything when it is wild', () => {
  const ordered = scene({ isOrdered: true, capacity: 10 });
  const wild = scene({ capacity: 10 });
  for (const { send, run } of [ordered, wild]) {
    for (let n = 0; n < 30; n++) send(n);
    run();
  }
  assert.deepEqual(ordered.out, inOrder.slice(0, 10));
  assert.equal(wild.out.length, 10);
  assert.ok(Math.max(...wild.out) > 20, String(wild.out));
  assert.equal(wild.world.coverage.count('overflows'), 20);
});

test('what an ordered lane holds while it is shut comes later, in order; wild ones lose it', () => {
  for (const isOrdered of [true, false]) {
    const { lane, out, send, run } = scene({ isOrdered });
    lane.shut();
    for (let n = 0; n < 20; n++) send(n);
    run(1_000_000_000);
    assert.deepEqual(out, []);
    lane.open();
    send(20);
    run();
    assert.deepEqual(out, isOrdered ? inOrder.slice(0, 21) : [20]);
  }
});

test('a clog delays what comes after it; a calm lane has none', () => {
  const { lane, out, send, run, world } = scene({ clogs: 999, clogMeanNs: 1_000_000_000 });
  send(1);
  run(7_000_000);
  assert.deepEqual(out, []);
  assert.ok(world.coverage.count('clogs') > 0);
  lane.calm();
  send(2);
  run(world.nowNs + 20_000_000);
  assert.deepEqual(out, [2]);
});
