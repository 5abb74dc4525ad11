import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng, u64, u64Difference, u64FromNumber } from '../../stdx/index.ts';
import { ClockSync } from './clock-sync.ts';
import { ClockWorld, MS } from './clock-test-helper.ts';

const MINUTE = 60_000;
const right = () => 0;
const wrong = (ms: number) => () => ms;

test('alone: always the local clock', () => {
  const clock = new ClockSync({ replicaCount: 1, replica: 0, quorum: 1 });
  const now = { monoNs: 5, wall: u64(4, 2) };
  assert.deepEqual(clock.realtime(now), now.wall);
  clock.tick(now);
  assert.equal(clock.status.isSynchronized, true);
  assert.equal(clock.pingIntervalNs, 1000 * MS);
});

test('all agree: synchronised after the first short window, then pings are rare', () => {
  const world = new ClockWorld({
    replicaCount: 3,
    quorum: 2,
    errorMs: [wrong(3), right, wrong(-3)],
  });
  assert.equal(world.clock.pingIntervalNs, 50 * MS);
  world.run(150);
  assert.equal(world.errorMs(), null);
  assert.equal(world.runUntilSynchronized(10_000), 200);
  assert.ok(Math.abs(world.errorMs()!) <= 5);
  assert.equal(world.clock.pingIntervalNs, 1000 * MS);
  const { pingRounds } = world;
  world.run(30_200);
  assert.ok(Math.abs(world.pingRounds - pingRounds - 30) <= 1, `${world.pingRounds}`);
  assert.ok(Math.abs(world.errorMs()!) <= 5);
  assert.deepEqual(
    world.clock.status.sources.map((source) => source.isOutvoted),
    [false, false, false],
  );
});

test('one clock that is ten minutes off is outvoted, and named', () => {
  for (const replicaCount of [3, 4, 5, 6]) {
    for (let liar = 0; liar < replicaCount; liar++) {
      for (const error of [-10 * MINUTE, 10 * MINUTE]) {
        const errorMs = Array.from({ length: replicaCount }, (_, i) =>
          wrong(i === liar ? error : i),
        );
        const quorum = Math.min(3, Math.ceil(replicaCount / 2));
        const world = new ClockWorld({ replicaCount, quorum, errorMs });
        assert.equal(world.runUntilSynchronized(1000), 200);
        for (const at of [300, 5000, 60_000]) {
          world.run(at);
          assert.ok(Math.abs(world.errorMs()!) <= 10, `${world.errorMs()}`);
        }
        for (const source of world.clock.status.sources) {
          assert.equal(source.isOutvoted, source.replica === liar);
        }
      }
    }
  }
});

test('our own clock may be off by centuries', () => {
  const century = 36_525 * 24 * 60 * MINUTE;
  for (const error of [-50 * 365 * 24 * 60 * MINUTE, 2 * century]) {
    const world = new ClockWorld({
      replicaCount: 3,
      quorum: 2,
      errorMs: [wrong(error), right, right],
    });
    world.run(5000);
    assert.ok(Math.abs(world.errorMs()!) <= 5, `${world.errorMs()}`);
  }
});

test('three clocks a minute apart from one another: no time', () => {
  const world = new ClockWorld({
    replicaCount: 3,
    quorum: 2,
    errorMs: [right, wrong(MINUTE), wrong(-MINUTE)],
  });
  assert.equal(world.runUntilSynchronized(2 * MINUTE), null);
  assert.equal(world.errorMs(), null);
  assert.equal(world.clock.pingIntervalNs, 50 * MS);
  const { status } = world.clock;
  assert.equal(status.isSynchronized, false);
  assert.deepEqual(
    status.sources.map(({ replica, offsetNs, isOutvoted }) => [
      replica,
      Math.round(offsetNs / (1000 * MS)),
      isOutvoted,
    ]),
    [
      [0, 0, false],
      [1, 60, false],
      [2, -60, false],
    ],
  );
});

