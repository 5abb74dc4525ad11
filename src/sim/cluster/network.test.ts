import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Member } from '../process/life.ts';
import { World } from '../world/world.ts';
import { ClusterNetwork, type ClusterNetworkOptions, type PeerEnd } from './network.ts';

const ORDERED: ClusterNetworkOptions = {
  isOrdered: true,
  delay: { minNs: 10_000, meanNs: 200_000 },
  losses: 0,
  duplicates: 0,
  capacity: 100,
  clogs: 0,
  clogMeanNs: 0,
  breaks: 0,
};

/** A process that writes down what it hears. */
class FakeEnd implements PeerEnd {
  isUp: boolean = false;
  isPaused: boolean = false;
  lives: number = 0;
  id: number;
  isRecovered: boolean = false;
  readonly heard: string[] = [];

  constructor(index: number) {
    this.id = index + 1;
  }

  get member(): Member {
    assert.ok(this.isUp);
    return { replicaId: new Uint8Array(16).fill(this.id), isRecovered: this.isRecovered };
  }

  onPeerUp(replica: number, { replicaId, isRecovered }: Member): void {
    assert.ok(this.isUp);
    this.heard.push(`up ${replica} ${replicaId[0]}${isRecovered ? ' recovered' : ''}`);
  }

  onPeerDown(replica: number): void {
    assert.ok(this.isUp);
    this.heard.push(`down ${replica}`);
  }

  onPeerBytes(replica: number, bytes: Uint8Array): void {
    this.heard.push(`${replica}: ${bytes[0]}`);
  }

  take(): string[] {
    return this.heard.splice(0);
  }
}

function scene(count: number, options: Partial<ClusterNetworkOptions> = {}, seed: number = 1) {
  const world = new World({ seed });
  const ends = Array.from({ length: count }, (_, index) => new FakeEnd(index));
  const network = new ClusterNetwork(world, ends, { ...ORDERED, ...options });
  const start = (index: number): void => {
    ends[index]!.isUp = true;
    ends[index]!.lives++;
    network.onStarted(index);
  };
  const crash = (index: number, isSilent: boolean = false): void => {
    ends[index]!.isUp = false;
    network.onEnded(index, isSilent);
  };
  const run = (ns: number): void => {
    world.after(ns, () => {});
    const end = world.nowNs + ns;
    while (world.step(end));
  };
  const send = (from: number, to: number, byte: number): void => {
    network.send(from, to, new Uint8Array([byte]));
  };
  return { world, network, ends, start, crash, run, send };
}

const SECOND = 1_000_000_000;

test('who is up gets connected, once, with the identity of the other', () => {
  const { ends, start, run, send } = scene(3);
  for (let i = 0; i < 3; i++) start(i);
  run(SECOND);
  assert.deepEqual(
    ends.map((end) => end.take().toSorted()),
    [
      ['up 1 2', 'up 2 3'],
      ['up 0 1', 'up 2 3'],
      ['up 0 1', 'up 1 2'],
    ],
  );
  for (let byte = 0; byte < 5; byte++) send(0, 2, byte);
  run(SECOND);
  assert.deepEqual(ends[2]!.take(), ['0: 0', '0: 1', '0: 2', '0: 3', '0: 4']);
});

test('a process that dies is missed at once, refused for as long, and found again', () => {
  const { ends, start, crash, run, send, network } = scene(2);
  start(0);
  run(SECOND);
  assert.ok(ends[0]!.take().every((line) => line === 'down 1'));
  start(1);
  run(2 * SECOND);
  assert.deepEqual(ends[0]!.take().at(-1), 'up 1 2');
  assert.deepEqual(ends[1]!.take(), ['up 0 1']);
  crash(1);
  run(5_000_000);
  assert.deepEqual(ends[0]!.take(), ['down 1']);
  assert.equal(network.isUp(0, 1), false);
  send(0, 1, 7);
  run(10 * SECOND);
  const refused = ends[0]!.take();
  assert.ok(refused.length > 5 && refused.length < 40, String(refused.length));
  assert.ok(refused.every((line) => line === 'down 1'));
  ends[1]!.id = 9;
  ends[1]!.isRecovered = true;
  start(1);
  run(SECOND);
  assert.deepEqual(ends[0]!.take(), ['up 1 9 recovered']);
});

