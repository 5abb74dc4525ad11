import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng } from '../../stdx/index.ts';
import { isError } from '../data/error.ts';
import { uuidsFromPrng } from '../data/uuid.ts';
import { parseJson } from '../json/parse.ts';
import { serialize, serializeSorted } from '../json/serialize.ts';
import { encodeUtf8 } from '../json/utf8.ts';
import type { Json } from '../json/value.ts';
import { changeSetToRecord, databaseToRecord } from '../record/write.ts';
import type { Database } from '../store/database.ts';
import { checkInvariants } from '../store/invariants-test-helper.ts';
import { jsonOf, schemaOf, TestDatabase } from '../transact/transact-test-helper.ts';
import { Workload, workloadSchema } from '../transact/workload-test-helper.ts';
import { concat, latin1, logOf, replayAll, replayed, sha1, sourceOf } from './file-test-helper.ts';
import { encodeRecord, formatHeader, parseHeader } from './frame.ts';
import { identifyLog, LogReader } from './log-reader.ts';
import { partsOfRecord, UnusualRecord } from './record-rows.ts';
import { captureSnapshot, schemaText, snapshotText } from './snapshot.ts';

const schema =
  '{"name":"D","version":"1.2.3","tables":{"T":{"columns":{"n":{"type":"integer"},"s":{"type":"string"}},"isRoot":true}}}';
const uuidOf = (n: number): string => `a0000000-0000-4000-8000-00000000000${n}`;
const insert = (n: number): string => `{"T":{"${uuidOf(n)}":{"n":${n}}},"_date":${n}}`;
const contentOf = (database: Database): string => serializeSorted(databaseToRecord(database));

test('a record is framed as the original frames it', () => {
  const record = encodeRecord('JSON', '{"invalid":{}}', sha1);
  const text = 'OVSDB JSON 15 ffbcdae4b0386265f9ea3280dd7c8f0b72a20e56\n{"invalid":{}}\n';
  assert.equal(new TextDecoder().decode(record), text);
  assert.deepEqual(parseHeader(record), {
    magic: 'JSON',
    length: 15,
    sha1: 'ffbcdae4b0386265f9ea3280dd7c8f0b72a20e56',
    size: 55,
  });
  const padded = latin1(formatHeader('JSON', '000015', 'ffbcdae4b0386265f9ea3280dd7c8f0b72a20e56'));
  assert.equal(parseHeader(padded)?.length, 15);
});

test('what is no header is none', () => {
  const hash = 'f'.repeat(40);
  const bad = [
    '',
    'xxx\n',
    `OVSDB JSON 15 ${hash}`,
    `OVSDB JSON 0 ${hash}\n`,
    `OVSDB JSON x ${hash}\n`,
    `OVSDB JSON 15 ${hash}f\n`,
    `OVSDB JSON 15 ${hash.slice(1)}\n`,
    `OVSDB JSON -15 ${hash}\n`,
    `ovsdb JSON 15 ${hash}\n`,
    `OVSDB ${'J'.repeat(100)} 15 ${hash}\n`,
  ];
  for (const text of bad) assert.equal(parseHeader(latin1(text)), null, text);
});

test('a file is identified by its first line', () => {
  const identify = (bytes: Uint8Array, magics?: string[]): string =>
    String(identifyLog(sourceOf(bytes), 'db', magics));
  assert.equal(identify(logOf(schema)), 'JSON');
  assert.equal(identify(encodeRecord('CLUSTER', '{}', sha1)), 'CLUSTER');
  assert.equal(identify(latin1('')), 'ovsdb error: db: cannot identify file type');
  assert.equal(identify(latin1('0123456789')), 'ovsdb error: db: unexpected file format');
  assert.equal(
    identify(encodeRecord('CLUSTER', '{}', sha1), ['JSON']),
    'ovsdb error: db: cannot identify file type',
  );
});

test('a log gives its database, growth counted from its second record', () => {
  const bytes = logOf(schema, insert(1), insert(2), `{"T":{"${uuidOf(1)}":null},"_is_diff":true}`);
  const { database, records, end, baseSize, problem } = replayed(bytes);
  assert.equal(problem, null);
  assert.equal(records, 4);
  assert.equal(end, bytes.length);
  assert.equal(baseSize, logOf(schema, insert(1)).length);
  assert.equal(contentOf(database), `{"T":{"${uuidOf(2)}":{"n":2}}}`);
});