test('two of five are no quorum of three', () => {
  const errorMs = [right, right, wrong(MINUTE), wrong(-MINUTE), wrong(2 * MINUTE)];
  const world = new ClockWorld({ replicaCount: 5, quorum: 3, errorMs });
  assert.equal(world.runUntilSynchronized(10_000), null);
});

test('two of two must agree', () => {
  const options = { replicaCount: 2, quorum: 2 };
  const far = new ClockWorld({ ...options, errorMs: [right, wrong(MINUTE)] });
  assert.equal(far.runUntilSynchronized(MINUTE), null);
  const near = new ClockWorld({ ...options, errorMs: [right, wrong(5000)] });
  assert.equal(near.runUntilSynchronized(MINUTE), 200);
  assert.ok(near.errorMs()! >= 0 && near.errorMs()! <= 5001);
  const silent = new ClockWorld({ ...options, errorMs: [right, right], answers: () => false });
  assert.equal(silent.runUntilSynchronized(MINUTE), null);
});

test('our own clock steps: the agreed time does not', () => {
  for (const step of [-30_000, 30_000]) {
    const world = new ClockWorld({
      replicaCount: 3,
      quorum: 2,
      errorMs: [(at) => (at < 10_500 ? 0 : step), right, right],
    });
    for (let at = 1000; at < 30_000; at += 250) {
      world.run(at);
      assert.ok(Math.abs(world.errorMs()!) <= 5, `at ${at}: ${world.errorMs()}`);
    }
    assert.equal(world.clock.status.sources[0].isOutvoted, true);
  }
});

test('the others step together: followed within two windows', () => {
  const step = (at: number) => (at < 10_000 ? 0 : 40_000);
  const world = new ClockWorld({ replicaCount: 3, quorum: 2, errorMs: [right, step, step] });
  world.run(10_000);
  assert.ok(Math.abs(world.errorMs()!) <= 5);
  world.run(15_500);
  assert.ok(Math.abs(world.errorMs()! - 40_000) <= 5, `${world.errorMs()}`);
});

test('an answer in no time at all', () => {
  const clock = new ClockSync({ replicaCount: 2, replica: 1, quorum: 2 });
  const wall = u64FromNumber(1_000_000_000);
  clock.tick({ monoNs: 0, wall });
  clock.learn(0, 0, wall, { monoNs: 0, wall });
  const later = { monoNs: 200 * MS, wall: u64FromNumber(1_000_000_000 + 200 * MS) };
  clock.tick(later);
  assert.deepEqual(clock.realtime(later), later.wall);
  assert.equal(clock.status.offsetNsMin, 0);
  assert.equal(clock.status.offsetNsMax, 0);
});

test('pongs of pings from before the window, or from after now, say nothing', () => {
  const clock = new ClockSync({ replicaCount: 2, replica: 0, quorum: 2 });
  const wall = u64FromNumber(1_000_000_000);
  clock.learn(1, 5, wall, { monoNs: 5, wall });
  clock.tick({ monoNs: 10, wall });
  clock.learn(1, 9, wall, { monoNs: 20, wall });
  clock.learn(1, 21, wall, { monoNs: 20, wall });
  clock.tick({ monoNs: 10 + 200 * MS, wall });
  assert.equal(clock.status.isSynchronized, false);
  clock.learn(1, 10, wall, { monoNs: 20 + 200 * MS, wall });
  clock.tick({ monoNs: 20 + 200 * MS, wall });
  assert.equal(clock.status.isSynchronized, true);
  assert.throws(() => clock.learn(0, 10, wall, { monoNs: 20, wall }), /pong of our own/);
});

test('an agreement holds for sixty seconds from the beginning of its window', () => {
  const world = new ClockWorld({
    replicaCount: 3,
    quorum: 2,
    errorMs: [right, right, right],
    answers: (_, at) => at < 100 || at >= 70_000,
  });
  world.run(59_999);
  assert.ok(world.errorMs() !== null);
  world.run(60_000);
  assert.ok(world.errorMs() !== null);
  world.run(60_001);
  assert.equal(world.errorMs(), null);
  assert.equal(world.clock.status.isSynchronized, false);
  // Without time there is hurry again.
  assert.equal(world.clock.pingIntervalNs, 50 * MS);
  const again = world.runUntilSynchronized(80_000);
  assert.ok(again !== null && again <= 72_300, `${again}`);
});

