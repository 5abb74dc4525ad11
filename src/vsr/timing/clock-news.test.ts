import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Outbox } from '../outbox.ts';
import { traceClocks } from './clock-news.ts';
import type { ClockNews } from './clock-sync.ts';
import { ClockWorld, type ClockWorldOptions, MS } from './clock-test-helper.ts';

const HOUR = 3_600_000;
const right = () => 0;

/** What is told until `untilMs`, with when, ms. */
function told(options: ClockWorldOptions, untilMs: number): (readonly [number, ClockNews])[] {
  const world = new ClockWorld(options);
  const news: (readonly [number, ClockNews])[] = [];
  for (let at = 0; at <= untilMs; at += 50) {
    world.run(at);
    for (const one of world.clock.takeNews()) news.push([at, one]);
  }
  return news;
}

test('clocks that agree are no news', () => {
  const errorMs = [right, () => 400, () => -400];
  assert.deepEqual(told({ replicaCount: 3, quorum: 2, errorMs }, 200_000), []);
});

test('a clock that is hours off is told once, also when it is our own, and its return once', () => {
  for (const liar of [0, 1, 2]) {
    for (const sign of [-1, 1]) {
      const errorMs = [0, 1, 2].map((replica) => (atMs: number) => {
        return replica === liar && atMs >= 60_000 && atMs < 200_000 ? sign * 2 * HOUR : 0;
      });
      const news = told({ replicaCount: 3, quorum: 2, errorMs }, 300_000);
      assert.deepEqual(
        news.map(([, { kind }]) => kind),
        ['outvoted', 'agrees'],
      );
      const [[outAt, out], [backAt, back]] = news as [(typeof news)[0], (typeof news)[0]];
      assert.ok(outAt > 60_000 && outAt < 70_000, `${outAt}`);
      assert.ok(backAt > 200_000 && backAt < 210_000, `${backAt}`);
      assert.ok(out.kind === 'outvoted' && out.replica === liar);
      assert.ok(Math.abs(out.offsetMs - sign * 2 * HOUR) <= 5, `${out.offsetMs}`);
      assert.deepEqual(back, { kind: 'agrees', replica: liar });
    }
  }
});

test('a clock at the edge is not told again and again', () => {
  // Back and forth across the second that makes it outvoted.
  const errorMs = [right, right, (atMs: number) => (atMs % 7000 < 3500 ? 1100 : 900)];
  const news = told({ replicaCount: 3, quorum: 2, errorMs }, 200_000);
  assert.deepEqual(
    news.map(([, { kind }]) => kind),
    ['outvoted'],
  );
});

test('clocks that do not agree: told once from the start, with every offset, until they do', () => {
  const errorMs = [right, (atMs: number) => (atMs < 20_000 ? 2 * HOUR : 0), () => -HOUR];
  const news = told({ replicaCount: 3, quorum: 2, errorMs }, 60_000);
  assert.deepEqual(
    news.map(([, { kind }]) => kind),
    ['disagreement', 'outvoted', 'agreement'],
  );
  const [[at, first]] = news as [(typeof news)[0]];
  assert.equal(at, 200);
  assert.ok(first.kind === 'disagreement');
  assert.deepEqual(
    first.sources.map(({ offsetNs }) => Math.round(offsetNs / MS / HOUR)),
    [0, 2, -1],
  );
});

test('nobody is heard any more: told once, when the agreement has run out', () => {
  const answers = (_: number, atMs: number): boolean => atMs < 10_000 || atMs >= 200_000;
  const errorMs = [right, right, right];
  const news = told({ replicaCount: 3, quorum: 2, errorMs, answers }, 250_000);
  assert.deepEqual(
    news.map(([, { kind }]) => kind),
    ['silence', 'agreement'],
  );
  const [[from], [to]] = news as [(typeof news)[0], (typeof news)[0]];
  assert.ok(from > 60_000 && from <= 71_000, `${from}`);
  assert.ok(to >= 200_000 && to <= 203_000, `${to}`);
  // Who has never heard anybody is just starting.
  const alone = { replicaCount: 3, quorum: 2, errorMs, answers: () => false };
  assert.deepEqual(told(alone, 200_000), []);
});

test('traces name the replica, and which is our own', () => {
  const outbox = new Outbox();
  outbox.begin({ monoNs: 0, wall: { hi: 0, lo: 0 } });
  const source = { oneWayNs: 0, isOutvoted: false };
  traceClocks(outbox, 1, [
    { kind: 'outvoted', replica: 2, offsetMs: 7 },
    { kind: 'outvoted', replica: 1, offsetMs: -7 },
    { kind: 'agrees', replica: 1 },
    {
      kind: 'disagreement',
      sources: [
        { ...source, replica: 0, offsetNs: -60_000 * MS },
        { ...source, replica: 1, offsetNs: 0 },
        { ...source, replica: 2, offsetNs: 2 * HOUR * MS },
      ],
    },
    { kind: 'silence' },
    { kind: 'agreement' },
  ]);
  assert.deepEqual(
    outbox.effects().map((one) => one.type === 'trace' && [one.level, one.event, one.fields]),
    [
      ['warn', 'clock-outvoted', { reason: 'replica-2', replica: 2, isOwn: false, offsetMs: 7 }],
      ['warn', 'clock-outvoted', { reason: 'replica-1', replica: 1, isOwn: true, offsetMs: -7 }],
      ['info', 'clock-agrees', { replica: 1, isOwn: true }],
      [
        'warn',
        'clock-unsynchronized',
        {
          reason: 'disagreement',
          clocks: 'replica 0 -60.0 s, replica 1 (this one), replica 2 +7200.0 s',
        },
      ],
      ['warn', 'clock-unsynchronized', { reason: 'silence' }],
      ['info', 'clock-synchronized', {}],
    ],
  );
});