test('a record cut off at any byte is a torn end, and everything before it is there', () => {
  const whole = logOf(schema, insert(1));
  const last = logOf(insert(2));
  for (let cut = 1; cut < last.length; cut++) {
    const result = replayed(concat([whole, last.subarray(0, cut)]));
    assert.equal(result.problem?.offset, whole.length, `${cut} bytes`);
    assert.equal(result.problem.validFrom, null);
    assert.equal(result.problem.kind, 'frame');
    assert.equal(result.records, 2);
    assert.equal(result.end, whole.length);
    assert.equal(contentOf(result.database), `{"T":{"${uuidOf(1)}":{"n":1}}}`);
  }
});

test('a byte changed anywhere in the middle is damage that valid records follow', () => {
  const before = logOf(schema, insert(1));
  const record = logOf(insert(2));
  const after = logOf(insert(3), insert(4));
  for (let at = 0; at < record.length; at++) {
    const bad = record.slice();
    bad[at] ^= 0x10;
    const result = replayed(concat([before, bad, after]));
    const { problem } = result;
    // The case of a hash's digit says nothing.
    if (problem === null) {
      assert.match(String.fromCharCode(record[at]), /[a-f]/, `byte ${at}`);
      continue;
    }
    assert.equal(problem.offset, before.length, `byte ${at}`);
    // A length one digit longer may swallow the next record, never all of them.
    const starts = [0, logOf(insert(3)).length].map((n) => before.length + record.length + n);
    assert.ok(starts.includes(problem.validFrom ?? -1), `byte ${at}: ${problem.validFrom}`);
    assert.equal(contentOf(result.database), `{"T":{"${uuidOf(1)}":{"n":1}}}`);
  }
});

test('a whole region overwritten is damage all the same', () => {
  const parts = Array.from({ length: 8 }, (_, i) => logOf(insert(i + 1)));
  const bytes = concat([logOf(schema), ...parts]);
  const from = logOf(schema).length + parts[0].length;
  bytes.fill(0, from + 5, bytes.length - parts[7].length - 3);
  const { problem } = replayed(bytes);
  assert.equal(problem?.offset, from);
  assert.equal(problem.validFrom, bytes.length - parts[7].length);
  assert.match(problem.error.toString(), /parse error at offset \d+ in header line "OVSDB"$/);
});

test('problems are told in the original words', () => {
  const head = logOf(schema);
  const at = head.length;
  const body = '{"T":{}}\n';
  const hashOf = (text: string): string => sha1(latin1(text));
  const frame = (text: string, hash: string = hashOf(text), length: number = text.length): string =>
    `OVSDB JSON ${length} ${hash}\n${text}`;
  const table: readonly (readonly [string, string])[] = [
    ['xxx\n', `syntax error: db: parse error at offset ${at} in header line "xxx"`],
    [
      frame(body, hashOf(body), 20_000),
      `I/O error: db: error reading 20000 bytes starting at offset ${at + 58} (End of file)`,
    ],
    [
      frame(body, '0'.repeat(40)),
      `syntax error: db: 9 bytes starting at offset ${at + 54} have SHA-1 hash ` +
        `${hashOf(body)} but should have hash ${'0'.repeat(40)}`,
    ],
    [
      frame('{]\n'),
      `syntax error: db: 3 bytes starting at offset ${at + 54} are not valid JSON ` +
        '(line 0, column 1, byte 1: syntax error parsing object expecting string)',
    ],
    [
      frame('[]\n'),
      `syntax error: db: 3 bytes starting at offset ${at + 54} are not a JSON object`,
    ],
    [frame('{"invalid":{}}\n'), 'syntax "{"invalid":{}}": unknown table: No table named invalid.'],
    [
      frame(`{"T":{"${uuidOf(7)}":null}}\n`),
      `syntax error: transaction deletes row ${uuidOf(7)} that does not exist`,
    ],
  ];
  for (const [tail, expected] of table) {
    const { problem } = replayed(concat([head, latin1(tail)]));
    assert.equal(problem?.error.toString(), expected);
    assert.equal(problem.offset, at);
    assert.equal(problem.validFrom, null);
  }
});

