import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Prng } from '../../stdx/index.ts';
import { isError } from '../data/error.ts';
import { uuidsFromPrng } from '../data/uuid.ts';
import { serialize, serializeSorted } from '../json/serialize.ts';
import type { Json, JsonObject } from '../json/value.ts';
import { Database } from '../store/database.ts';
import { checkInvariants } from '../store/invariants-test-helper.ts';
import { precommit } from '../transact/precommit.ts';
import { jsonOf, schemaOf, TestDatabase, tablesOf } from '../transact/transact-test-helper.ts';
import { Workload, workloadSchema } from '../transact/workload-test-helper.ts';
import { convertDatabase, draftOfRecord } from './read.ts';
import { changeSetToRecord, databaseToRecord } from './write.ts';

const uuids = uuidsFromPrng(new Prng(99));

/** Applies a record, as one read from a file. */
function replay(database: Database, record: Json, converting: boolean = false): void {
  const draft = draftOfRecord(database, record, { uuids, converting });
  assert.ok(!isError(draft), String(draft));
  const changes = precommit(draft);
  assert.ok(!isError(changes), String(changes));
  if (changes !== null) database.apply(changes);
}

const contentOf = (database: Database): string => serializeSorted(databaseToRecord(database));

for (const columnDiff of [true, false]) {
  test(`a log of records gives the database again, ${columnDiff ? 'diffs' : 'values'}`, () => {
    const workload = new Workload(31);
    const db = new TestDatabase(schemaOf(workloadSchema));
    const copy = new Database(db.database.schema);
    let records = 0;
    for (let i = 0; i < 2000 && records < 300; i++) {
      const commits = db.history.length;
      db.transact(workload.transaction());
      const changes = db.history.at(-1);
      if (changes === undefined || db.history.length === commits) continue;
      const record = changeSetToRecord(changes, { dateMs: 1, columnDiff });
      if (record === null) continue;
      replay(copy, jsonOf(serialize(record)));
      assert.equal(contentOf(copy), contentOf(db.database), serialize(record));
      records += 1;
    }
    assert.equal(records, 300);
    checkInvariants(copy);
    const snapshot = new Database(db.database.schema);
    replay(snapshot, jsonOf(serialize(databaseToRecord(db.database))));
    assert.equal(contentOf(snapshot), contentOf(db.database));
    checkInvariants(snapshot);
  });
}

const schema = tablesOf(`{"T":{"columns":{"n":{"type":"integer"},"name":{"type":"string"},
  "set":{"type":{"key":"integer","min":0,"max":3}},"opt":{"type":{"key":"integer","min":0}},
  "map":{"type":{"key":"string","value":"string","min":0,"max":"unlimited"}},
  "brief":{"type":"string","ephemeral":true}}}}`);

test('records have the form of the original', () => {
  const db = new TestDatabase(schema);
  const uuid = 'a0000000-0000-4000-8000-000000000001';
  const recordAfter = (operations: string, columnDiff: boolean = true): string => {
    const commits = db.history.length;
    db.run(operations);
    assert.equal(db.history.length, commits + 1, operations);
    const changes = db.history.at(-1);
    assert.ok(changes !== undefined);
    return serialize(changeSetToRecord(changes, { dateMs: 12, columnDiff }));
  };
  const update = (row: string): string => `{"op":"update","table":"T","where":[],"row":${row}}`;
  assert.equal(
    recordAfter(
      `{"op":"comment","comment":"a"},{"op":"comment","comment":"b"},{"op":"insert","table":"T","uuid":"${uuid}","row":{"n":4,"set":["set",[1,2]],"brief":"x"}}`,
    ),
    `{"T":{"${uuid}":{"n":4,"set":["set",[1,2]]}},"_comment":"a\\nb","_is_diff":true,"_date":12}`,
  );
  assert.equal(
    recordAfter(update('{"set":["set",[2,3]],"opt":7,"name":"y","map":["map",[["k","v"]]]}')),
    `{"T":{"${uuid}":{"name":"y","set":["set",[1,3]],"opt":7,"map":["map",[["k","v"]]]}},"_is_diff":true,"_date":12}`,
  );
  assert.equal(
    recordAfter(update('{"set":["set",[]],"opt":["set",[]]}'), false),
    `{"T":{"${uuid}":{"set":["set",[]],"opt":["set",[]]}},"_date":12}`,
  );
  assert.equal(recordAfter(update('{"brief":"z"}')), 'null');
  assert.equal(
    recordAfter('{"op":"delete","table":"T","where":[]}'),
    `{"T":{"${uuid}":null},"_is_diff":true,"_date":12}`,
  );
});

