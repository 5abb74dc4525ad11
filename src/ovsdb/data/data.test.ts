import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng } from '../../stdx/index.ts';
import { parseJson } from '../json/parse.ts';
import { serialize, serializeSorted } from '../json/serialize.ts';
import type { Json } from '../json/value.ts';
import { type Atom, compareAtoms } from './atom.ts';
import { atomToText } from './atom-text.ts';
import { checkAtom } from './base-type.ts';
import {
  type ColumnType,
  columnTypeToJson,
  parseColumnType,
  typeInEnglish,
} from './column-type.ts';
import {
  applyDiff,
  compareDatums,
  type Datum,
  defaultDatum,
  diffDatums,
  excludesAll,
  forEachChange,
  includesAll,
  isDefaultDatum,
  strideOf,
  subtract,
  union,
} from './datum.ts';
import { datumToJson, parseAtom, parseDatum, parseTransientDatum } from './datum-json.ts';
import { datumToText, englishList } from './datum-text.ts';
import { isError } from './error.ts';
import { isId, MemberParser } from './member-parser.ts';
import { Symbols } from './symbols.ts';
import { parseUuid, rowNameOf, uuidsFromPrng } from './uuid.ts';

function json(text: string): Json {
  const result = parseJson(`[${text}]`);
  assert.ok(result.ok, text);
  return (result.value as readonly Json[])[0];
}

function typeOf(text: string): ColumnType {
  const type = parseColumnType(json(text));
  assert.ok(!isError(type), String(type));
  return type;
}

function datumOf(text: string, type: ColumnType): Datum {
  const datum = parseDatum(json(text), type, null);
  assert.ok(!isError(datum), String(datum));
  return datum;
}

const UUID_A = '550e8400-e29b-41d4-a716-446655440000';

test('types are read and written in their shortest form', () => {
  const cases: readonly (readonly [string, string, string])[] = [
    ['"integer"', '"integer"', 'integer'],
    ['{"key":"real"}', '"real"', 'real'],
    [
      '{"key":{"type":"integer","minInteger":-9223372036854775808,"maxInteger":9223372036854775807}}',
      '"integer"',
      'integer',
    ],
    ['{"key":{"type":"string"},"min":0}', '{"key":"string","min":0}', 'set of up to 1 strings'],
    [
      '{"key":"uuid","min":1,"max":"unlimited"}',
      '{"key":"uuid","max":"unlimited"}',
      'set of 1 or more uuids',
    ],
    [
      '{"key":"string","value":"integer","min":0,"max":"unlimited"}',
      '{"key":"string","max":"unlimited","min":0,"value":"integer"}',
      'map of (string, integer) pairs',
    ],
    [
      '{"key":{"type":"integer","minInteger":-3,"maxInteger":9223372036854775806},"max":3}',
      '{"key":{"maxInteger":9223372036854775806,"minInteger":-3,"type":"integer"},"max":3}',
      'set of 1 to 3 integers',
    ],
    [
      '{"key":{"type":"uuid","refTable":"T","refType":"strong"}}',
      '{"key":{"refTable":"T","type":"uuid"}}',
      'uuid',
    ],
    [
      '{"key":{"type":"uuid","refTable":"T","refType":"weak"}}',
      '{"key":{"refTable":"T","refType":"weak","type":"uuid"}}',
      'uuid',
    ],
    [
      '{"key":{"type":"string","enum":["set",["b","a"]],"minLength":1}}',
      "syntax error: Parsing ovsdb type failed: Member 'minLength' is present but not allowed here.",
      '',
    ],
    [
      '{"key":{"type":"string","enum":["set",["b","a"]]}}',
      '{"key":{"enum":["set",["a","b"]],"type":"string"}}',
      'string',
    ],
    ['{"key":{"type":"real","minReal":1e0}}', '{"key":{"minReal":1,"type":"real"}}', 'real'],
  ];
  for (const [text, expected, english] of cases) {
    const type = parseColumnType(json(text));
    if (isError(type)) assert.ok(String(type).endsWith(expected), `${type}`);
    else {
      assert.equal(serializeSorted(columnTypeToJson(type)), expected);
      assert.equal(typeInEnglish(type), english);
    }
  }
});

