/** A backup of view 0, whose primary is replica 0, seen from outside. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHECKPOINT_SLACK_OPS, PIPELINE_MAX } from '../../engine/index.ts';
import { bytesEqual } from '../../stdx/index.ts';
import { Command, PeerOffset, readView } from '../../wire/index.ts';
import { peerBits, peerNumber } from '../peer-message.ts';
import { Bench, opOf, Prepares, type Sent } from './bench-test-helper.ts';

const PRIMARY = 0;

function backup(
  options: { replicaCount?: number; topology?: 'star' | 'ring' | 'alternating-ring' } = {},
): {
  bench: Bench;
  prepares: Prepares;
} {
  const bench = new Bench({ replica: 1, ...options });
  return { bench, prepares: new Prepares(bench, 0) };
}

/** Why it stopped. */
function codeOf({ halted }: Bench): string | null {
  return halted?.code ?? null;
}

/** `to op`, of each. */
function told(sent: readonly Sent[]): string[] {
  return sent.map(({ to, bytes, command }) => {
    const op = command === Command.prepare ? opOf(bytes) : peerNumber(bytes, PeerOffset.op);
    return `${to} ${op}`;
  });
}

test('it acknowledges a prepare when body and header are on the disk, not before', () => {
  const { bench, prepares } = backup();
  bench.isHeld = true;
  const prepare = prepares.at(1);
  bench.deliver(PRIMARY, prepare);
  assert.deepEqual(bench.take(), []);
  bench.write(1);
  assert.deepEqual(bench.take(), []);
  bench.write(1);
  const [ok, ...rest] = bench.take();
  assert.ok(ok !== undefined && rest.length === 0);
  assert.deepEqual(
    [ok.to, ok.command, peerNumber(ok.bytes, PeerOffset.op)],
    [0, Command.prepareOk, 1],
  );
  assert.ok(bytesEqual(ok.bytes, PeerOffset.checksum, prepare, 0, 16));
  assert.equal(peerBits(ok.bytes, PeerOffset.bits), 1);
  bench.write();
  bench.stop();
});

test('an acknowledgement says which prepares before it are here', () => {
  const { bench, prepares } = backup();
  for (const op of [1, 2, 4]) bench.deliver(PRIMARY, prepares.at(op));
  const oks = bench.take(Command.prepareOk);
  assert.deepEqual(told(oks), ['0 1', '0 2', '0 4']);
  const bits = oks.map(({ bytes }) => peerBits(bytes, PeerOffset.bits));
  assert.deepEqual(bits, [0b1, 0b11, 0b1101]);
  bench.stop();
});

test('star: nothing is passed on, and what is missing is asked for at once, by its checksum', () => {
  const { bench, prepares } = backup();
  bench.deliver(PRIMARY, prepares.at(1));
  bench.deliver(PRIMARY, prepares.at(3));
  assert.equal(bench.parts.log.head, 3);
  const sent = bench.take();
  assert.ok(sent.every(({ command }) => command !== Command.prepare));
  const [asked, ...more] = sent.filter(({ command }) => command === Command.requestPrepare);
  assert.ok(asked !== undefined && more.length === 0);
  assert.equal(peerNumber(asked.bytes, PeerOffset.op), 2);
  assert.ok(bytesEqual(asked.bytes, PeerOffset.checksum, prepares.at(2), 0, 16));
  // Whoever has it may answer.
  bench.deliver(2, prepares.at(2));
  assert.deepEqual(told(bench.take(Command.prepareOk)), ['0 2']);
  assert.equal(bench.parts.log.chainLow, 0);
  bench.stop();
});

test('ring: what comes from upstream is passed on once, before it is durable', () => {
  const { bench, prepares } = backup({ replicaCount: 5, topology: 'ring' });
  bench.isHeld = true;
  bench.deliver(PRIMARY, prepares.at(1));
  assert.deepEqual(told(bench.take(Command.prepare)), ['2 1']);
  bench.deliver(PRIMARY, prepares.at(1));
  assert.deepEqual(bench.take(Command.prepare), []);
  // Not from upstream: somebody has answered a repair.
  bench.deliver(3, prepares.at(2));
  assert.deepEqual(bench.take(Command.prepare), []);
  bench.write();
  bench.stop();
});