test('records that do not fit are refused', () => {
  const uuid = 'a0000000-0000-4000-8000-000000000001';
  const cases: readonly (readonly [string, string])[] = [
    ['5', 'object expected'],
    ['{"U":{}}', 'No table named U.'],
    ['{"T":5}', 'object expected'],
    ['{"T":{"x":{}}}', '"x" is not a valid UUID'],
    [`{"T":{"${uuid}":5}}`, 'row must be JSON object'],
    [`{"T":{"${uuid}":null}}`, `transaction deletes row ${uuid} that does not exist`],
    [`{"T":{"${uuid}":{"u":1}}}`, 'No column u in table T.'],
    [`{"T":{"${uuid}":{"n":"1"}}}`, 'expected integer'],
    ['{"_date":"x"}', 'No table named _date.'],
  ];
  for (const [text, details] of cases) {
    const draft = draftOfRecord(new Database(schema), jsonOf(text), { uuids, converting: false });
    assert.ok(isError(draft), text);
    assert.equal(draft.details, details);
  }
  const database = new Database(schema);
  replay(database, jsonOf(`{"T":{"${uuid}":{"set":["set",[1,2,3]]}},"_comment":5,"_date":1}`));
  const tooMany = jsonOf(`{"T":{"${uuid}":{"set":["set",[4,5]]}},"_is_diff":true}`);
  const draft = draftOfRecord(database, tooMany, { uuids, converting: false });
  assert.ok(isError(draft) && draft.details === 'Datum crated by diff has size error');
});

test('conversion keeps what the new schema has a place for', () => {
  const db = new TestDatabase(schema);
  db.run('{"op":"insert","table":"T","row":{"n":4,"name":"x","set":5}}');
  const wider = tablesOf(
    '{"T":{"columns":{"n":{"type":{"key":"integer","min":0,"max":9}},"set":{"type":{"key":"integer","min":0}},"new":{"type":"boolean"}}},"U":{"columns":{"u":{"type":"real"}}}}',
  );
  const converted = convertDatabase(db.database, wider, uuids);
  assert.ok(!isError(converted));
  const [row] = Object.values(databaseToRecord(converted)['T'] as { [uuid: string]: Json });
  assert.equal(serialize(row ?? null), '{"n":4,"set":5}');
  checkInvariants(converted);
  const other = convertDatabase(
    db.database,
    tablesOf('{"T":{"columns":{"n":{"type":"string"}}}}'),
    uuids,
  );
  assert.ok(isError(other) && other.details === 'expected string');
});

test('the records of a cluster of the original are read, and written the same', () => {
  const file = join(import.meta.dirname, '../../../test/fixtures/ovsdb-sample-cluster.db');
  const lines = readFileSync(file, 'utf8').split('\n');
  const objects = lines.filter((line) => line.startsWith('{')).map((line) => jsonOf(line));
  let database: Database | null = null;
  let replayed = 0;
  for (const object of objects as readonly JsonObject[]) {
    const data = object['prev_data'] ?? object['data'];
    if (!Array.isArray(data)) continue;
    const [schemaJson, record] = data as [Json, JsonObject];
    if (schemaJson !== null) database = new Database(schemaOf(serialize(schemaJson)));
    assert.ok(database !== null);
    const draft = draftOfRecord(database, record, { uuids, converting: false });
    assert.ok(!isError(draft));
    if (record['_comment'] !== undefined) draft.comments.push(record['_comment'] as string);
    const changes = precommit(draft);
    assert.ok(!isError(changes), String(changes));
    if (changes === null) continue;
    database.apply(changes);
    const dateMs = record['_date'] as number;
    const columnDiff = record['_is_diff'] === true;
    const written = changeSetToRecord(changes, { dateMs, columnDiff });
    assert.equal(serializeSorted(written), serializeSorted(record));
    replayed += 1;
  }
  assert.ok(database !== null && replayed > 10);
  checkInvariants(database);
});