test('realtime itself looks at the expiry', () => {
  const world = new ClockWorld({ replicaCount: 2, quorum: 2, errorMs: [right, right] });
  world.run(200);
  const monoNs = world.now.monoNs + 60_000 * MS;
  assert.equal(world.clock.realtime({ ...world.now, monoNs }), null);
});

test('what was learnt before a long pause is no agreement after it', () => {
  const clock = new ClockSync({ replicaCount: 2, replica: 1, quorum: 2 });
  const wall = u64FromNumber(1_000_000_000);
  clock.tick({ monoNs: 0, wall });
  clock.learn(0, 1, wall, { monoNs: 2, wall });
  clock.tick({ monoNs: 60_001 * MS, wall });
  assert.equal(clock.status.isSynchronized, false);
});

test('the agreed time carries between the limbs, and stays within 64 bits', () => {
  const limb = 0xffff_ffff;
  for (const [ours, theirs, agreed] of [
    [u64(7, limb - 5), u64(9, 5), u64(9, 5)],
    [u64(9, 5), u64(7, limb - 5), u64(7, limb - 5)],
    [u64(0, 1), u64(limb, limb - 5), u64(limb, limb)],
  ] as const) {
    const clock = new ClockSync({ replicaCount: 3, replica: 2, quorum: 2 });
    clock.tick({ monoNs: 0, wall: ours });
    for (const replica of [0, 1]) clock.learn(replica, 0, theirs, { monoNs: 0, wall: ours });
    clock.tick({ monoNs: 200 * MS, wall: ours });
    const realtime = clock.realtime({ monoNs: 0, wall: ours });
    assert.ok(realtime !== null);
    const error = u64Difference(u64(realtime.hi, realtime.lo), agreed);
    assert.ok(Math.abs(error) <= 2048, `${error}`);
  }
});

test('uneven delays: the agreed interval holds the truth and is as wide as the round trip', () => {
  for (const delays of [
    [100, 1],
    [1, 100],
    [300, 20],
  ] as const) {
    const world = new ClockWorld({
      replicaCount: 3,
      quorum: 2,
      errorMs: [wrong(400), right, right],
      delaysMs: () => delays,
    });
    world.run(20_000);
    const roundTripMs = delays[0] + delays[1];
    const { offsetNsMin, offsetNsMax } = world.clock.status;
    assert.ok(offsetNsMin <= -400 * MS && offsetNsMax >= -400 * MS, `${offsetNsMin}`);
    assert.ok(offsetNsMax - offsetNsMin <= (roundTripMs + 1) * MS, `${offsetNsMax - offsetNsMin}`);
    assert.ok(Math.abs(world.errorMs()!) <= roundTripMs, `${world.errorMs()}`);
  }
});

test('a way that turns slow in one direction is not taken for a clock that moves', () => {
  for (const slow of [
    [401, 1],
    [1, 401],
  ] as const) {
    // Our own clock steps as well, between the windows: the comparison must know.
    const world = new ClockWorld({
      replicaCount: 3,
      quorum: 2,
      errorMs: [(at) => (at < 9_000 ? 0 : 20_000), right, right],
      delaysMs: (_, at) => (at < 10_000 ? [1, 1] : slow),
    });
    // The first window of the slow way has just been judged.
    world.run(12_500);
    const [, ...peers] = world.clock.status.sources;
    assert.equal(peers.length, 2);
    for (const { offsetNs, oneWayNs } of peers) {
      assert.equal(oneWayNs, 201 * MS);
      assert.ok(Math.abs(offsetNs / MS + 20_000) <= 12, `${slow}: ${offsetNs}`);
    }
  }
});

