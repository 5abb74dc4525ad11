/** Who gives way, as tables. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MessagePool } from '../wire/index.ts';
import {
  crowdLimits,
  type Guest,
  isStalled,
  mayTake,
  type Regular,
  Regulars,
  whoLeaves,
} from './crowding.ts';

interface Named extends Guest {
  readonly name: string;
}

function guest(name: string, isProven: boolean, idleMs: number, receivingMs: number = 0): Named {
  const times = { idleMs: () => idleMs, receivingMs: () => receivingMs };
  return { name, isProven, hasSession: false, host: 'a', ...times };
}

/** Has a session. */
function regular(name: string, idleMs: number): Named {
  return { ...guest(name, true, idleMs), hasSession: true };
}

test('a stranger gets the first half of the slots, a proven guest all of them', () => {
  const sizes = { requestSlotSize: 4096, requestSlots: 4, replySlots: 0, smallSlots: 1 };
  const pool = new MessagePool(sizes);
  const taken = [];
  const strangers: boolean[] = [];
  for (let i = 0; i < 4; i++) {
    strangers.push(mayTake(pool, 'request', false));
    assert.equal(mayTake(pool, 'request', true), true);
    taken.push(pool.acquire('request'));
  }
  assert.deepEqual(strangers, [true, true, false, false]);
  assert.equal(mayTake(pool, 'small', false), true, 'a single slot is for everybody');
  for (const message of taken) if (message !== null) pool.release(message);
});

test('what is reserved for peers no client gets, proven or not', () => {
  const sizes = { requestSlotSize: 4096, requestSlots: 6, replySlots: 0, smallSlots: 1 };
  const pool = new MessagePool(sizes);
  const reserve = { request: 2, small: 1, reply: 0 };
  const taken = [];
  const allowed: boolean[][] = [[], []];
  for (let i = 0; i < 6; i++) {
    allowed[0]?.push(mayTake(pool, 'request', false, reserve));
    allowed[1]?.push(mayTake(pool, 'request', true, reserve));
    taken.push(pool.acquire('request'));
  }
  assert.deepEqual(allowed, [
    [true, true, false, false, false, false],
    [true, true, true, true, false, false],
  ]);
  assert.equal(mayTake(pool, 'small', true, reserve), false);
  for (const message of taken) if (message !== null) pool.release(message);
});

test('a half-received message stalls by its pause or by its age', () => {
  const cases: readonly [boolean, number, number, boolean][] = [
    // proven, idle, receiving, stalled
    [false, 400, 400, false],
    [false, 501, 501, true],
    [true, 501, 501, false],
    [true, 2_001, 2_001, true],
    [true, 0, 5_001, true],
    [false, 0, 4_999, false],
    [false, 9_999, 0, false],
    [true, 9_999, 0, false],
  ];
  for (const [isProven, idleMs, receivingMs, stalled] of cases) {
    const who = guest('x', isProven, idleMs, receivingMs);
    assert.equal(isStalled(who, 0, crowdLimits), stalled, `${isProven} ${idleMs} ${receivingMs}`);
  }
});

const leaves = (...guests: Named[]): string | undefined => whoLeaves(guests, 0, crowdLimits)?.name;

test('silent strangers leave first, then any without a session, then silent sessions', () => {
  const busy = regular('busy', 10);
  const away = regular('away', 70_000);
  const gone = regular('gone', 90_000);
  const pinging = guest('pinging', true, 10);
  const pinged = guest('pinged', true, 64_000);
  const fresh = guest('fresh', false, 10);
  const quiet = guest('quiet', false, 1_100);
  const silent = guest('silent', false, 3_000);
  assert.equal(leaves(busy, away, pinged, fresh, quiet, silent, gone), 'silent');
  assert.equal(leaves(pinged, gone, quiet), 'quiet');
  assert.equal(leaves(busy, away, gone, pinging, pinged, fresh), 'pinging');
  assert.equal(leaves(gone, fresh, pinging), 'fresh', 'by age alone');
  assert.equal(leaves(busy, away, gone), 'gone');
  assert.equal(leaves(busy, regular('idle', 64_000)), undefined);
  assert.equal(leaves(), undefined);
});

test('the host that holds most places without a session gives one of them', () => {
  const from = (host: string, name: string): Named => ({ ...guest(name, true, 10), host });
  assert.equal(leaves(from('b', 'b1'), from('c', 'c1'), from('c', 'c2')), 'c1');
  assert.equal(leaves(from('b', 'b1'), from('c', 'c1')), 'b1');
  const held = ['c3', 'c4', 'c5'].map((name) => ({ ...from('c', name), hasSession: true }));
  assert.equal(leaves(...held, from('c', 'c1'), from('b', 'b1'), from('b', 'b2')), 'b1');
});

test('one connection counts for each client, and no more than there is room for', () => {
  const regulars = new Regulars<Regular>(2);
  const [a, b, c]: Regular[] = [{ client: null }, { client: null }, { client: null }];
  const clients = (): (string | null)[] => [a.client, b.client, c.client];
  regulars.onReply(a, 'x');
  regulars.onReply(a, 'x');
  regulars.onReply(b, 'x');
  assert.deepEqual(clients(), [null, 'x', null], 'the last that was answered');
  regulars.onReply(b, 'y');
  regulars.onReply(a, 'x');
  assert.deepEqual(clients(), ['x', 'y', null], 'one client at a time');
  regulars.onReply(c, 'z');
  assert.deepEqual(clients(), ['x', null, 'z'], 'the longest known makes room');
  regulars.forget(a);
  regulars.forget(a);
  regulars.onReply(b, 'x');
  assert.deepEqual(clients(), [null, 'x', 'z']);
});