test('wrong types are refused in the original words', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['5', 'ovsdb type expected'],
    ['"float"', '"float" is not an atomic-type'],
    ['{"key":"void"}', '"void" is not an atomic-type'],
    ['{"value":"integer"}', "Parsing ovsdb type failed: Required 'key' member is missing."],
    ['{"key":7}', "Parsing ovsdb type failed: Type mismatch for member 'key'."],
    ['{"key":"real","min":2}', 'ovsdb type fails constraint checks'],
    ['{"key":"real","max":0}', 'ovsdb type fails constraint checks'],
    ['{"key":"real","max":"many"}', 'bad min or max value'],
    ['{"key":"real","min":-1}', 'bad min or max value'],
    ['{"key":{"type":"integer","minInteger":2,"maxInteger":1}}', 'minInteger exceeds maxInteger'],
    ['{"key":{"type":"real","minReal":2,"maxReal":1.5}}', 'minReal exceeds maxReal'],
    ['{"key":{"type":"string","minLength":2,"maxLength":1}}', 'minLength exceeds maxLength'],
    ['{"key":{"type":"string","maxLength":-1}}', 'maxLength out of valid range 0 to 4294967295'],
    [
      '{"key":{"type":"uuid","refTable":"T","refType":"x"}}',
      'refType must be "strong" or "weak" (not "x")',
    ],
    [
      '{"key":{"type":"integer","enum":["set",[]]}}',
      'set must have 1 to 4294967295 members but 0 are present',
    ],
  ];
  for (const [text, details] of cases) {
    const error = parseColumnType(json(text));
    assert.ok(isError(error), text);
    assert.equal(error.details, details);
    assert.equal(error.tag, 'syntax error');
  }
});

test('atoms obey their base types', () => {
  const cases: readonly (readonly [string, string, string | null])[] = [
    ['"integer"', '5', null],
    ['"integer"', '5.5', 'expected integer'],
    ['"integer"', '9223372036854775808', 'expected integer'],
    ['"real"', '7', null],
    ['"boolean"', '1', 'expected boolean'],
    ['"string"', 'null', 'expected string'],
    ['"uuid"', '"x"', 'expected ["uuid", <string>]'],
    ['"uuid"', '["uuid","x"]', '"x" is not a valid UUID'],
    ['"uuid"', `["uuid","${UUID_A.toUpperCase()}"]`, null],
    [
      '{"key":{"type":"integer","minInteger":1,"maxInteger":9}}',
      '10',
      '10 is not in the valid range 1 to 9 (inclusive)',
    ],
    ['{"key":{"type":"integer","minInteger":1}}', '0', '0 is less than minimum allowed value 1'],
    ['{"key":{"type":"integer","maxInteger":1}}', '2', '2 is greater than maximum allowed value 1'],
    ['{"key":{"type":"real","minReal":1.5}}', '1', '1 is less than minimum allowed value 1.5'],
    [
      '{"key":{"type":"real","maxReal":1e20}}',
      '1e21',
      '1e+21 is greater than maximum allowed value 1e+20',
    ],
    [
      '{"key":{"type":"string","minLength":2}}',
      '"é"',
      '"é" length 1 is less than minimum allowed length 2',
    ],
    ['{"key":{"type":"string","maxLength":1}}', '"😀"', null],
    [
      '{"key":{"type":"string","maxLength":1}}',
      '"ab"',
      '"ab" length 2 is greater than maximum allowed length 1',
    ],
    [
      '{"key":{"type":"string","enum":["set",["b","x y"]]}}',
      '"c"',
      'c is not one of the allowed values ([b, "x y"])',
    ],
    ['{"key":{"type":"string","enum":"b"}}', '""', '"" is not one of the allowed values ([b])'],
  ];
  for (const [type, text, details] of cases) {
    const atom = parseAtom(json(text), typeOf(type).key, null);
    assert.equal(isError(atom) ? atom.details : null, details, text);
  }
});