test('the fastest sample of a window counts', () => {
  const world = new ClockWorld({
    replicaCount: 2,
    quorum: 2,
    errorMs: [right, wrong(50)],
    // The third of the window is quick, neither the first nor the last.
    delaysMs: (_, at) => (at === 100 ? [2, 2] : [30, 2]),
  });
  world.run(200);
  const [, peer] = world.clock.status.sources;
  assert.equal(peer.oneWayNs, 2 * MS);
  assert.equal(peer.offsetNs, 50 * MS);
});

test('windows: two seconds at least, once synchronised', () => {
  // The peer's clock drifts: when something was learnt can be seen by the offset.
  const world = new ClockWorld({
    replicaCount: 2,
    quorum: 2,
    errorMs: [right, (at) => at / 100],
  });
  const judged: number[] = [];
  let offsetNs = 0;
  for (let at = 1; at <= 30_000; at++) {
    world.run(at);
    const source = world.clock.status.sources[1];
    if (source === undefined || source.offsetNs === offsetNs) continue;
    offsetNs = source.offsetNs;
    judged.push(at);
  }
  assert.equal(judged[0], 200);
  for (let i = 1; i < judged.length; i++) {
    const gap = judged[i] - judged[i - 1];
    assert.ok(gap >= 2000 && gap <= 3100, `${judged}`);
  }
});

test('windows: what is older than twenty seconds is not compared with what is new', () => {
  for (const [backMs, sources] of [
    [18_000, 3],
    [26_000, 5],
  ] as const) {
    const world = new ClockWorld({
      replicaCount: 5,
      quorum: 3,
      errorMs: [right, right, right, right, right],
      answers: (replica, at) => {
        if (at < 4000) return true;
        return replica === 1 ? at < 8000 : replica === 2 && at >= backMs;
      },
    });
    world.run(30_000);
    // Five: the last time that a quorum was heard within one window is long ago.
    assert.equal(world.clock.status.sources.length, sources);
  }
});

test('slow links: a window waits for answers that take longer than two seconds', () => {
  const world = new ClockWorld({
    replicaCount: 3,
    quorum: 2,
    errorMs: [right, right, right],
    delaysMs: (_, at) => (at < 1000 ? [1, 1] : [1500, 1500]),
  });
  for (let at = 1000; at <= 120_000; at += 1000) {
    world.run(at);
    assert.ok(world.errorMs() !== null, `at ${at}`);
  }
});

test('property: a quorum of right clocks decides, whatever fewer wrong ones say', () => {
  const prng = new Prng(11);
  for (let round = 0; round < 150; round++) {
    const replicaCount = prng.between(2, 6);
    const quorum = replicaCount === 2 ? 2 : Math.min(3, Math.ceil(replicaCount / 2));
    const liarsMax = Math.min(quorum - 1, replicaCount - quorum);
    const liars = new Set<number>();
    for (let i = prng.below(liarsMax + 1); i > 0; i--) liars.add(prng.below(replicaCount));
    const errorMs = Array.from({ length: replicaCount }, (_, replica) => {
      if (!liars.has(replica)) return wrong(prng.between(-5, 5));
      const [a, b] = [prng.between(-200_000, 200_000), prng.between(-100, 100)];
      return prng.chance(1, 2) ? wrong(a) : (at: number) => Math.round((at * b) / 1000);
    });
    const delayMax = prng.pick([1, 10, 50]);
    const delays = Array.from({ length: 997 }, () => prng.below(delayMax) + 1);
    const world = new ClockWorld({
      replicaCount,
      quorum,
      errorMs,
      delaysMs: (replica, at) => [
        delays[(at * 7 + replica) % delays.length],
        delays[(at * 3 + replica) % delays.length],
      ],
    });
    const first = world.runUntilSynchronized(2000);
    assert.ok(first !== null && first <= 400, `round ${round}: ${first}`);
    for (let at = 500; at < 12_000; at += prng.between(1, 900)) {
      world.run(at);
      const error = world.errorMs();
      assert.ok(error !== null && Math.abs(error) <= 15 + 2 * delayMax, `round ${round}: ${error}`);
    }
  }
});