test('alternating ring: odd operations go the other way, none to the primary', () => {
  const { bench, prepares } = backup({ replicaCount: 4, topology: 'alternating-ring' });
  bench.deliver(2, prepares.at(1));
  bench.deliver(PRIMARY, prepares.at(2));
  assert.deepEqual(told(bench.take(Command.prepare)), ['2 2']);
  bench.stop();
});

test('a prepare that it has already is acknowledged again: the primary does not know', () => {
  const { bench, prepares } = backup();
  bench.deliver(PRIMARY, prepares.at(1));
  bench.take();
  bench.deliver(PRIMARY, prepares.at(1));
  assert.deepEqual(told(bench.take(Command.prepareOk)), ['0 1']);
  bench.stop();
});

test('it executes what the primary says is committed, in order, and no more', () => {
  const { bench, prepares } = backup();
  const { state, commits } = bench.parts;
  for (const op of [1, 2]) bench.deliver(PRIMARY, prepares.at(op));
  assert.equal(state.commitMin, 0);
  bench.deliver(PRIMARY, prepares.at(3, 2));
  assert.deepEqual([state.commitMin, commits.commitMax], [2, 2]);
  // More is committed than is here: it waits for what is missing.
  bench.tell(PRIMARY, Command.commit, 0, { commitMax: 5, monotonic: 1, commitMin: 0 });
  assert.deepEqual([state.commitMin, commits.commitMax], [3, 5]);
  bench.deliver(PRIMARY, prepares.at(5));
  assert.equal(state.commitMin, 3);
  bench.deliver(PRIMARY, prepares.at(4));
  assert.equal(state.commitMin, 5);
  bench.stop();
});

test('a commit message that was overtaken by a later one says nothing', () => {
  const { bench, prepares } = backup();
  for (const op of [1, 2]) bench.deliver(PRIMARY, prepares.at(op));
  bench.tell(PRIMARY, Command.commit, 0, { commitMax: 1, monotonic: 20 });
  bench.tell(PRIMARY, Command.commit, 0, { commitMax: 2, monotonic: 20 });
  bench.tell(PRIMARY, Command.commit, 0, { commitMax: 2, monotonic: 10 });
  assert.equal(bench.parts.commits.commitMax, 1);
  bench.tell(PRIMARY, Command.commit, 0, { commitMax: 2, monotonic: 21 });
  assert.equal(bench.parts.state.commitMin, 2);
  bench.stop();
});

test('a commit message of another replica than the primary says nothing', () => {
  const { bench, prepares } = backup();
  bench.deliver(PRIMARY, prepares.at(1));
  bench.tell(2, Command.commit, 0, { commitMax: 1, monotonic: 5 });
  assert.equal(bench.parts.commits.commitMax, 0);
  bench.stop();
});

test('it stops when the primary has committed or executed something else', () => {
  const other = new Uint8Array(16).fill(9);
  for (const fields of [{ checksum: other }, { commitMin: 1, digest: other }]) {
    const { bench, prepares } = backup();
    bench.deliver(PRIMARY, prepares.at(1));
    bench.tell(PRIMARY, Command.commit, 0, { commitMax: 1, monotonic: 5, ...fields });
    assert.equal(codeOf(bench), 'diverged');
    bench.stop();
  }
});

test('it stops when a digest that it was told in advance turns out to be another', () => {
  const { bench, prepares } = backup();
  bench.deliver(PRIMARY, prepares.at(1));
  const digest = new Uint8Array(16).fill(9);
  bench.tell(PRIMARY, Command.commit, 0, { commitMax: 2, commitMin: 2, monotonic: 5, digest });
  assert.equal(codeOf(bench), null);
  bench.deliver(PRIMARY, prepares.at(2));
  assert.equal(codeOf(bench), 'diverged');
  bench.stop();
});

