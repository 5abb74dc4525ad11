import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toHex } from '../stdx/index.ts';
import { Code, emitModule, ValueType } from './wasm-emit.ts';
import { createMemory, wasm } from './webassembly.ts';

test('instructions have their binary forms', () => {
  const table: readonly (readonly [Code, string])[] = [
    [new Code().get(3), '2003'],
    [new Code().get(130), '208201'],
    [new Code().set(1).tee(2), '21012202'],
    [new Code().constant(0), '4100'],
    [new Code().constant(63), '413f'],
    [new Code().constant(64), '41c000'],
    [new Code().constant(-1), '417f'],
    [new Code().constant(-65), '41bf7f'],
    [new Code().constant(65_536), '41808004'],
    [new Code().constant(2 ** 31 - 1), '41ffffffff07'],
    [new Code().constant(-(2 ** 31)), '418080808078'],
    [new Code().load(4096).store(1), '28028020360201'],
    [new Code().vectorLoad(16).vectorStore(0), 'fd000410fd0b0400'],
    [new Code().relaxedSwizzle(), 'fd8002'],
    [new Code().vectorShiftRight(), 'fdad01'],
    [new Code().block().loop().if().branch(1).branchIf(0).end(), '0240034004400c010d000b'],
  ];
  for (const [code, hex] of table) assert.equal(toHex(Uint8Array.from(code.bytes)), hex);
});

test('a generated function runs: the sum of numbers in memory', () => {
  assert.ok(wasm !== null);
  const code = new Code();
  code.loop();
  code.get(2).get(0).load(0).add().set(2);
  code.get(0).constant(4).add().set(0);
  code.get(1).constant(1).sub().tee(1).branchIf(0);
  code.end();
  code.constant(0).get(2).store(8);
  const bytes = emitModule(1, {
    name: 'sum',
    parameters: 2,
    locals: [{ count: 1, type: ValueType.i32 }],
    code,
  });
  assert.ok(wasm.validate(bytes));
  const memory = createMemory(65_536);
  const words = new Uint32Array(memory.buffer);
  for (let i = 0; i < 100; i++) words[256 + i] = i + 1;
  const instance = new wasm.Instance<{ sum: (from: number, count: number) => void }>(
    new wasm.Module(bytes),
    { env: { memory } },
  );
  instance.exports.sum(1024, 100);
  assert.equal(words[2], 5050);
});

test('wrong code is noticed by validation, not at run time', () => {
  const bytes = emitModule(1, { name: 'f', parameters: 0, locals: [], code: new Code().add() });
  assert.equal(wasm?.validate(bytes), false);
});
