import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng } from '../../stdx/index.ts';
import { OUTSTANDING_MAX, RepairBudget } from './repair-budget.ts';

const MS = 1_000_000;
const ALL = 0b11_1111;

function budgetOf(replicaCount: number, replica: number = 0, seed: number = 1): RepairBudget {
  return new RepairBudget({ replicaCount, replica, prng: new Prng(seed) });
}

test('few requests per replica, no operation twice at one, and never ourselves', () => {
  const budget = budgetOf(3, 1);
  const asked: [number, number][] = [];
  for (const op of [7, 7, 7, 8, 8]) asked.push([op, budget.take(op, 0, ALL)]);
  for (let i = 2; i < OUTSTANDING_MAX; i++) {
    for (const op of [100 + i, 100 + i]) asked.push([op, budget.take(op, 0, ALL)]);
  }
  asked.push([9, budget.take(9, 0, ALL)]);
  assert.equal(budget.outstanding, 2 * OUTSTANDING_MAX);
  const of = (op: number) => asked.filter(([each]) => each === op).map(([, replica]) => replica);
  assert.deepEqual(new Set(of(7)), new Set([-1, 0, 2]));
  assert.deepEqual(new Set(of(8)), new Set([0, 2]));
  assert.deepEqual(of(9), [-1]);
  assert.equal(budget.hasRoom(ALL), false);
  assert.ok(budget.isAsked(7) && budget.isAsked(8) && !budget.isAsked(9));
  assert.equal(budget.received(7, 5), true);
  assert.equal(budget.received(7, 5), false);
  assert.equal(budget.isAsked(7), false);
  assert.equal(budget.hasRoom(ALL), true);
  assert.equal(budget.hasRoom(0b010), false, 'only ourselves');
  assert.notEqual(budget.take(9, 6, ALL), -1);
});

test('only who is eligible is asked', () => {
  const budget = budgetOf(6);
  for (let op = 0; op < 200; op++) {
    const replica = budget.take(op, op, 0b01_0100);
    assert.ok(replica === 2 || replica === 4);
    budget.received(op, op);
  }
  assert.equal(budget.take(1, 0, 0), -1);
  assert.equal(budget.hasRoom(0), false);
});

/** How often each replica is asked when it answers after its delay, one request at a time. */
function shares(delaysMs: readonly number[], rounds: number, budget: RepairBudget): number[] {
  const counts = delaysMs.map(() => 0);
  let now = 0;
  for (let op = 0; op < rounds; op++) {
    const replica = budget.take(op, now, ALL);
    counts[replica]++;
    const expiry = budget.nextExpiryNs;
    const answer = now + delaysMs[replica] * MS;
    now = Math.min(answer, expiry);
    if (answer <= expiry) budget.received(op, now);
    else budget.expire(now);
  }
  return counts;
}

test('the fastest is asked, and one time in ten anyone', () => {
  const counts = shares([0, 8, 2, 5], 3000, budgetOf(4));
  assert.ok(counts[2] > 2700, `${counts}`);
  for (const other of [1, 3]) assert.ok(counts[other] > 50 && counts[other] < 160, `${counts}`);
});

test('a peer that died is left after a few requests, and found again when it is back', () => {
  const budget = budgetOf(3);
  shares([0, 1, 20], 200, budget);
  const dead = shares([0, 1_000_000, 20], 300, budget);
  assert.ok(dead[1] < 50, `${dead}`);
  const back = shares([0, 1, 20], 2000, budget);
  assert.ok(back[1] > 1000, `${back}`);
});

test('equal peers share the work', () => {
  const counts = shares([0, 1, 1, 1, 1, 1], 1000, budgetOf(6));
  for (const count of counts.slice(1)) assert.ok(count > 120 && count < 280, `${counts}`);
});

test('a request is given up after twice the latency, ten to a thousand milliseconds', () => {
  const budget = budgetOf(2, 1);
  assert.equal(budget.nextExpiryNs, Number.POSITIVE_INFINITY);
  assert.equal(budget.take(5, 0, ALL), 0);
  assert.equal(budget.nextExpiryNs, 10 * MS);
  budget.expire(10 * MS - 1);
  assert.equal(budget.take(5, 10 * MS - 1, ALL), -1);
  budget.expire(10 * MS);
  // Latency 1 + 10 ms.
  assert.equal(budget.take(5, 20 * MS, ALL), 0);
  assert.equal(budget.nextExpiryNs, 42 * MS);
  const late = 1_000_000 * MS;
  budget.expire(late);
  assert.equal(budget.take(5, late, ALL), 0);
  assert.equal(budget.nextExpiryNs, late + 1000 * MS);
  // At most one second is remembered: answers bring it down again.
  for (let i = 0; i < 20; i++) {
    budget.received(5, late);
    budget.take(5, late, ALL);
  }
  assert.ok(budget.nextExpiryNs < late + 30 * MS);
});

