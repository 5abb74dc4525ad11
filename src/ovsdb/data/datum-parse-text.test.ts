import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng } from '../../stdx/index.ts';
import { parseJson } from '../json/parse.ts';
import type { Json } from '../json/value.ts';
import type { Atom } from './atom.ts';
import { type ColumnType, parseColumnType } from './column-type.ts';
import { type Datum, sortElements } from './datum.ts';
import { datumFromText, TextProblem } from './datum-parse-text.ts';
import { datumToText } from './datum-text.ts';
import { isError } from './error.ts';
import { Symbols } from './symbols.ts';
import { uuidsFromPrng } from './uuid.ts';

function typeOf(text: string): ColumnType {
  const json = parseJson(`[${text}]`);
  assert.ok(json.ok);
  const type = parseColumnType((json.value as readonly Json[])[0]);
  assert.ok(!isError(type));
  return type;
}

const scalar = (type: string): string => `{"key":"${type}"}`;
const set = (type: string): string => `{"key":"${type}","min":0,"max":"unlimited"}`;
const map = '{"key":"string","value":"integer","min":0,"max":3}';
const UUID = '550e8400-e29b-41d4-a716-446655440000';

test('what people type', () => {
  const cases: readonly (readonly [string, string, Datum | string])[] = [
    [scalar('integer'), '5', [5]],
    [scalar('integer'), ' [ -7 ] ', [-7]],
    [scalar('integer'), '+9223372036854775807', [9223372036854775807n]],
    [
      scalar('integer'),
      '9223372036854775808',
      '"9223372036854775808" is not a valid integer or range',
    ],
    [scalar('integer'), '1.5', '"1.5" is not a valid integer or range'],
    [scalar('integer'), '1,2', '1,2: 2 value(s) specified but the maximum number is 1'],
    [scalar('integer'), '[]', '[]: 0 value(s) specified but the minimum number is 1'],
    [scalar('real'), '-.5e1', [-5]],
    [scalar('real'), 'x', '"x" is not a valid real number'],
    [scalar('boolean'), 'yes', [true]],
    [scalar('boolean'), '0', [false]],
    [scalar('boolean'), 'maybe', '"maybe" is not a valid boolean (use "true" or "false")'],
    [scalar('string'), 'abc', ['abc']],
    [scalar('string'), '"a, b\\n"', ['a, b\n']],
    [scalar('string'), 'a\\,b', ['a,b']],
    [scalar('string'), '""', ['']],
    [scalar('string'), '"a', '"a: quoted string extends past end of argument'],
    [scalar('string'), 'a\\', 'a\\: backslash at end of argument'],
    [scalar('string'), '"a"b', '"a"b: missing quote at end of quoted string'],
    [scalar('string'), '"\\x"', '"\\x": bad escape \\x'],
    [scalar('uuid'), UUID.toUpperCase(), [UUID]],
    [scalar('uuid'), 'x', '"x" is not a valid UUID'],
    [set('integer'), '[]', []],
    [set('integer'), '', 'use "[]" to specify the empty set'],
    [set('integer'), '3, 1 2', [1, 2, 3]],
    [set('integer'), '[1-3,7,-2--1]', [-2, -1, 1, 2, 3, 7]],
    [set('integer'), '3-1', '"3-1" is not a valid range. Range end cannot be before start.'],
    [
      set('integer'),
      '0-4096',
      'constraint violation: Range "0-4096" is too big. Maximum allowed size is 4096.',
    ],
    [set('integer'), '1-3 2', '1-3 2: set contains duplicate value'],
    [set('integer'), '[1', '[1: missing "]" at end of data'],
    [set('integer'), '[1] 2', '[1] 2: trailing garbage after "]"'],
    [set('integer'), '1:2', '1:2: unexpected ":" parsing set of integers'],
    [map, '{}', []],
    [map, '', 'use "{}" to specify the empty map'],
    [map, 'b=2,a = 1', ['a', 1, 'b', 2]],
    [map, '{a=1, a=2}', '{a=1, a=2}: map contains duplicate key'],
    [map, 'a', 'a: syntax error at "" expecting "="'],
    [map, 'a=1 b=2 c=3 d=4', 'a=1 b=2 c=3 d=4: 4 pair(s) specified but the maximum number is 3'],
    [
      '{"key":{"type":"integer","maxInteger":5}}',
      '7',
      'constraint violation: 7 is greater than maximum allowed value 5',
    ],
  ];
  for (const [type, text, expected] of cases) {
    const datum = datumFromText(text, typeOf(type), null);
    assert.deepEqual(datum instanceof TextProblem ? datum.message : datum, expected, text);
  }
});

test('names stand for UUIDs where there are symbols', () => {
  const symbols = new Symbols(uuidsFromPrng(new Prng(1)));
  const first = datumFromText('@a', typeOf(scalar('uuid')), symbols) as Datum;
  assert.equal(symbols.resolve('@a'), first[0]);
});

test('what is written can be typed', () => {
  const prng = new Prng(8);
  const strings = ['a', 'a b', '', 'true', '1', 'x"y', 'back\\slash', 'é', 'a=b', '[', UUID, 'n\n'];
  for (let round = 0; round < 500; round++) {
    const type = typeOf(
      round % 2 === 0 ? set('string') : '{"key":"string","value":"string","max":9}',
    );
    const stride = round % 2 === 0 ? 1 : 2;
    const keys = new Set(Array.from({ length: 1 + prng.below(4) }, () => strings[prng.below(12)]));
    const elements: Atom[] = [...keys].flatMap((key) =>
      stride === 1 ? [key] : [key, strings[prng.below(12)]],
    );
    const datum = sortElements(elements, stride);
    assert.ok(datum !== null);
    assert.deepEqual(datumFromText(datumToText(datum, type), type, null), datum);
  }
});
