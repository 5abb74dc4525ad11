import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytesEqual } from '../../stdx/index.ts';
import type { Frame } from './frame.ts';
import { COMPLETED_MS, PIECES_INFLIGHT_MAX, TRANSFER_SILENCE_MS } from './limits.ts';
import { installOf, UNIT, World } from './world-test-helper.ts';

const replyTo = (index: number, term: number = 3) =>
  ({ type: 'install-snapshot-reply', term, lastIndex: index, lastTerm: 2 }) as const;

test('transfer: a snapshot arrives as one message, whatever its size', () => {
  for (const size of [null, 0, 1, UNIT, UNIT + 1, 20 * UNIT - 1]) {
    const world = new World();
    const request = installOf(20, size);
    world.send(0, 1, request);
    world.run(100);
    assertTold(world, 1, [request]);
    const pieces = Math.ceil((size ?? 0) / UNIT);
    assert.equal(world.kinds.get('piece') ?? 0, pieces, 'each piece leaves once');
    assert.equal(world.kinds.get('want') ?? 0, pieces);
    assert.equal(world.kinds.get('offer'), 1);
    world.settle();
  }
});

test('transfer: ends with the answer, and costs nothing after it', () => {
  const world = new World();
  world.send(0, 1, installOf(20, 3 * UNIT));
  world.run(50);
  world.send(1, 0, replyTo(20));
  world.run(60);
  assert.equal(world.dialects[0].snapshotsSending, 0);
  const offers = world.kinds.get('offer');
  world.run(60_000);
  assert.equal(world.kinds.get('offer'), offers);
  assert.equal(world.dialects[0].deadlineMs, Number.POSITIVE_INFINITY);
  assert.equal(world.dialects[1].deadlineMs, Number.POSITIVE_INFINITY);
});

test('transfer: an answer to another snapshot ends nothing', () => {
  const world = new World();
  world.send(0, 1, installOf(20, 3 * UNIT));
  world.run(50);
  world.send(1, 0, replyTo(19));
  world.send(2, 0, replyTo(20));
  world.run(60);
  assert.equal(world.dialects[0].snapshotsSending, 1);
});

test('transfer: without an answer the engine is told again, without the pieces', () => {
  const world = new World();
  const request = installOf(20, 3 * UNIT);
  world.send(0, 1, request);
  world.run(COMPLETED_MS);
  world.send(0, 1, { ...request });
  world.run(4 * COMPLETED_MS);
  const told = world.messages(1, 'install-snapshot-request');
  assert(told.length > 8);
  assertTold(world, 1, new Array(told.length).fill(request));
  assert.equal(world.kinds.get('piece'), 3);
});

test('transfer: loss, doubles and disorder only take time', () => {
  for (let seed = 1; seed <= 60; seed++) {
    const world = new World({ seed, lost: 30, doubled: 30, delayMs: 60 });
    const requests = [installOf(20, 14 * UNIT + 17), installOf(21, 5 * UNIT)];
    world.send(0, 1, requests[0]);
    world.send(0, 2, requests[1]);
    world.run(60_000);
    for (const peer of [1, 2]) {
      assertFirst(world, peer, requests[peer - 1], `seed ${seed}`);
    }
    world.settle();
  }
});

test('transfer: is asked for a few pieces at a time, and takes a bounded number of slots', () => {
  const asked = new Set<number>();
  let most = 0;
  const world = new World({
    delayMs: 30,
    requestSlots: 8,
    filter: (frame) => {
      if (frame.kind === 'want') asked.add(frame.offset);
      most = Math.max(most, asked.size);
      if (frame.kind === 'piece') asked.delete(frame.offset);
      return true;
    },
  });
  world.send(0, 1, installOf(20, 50 * UNIT));
  world.run(60_000);
  assert.equal(world.messages(1, 'install-snapshot-request').length > 0, true);
  assert(most <= PIECES_INFLIGHT_MAX, `${most}`);
});

test('transfer: the same once more goes on where it is', () => {
  const world = new World({ delayMs: 20 });
  const request = installOf(20, 40 * UNIT);
  for (let i = 0; i < 20; i++) {
    world.send(0, 1, { ...request, snapshot: { ...request.snapshot } });
    world.run((i + 1) * 50);
  }
  assertFirst(world, 1, request);
  assert.equal(world.kinds.get('piece'), 40);
});