test('a long header line is shown as far as one is read', () => {
  const { problem } = replayed(concat([logOf(schema), latin1(`${'y'.repeat(500)}\n`)]));
  assert.match(problem?.error.toString() ?? '', /in header line "y{127}"$/);
});

test('without a schema there is no database', () => {
  assert.match(String(replayAll(latin1('xxx\n'))), /parse error at offset 0 in header line "xxx"/);
  assert.match(String(replayAll(logOf('{"name":1}'))), /^syntax ".*": syntax error: Parsing/);
  const cut = logOf(schema).slice(0, -3);
  assert.match(String(replayAll(cut)), /^I\/O error: db: error reading \d+ bytes/);
});

test('another schema takes what it knows', () => {
  const bytes = logOf(
    schema,
    `{"T":{"${uuidOf(1)}":{"n":1,"s":"x"}}}`,
    `{"T":{"${uuidOf(1)}":{"s":"y","n":2}},"_date":1}`,
  );
  const other = schemaOf('{"name":"D","tables":{"T":{"columns":{"s":{"type":"string"}}}}}');
  const { database, problem } = replayed(bytes, { schema: other });
  assert.equal(problem, null);
  assert.equal(contentOf(database), `{"T":{"${uuidOf(1)}":{"s":"y"}}}`);
});

/** A database of many rows and its log. */
function worked(seed: number, records: number): { db: TestDatabase; log: Uint8Array } {
  const workload = new Workload(seed);
  const db = new TestDatabase(schemaOf(workloadSchema));
  const log: Uint8Array[] = [logOf(schemaText(db.database.schema))];
  while (log.length < records) {
    const commits = db.history.length;
    db.transact(workload.transaction());
    const changes = db.history.at(-1);
    if (changes === undefined || db.history.length === commits) continue;
    const record = changeSetToRecord(changes, { dateMs: 1, columnDiff: true });
    if (record !== null) log.push(logOf(serialize(record)));
  }
  return { db, log: concat(log) };
}

test('a snapshot is as good as the log that led to it', () => {
  for (const seed of [1, 2, 3]) {
    const { db, log } = worked(seed, 200);
    const fromLog = replayed(log).database;
    assert.equal(contentOf(fromLog), contentOf(db.database));
    const captured = captureSnapshot(db.database);
    const content = contentOf(db.database);
    // What happens later is not in it.
    db.transact([{ op: 'comment', comment: 'later' }]);
    for (const table of db.database.tables.keys()) {
      db.transact([{ op: 'delete', table, where: [] }]);
    }
    const notes = { comment: 'a "b"', dateMs: 7, columnDiff: true };
    const text = [...snapshotText(captured, notes)].join('');
    const json = jsonOf(text) as { [name: string]: Json };
    assert.deepEqual([json['_comment'], json['_date'], json['_is_diff']], ['a "b"', 7, true]);
    const result = replayed(logOf(schemaText(captured.schema), text));
    assert.equal(result.problem, null);
    assert.equal(contentOf(result.database), content);
    checkInvariants(result.database);
  }
});

test('an empty database has a snapshot too', () => {
  const db = new TestDatabase(schemaOf(schema));
  const notes = { comment: 'x', dateMs: 7, columnDiff: false };
  const text = [...snapshotText(captureSnapshot(db.database), notes)].join('');
  assert.equal(text, '{"_comment":"x","_date":7}');
});

