import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Effect, Engine, Event, Instant } from '../../engine/index.ts';
import { MessagePool } from '../../wire/index.ts';
import { Disk } from '../disk/disk.ts';
import { World } from '../world/world.ts';
import { Clock } from './clock.ts';
import { Process } from './process.ts';

/** An engine that writes down what it hears, and does what the test wants at each event. */
function scene(answer: (event: Event, now: Instant) => readonly Effect[]) {
  const world = new World({ seed: 1 });
  const disk = new Disk(world);
  const heard: string[] = [];
  const clock = new Clock(world, { offsetNs: 0, driftPpm: 0, monoStartNs: 5_000 });
  const process = new Process(
    world,
    disk,
    { cluster: new Uint8Array(16), requestSizeMax: 4096, listensEarly: true, clock },
    { onReady: () => {}, onHalt: () => {}, onRestart: () => heard.push('restart') },
  );
  const engine: Engine = {
    step: (event, now) => {
      heard.push(`${event.type} at ${now.monoNs}`);
      return answer(event, now);
    },
    invariants: () => {},
  };
  const sizes = { requestSlotSize: 4096, requestSlots: 2, replySlots: 1, smallSlots: 2 };
  process.start({ engine, pool: new MessagePool(sizes), releaseMessages: () => {} });
  const run = (untilNs: number): void => {
    world.after(untilNs - world.nowNs, () => {});
    while (world.step(untilNs));
  };
  return { world, disk, process, heard, run };
}

test('what happens to a paused process waits, and time goes on', () => {
  const bytes = new Uint8Array(4096);
  const { process, heard, run, disk } = scene((event) => {
    if (event.type !== 'open') return [];
    return [
      { type: 'write', token: 1, offset: 0, bytes, durable: true },
      { type: 'timer', timer: 'wake', afterNs: 10_000_000 },
    ];
  });
  process.pause();
  run(50_000_000);
  assert.deepEqual(heard, ['open at 5000']);
  // The disk did its work meanwhile.
  assert.ok(disk.isIdle);
  process.resume();
  assert.deepEqual(heard, ['open at 5000', 'written at 50005000', 'timer at 50005000']);
});

test('a timer that was rang during the pause rings once, after it', () => {
  let armed = 0;
  const { process, heard, run } = scene((event) => {
    if (event.type === 'timer' && armed++ > 0) return [];
    return [{ type: 'timer', timer: 'wake', afterNs: 10_000_000 }];
  });
  process.pause();
  run(30_000_000);
  process.resume();
  run(60_000_000);
  assert.deepEqual(heard, ['open at 5000', 'timer at 30005000', 'timer at 40005000']);
});

test('a process that dies in a pause has heard nothing', () => {
  const { process, heard, run } = scene(() => [
    { type: 'timer', timer: 'wake', afterNs: 10_000_000 },
  ]);
  process.pause();
  run(30_000_000);
  process.crash('new');
  run(60_000_000);
  assert.deepEqual(heard, ['open at 5000']);
  assert.ok(!process.isPaused && !process.isUp);
});

test('an engine that asks for another life gets no event more, and loses no write', () => {
  const bytes = new Uint8Array(4096).fill(7);
  const { process, heard, run, disk } = scene((event) => {
    if (event.type !== 'open') return [];
    return [
      { type: 'write', token: 1, offset: 4096, bytes, durable: true },
      { type: 'restart' },
      { type: 'timer', timer: 'wake', afterNs: 1 },
    ];
  });
  run(60_000_000);
  assert.deepEqual(heard, ['open at 5000', 'restart']);
  assert.ok(!process.isUp);
  assert.equal(disk.peek(4096, 4096)[0], 7);
});
