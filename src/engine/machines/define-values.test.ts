import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng, toHex } from '../../stdx/index.ts';
import { COMMAND_DEPTH_MAX, decodeValue, encodeValue, VALUE_DEPTH_MAX } from './define-values.ts';

const numbers = [
  0,
  -0,
  1,
  -1,
  0.1,
  2 ** 53,
  1e300,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  -Infinity,
];
const texts = ['', 'a', '$', '__proto__', 'constructor', '7', 'ü\n\u{1f600}', '\ud800', '\u0000'];

/** Some value, nested up to `depth`; map keys and members are of every kind too. */
function anyValue(prng: Prng, depth: number): unknown {
  const kind = prng.below(depth === 0 ? 7 : 13);
  const length = prng.below(4);
  const many = <T>(make: () => T): T[] => Array.from({ length }, make);
  const pairs = (): [string, unknown][] =>
    many(() => [prng.pick(texts), anyValue(prng, depth - 1)] as [string, unknown]);
  switch (kind) {
    case 0:
      return null;
    case 1:
      return undefined;
    case 2:
      return prng.chance(1, 2);
    case 3:
      return prng.pick(numbers);
    case 4:
      return prng.pick(texts);
    case 5:
      return BigInt(prng.below(1000) - 500) ** 9n;
    case 6:
      return Uint8Array.from(many(() => prng.below(256)));
    case 7:
    case 8:
      return many(() => anyValue(prng, depth - 1));
    case 9:
      return new Map(many(() => [anyValue(prng, depth - 1), anyValue(prng, depth - 1)]));
    case 10:
      return new Set(many(() => anyValue(prng, depth - 1)));
    case 11:
      return Object.assign(Object.create(null), Object.fromEntries(pairs()));
    default:
      return Object.fromEntries(pairs());
  }
}

test('what is written comes back the same, in the same order', () => {
  const prng = new Prng(1);
  for (let i = 0; i < 20_000; i++) {
    const value = anyValue(prng, 4);
    const bytes = encodeValue(value);
    const again = decodeValue(bytes);
    assert.deepStrictEqual(again, value);
    assert.equal(toHex(encodeValue(again)), toHex(bytes), 'and is written the same again');
  }
});

test('the order of keys is kept, as a restored replica must walk like one that was there', () => {
  const value = {
    b: 1,
    a: { z: undefined, y: 2 },
    m: new Map([
      ['q', 1],
      ['p', 2],
    ]),
  };
  const again = decodeValue(encodeValue(value)) as typeof value;
  assert.deepEqual(Object.keys(again), ['b', 'a', 'm']);
  assert.deepEqual(Object.keys(again.a), ['z', 'y']);
  assert.deepEqual([...again.m.keys()], ['q', 'p']);
});

test('a key named __proto__ is a key like others', () => {
  const value = JSON.parse('{"__proto__": {"x": [1]}, "y": {"$": 1, "__proto__": 2}}');
  value.z = undefined;
  const again = decodeValue(encodeValue(value)) as object;
  assert.equal(Object.getPrototypeOf(again), Object.prototype);
  assert.deepEqual(Object.keys(again), ['__proto__', 'y', 'z']);
  assert.equal('x' in again, false);
});

test('what could not come back is refused by name', () => {
  class Account {}
  const ring: { self?: unknown } = {};
  ring.self = ring;
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [{ a: { handler: () => {} } }, /^handler is a function/],
    [[Symbol('x')], /^a member is a symbol/],
    [new Map([['owner', new Account()]]), /^owner is an instance of a class/],
    [{ when: new Date(0) }, /^when is an instance/],
    [{ data: Buffer.from('x') }, /^data is an instance/],
    [new (class extends Map {})(), /is an instance/],
    [ring, /lies too deep, or within itself/],
  ];
  for (const [value, message] of cases) {
    assert.throws(() => encodeValue(value), { name: 'TypeError', message });
  }
});

test('depth is bounded, and what a command may hold fits into a state', () => {
  const nested = (depth: number, wrap: (inner: unknown) => unknown): unknown => {
    let value: unknown = 1;
    for (let i = 0; i < depth; i++) value = wrap(value);
    return value;
  };
  for (const wrap of [
    (inner: unknown) => [inner],
    (inner: unknown) => ({ $: inner }),
    (inner: unknown) => new Map([['a', new Set([inner])]]),
  ]) {
    const steps = wrap(1) instanceof Map ? VALUE_DEPTH_MAX / 2 : VALUE_DEPTH_MAX;
    const deep = nested(steps, wrap);
    assert.deepStrictEqual(decodeValue(encodeValue(deep)), deep);
    assert.throws(() => encodeValue(wrap(deep)), TypeError);
  }
  const bytes = new TextEncoder().encode(`${'['.repeat(200_000)}${']'.repeat(200_000)}`);
  assert.throws(() => decodeValue(bytes), TypeError);
  // The deepest thing that is read as a command can be written as part of a state.
  let depth = 0;
  let deepest: unknown = null;
  for (;;) {
    const text = `${'['.repeat(depth + 1)}${']'.repeat(depth + 1)}`;
    try {
      deepest = decodeValue(new TextEncoder().encode(text), COMMAND_DEPTH_MAX);
    } catch {
      break;
    }
    depth += 1;
  }
  assert.ok(depth >= COMMAND_DEPTH_MAX, `${depth}`);
  encodeValue({ commands: new Map([['last', [deepest]]]) });
});

test('bytes that are not ours are an error, never anything else', () => {
  const prng = new Prng(2);
  let refused = 0;
  for (let i = 0; i < 20_000; i++) {
    const bytes = encodeValue(anyValue(prng, 3));
    for (let change = prng.below(4); change >= 0 && bytes.length > 0; change--) {
      bytes[prng.below(bytes.length)] = prng.chance(1, 2)
        ? prng.below(256)
        : (prng.pick(['"', '$', '[', '{', ':', 'v', '1']).codePointAt(0) ?? 0);
    }
    try {
      encodeValue(decodeValue(bytes));
    } catch (error) {
      assert.ok(error instanceof TypeError || error instanceof SyntaxError, String(error));
      refused += 1;
    }
  }
  assert.ok(refused > 1_000, `${refused}`);
  for (const text of [
    '{"$":"map","v":[[1]]}',
    '{"$":"map"}',
    '{"$":"set","v":{}}',
    '{"$":"bytes","v":"0"}',
    '{"$":"bigint","v":"x"}',
    '{"$":"number","v":"7"}',
    '{"$":"object","v":[[1,2]]}',
    '{"$":"date","v":1}',
    '{"$":7}',
  ]) {
    assert.throws(() => decodeValue(new TextEncoder().encode(text)), TypeError, text);
  }
});
