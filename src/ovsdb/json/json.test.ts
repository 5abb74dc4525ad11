import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Prng } from '../../stdx/index.ts';
import { JsonFramer } from './framer.ts';
import { JSON_DEPTH_MAX, type JsonResult, parseJson } from './parse.ts';
import { formatReal, jsonOfReal } from './real.ts';
import { compareText, serialize, serializeSorted } from './serialize.ts';
import { decodeUtf8, encodeUtf8, utf8Length } from './utf8.ts';
import { isInteger, type Json, jsonEqual, RawJson } from './value.ts';

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

function parsed(text: string): Json {
  const result = parseJson(text);
  assert.ok(result.ok, result.ok ? '' : result.error);
  return result.value;
}

function errorOf(text: string): string {
  const result = parseJson(text);
  assert.ok(!result.ok, `${text} was accepted`);
  return result.error;
}

test('numbers keep 64 bits, and integral reals are integers', () => {
  const cases: readonly (readonly [string, Json])[] = [
    ['0', 0],
    ['-0', 0],
    ['-0.0', 0],
    ['0e5', 0],
    ['1', 1],
    ['95.0', 95],
    ['96.0e0', 96],
    ['1.5e1', 15],
    ['10e-1', 1],
    ['1e18', 10n ** 18n],
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', 9007199254740992n],
    ['-9007199254740993', -9007199254740993n],
    ['9223372036854775807', 9223372036854775807n],
    ['-9223372036854775808', -9223372036854775808n],
    ['9223372036854775808', 2 ** 63],
    ['0.1', 0.1],
    ['-1.25', -1.25],
    ['1e20', 1e20],
    ['1e-400', 0],
    ['1000000000000000000000e-3', 10n ** 18n],
    ['123456789012345678901234567890', 1.2345678901234568e29],
  ];
  for (const [text, value] of cases) {
    const [read] = parsed(`[${text}]`) as readonly Json[];
    assert.equal(typeof read, typeof value, text);
    assert.equal(read, value, text);
    assert.ok(!Object.is(read, -0), text);
  }
});

test('errors have the original texts and places', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['', 'line 0, column 0, byte 0: empty input stream'],
    ['5', 'line 0, column 1, byte 1: syntax error at beginning of input'],
    ['[1', 'line 0, column 2, byte 2: unexpected end of input'],
    ['[1]x', "line 0, column 4, byte 4: invalid keyword 'x'"],
    ['[1][', 'line 0, column 3, byte 3: trailing garbage at end of input'],
    ['[01]', 'line 0, column 3, byte 3: leading zeros not allowed'],
    ['[-]', "line 0, column 2, byte 2: '-' must be followed by digit"],
    ['[1.]', 'line 0, column 3, byte 3: decimal point must be followed by digit'],
    ['[1e]', 'line 0, column 3, byte 3: exponent must contain at least one digit'],
    ['[1-2]', 'line 0, column 4, byte 4: syntax error in number'],
    ['[1e400]', 'line 0, column 6, byte 6: number outside valid range'],
    ['[1e-310]', 'line 0, column 7, byte 7: number outside valid range'],
    ['[1e2147483640]', 'line 0, column 13, byte 13: exponent outside valid range'],
    ['[nul]', "line 0, column 4, byte 4: invalid keyword 'nul'"],
    ['[,]', 'line 0, column 1, byte 1: syntax error expecting value'],
    ['[1 2]', "line 0, column 4, byte 4: syntax error expecting ']' or ','"],
    ['[1,]', 'line 0, column 3, byte 3: syntax error expecting value'],
    ['{1:2}', 'line 0, column 2, byte 2: syntax error parsing object expecting string'],
    ['{"a" 2}', "line 0, column 6, byte 6: syntax error parsing object expecting ':'"],
    ['{"a":1 "b"}', "line 0, column 9, byte 9: syntax error expecting '}' or ','"],
    ['{"a":1,}', 'line 0, column 7, byte 7: syntax error parsing object expecting string'],
    ['["a', 'line 0, column 3, byte 3: unexpected end of input in quoted string'],
    ['["\n"]', 'line 0, column 2, byte 2: U+000A must be escaped in quoted string'],
    ['["\\x"]', 'line 0, column 4, byte 4: bad escape \\x'],
    ['["\\u12"]', 'line 0, column 6, byte 6: quoted string ends within \\u escape'],
    ['["\\u12zz"]', 'line 0, column 8, byte 8: malformed \\u escape'],
    ['["\\u0000"]', 'line 0, column 8, byte 8: null bytes not supported in quoted strings'],
    ['["\\ud834x"]', 'line 0, column 9, byte 9: malformed escaped surrogate pair'],
    [
      '["\\ud834\\u0041"]',
      'line 0, column 14, byte 14: second half of escaped surrogate pair is not trailing surrogate',
    ],
    ['\n\n  ?', "line 2, column 2, byte 4: invalid character '?'"],
    ['["é",\u0001]', 'line 0, column 6, byte 6: invalid character U+0001'],
    ['é', 'line 0, column 0, byte 0: invalid character U+00c3'],
  ];
  for (const [text, error] of cases) assert.equal(errorOf(text), error, text);
});