test('a large record is read row by row, and to the same effect', () => {
  const rows = Array.from({ length: 9_000 }, (_, i) => {
    const uuid = `a0000000-0000-4000-8000-${String(i).padStart(12, '0')}`;
    return `"${uuid}":{"n":${i},"s":"é\\u00e9\\n\\"${i}}{"}`;
  });
  const log = logOf(schema, `{"T":{${rows.join(',')}},"_date":5,"_comment":"c"}`);
  let steps = 0;
  const { database, problem } = replayed(log, {
    sha1: (bytes) => {
      steps += 1;
      return sha1(bytes);
    },
  });
  assert.equal(problem, null);
  assert.equal(steps, 2);
  assert.equal(database.table('T').size, 9_000);
  assert.match(contentOf(database), /"n":8999,"s":"éé\\n\\"8999\}\{"/);
  const bad = logOf(schema, `{"T":{${rows.join(',')}},"U":{"${uuidOf(1)}":{}},"_date":5}`);
  assert.match(replayed(bad).problem?.error.toString() ?? '', /unknown table: No table named U\./);
});

test('rows cut out of a record are those that the parser finds', () => {
  const prng = new Prng(11);
  for (let i = 0; i < 300; i++) {
    const record = randomRecord(prng);
    const text = prng.below(2) === 0 ? serialize(record) : spaced(serialize(record));
    const found: { [table: string]: Json } = {};
    for (const part of partsOfRecord(encodeUtf8(`${text}\n`))) {
      if ('name' in part) found[part.name] = part.value;
      else found[part.table] = { ...(found[part.table] as object), [part.uuid]: part.row };
    }
    const parsed = parseJson(text);
    assert.ok(parsed.ok);
    const kept = Object.entries(parsed.value as object).filter(
      ([, value]) => serialize(value as Json) !== '{}',
    );
    assert.equal(serializeSorted(found), serializeSorted(Object.fromEntries(kept)), text);
  }
});

test('what has another form is left to the parser', () => {
  for (const text of ['', '{', '[]', '{"a"', '{"a":{"b":1}', '{"a":{"b":}}', '{"a":{"b":1 2}}']) {
    assert.throws(() => [...partsOfRecord(latin1(text))], UnusualRecord, text);
  }
});

const strings = ['', 'a', 'é€😀', '"', '\\', '\\u', '}{][,:', '\u0001\n', '\udc80', 'x'.repeat(40)];
const numbers = [0, -1, 1.5, 1e300, 123456789012345, 12345678901234567890n, -9223372036854775808n];

function randomRecord(prng: Prng): { [table: string]: Json } {
  const record: { [table: string]: Json } = {};
  for (let tables = prng.below(4); tables > 0; tables--) {
    const table: { [uuid: string]: Json } = {};
    for (let rows = prng.below(5); rows > 0; rows--) {
      table[strings[prng.below(strings.length)]] = randomValue(prng, 3);
    }
    record[`T${tables}${strings[prng.below(strings.length)]}`] = table;
  }
  if (prng.below(2) === 0) record['_date'] = numbers[prng.below(numbers.length)];
  if (prng.below(2) === 0) record['_comment'] = strings[prng.below(strings.length)];
  return record;
}

function randomValue(prng: Prng, depth: number): Json {
  switch (prng.below(depth === 0 ? 3 : 5)) {
    case 0:
      return strings[prng.below(strings.length)];
    case 1:
      return numbers[prng.below(numbers.length)];
    case 2:
      return [null, true, false][prng.below(3)];
    case 3:
      return Array.from({ length: prng.below(4) }, () => randomValue(prng, depth - 1));
    default: {
      const object: { [name: string]: Json } = {};
      for (let members = prng.below(4); members > 0; members--) {
        object[strings[prng.below(strings.length)]] = randomValue(prng, depth - 1);
      }
      return object;
    }
  }
}

/** White space where JSON allows it: outside strings. */
function spaced(text: string): string {
  return text
    .split(/("(?:[^"\\]|\\.)*")/)
    .map((part, i) => (i % 2 === 1 ? part : part.replaceAll(/[{}[\]:,]/g, ' $&\t')))
    .join('');
}

test('a search for the next record crosses its own windows', () => {
  const filler = new Uint8Array(1024 * 1024 - 3).fill(0x4f);
  const bytes = concat([logOf(schema), filler, logOf(insert(1))]);
  const reader = new LogReader('JSON', { source: sourceOf(bytes), name: 'db', sha1 });
  assert.ok(!isError(reader.next()));
  assert.ok(isError(reader.next()));
  const at = logOf(schema).length;
  assert.equal(reader.findValid(at), at + filler.length);
});

test('UUIDs of rows are made, not kept', () => {
  const log = logOf(schema, insert(1));
  const uuids = uuidsFromPrng(new Prng(1));
  const versionOf = (): string =>
    replayed(log, { uuids }).database.table('T').row(uuidOf(1))?.version ?? '';
  assert.notEqual(versionOf(), versionOf());
});