test('transfer: a newer snapshot waits while the older is asked for', () => {
  const world = new World({ delayMs: 20 });
  const [older, newer] = [installOf(20, 40 * UNIT), installOf(30, 40 * UNIT)];
  world.send(0, 1, older);
  world.run(60);
  world.send(0, 1, newer);
  world.run(2000);
  assertFirst(world, 1, older);
  world.send(1, 0, replyTo(20));
  world.run(2100);
  world.send(0, 1, newer);
  world.run(4000);
  assertLast(world, 1, newer);
});

test('transfer: of a receiver that has gone silent the newest is kept', () => {
  let isDeaf: boolean = false;
  const world = new World({ filter: (_, from) => !(isDeaf && from === 1) });
  world.send(0, 1, installOf(20, 40 * UNIT));
  world.run(5);
  isDeaf = true;
  world.run(10_000);
  isDeaf = false;
  const newer = installOf(30, 4 * UNIT);
  world.send(0, 1, newer);
  world.run(20_000);
  assertFirst(world, 1, newer);
});

test('transfer: a newer term takes the place at once, on both sides', () => {
  const world = new World({ delayMs: 20, filter: untilPiece(3) });
  world.send(0, 1, installOf(20, 40 * UNIT));
  world.run(100);
  assert.notEqual(world.dialects[1].snapshotReceiving, null);
  // Another leads, and says so: the receiver's engine answers in the new term.
  const request = installOf(21, null, 4);
  world.send(2, 1, request);
  world.run(200);
  assertTold(world, 1, [request]);
  world.send(0, 2, { type: 'vote-reply', term: 4, vote: '2', isPreVote: false });
  assert.equal(world.dialects[0].snapshotsSending, 0);
});

test('transfer: what was said in an older term is forgotten when the engine knows a newer', () => {
  const world = new World({ delayMs: 20, filter: untilPiece(3) });
  world.send(0, 1, installOf(20, 40 * UNIT));
  world.run(100);
  assert.notEqual(world.dialects[1].snapshotReceiving, null);
  world.send(1, 2, { type: 'vote-reply', term: 4, vote: '2', isPreVote: false });
  assert.equal(world.dialects[1].snapshotReceiving, null);
});

test('transfer: late pieces of one leader are not taken for those of the next', () => {
  for (let seed = 1; seed <= 30; seed++) {
    const world = new World({ seed, delayMs: 80, isSameSeed: true });
    world.send(0, 1, installOf(20, 6 * UNIT, 3));
    world.run(60);
    const request = installOf(20, 6 * UNIT, 4);
    world.send(2, 1, request);
    world.run(20_000);
    assertLast(world, 1, request);
  }
});

test('transfer: who asks for pieces of one snapshot does not get those of another', () => {
  let offers = 0;
  let pieces = 0;
  const world = new World({
    // The first offer gets through and two pieces of what follows; then the next is offered.
    filter: ({ kind }) => {
      if (kind === 'offer') offers++;
      if (kind === 'piece') pieces++;
      return (kind !== 'offer' || offers === 1) && (kind !== 'piece' || pieces !== 3);
    },
  });
  world.send(0, 1, installOf(20, 3 * UNIT));
  world.run(5);
  world.dialects[0].onPeerDown(1);
  world.send(0, 1, installOf(21, 3 * UNIT));
  world.run(TRANSFER_SILENCE_MS / 2);
  assertTold(world, 1, []);
});

test('transfer: an offer of an older term, or of another in the same, disturbs nothing', () => {
  const world = new World({ delayMs: 20 });
  const request = installOf(20, 40 * UNIT, 5);
  world.send(0, 1, request);
  world.run(40);
  world.send(2, 1, installOf(90, null, 4));
  world.run(1000);
  assertFirst(world, 1, request);
  assert.equal(world.kinds.get('piece'), 40);
  world.send(1, 0, { type: 'vote-reply', term: 6, vote: '1', isPreVote: false });
  world.send(2, 1, installOf(91, null, 5));
  world.run(1100);
  assertLast(world, 1, request);
});

