/** Who the others are, as replica 1 of three sees it: whose word counts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Command } from '../wire/index.ts';
import { Bench, idOf, Prepares } from './replication/bench-test-helper.ts';

test('whoever is met for the first time counts when that is durable', () => {
  const bench = new Bench({ replica: 1, isAlone: true });
  const { peers } = bench.parts;
  assert.equal(peers.upMask, 0);
  bench.isHeld = true;
  bench.up(2);
  assert.ok(peers.isUp(2) && !peers.isTrusted(2));
  bench.write();
  assert.ok(peers.isTrusted(2));
  assert.equal(peers.upMask, 0b100);
  bench.stop();
});

test('the same file may come and go', () => {
  const bench = new Bench({ replica: 1 });
  const { peers } = bench.parts;
  bench.down(2);
  assert.ok(!peers.isUp(2) && peers.isDown(2));
  bench.up(2);
  assert.ok(peers.isUp(2) && !peers.isDown(2) && peers.isTrusted(2));
  bench.stop();
});

test('another file under the same index is neither heard nor told anything', () => {
  const bench = new Bench({ replica: 1 });
  const { peers, member, log } = bench.parts;
  bench.down(0);
  bench.take();
  bench.up(0, idOf(40));
  assert.ok(peers.isStranger(0) && !peers.isUp(0) && peers.isDown(0) && !peers.isTrusted(0));
  assert.equal(peers.upMask, 0b100);
  assert.ok(bench.traces.includes('replica-replaced'));
  // Prepares, commits, votes and views of it: nothing.
  bench.deliver(0, new Prepares(bench, 0).at(1));
  bench.tell(0, Command.startViewChange, 0);
  bench.tell(0, Command.startViewChange, 7);
  const root = log.header(0);
  assert.ok(root !== null);
  bench.tell(0, Command.startView, 3, { op: 0, commitMax: 0 }, [root.slice()]);
  bench.tell(0, Command.ping, 9, { monotonic: 1 });
  assert.deepEqual([log.head, member.view], [0, 0]);
  bench.tell(2, Command.startViewChange, 0);
  bench.sleep(1000);
  const sent = bench.take();
  assert.ok(sent.length > 0 && sent.every(({ to }) => to === 2), 'only the other one is told');
  const { strangers, peers: connected } = bench.replica.status();
  assert.deepEqual({ strangers, connected }, { strangers: [0], connected: [2] });
  bench.stop();
});

test('it stays one after a restart, and the old file is welcome', () => {
  const first = new Bench({ replica: 1 });
  first.stop();
  const bench = new Bench({ replica: 1, disk: first.disk });
  bench.down(2);
  bench.up(2, idOf(40));
  assert.ok(bench.parts.peers.isStranger(2));
  bench.down(2);
  bench.up(2);
  assert.ok(!bench.parts.peers.isStranger(2) && bench.parts.peers.isTrusted(2));
  bench.stop();
});

test('a file that recover has made takes the place of the old one, which is a stranger then', () => {
  const first = new Bench({ replica: 1 });
  first.down(2);
  first.isHeld = true;
  first.up(2, idOf(40, 5));
  assert.ok(!first.parts.peers.isStranger(2) && first.parts.peers.isUp(2));
  assert.ok(!first.parts.peers.isTrusted(2), 'not before that is durable');
  first.write();
  assert.ok(first.parts.peers.isTrusted(2));
  first.stop();
  const bench = new Bench({ replica: 1, disk: first.disk });
  bench.down(2);
  bench.up(2, idOf(40, 5));
  assert.ok(bench.parts.peers.isTrusted(2));
  for (const older of [idOf(2), idOf(50), idOf(60, 4)]) {
    bench.down(2);
    bench.up(2, older);
    assert.ok(bench.parts.peers.isStranger(2));
  }
  bench.down(2);
  bench.up(2, idOf(70, 6));
  assert.ok(bench.parts.peers.isTrusted(2));
  bench.stop();
});

test('what the best of them have executed, as many as elect a primary', () => {
  const bench = new Bench({ replica: 1, replicaCount: 5 });
  const { peers } = bench.parts;
  assert.equal(peers.commitMinOfQuorum(), 0);
  [
    [0, 9],
    [2, 4],
    [3, 6],
    [4, 2],
  ].forEach(([replica, commitMin]) => {
    peers.heardOf(replica as number, commitMin as number);
  });
  // Three of five: 9, 6 and 4.
  assert.equal(peers.commitMinOfQuorum(), 4);
  peers.heardOf(2, 3);
  assert.equal(peers.commitMinOfQuorum(), 4, 'it does not go back');
  bench.stop();
});

test('a disk that is full is known from pings and pongs, until the link ends', () => {
  const bench = new Bench({ replica: 1, hasClocks: false });
  const { peers } = bench.parts;
  bench.tell(0, Command.ping, 0, { monotonic: 1, bits: 1 });
  bench.tell(2, Command.pong, 0, { bits: 1 });
  assert.deepEqual([peers.isFull(0), peers.isFull(2)], [true, true]);
  bench.tell(2, Command.ping, 0, { monotonic: 1 });
  bench.down(0);
  assert.deepEqual([peers.isFull(0), peers.isFull(2)], [false, false]);
  bench.stop();
});

test('who is connected and not heard of shows as deaf', () => {
  const bench = new Bench({ replica: 1, hasClocks: false });
  const isDeaf = (): boolean => bench.replica.status().isDeaf;
  bench.sleep(2500);
  assert.deepEqual([isDeaf(), bench.replica.status().connected], [true, 3]);
  bench.tell(2, Command.ping, 0, { monotonic: 1 });
  assert.equal(isDeaf(), false);
  bench.stop();
});