test('a machine that is gone is missed by nobody until it is back', () => {
  const seen = new Set<string>();
  for (let seed = 0; seed < 20; seed++) {
    const { ends, start, crash, run, send } = scene(2, {}, seed);
    start(0);
    start(1);
    run(SECOND);
    for (const end of ends) end.take();
    crash(1, true);
    send(0, 1, 7);
    run(30 * SECOND);
    assert.deepEqual(ends[0]!.take(), []);
    start(1);
    run(2 * SECOND);
    assert.deepEqual(ends[1]!.take(), ['up 0 1']);
    seen.add(ends[0]!.take().join(', '));
  }
  assert.deepEqual(seen, new Set(['up 1 2', 'down 1, up 1 2']));
});

test('a partition lets nothing through and tells nobody; afterwards all is connected', () => {
  for (const isOrdered of [true, false]) {
    for (let seed = 0; seed < 10; seed++) {
      const { ends, start, run, send, network } = scene(2, { isOrdered }, seed);
      start(0);
      start(1);
      run(SECOND);
      for (const end of ends) end.take();
      network.shut(0, 1);
      send(0, 1, 1);
      send(1, 0, 2);
      run(SECOND);
      assert.deepEqual(ends[1]!.take(), []);
      assert.deepEqual(ends[0]!.take(), ['1: 2']);
      network.open(0, 1);
      run(2 * SECOND);
      send(0, 1, 3);
      send(1, 0, 4);
      run(SECOND);
      assert.equal(ends[1]!.take().at(-1), '0: 3');
      assert.equal(ends[0]!.take().at(-1), '1: 4');
    }
  }
});

test('a crash behind a partition is noticed when it is over', () => {
  for (let seed = 0; seed < 10; seed++) {
    const { ends, start, crash, run, network } = scene(2, {}, seed);
    start(0);
    start(1);
    run(SECOND);
    for (const end of ends) end.take();
    network.shut(1, 0);
    crash(1);
    run(SECOND);
    assert.deepEqual(ends[0]!.take(), []);
    network.open(1, 0);
    run(SECOND);
    assert.equal(ends[0]!.take()[0], 'down 1');
  }
});

test('a connection that breaks is heard of at both ends and made again', () => {
  const { ends, start, run, send, world } = scene(2, { breaks: 100 });
  start(0);
  start(1);
  run(SECOND);
  for (const end of ends) end.take();
  for (let i = 0; i < 100; i++) {
    send(i % 2, (i + 1) % 2, i);
    run(100_000_000);
  }
  const breaks = world.coverage.count('linksBroken');
  assert.ok(breaks > 4, String(breaks));
  for (const [index, end] of ends.entries()) {
    const downs = end.heard.filter((line) => line === `down ${1 - index}`).length;
    const ups = end.heard.filter((line) => line.startsWith('up')).length;
    assert.equal(downs, breaks);
    assert.ok(ups === breaks || ups === breaks - 1, `${ups} of ${breaks}`);
  }
});

test('nobody connects to a paused process; a filter loses what it will', () => {
  const { ends, start, run, send, network } = scene(2);
  start(0);
  start(1);
  ends[1]!.isPaused = true;
  run(5 * SECOND);
  assert.deepEqual(ends[0]!.take(), []);
  ends[1]!.isPaused = false;
  run(2 * SECOND);
  assert.deepEqual(ends[0]!.take(), ['up 1 2']);
  network.filter((_, __, bytes) => bytes[0] !== 5);
  send(1, 0, 5);
  send(1, 0, 6);
  run(SECOND);
  assert.deepEqual(ends[0]!.take(), ['1: 6']);
});
