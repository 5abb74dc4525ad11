import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EngineRole, EngineStatus } from '../../engine/index.ts';
import { Emitter } from './emitter.ts';
import { type Leader, LeaderWatch } from './leader-watch.ts';

test('listeners are called in order, come twice, go once, and may throw', () => {
  const thrown: string[] = [];
  const seen: string[] = [];
  const emitter = new Emitter<{ a: number; b: string }>((name, error) =>
    thrown.push(`${name}: ${String(error)}`),
  );
  assert.equal(emitter.has('a'), false);
  const listener = (value: number): void => void seen.push(`x${value}`);
  const off = emitter.on('a', listener);
  emitter.on('a', () => {
    throw new Error('no');
  });
  emitter.on('a', listener);
  emitter.on('a', (value) => seen.push(`y${value}`));
  emitter.emit('a', 1);
  emitter.emit('b', 'nobody listens');
  assert.deepEqual(seen.splice(0), ['x1', 'x1', 'y1']);
  assert.deepEqual(thrown, ['a: Error: no']);
  off();
  off();
  emitter.emit('a', 2);
  assert.deepEqual(seen, ['x2', 'y2']);
  assert.equal(emitter.has('a'), true);
});

test('who leads is told when it changes, and nothing else is', () => {
  const status = { role: 'recovering' as EngineRole, view: 0, primary: 0, replica: 1 };
  const told: Leader[] = [];
  const watch = new LeaderWatch(
    () => status as EngineStatus,
    (leader) => told.push(leader),
  );
  const look = (role: EngineRole, view: number, primary: number): void => {
    Object.assign(status, { role, view, primary });
    watch.look();
  };
  look('recovering', 0, 0);
  look('view-change', 1, 1);
  look('backup', 2, 2);
  look('backup', 2, 2);
  look('view-change', 3, 0);
  look('view-change', 4, 1);
  look('primary', 4, 1);
  look('primary', 7, 1);
  look('halted', 7, 1);
  watch.stop();
  assert.deepEqual(
    told.map(({ replica, view, isSelf }) => [replica, view, isSelf]),
    [
      [2, 2, false],
      [null, 3, false],
      [1, 4, true],
      [1, 7, true],
      [null, 7, false],
    ],
  );
});