test('strings that are not UTF-8 are refused with the bytes that do not fit', () => {
  const { key } = typeOf('"string"');
  const cases: readonly (readonly [string, string])[] = [
    ['a\udcff', '0xff'],
    ['\udcc3z', '0xc3 0x7a'],
    ['\udce0\udc80', '0xe0 0x80'],
    ['\udcf0\udc9f\udc98z', '0xf0 0x9f 0x98 0x7a'],
    ['\udc80', '0x80'],
  ];
  for (const [text, bytes] of cases) {
    const details = `not a valid UTF-8 string: invalid UTF-8 sequence ${bytes}`;
    assert.equal(checkAtom(text, key)?.details, details);
  }
  assert.equal(checkAtom('é😀', key), null);
});

test('datums are read in any order and written sorted', () => {
  const set = '{"key":"integer","min":0,"max":3}';
  const map = '{"key":"string","value":"real","min":0,"max":"unlimited"}';
  const cases: readonly (readonly [string, string, string])[] = [
    [set, '5', '5'],
    [set, '["set",[5]]', '5'],
    [set, '["set",[]]', '["set",[]]'],
    [set, '["set",[3,-9223372036854775808,2]]', '["set",[-9223372036854775808,2,3]]'],
    [map, '["map",[["b",1.5],["a",2]]]', '["map",[["a",2],["b",1.5]]]'],
    ['{"key":"boolean","max":2}', '["set",[true,false]]', '["set",[false,true]]'],
  ];
  for (const [type, text, expected] of cases) {
    const column = typeOf(type);
    assert.equal(serialize(datumToJson(datumOf(text, column), column)), expected);
  }
});

test('wrong datums are refused in the original words', () => {
  const set = '{"key":"integer","min":0,"max":3}';
  const map = '{"key":"string","value":"integer","min":1,"max":1}';
  const cases: readonly (readonly [string, string, string, string])[] = [
    [set, '["set",[1,2,3,4]]', 'syntax error', 'set must have 0 to 3 members but 4 are present'],
    [set, '["set",[1,1]]', 'ovsdb error', 'set contains duplicate'],
    [set, '["set",5]', 'syntax error', 'expected ["set", <array>]'],
    [set, '["set"]', 'syntax error', 'expected ["set", <array>]'],
    [set, '["sett",[]]', 'syntax error', 'expected integer'],
    [set, '[]', 'syntax error', 'expected integer'],
    [map, '["map",[]]', 'syntax error', 'map must have exactly one member but 0 are present'],
    [map, '5', 'syntax error', 'expected ["map", <array>]'],
    [map, '["map",[5]]', 'syntax error', 'expected 2-element array'],
    [map, '["map",[["a","b"]]]', 'syntax error', 'expected integer'],
    [
      '"integer"',
      '["set",[]]',
      'syntax error',
      'set must have exactly one member but 0 are present',
    ],
    [
      '{"key":"integer","value":"integer","max":9}',
      '["map",[[1,1],[1,2]]]',
      'ovsdb error',
      'map contains duplicate key',
    ],
  ];
  for (const [type, text, tag, details] of cases) {
    const error = parseDatum(json(text), typeOf(type), null);
    assert.ok(isError(error), text);
    assert.deepEqual([error.tag, error.details], [tag, details]);
  }
  assert.ok(!isError(parseTransientDatum(json('["set",[1,2,3,4]]'), typeOf(set))));
});