test('nesting has a limit', () => {
  const nest = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
  assert.ok(parseJson(nest(JSON_DEPTH_MAX)).ok);
  assert.match(errorOf(nest(JSON_DEPTH_MAX + 1)), /exceeds maximum nesting depth 1000$/);
});

test('the last of several members wins, and no name is special', () => {
  assert.deepEqual(parsed('{"a":1,"a":2}'), { a: 2 });
  const strange = parsed('{"__proto__":1e0,"constructor":2}');
  assert.equal(serializeSorted(strange), '{"__proto__":1,"constructor":2}');
});

test('strings are escaped as little as possible', () => {
  assert.equal(serialize('a/é\u007f😀'), '"a/é\u007f😀"');
  assert.equal(serialize('"\\\b\f\n\r\t\u0001\u001f'), '"\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u001f"');
  assert.deepEqual(parsed('["\\u00e9\\ud83d\\ude00\\/\\b"]'), ['é😀/\b']);
});

test('reals print 15 digits, as %.15g does', () => {
  const cases: readonly (readonly [number, string])[] = [
    [0.1, '0.1'],
    [0.1 + 0.2, '0.3'],
    [1 / 3, '0.333333333333333'],
    [-2.5, '-2.5'],
    [1e20, '1e+20'],
    [1e-5, '1e-05'],
    [0.0001, '0.0001'],
    [123456789012345.6, '123456789012346'],
    [1.5e300, '1.5e+300'],
    [2 ** 53, '9.00719925474099e+15'],
    [-0, '-0'],
    [5, '5'],
    [999999999999999.9, '1e+15'],
  ];
  for (const [real, text] of cases) assert.equal(formatReal(real), text);
  assert.equal(serialize(jsonOfReal(1234567890123456)), '1.23456789012346e+15');
  assert.equal(serialize(jsonOfReal(7)), '7');
});

test('objects are sorted by bytes when asked', () => {
  const object = { b: 1, a: { '\ue000': 1, '😀': 2 }, '10': 3 };
  assert.equal(serializeSorted(object), '{"10":3,"a":{"\ue000":1,"😀":2},"b":1}');
  assert.ok(compareText('\ue000', '😀') < 0);
  assert.ok(compareText('a', 'ab') < 0 && compareText('b', 'ab') > 0);
  assert.equal(serialize([new RawJson('{"x":1}'), 2n ** 60n]), '[{"x":1},1152921504606846976]');
});

test('bytes that are not UTF-8 come out as they went in', () => {
  const bytes = Uint8Array.from([
    0x5b, 0x22, 0xff, 0x41, 0xc3, 0xa9, 0xed, 0xa0, 0x80, 0xc3, 0x22, 0x5d,
  ]);
  const text = decodeUtf8(bytes);
  assert.ok(!text.isWellFormed());
  assert.equal(utf8Length(text), bytes.length);
  const value = parsed(text);
  assert.deepEqual(encodeUtf8(serialize(value)), bytes);
  assert.equal(decodeUtf8(bytesOf('\ufeffé')), '\ufeffé');
});

/** A value of any kind, as text with random white space. */
function randomText(prng: Prng, depth: number): string {
  const space = (): string => [' ', '', '\n', ''][prng.below(4)];
  const scalars = [
    '1',
    '-7',
    '0.5',
    '1e3',
    '"é"',
    '"\\n"',
    '"\\u00e9"',
    'null',
    'true',
    '""',
    '"}"',
  ];
  const long = ['9223372036854775807', '123456789012345678', '"\\\\"', '"[\\"{"', '12345', '-0'];
  const kind = depth === 0 ? prng.below(2) : 2 + prng.below(2);
  if (kind === 0) return scalars[prng.below(scalars.length)];
  if (kind === 1) return long[prng.below(long.length)];
  const parts = Array.from({ length: prng.below(4) }, (_, i) => {
    const element = randomText(prng, prng.below(depth));
    return kind === 2 ? element : `"k${prng.below(3)}${i}"${space()}:${element}`;
  });
  const [open, close] = kind === 2 ? ['[', ']'] : ['{', '}'];
  return open + space() + parts.join(`${space()},`) + space() + close;
}

