/** A replica that has missed too much copies a checkpoint: two replicas, their messages by hand. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SECTOR_SIZE } from '../../engine/index.ts';
import { bytesEqual, Prng } from '../../stdx/index.ts';
import { Command, HEADER_SIZE, PeerOffset } from '../../wire/index.ts';
import { fixedSize } from '../file/geometry.ts';
import { peerBits } from '../peer-message.ts';
import { GEOMETRY_SMALL, seal } from '../replica-test-helper.ts';
import { Bench, request, type Sent } from '../replication/bench-test-helper.ts';
import { Wanted } from './checkpoint-server.ts';

const SOURCE = 0;
const TARGET = 1;
const VIEW = 3;

/** Replica 0 leads view 3 and has executed so many operations, with the consent of replica 2. */
function sourceWith(ops: number): Bench {
  const bench = new Bench({ replica: SOURCE });
  bench.sleep(5000);
  bench.lead(VIEW);
  execute(bench, ops);
  return bench;
}

let clients = 100;
function execute(source: Bench, ops: number): void {
  for (let i = 0; i < ops; i++) {
    source.receive(clients, request(clients, {}));
    clients++;
    const prepare = source.take(Command.prepare).find(({ to }) => to === 2);
    assert.ok(prepare !== undefined);
    source.acknowledge(2, prepare.bytes, VIEW);
    source.replies.length = 0;
  }
  source.take();
}

/** What is done to a message on its way; `null`: it is lost. */
type Way = (sent: Sent, from: number) => Uint8Array | null;
const open: Way = ({ bytes }) => bytes;

/**
 * Everything that they tell each other arrives, as long as there is something; returns how much.
 */
function pump(source: Bench, target: Bench, way: Way = open): number {
  let count = 0;
  for (;;) {
    const forth = source.take().filter(({ to }) => to === TARGET);
    const back = target.take().filter(({ to }) => to === SOURCE);
    if (forth.length + back.length === 0 || target.hasRestarted) return count;
    const pass = (all: readonly Sent[], from: number, to: Bench): void => {
      for (const sent of all) {
        const bytes = way(sent, from);
        if (bytes === null) continue;
        to.deliver(from, bytes);
        count++;
      }
    };
    pass(forth, SOURCE, target);
    pass(back, TARGET, source);
  }
}

/** Time passes and messages flow until `condition` holds. */
function until(source: Bench, target: Bench, condition: () => boolean, way: Way = open): void {
  for (let i = 0; i < 5000 && !condition(); i++) {
    pump(source, target, way);
    if (condition()) return;
    source.sleep(20);
    target.sleep(20);
  }
  assert.ok(condition(), 'it never came to that');
}

/** It hears of a view in which far more is done than it knows. */
function behind(): Bench {
  const bench = new Bench({ replica: TARGET });
  bench.tell(SOURCE, Command.commit, VIEW, { commitMax: 1, monotonic: 1 });
  return bench;
}

/** The life after, with what the file holds, until it has all that the source has. */
function catchUp(source: Bench, target: Bench): Bench {
  target.stop();
  const next = new Bench({ replica: TARGET, disk: target.disk });
  until(source, next, () => next.parts.state.commitMin === source.parts.state.commitMin);
  assert.deepEqual(next.parts.state.digest, source.parts.state.digest);
  assert.equal(next.parts.superblock.current.logView, VIEW);
  assert.equal(next.halted, null);
  return next;
}

const isBlock = ({ command }: Sent): boolean => command === Command.block;
const isPlace = (sent: Sent): boolean =>
  isBlock(sent) && peerBits(sent.bytes, PeerOffset.bits2) === Wanted.place;

test('it copies the checkpoint and goes on from there with the log', () => {
  const source = sourceWith(60);
  const { op } = source.parts.superblock.current.checkpoint;
  assert.ok(op > 40);
  const target = behind();
  const before = target.disk.bytes.slice(0, fixedSize(GEOMETRY_SMALL));
  until(source, target, () => target.parts.sync.isInstalling || target.hasRestarted);
  until(source, target, () => target.hasRestarted);
  // Of what was there only superblock and log have changed, and the log not at all.
  const ring = before.subarray(4 * 16_384);
  assert.ok(bytesEqual(target.disk.bytes, 4 * 16_384, ring, 0, ring.length));
  assert.ok(target.traces.includes('sync') && target.traces.includes('synced'));
  const next = catchUp(source, target);
  assert.equal(next.parts.superblock.current.checkpoint.op, op);
  const { id, root, idParent } = source.parts.superblock.current.checkpoint;
  assert.deepEqual(next.parts.superblock.current.checkpoint.id, id);
  assert.deepEqual(next.parts.superblock.current.checkpoint.root, root);
  assert.deepEqual(next.parts.superblock.current.checkpoint.idParent, idParent);
  next.stop();
  source.stop();
});

test('who missed less than a log copies nothing', () => {
  const source = sourceWith(30);
  const target = behind();
  until(source, target, () => target.parts.state.commitMin === 30);
  assert.ok(!target.traces.includes('sync') && !target.hasRestarted);
  assert.deepEqual(target.parts.state.digest, source.parts.state.digest);
  target.stop();
  source.stop();
});