test('defaults follow from the type', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['"integer"', '0'],
    ['"boolean"', 'false'],
    ['"string"', '""'],
    ['"uuid"', '["uuid","00000000-0000-0000-0000-000000000000"]'],
    ['{"key":"string","min":0,"max":5}', '["set",[]]'],
    ['{"key":"string","value":"real","max":5}', '["map",[["",0]]]'],
  ];
  for (const [type, expected] of cases) {
    const column = typeOf(type);
    const datum = defaultDatum(column);
    assert.equal(serialize(datumToJson(datum, column)), expected);
    assert.ok(isDefaultDatum(datum, column));
  }
});

test('text quotes only what could be mistaken', () => {
  const cases: readonly (readonly [Atom, 'string' | 'real' | 'integer', string])[] = [
    ['abc', 'string', 'abc'],
    ['a-b.c_1', 'string', 'a-b.c_1'],
    ['', 'string', '""'],
    ['1a', 'string', '"1a"'],
    ['true', 'string', '"true"'],
    [UUID_A, 'string', `"${UUID_A}"`],
    [`a${UUID_A.slice(1)}`, 'string', `"a${UUID_A.slice(1)}"`],
    ['a\n', 'string', '"a\\n"'],
    [0.5, 'real', '0.5'],
    [2n ** 62n, 'integer', '4611686018427387904'],
  ];
  for (const [atom, type, expected] of cases) assert.equal(atomToText(atom, type), expected);
  const set = typeOf('{"key":"integer","min":0,"max":3}');
  const map = typeOf('{"key":"string","value":"integer","min":0,"max":3}');
  const optional = typeOf('{"key":"string","min":0}');
  assert.equal(datumToText(datumOf('["set",[2,1]]', set), set), '[1, 2]');
  assert.equal(datumToText([], set), '[]');
  assert.equal(datumToText(['a', 1, 'b b', 2], map), '{a=1, "b b"=2}');
  assert.equal(datumToText([], optional), '[]');
  assert.equal(datumToText(['x'], optional), 'x');
  assert.deepEqual([['a'], ['a', 'b'], ['a', 'b', 'c']].map(englishList), [
    'a',
    'a and b',
    'a, b, and c',
  ]);
});

test('named UUIDs stand for one UUID from their first mention on', () => {
  const symbols = new Symbols(uuidsFromPrng(new Prng(1)));
  const type = typeOf('{"key":"uuid","max":3}');
  const early = parseDatum(json('["named-uuid","x"]'), type, symbols) as Datum;
  assert.equal(symbols.create('x', null), early[0]);
  assert.equal(symbols.create('x', null), null);
  assert.equal(symbols.create('y', UUID_A), UUID_A);
  assert.equal(symbols.resolve('y'), UUID_A);
  const bad = parseDatum(json('["named-uuid","1x"]'), type, symbols);
  assert.ok(isError(bad) && bad.details === 'named-uuid string is not a valid <id>');
  assert.ok(isError(parseDatum(json('["named-uuid","x"]'), type, null)));
});

