import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyDiff, type Datum, diffDatums } from '../data/datum.ts';
import { isObject, type Json } from '../json/value.ts';
import { VERSION_COLUMN } from '../schema/table-schema.ts';
import type { Database } from '../store/database.ts';
import { checkInvariants } from '../store/invariants-test-helper.ts';
import type { Row } from '../store/row.ts';
import { schemaOf, TestDatabase, tablesOf } from './transact-test-helper.ts';
import { Workload, workloadSchema } from './workload-test-helper.ts';

/** All rows by table and UUID; rows are immutable, so this is the whole state. */
function stateOf(database: Database): Map<string, Row> {
  const state = new Map<string, Row>();
  for (const [name, table] of database.tables) {
    for (const row of table.rows()) state.set(`${name} ${row.uuid}`, row);
  }
  return state;
}

function failed(result: Json): boolean {
  return !Array.isArray(result) || result.some((r) => r === null || (isObject(r) && 'error' in r));
}

test('random transactions keep the database consistent, or leave it alone', () => {
  const workload = new Workload(21);
  const db = new TestDatabase(schemaOf(workloadSchema));
  let changed = 0;
  for (let i = 0; i < 2500; i++) {
    const before = stateOf(db.database);
    const commits = db.history.length;
    const result = db.transact(workload.transaction());
    if (db.history.length === commits) assert.deepEqual(stateOf(db.database), before);
    else {
      assert.ok(!failed(result));
      changed += 1;
      if (changed % 3 === 0) checkInvariants(db.database);
    }
  }
  checkInvariants(db.database);
  assert.ok(changed > 300, `only ${changed} transactions changed anything`);
});

test('change sets say exactly what changed, and undo themselves', () => {
  const workload = new Workload(5);
  const db = new TestDatabase(schemaOf(workloadSchema));
  const states = [stateOf(db.database)];
  for (let i = 0; i < 2000 && states.length < 400; i++) {
    const commits = db.history.length;
    db.transact(workload.transaction());
    if (db.history.length === commits) continue;
    const before = states.at(-1) as Map<string, Row>;
    const after = stateOf(db.database);
    const changes = db.history.at(-1);
    assert.ok(changes !== undefined && changes.tables.length > 0);
    for (const { table, rows } of changes.tables) {
      for (const row of rows) {
        const name = `${table.schema.name} ${row.uuid}`;
        assert.equal(row.before, before.get(name) ?? null);
        assert.equal(row.after, after.get(name) ?? null);
        if (row.before === null || row.after === null) continue;
        assert.ok(row.changed.length > 1 && row.changed[0] === VERSION_COLUMN);
        assert.notEqual(row.before.version, row.after.version);
        for (const { index, type } of table.schema.columns) {
          const old: Datum = row.before.datum(index);
          const now: Datum = row.after.datum(index);
          if (!row.changed.includes(index)) assert.deepEqual(old, now);
          else assert.notDeepEqual(old, now);
          assert.deepEqual(applyDiff(old, diffDatums(old, now, type), type), now);
        }
      }
    }
    states.push(after);
  }
  assert.equal(states.length, 400);
  const last = db.history.length;
  for (let i = last - 1; i >= 0; i--) {
    db.database.revert(db.history[i]);
    assert.deepEqual(stateOf(db.database), states[i]);
    if (i % 50 === 0) checkInvariants(db.database);
  }
  for (const changes of db.history) db.database.apply(changes);
  assert.deepEqual(stateOf(db.database), states.at(-1));
  checkInvariants(db.database);
});

const weakAndStrong = `{"R":{"isRoot":true,"columns":{
  "strong":{"type":{"key":{"type":"uuid","refTable":"N"},"min":0,"max":"unlimited"}},
  "weak":{"type":{"key":{"type":"uuid","refTable":"N","refType":"weak"},"min":0,"max":"unlimited"}},
  "pairs":{"type":{"key":{"type":"uuid","refTable":"R","refType":"weak"},
    "value":{"type":"uuid","refTable":"N"},"min":0,"max":"unlimited"}}}},
  "N":{"columns":{"k":{"type":"integer"}}}}`;