test('it stops when a prepare of the view does not continue its log', () => {
  for (const change of ['parent', 'checkpoint'] as const) {
    const { bench, prepares } = backup();
    bench.deliver(PRIMARY, prepares.at(1));
    const good = prepares.at(1).slice(0, 16);
    const parent = change === 'parent' ? new Uint8Array(16).fill(1) : good;
    const { checkpoints } = bench.parts;
    const idFor = checkpoints.idFor.bind(checkpoints);
    if (change === 'checkpoint') checkpoints.idFor = () => new Uint8Array(16).fill(1);
    const prepare = prepares.make(2, parent, 0);
    checkpoints.idFor = idFor;
    bench.deliver(PRIMARY, prepare);
    assert.equal(codeOf(bench), 'diverged', change);
    bench.stop();
  }
});

test('a view that has begun without it: it asks that view’s primary, not at every message', () => {
  const { bench } = backup();
  const later = new Prepares(bench, 2);
  for (const op of [1, 2, 3]) bench.deliver(2, later.at(op));
  bench.tell(2, Command.commit, 2, { commitMax: 3, monotonic: 5 });
  const asked = bench.take(Command.requestStartView);
  assert.equal(asked.length, 1);
  assert.equal((asked[0] as Sent).to, 2);
  assert.equal(bench.parts.log.head, 0, 'nothing of it is taken before the view is known');
  assert.equal(bench.parts.member.view, 0);
  bench.sleep(11);
  bench.deliver(2, later.at(4));
  assert.equal(bench.take(Command.requestStartView).length, 1);
  bench.stop();
});

test('who does not hear of its primary for long enough wants another; a sign takes that back', () => {
  const { bench } = backup();
  for (let i = 1; i <= 20; i++) {
    bench.sleep(500);
    bench.tell(PRIMARY, Command.commit, 0, { monotonic: i });
  }
  assert.deepEqual(bench.take(Command.startViewChange), []);
  bench.sleep(1400);
  assert.deepEqual(bench.take(Command.startViewChange), []);
  bench.sleep(300);
  const exits = bench.take(Command.startViewChange);
  assert.deepEqual(
    [...new Set(exits.map(({ to }) => to))].toSorted((a, b) => a - b),
    [0, 2],
  );
  assert.ok(exits.every(({ bytes }) => readView(bytes) === 0));
  // The primary speaks: one more vote is not enough now.
  bench.tell(PRIMARY, Command.commit, 0, { monotonic: 21 });
  bench.tell(2, Command.startViewChange, 0);
  assert.equal(bench.parts.member.view, 0);
  bench.stop();
});

test('a primary whose machine says that it is gone is left at once', () => {
  const { bench } = backup();
  bench.down(PRIMARY);
  assert.equal(bench.take(Command.startViewChange).length, 1);
  bench.tell(2, Command.startViewChange, 0);
  assert.equal(bench.parts.member.view, 1);
  bench.stop();
});

test('beyond the next checkpoint and a pipeline it says nothing before it has the checkpoint', () => {
  const { bench, prepares } = backup();
  const { checkpoints, superblock } = bench.parts;
  const update = superblock.update.bind(superblock);
  const advance = checkpoints.advance.bind(checkpoints);
  let waiting: Parameters<typeof update>[0] | null = null;
  // The first checkpoint, at operation 7, is not named by the superblock for a while.
  superblock.update = (change) => {
    if (change.checkpoint === undefined) update(change);
    else waiting = change;
  };
  const high = 7 + CHECKPOINT_SLACK_OPS + PIPELINE_MAX;
  for (let op = 1; op <= high + 3; op++) bench.deliver(PRIMARY, prepares.at(op, op === 10 ? 7 : 0));
  assert.ok(waiting !== null && checkpoints.isBusy);
  assert.equal(bench.parts.log.head, high + 3);
  const first = bench.take(Command.prepareOk).map(({ bytes }) => peerNumber(bytes, PeerOffset.op));
  assert.equal(Math.max(...first), high);
  checkpoints.advance = () => {
    if (waiting !== null) update(waiting);
    waiting = null;
    advance();
  };
  bench.sleep(1000);
  const then = bench.take(Command.prepareOk).map(({ bytes }) => peerNumber(bytes, PeerOffset.op));
  assert.deepEqual(
    then.filter((op) => op > high),
    [high + 1, high + 2, high + 3],
  );
  bench.stop();
});
