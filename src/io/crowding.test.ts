/** Who gives way, as tables. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MessagePool } from '../wire/index.ts';
import { crowdLimits, type Guest, isStalled, mayTake, whoLeaves } from './crowding.ts';

interface Named extends Guest {
  readonly name: string;
}

function guest(name: string, isProven: boolean, idleMs: number, receivingMs: number = 0): Named {
  return { name, isProven, idleMs: () => idleMs, receivingMs: () => receivingMs };
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

test('the longest silent stranger leaves, then the longest silent of the others, then nobody', () => {
  const busy = guest('busy', true, 10);
  const away = guest('away', true, 70_000);
  const gone = guest('gone', true, 90_000);
  const fresh = guest('fresh', false, 10);
  const quiet = guest('quiet', false, 1_100);
  const silent = guest('silent', false, 3_000);
  const leaves = (...guests: Named[]): string | undefined =>
    whoLeaves(guests, 0, crowdLimits)?.name;
  assert.equal(leaves(busy, away, gone, fresh, quiet, silent), 'silent');
  assert.equal(leaves(quiet, gone), 'quiet');
  assert.equal(leaves(busy, away, gone, fresh), 'gone');
  assert.equal(leaves(busy, fresh), undefined);
  assert.equal(leaves(), undefined);
});