test('a block that is not what it should be is fetched again', () => {
  const source = sourceWith(60);
  const target = behind();
  let damaged = 0;
  const way: Way = (sent) => {
    if (!isPlace(sent) || damaged === 3) return sent.bytes;
    damaged++;
    const bytes = sent.bytes.slice();
    bytes[HEADER_SIZE + 10] ^= 1;
    return seal(bytes);
  };
  until(source, target, () => target.hasRestarted, way);
  assert.equal(damaged, 3);
  catchUp(source, target).stop();
  source.stop();
});

test('answers that are lost are asked for again', () => {
  const source = sourceWith(60);
  const target = behind();
  let blocks = 0;
  let lost = 0;
  // What the checkpoint is; a piece of its manifest; two blocks of it.
  const way: Way = (sent) => {
    if (!isBlock(sent) || ![1, 3, 6, 7].includes(++blocks)) return sent.bytes;
    lost++;
    return null;
  };
  until(source, target, () => target.hasRestarted, way);
  assert.equal(lost, 4);
  catchUp(source, target).stop();
  source.stop();
});

test('where much is lost it does not stand still for long', () => {
  const source = sourceWith(60);
  const target = behind();
  const prng = new Prng(4);
  let places = 0;
  const way: Way = (sent) => {
    if (sent.command !== Command.requestBlocks) return sent.bytes;
    if (peerBits(sent.bytes, PeerOffset.bits2) !== Wanted.place) return sent.bytes;
    places++;
    // So that soon all that may be asked for at once are lost.
    return prng.chance(2, 3) ? sent.bytes : null;
  };
  const fromNs = target.monoNs;
  until(source, target, () => target.hasRestarted, way);
  assert.ok(places > 20, String(places));
  const seconds = (target.monoNs - fromNs) / 1e9;
  assert.ok(seconds < 10, `${seconds} s for ${places} questions`);
  catchUp(source, target).stop();
  source.stop();
});

test('while it copies, the source may make more checkpoints', () => {
  const source = sourceWith(60);
  const target = behind();
  const { op } = source.parts.superblock.current.checkpoint;
  let places = 0;
  const way: Way = (sent) => {
    if (!isPlace(sent)) return sent.bytes;
    places++;
    // Only one piece at a time gets through between two operations.
    return places % 3 === 0 ? sent.bytes : null;
  };
  for (let i = 0; i < 12 && !target.hasRestarted; i++) {
    pump(source, target, way);
    execute(source, 2);
    source.sleep(100);
    target.sleep(100);
    for (let j = 0; j < 8; j++) target.sleep(100);
  }
  until(source, target, () => target.hasRestarted);
  const next = catchUp(source, target);
  assert.ok(next.parts.superblock.current.checkpoint.op > op);
  next.stop();
  source.stop();
});

test('whoever stops in the middle is what it was', () => {
  const source = sourceWith(60);
  const target = behind();
  let places = 0;
  const way: Way = (sent) => {
    if (isPlace(sent)) places++;
    return places > 3 && isPlace(sent) ? null : sent.bytes;
  };
  for (let i = 0; i < 20; i++) {
    pump(source, target, way);
    target.sleep(20);
  }
  assert.ok(places > 3 && target.parts.sync.isActive && !target.hasRestarted);
  assert.ok(target.disk.bytes.length > fixedSize(GEOMETRY_SMALL) + SECTOR_SIZE, 'it has begun');
  target.stop();
  const next = new Bench({ replica: TARGET, disk: target.disk });
  assert.equal(next.parts.state.commitMin, 0);
  assert.equal(next.parts.superblock.current.checkpoint.op, 0);
  next.tell(SOURCE, Command.commit, VIEW, { commitMax: 1, monotonic: 1 });
  until(source, next, () => next.hasRestarted);
  catchUp(source, next).stop();
  source.stop();
});

test('while it copies it executes nothing, and takes part in nothing else that needs its state', () => {
  const source = sourceWith(60);
  const target = behind();
  const way: Way = (sent) => (isPlace(sent) ? null : sent.bytes);
  for (let i = 0; i < 20; i++) {
    pump(source, target, way);
    target.sleep(20);
  }
  const { sync, state, checkpoints } = target.parts;
  assert.ok(sync.isActive && !checkpoints.isBusy);
  assert.equal(state.commitMin, 0);
  until(source, target, () => target.hasRestarted);
  catchUp(source, target).stop();
  source.stop();
});

test('places outside the growing area, or none of this checkpoint, are not read for anybody', () => {
  const source = sourceWith(60);
  const { checkpoint, fileSize } = source.parts.superblock.current;
  const base = fixedSize(GEOMETRY_SMALL);
  const ask = (offset: number, size: number, op: number = checkpoint.op): Sent[] => {
    const fields = { op, opHead: offset, bits: size, bits2: Wanted.place };
    source.tell(TARGET, Command.requestBlocks, VIEW, fields);
    return source.take(Command.block);
  };
  assert.equal(ask(base, 4096).length, 1);
  for (const [offset, size] of [
    [0, 4096],
    [base - 4096, 4096],
    [base + 1, 4096],
    [base, 0],
    [base, 300_000],
    [fileSize, 4096],
  ] as const) {
    assert.deepEqual(ask(offset, size), [], `${offset} ${size}`);
  }
  // Of another checkpoint: it is told which one there is.
  const [told] = ask(base, 4096, checkpoint.op - 8);
  assert.ok(told !== undefined);
  assert.equal(peerBits(told.bytes, PeerOffset.bits2), Wanted.checkpoint);
  source.stop();
});