test('the framer finds every value, however the stream is cut', () => {
  const prng = new Prng(11);
  for (let round = 0; round < 300; round++) {
    const texts = Array.from({ length: 1 + prng.below(4) }, () => randomText(prng, 4));
    const stream = bytesOf(texts.join(['', ' ', '\n\n'][prng.below(3)]));
    const framer = new JsonFramer();
    const results: JsonResult[] = [];
    for (let at = 0; at < stream.length; ) {
      const take = 1 + prng.below(round % 3 === 0 ? 1 : 12);
      results.push(...framer.push(stream.slice(at, at + take)));
      at += take;
    }
    assert.equal(framer.pendingBytes, 0);
    assert.equal(results.length, texts.length);
    for (const [i, result] of results.entries()) {
      assert.ok(result.ok);
      const exact = parsed(texts[i]);
      assert.ok(jsonEqual(result.value, exact), texts[i]);
      assert.deepEqual(result.value, exact);
    }
  }
});

test('the framer refuses garbage, depth and size at once, and then stays silent', () => {
  const failure = (stream: string, options = {}): string => {
    const framer = new JsonFramer(options);
    const results = framer.push(bytesOf(stream));
    const last = results.at(-1);
    assert.ok(last !== undefined && !last.ok, stream);
    assert.deepEqual(framer.push(bytesOf('[]')), []);
    return last.error;
  };
  assert.match(failure('[1] x'), /invalid keyword 'x'/);
  assert.match(failure('7'), /beginning of input/);
  assert.match(failure(']'), /beginning of input/);
  assert.match(failure('"a"'), /unexpected end of input in quoted string|beginning of input/);
  assert.match(failure('['.repeat(1001)), /nesting/);
  assert.match(failure('{"a":1]'), /expecting '}' or ','/);
  assert.match(failure('["aaaaaaaaaaaaaaaa', { sizeMax: 8 }), /exceeds 8 bytes/);
  assert.match(failure('[1e400]'), /outside valid range/);
  assert.match(failure('["\\u0000"]'), /null bytes/);
});

test('what the platform reads inexactly goes to the exact parser', () => {
  const framer = new JsonFramer();
  const [first, second] = framer.push(bytesOf('[9007199254740993,95.0,-0][2]'));
  assert.ok(first?.ok && second?.ok);
  assert.deepEqual(first.value, [9007199254740993n, 95, 0]);
  assert.deepEqual(second.value, [2]);
  assert.ok(isInteger((first.value as readonly Json[])[0]));
});

test('a kept string does not keep the message that it came in', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const kept: Json[] = [];
  const filler = 'x'.repeat(1_000_000);
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < 60; i++) {
    // The real and the integer send it to the exact parser, its sibling to the platform's.
    for (const odd of ['1.5', '1']) {
      const [result] = new JsonFramer().push(
        bytesOf(`["a string to be kept ${i}",${odd},"${filler}"]`),
      );
      assert.ok(result?.ok);
      kept.push((result.value as readonly Json[])[0]);
    }
  }
  collect();
  const megabytes = (process.memoryUsage().heapUsed - before) / 1e6;
  assert.ok(megabytes < 20, `${kept.length} short strings keep ${megabytes} MB`);
});

test('both serialisers write the same', () => {
  const prng = new Prng(4);
  for (let round = 0; round < 500; round++) {
    const value = parsed(randomText(prng, 4));
    const exact = serialize([value, new RawJson('0')]);
    assert.equal(serialize(value), exact.slice(1, -3));
    assert.ok(jsonEqual(parsed(serialize(value)), value));
  }
});

test('names with escapes are read as they are, whatever the platform makes of them', () => {
  for (const name of ['"', '\\', '\n', 'a"b']) {
    const text = JSON.stringify({ '': 1, '\\': 2, x: { '': 1, [name]: { [name]: 3 } } });
    const [result] = new JsonFramer().push(new TextEncoder().encode(text));
    assert.ok(result?.ok);
    assert.equal(JSON.stringify(result.value), text);
  }
});