test('the nearest expiry of several', () => {
  const budget = budgetOf(3);
  budget.take(1, 5, 0b010);
  budget.take(2, 3, 0b100);
  assert.equal(budget.nextExpiryNs, 3 + 10 * MS);
  budget.received(2, 4);
  assert.equal(budget.nextExpiryNs, 5 + 10 * MS);
});

test('a lost link takes its requests along, and its reputation', () => {
  const budget = budgetOf(3);
  budget.take(1, 0, 0b010);
  budget.expire(900 * MS);
  budget.take(1, 900 * MS, 0b010);
  budget.take(2, 900 * MS, 0b100);
  budget.forget(1);
  assert.equal(budget.received(1, 900 * MS), false);
  assert.equal(budget.received(2, 900 * MS), true, 'another link');
  assert.equal(budget.take(1, 900 * MS, 0b010), 1);
  assert.equal(budget.nextExpiryNs, 910 * MS);
});

test('what four later answers of the same replica have overtaken is lost', () => {
  const budget = budgetOf(3);
  budget.take(1, 0, 0b010);
  budget.take(2, 1, 0b100);
  for (let op = 11; op <= 15; op++) budget.take(op, 2, 0b010);
  // Of another replica, of nobody in particular, or asked for at the same time: says nothing.
  budget.received(2, 3, 2);
  budget.received(15, 3);
  budget.received(11, 3, 1);
  budget.received(12, 3, 1);
  budget.received(13, 3, 1);
  assert.ok(budget.isAsked(1));
  budget.received(14, 3, 1);
  assert.equal(budget.isAsked(1), false);
  assert.equal(budget.outstanding, 0);
  assert.equal(budget.take(1, 3, 0b010), 1, 'it can be asked again');
});

test('clearing keeps what was learnt', () => {
  const budget = budgetOf(2);
  budget.take(1, 0, ALL);
  budget.expire(99 * MS);
  budget.take(1, 100 * MS, ALL);
  budget.clear();
  assert.equal(budget.nextExpiryNs, Number.POSITIVE_INFINITY);
  budget.take(1, 100 * MS, ALL);
  assert.equal(budget.nextExpiryNs, 300 * MS);
});

test('property: never more than the limit, never twice, whatever happens', () => {
  const prng = new Prng(5);
  for (let seed = 0; seed < 30; seed++) {
    const replicaCount = prng.between(1, 6);
    const self = prng.below(replicaCount);
    const budget = budgetOf(replicaCount, self, seed);
    let outstanding: { op: number; replica: number }[] = [];
    let now = 0;
    for (let step = 0; step < 2000; step++) {
      now += prng.below(3 * MS);
      const op = prng.below(2 * OUTSTANDING_MAX);
      const eligible = prng.below(64);
      const action = prng.below(10);
      const loadOf = (replica: number) => outstanding.filter((o) => o.replica === replica).length;
      const canTake = (replica: number) =>
        replica !== self &&
        (eligible & (1 << replica)) !== 0 &&
        loadOf(replica) < OUTSTANDING_MAX &&
        !outstanding.some((o) => o.op === op && o.replica === replica);
      if (action < 6) {
        const replica = budget.take(op, now, eligible);
        const candidates = [...Array(replicaCount).keys()].filter(canTake);
        if (candidates.length === 0) assert.equal(replica, -1);
        else assert.ok(candidates.includes(replica));
        if (replica !== -1) outstanding.push({ op, replica });
      } else if (action < 9) {
        const had = outstanding.some((o) => o.op === op);
        assert.equal(budget.received(op, now), had);
        outstanding = outstanding.filter((o) => o.op !== op);
      } else if (prng.chance(1, 2)) {
        const replica = prng.below(replicaCount);
        budget.forget(replica);
        outstanding = outstanding.filter((o) => o.replica !== replica);
      } else {
        now = Math.max(now, Math.min(now + 3000 * MS, budget.nextExpiryNs + 2000 * MS));
        budget.expire(now);
        outstanding = [];
      }
      assert.equal(budget.outstanding, outstanding.length);
      assert.equal(
        budget.isAsked(op),
        outstanding.some((o) => o.op === op),
      );
    }
  }
});
