/** Clocks on the wall that are wrong, and the timestamps that operations get. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { u64Compare, u64ToBigInt } from '../../stdx/index.ts';
import { wallAt } from '../world/world.ts';
import { Lesson } from './lesson-test-helper.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** Timestamp of the last operation minus true time, milliseconds. */
function errorMs(t: Lesson): number {
  const { state, outbox } = t.parts[t.primary];
  // Monotonic clocks begin with the world here.
  const trueNs = u64ToBigInt(wallAt(outbox.now.monoNs));
  return Number((u64ToBigInt(state.timestamp) - trueNs) / 1_000_000n);
}

for (const replica of [0, 1, 2]) {
  test(`clock ${replica} of three is ten minutes fast: it is outvoted, and said to be`, () => {
    const t = new Lesson({ replicaCount: 3 });
    t.setClock(replica, 10 * MINUTE_MS);
    t.begin();
    for (let i = 0; i < 20; i++) {
      t.ask(100);
      t.wait(500);
    }
    assert.ok(Math.abs(errorMs(t)) < 1000, `${errorMs(t)} ms`);
    for (const { peers, member } of t.parts) {
      const { isSynchronized, sources } = peers.clock.status;
      const outvoted = sources.filter((source) => source.isOutvoted).map((one) => one.replica);
      assert.ok(isSynchronized, `r${member.replica}`);
      assert.deepEqual(outvoted, [replica], `r${member.replica}`);
    }
    // By each replica, once.
    assert.equal(t.count('clock-outvoted'), 3);
    t.end();
  });
}

test('the primary’s clock goes back an hour during load: timestamps go on', () => {
  const t = new Lesson({ replicaCount: 3, clients: 4 });
  t.begin(4);
  const { primary } = t;
  let last = t.parts[primary].state.timestamp;
  const load = (rounds: number): void => {
    for (let i = 0; i < rounds; i++) {
      t.ask(100, 4);
      const { timestamp } = t.parts[t.primary].state;
      assert.ok(u64Compare(timestamp, last) > 0);
      last = timestamp;
      t.wait(100);
    }
  };
  load(20);
  t.setClock(primary, -HOUR_MS);
  load(100);
  assert.ok(Math.abs(errorMs(t)) < 1000, `${errorMs(t)} ms`);
  // Another primary, which never knew: still later ones only.
  t.stop(primary);
  t.until(() => t.primary >= 0 && t.primary !== primary);
  load(20);
  t.setClock(t.primary, HOUR_MS);
  t.open(primary);
  load(100);
  t.end();
});

test('two clocks are left and differ by a minute: the primary gives out no time, and says so', () => {
  const t = new Lesson({ replicaCount: 3 });
  t.begin();
  const { primary } = t;
  const [backup, other] = t.others(primary) as [number, number];
  t.stop(other);
  t.setClock(backup, MINUTE_MS);
  t.ask(100);
  // What was agreed on holds for a while; then it has to be agreed on again.
  t.wait(2 * MINUTE_MS);
  const before = t.parts[primary].state.commitMin;
  t.request();
  t.wait(5000);
  t.expectAnswered(false);
  assert.equal(t.parts[primary].state.commitMin, before);
  const { isSynchronized } = t.parts[t.primary].peers.clock.status;
  assert.ok(!isSynchronized);
  assert.equal(t.count('clock-unsynchronized'), 2);
  // The third one decides.
  t.open(other);
  t.until(() => t.isAnswered, 60_000);
  assert.ok(Math.abs(errorMs(t)) < 1000, `${errorMs(t)} ms`);
  t.end();
});
