import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Coverage } from './coverage.ts';
import { World } from './world.ts';

test('time jumps from action to action, in order of making within a nanosecond', () => {
  const world = new World({ seed: 1 });
  const log: string[] = [];
  world.after(20, () => log.push(`b ${world.nowNs}`));
  world.after(10, () => {
    log.push(`a ${world.nowNs}`);
    world.after(10, () => log.push(`c ${world.nowNs}`));
    world.after(0, () => log.push(`now ${world.nowNs}`));
  });
  world.after(1_000, () => log.push('late'));
  while (world.step(500));
  assert.deepEqual(log, ['a 10', 'now 10', 'b 20', 'c 20']);
  assert.equal(world.nowNs, 20);
  assert.throws(() => world.after(-1, () => {}), /past/);
});

test('streams of a seed are independent of each other', () => {
  const world = new World({ seed: 9 });
  const draws = [world.prng(1), world.prng(1, 1), world.prng(2)].map((prng) => prng.u32());
  assert.equal(new Set(draws).size, 3);
  assert.equal(new World({ seed: 9 }).prng(1, 1).u32(), draws[1]);
});

test('a trace has one line for each thing that happens, in fixed columns', () => {
  const lines: string[] = [];
  const world = new World({ seed: 1, trace: (line) => lines.push(line) });
  world.after(1_234_567, () => world.note('disk', 'power-cut', 'old'));
  world.step(2_000_000);
  world.line('life 1', '> open', () => '');
  assert.deepEqual(lines, [
    '        1234.567       1 disk       power-cut      old',
    '        1234.567       2 life 1     > open',
  ]);
});

test('coverage adds up, and names what never happened', () => {
  const coverage = new Coverage();
  const other = new Coverage();
  coverage.add('crashes', 2);
  other.add('crashes');
  other.add('resends', 3);
  coverage.merge(other);
  assert.equal(coverage.summary(), 'crashes 3 · resends 3');
  assert.deepEqual(coverage.missing(['resends', 'evictions', 'crashes', 'halts']), [
    'evictions',
    'halts',
  ]);
});