test('transfer: a lost link forgets all; the next begins anew', () => {
  const world = new World({ delayMs: 20, filter: untilPiece(5) });
  world.send(0, 1, installOf(20, 40 * UNIT));
  world.run(200);
  assert.equal(world.dialects[1].snapshotReceiving?.pieces, 5);
  world.cut(0, 1);
  assert.equal(world.dialects[0].snapshotsSending, 0);
  assert.equal(world.dialects[1].snapshotReceiving, null);
  assert.equal(world.dialects[0].deadlineMs, Number.POSITIVE_INFINITY);
  assert.equal(world.dialects[1].deadlineMs, Number.POSITIVE_INFINITY);
});

test('transfer: pieces of two lives of the sender are not mixed', () => {
  for (let seed = 1; seed <= 30; seed++) {
    const world = new World({ seed, delayMs: 300, doubled: 50, requestSlots: 30 });
    world.send(0, 1, installOf(20, 12 * UNIT));
    world.run(400);
    world.restart(0);
    // The receiver has not noticed; the same snapshot, with other bytes.
    const request = installOf(20, 12 * UNIT, 4);
    world.send(0, 1, request);
    world.run(20_000);
    assertLast(world, 1, request);
  }
});

test('transfer: pieces that come before they are asked for again are taken once', () => {
  for (let seed = 1; seed <= 30; seed++) {
    const world = new World({ seed, delayMs: 300, doubled: 50, requestSlots: 30 });
    const request = installOf(20, 40 * UNIT);
    world.send(0, 1, request);
    world.run(500);
    // Only the receiver takes the link for lost: it is offered the same transfer again.
    world.dialects[1].onPeerDown(0);
    world.send(0, 1, request);
    world.run(60_000);
    assertLast(world, 1, request);
  }
});

test('transfer: what nobody continues is given up', () => {
  const world = new World({ filter: untilPiece(2) });
  world.send(0, 1, installOf(20, 40 * UNIT));
  world.run(1000);
  assert.notEqual(world.dialects[1].snapshotReceiving, null);
  world.restart(0);
  world.run(1000 + TRANSFER_SILENCE_MS);
  assert.equal(world.dialects[1].snapshotReceiving, null);
});

test('transfer: without slots it waits', () => {
  const world = new World({ requestSlots: 4 });
  const held = [world.pools[0].acquire('request'), world.pools[0].acquire('request')];
  world.send(0, 1, installOf(20, 9 * UNIT));
  world.run(3000);
  assert.equal(world.kinds.get('piece'), undefined);
  for (const message of held) if (message !== null) world.pools[0].release(message);
  world.run(20_000);
  assert.equal(world.messages(1, 'install-snapshot-request').length > 0, true);
  world.settle();
});

type Request = ReturnType<typeof installOf>;

function assertTold(world: World, replica: number, expected: readonly Request[]): void {
  const told = snapshotsOf(world, replica);
  assert.equal(told.length, expected.length);
  for (const [i, request] of told.entries()) assertSame(request, expected[i]);
}

function assertFirst(world: World, replica: number, expected: Request, hint?: string): void {
  assertSame(snapshotsOf(world, replica).at(0), expected, hint);
}

function assertLast(world: World, replica: number, expected: Request): void {
  assertSame(snapshotsOf(world, replica).at(-1), expected);
}

function snapshotsOf(world: World, replica: number): Request[] {
  return world.messages(replica, 'install-snapshot-request') as Request[];
}

/** The difference of two long arrays takes minutes to print. */
function assertSame(actual: Request | undefined, expected: Request, hint: string = ''): void {
  assert(actual !== undefined, `nothing was told ${hint}`);
  const bare = (request: Request): unknown => ({ ...request.snapshot, data: null });
  assert.equal(actual.term, expected.term, hint);
  assert.deepEqual(bare(actual), bare(expected), hint);
  const [a, b] = [actual.snapshot.data, expected.snapshot.data];
  assert.equal(a === null, b === null);
  if (a === null || b === null) return;
  assert.equal(a.length, b.length, hint);
  assert(bytesEqual(a, 0, b, 0, a.length), `other bytes ${hint}`);
}

/** Lets so many pieces through and then none. */
function untilPiece(count: number): (frame: Frame) => boolean {
  let seen = 0;
  return (frame) => {
    if (frame.kind !== 'piece') return true;
    seen++;
    return seen <= count;
  };
}
