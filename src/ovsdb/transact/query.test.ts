import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '../json/value.ts';
import type { Table } from '../store/table.ts';
import { TestDatabase, tablesOf } from './transact-test-helper.ts';

const schema = tablesOf(`{"T":{"indexes":[["name"],["a","b"]],"columns":{
  "name":{"type":"string"},
  "a":{"type":"integer"},"b":{"type":"integer"},"c":{"type":"integer"}}}}`);

function filled(count: number): TestDatabase {
  const db = new TestDatabase(schema);
  const inserts: Json[] = Array.from({ length: count }, (_, i) => ({
    op: 'insert',
    table: 'T',
    row: { name: `n${i}`, a: i, b: i % 7, c: i % 3 },
  }));
  db.transact(inserts);
  assert.equal(db.database.table('T').size, count);
  return db;
}

/** Lets `act` run while nobody may look at all rows of the table. */
function withoutScan<T>(table: Table, act: () => T): T {
  const rows = table.rows.bind(table);
  table.rows = () => {
    throw new Error('the table was scanned');
  };
  try {
    return act();
  } finally {
    table.rows = rows;
  }
}

const select = (where: string): string =>
  `{"op":"select","table":"T","where":${where},"columns":["name"]}`;

test('UUIDs, indexes and counts need no scan', () => {
  const db = filled(500);
  const table = db.database.table('T');
  const [row] = table.rows();
  assert.ok(row !== undefined);
  withoutScan(table, () => {
    assert.equal(db.run(select('[["name","==","n77"]]')), '[{"rows":[{"name":"n77"}]}]');
    assert.equal(db.run(select('[["name","==","nobody"]]')), '[{"rows":[]}]');
    assert.equal(db.run(select('[["b","==",0],["a","==",77]]')), '[{"rows":[{"name":"n77"}]}]');
    assert.equal(db.run(select('[["a","==",77],["b","==",0],["c","!=",2]]')), '[{"rows":[]}]');
    assert.equal(
      db.run(select(`[["_uuid","==",["uuid","${row.uuid}"]]]`)),
      '[{"rows":[{"name":"n0"}]}]',
    );
    assert.equal(
      db.run('{"op":"mutate","table":"T","where":[],"mutations":[]}'),
      '[{"count":500}]',
    );
    assert.equal(
      db.run('{"op":"update","table":"T","where":[["name","==","n9"]],"row":{"c":9}}'),
      '[{"count":1}]',
    );
  });
  assert.throws(() => withoutScan(table, () => db.run(select('[["c","==",1]]'))), /scanned/);
});

test('an index does not hide what the transaction has done', () => {
  const db = filled(3);
  const update = '{"op":"update","table":"T","where":[["name","==","n1"]],"row":{"name":"m"}}';
  const insert = '{"op":"insert","table":"T","row":{"name":"new","a":9}}';
  const remove = '{"op":"delete","table":"T","where":[["name","==","n2"]]}';
  const looks = ['n1', 'm', 'new', 'n2', 'n0'].map((name) => select(`[["name","==","${name}"]]`));
  assert.equal(
    db.run([update, insert, remove, ...looks, '{"op":"abort"}'].join()).replaceAll('"name":', ''),
    '[{"count":1},{"uuid":["uuid","<0>"]},{"count":1},{"rows":[]},{"rows":[{"m"}]},' +
      '{"rows":[{"new"}]},{"rows":[]},{"rows":[{"n0"}]},' +
      '{"details":"aborted by request","error":"aborted"}]',
  );
});