test('UUIDs are canonical text', () => {
  assert.equal(parseUuid(UUID_A.toUpperCase()), UUID_A);
  for (const bad of ['', `${UUID_A}0`, UUID_A.replace('-', '_'), UUID_A.replace('5', 'g')]) {
    assert.equal(parseUuid(bad), null);
  }
  const uuids = uuidsFromPrng(new Prng(5));
  for (let i = 0; i < 100; i++) {
    assert.match(uuids(), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  }
  assert.equal(rowNameOf(UUID_A), 'row550e8400_e29b_41d4_a716_446655440000');
});

test('members are read once and complained about once', () => {
  const parse = (text: string): string | undefined => {
    const parser = new MemberParser(json(text), 'thing');
    parser.id('a');
    parser.optionalInteger('b');
    return parser.finish()?.details;
  };
  const cases: readonly (readonly [string, string | undefined])[] = [
    ['{"a":"x"}', undefined],
    ['{"a":"x","b":2}', undefined],
    ['5', 'Parsing thing failed: Object expected.'],
    ['{}', "Parsing thing failed: Required 'a' member is missing."],
    ['{"a":"1"}', "Parsing thing failed: Type mismatch for member 'a'."],
    ['{"a":"x","b":1.5}', "Parsing thing failed: Type mismatch for member 'b'."],
    ['{"a":"x","c":1}', "Parsing thing failed: Member 'c' is present but not allowed here."],
    [
      '{"a":"x","c":1,"d":1}',
      "Parsing thing failed: Member 'c' and 1 other member are present but not allowed here.",
    ],
    [
      '{"a":"x","c":1,"d":1,"e":1}',
      "Parsing thing failed: Member 'c' and 2 other members are present but not allowed here.",
    ],
  ];
  for (const [text, details] of cases) assert.equal(parse(text), details, text);
  assert.ok(isId('_a1') && !isId('1a') && !isId('a-b') && !isId('é') && !isId(''));
});

/** Sets as JavaScript sets and maps as JavaScript maps: the slow twin of the merges. */
function fromMap(map: Map<Atom, Atom>, stride: 1 | 2): Datum {
  const pairs = [...map].sort((a, b) => compareAtoms(a[0], b[0]));
  return pairs.flatMap(([key, value]) => (stride === 1 ? [key] : [key, value]));
}

test('merges agree with sets and maps of the language', () => {
  const prng = new Prng(3);
  const types = [
    '{"key":"integer","min":0,"max":99}',
    '{"key":"integer","value":"integer","min":0,"max":99}',
  ];
  for (let round = 0; round < 3000; round++) {
    const type = typeOf(types[round % 2]);
    const stride = strideOf(type);
    const draw = (): Map<Atom, Atom> =>
      new Map(
        Array.from({ length: prng.below(7) }, () => {
          const key = prng.below(8) === 0 ? 2n ** 60n : prng.below(8);
          return [key, stride === 1 ? key : prng.below(2)];
        }),
      );
    const [ma, mb] = [draw(), draw()];
    const [a, b] = [fromMap(ma, stride), fromMap(mb, stride)];
    assert.deepEqual(union(a, b, type), fromMap(new Map([...mb, ...ma]), stride));
    const without = new Map([...ma].filter(([k, v]) => !(mb.has(k) && mb.get(k) === v)));
    assert.deepEqual(subtract(a, b, type, false), fromMap(without, stride));
    const keys = fromMap(mb, stride).filter((_, i) => i % stride === 0);
    const withoutKeys = new Map([...ma].filter(([k]) => !mb.has(k)));
    assert.deepEqual(subtract(a, keys, type, true), fromMap(withoutKeys, stride));
    assert.equal(includesAll(a, b, type), without.size === 0);
    assert.equal(excludesAll(a, b, type), without.size === ma.size);
    assert.deepEqual(applyDiff(a, diffDatums(a, b, type), type), b);
    const [gone, come]: [Atom[], Atom[]] = [[], []];
    forEachChange(a, b, type, {
      removed: (datum, i) => gone.push(...datum.slice(i, i + stride)),
      added: (datum, i) => come.push(...datum.slice(i, i + stride)),
    });
    assert.deepEqual(gone, subtract(a, b, type, false));
    assert.deepEqual(come, subtract(b, a, type, false));
    assert.equal(Math.sign(compareDatums(a, b, type)) + Math.sign(compareDatums(b, a, type)), 0);
  }
});

test('an optional scalar is replaced by its diff, a set is not', () => {
  const optional = typeOf('{"key":"string","min":0}');
  assert.deepEqual(diffDatums(['a'], ['b'], optional), ['b']);
  assert.deepEqual(diffDatums(['a'], [], optional), []);
  const set = typeOf('{"key":"string","min":0,"max":2}');
  assert.deepEqual(diffDatums(['a'], ['b'], set), ['a', 'b']);
});