// The original forgets this one when the referring row came into the transaction first.
test('a row that drops the last strong reference loses its weak one too', () => {
  const db = new TestDatabase(tablesOf(weakAndStrong));
  db.run(
    '{"op":"insert","table":"R","row":{"strong":["named-uuid","n"],"weak":["named-uuid","n"]}},{"op":"insert","table":"N","row":{},"uuid-name":"n"}',
  );
  db.run('{"op":"update","table":"R","where":[],"row":{"strong":["set",[]]}}');
  assert.equal(db.dump('R', 'strong,weak'), '{"strong":["set",[]],"weak":["set",[]]}');
  assert.equal(db.dump('N'), '');
  checkInvariants(db.database);
});

// The original keeps counting the reference that went with its pair.
test('a pair that goes with its weak key releases the row of its strong value', () => {
  const db = new TestDatabase(tablesOf(weakAndStrong));
  db.run(
    '{"op":"insert","table":"R","row":{"pairs":["map",[[["named-uuid","k"],["named-uuid","n"]]]]}},{"op":"insert","table":"R","row":{"weak":["named-uuid","n"]},"uuid-name":"k","uuid":"a0000000-0000-4000-8000-000000000001"},{"op":"insert","table":"N","row":{},"uuid-name":"n"}',
  );
  // The name was mentioned before its row got another UUID, so nothing has come of it.
  assert.equal(db.dump('N'), '');
  checkInvariants(db.database);
  db.run(
    '{"op":"insert","table":"R","row":{"weak":["named-uuid","n"]},"uuid":"a0000000-0000-4000-8000-000000000002"},{"op":"insert","table":"R","row":{"weak":["named-uuid","n"],"pairs":["map",[[["uuid","a0000000-0000-4000-8000-000000000002"],["named-uuid","n"]]]]}},{"op":"insert","table":"N","row":{"k":7},"uuid-name":"n"}',
  );
  assert.equal(db.dump('N', 'k'), '{"k":7}');
  checkInvariants(db.database);
  db.run(
    '{"op":"delete","table":"R","where":[["_uuid","==",["uuid","a0000000-0000-4000-8000-000000000002"]]]}',
  );
  assert.equal(db.dump('N'), '');
  checkInvariants(db.database);
});

test('a long chain of garbage is collected without deep recursion', () => {
  const chain = `{
    "R":{"isRoot":true,"columns":{"to":{"type":{"key":{"type":"uuid","refTable":"N"},"min":0}}}},
    "N":{"columns":{"to":{"type":{"key":{"type":"uuid","refTable":"N"},"min":0}}}}}`;
  const db = new TestDatabase(tablesOf(chain));
  const length = 20_000;
  const inserts: Json[] = Array.from({ length }, (_, i) => ({
    op: 'insert',
    table: 'N',
    'uuid-name': `n${i}`,
    row: i + 1 < length ? { to: ['named-uuid', `n${i + 1}`] } : {},
  }));
  inserts.push({ op: 'insert', table: 'R', row: { to: ['named-uuid', 'n0'] } });
  assert.ok(!failed(db.transact(inserts)));
  assert.equal(db.database.table('N').size, length);
  assert.ok(!failed(db.transact([{ op: 'delete', table: 'R', where: [] }])));
  assert.equal(db.database.table('N').size, 0);
  assert.equal(db.database.table('N').referrers.size, 0);
});

test('nothing is left of rows that came and went', () => {
  const db = new TestDatabase(tablesOf(weakAndStrong));
  db.run(
    '{"op":"insert","table":"R","row":{"strong":["named-uuid","n"]}},{"op":"insert","table":"N","row":{},"uuid":"b0000000-0000-4000-8000-000000000001","uuid-name":"x"},{"op":"update","table":"R","where":[],"row":{"strong":["uuid","b0000000-0000-4000-8000-000000000001"]}}',
  );
  const row = { weak: ['uuid', 'b0000000-0000-4000-8000-000000000001'] };
  const { referrers } = db.database.table('N');
  for (let i = 0; i < 500; i++) {
    const [inserted] = db.transact([{ op: 'insert', table: 'R', row }]) as [{ uuid: Json }];
    assert.equal(referrers.size, 1);
    db.transact([{ op: 'delete', table: 'R', where: [['_uuid', '==', inserted.uuid]] }]);
    assert.equal(referrers.size, 0);
  }
  checkInvariants(db.database);
});
