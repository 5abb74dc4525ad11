import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestDatabase, tablesOf } from './transact-test-helper.ts';

const ordinals = `{"O":{"columns":{
  "number":{"type":"integer"},"name":{"type":"string"},
  "tags":{"type":{"key":"string","min":0,"max":"unlimited"}},
  "map":{"type":{"key":"string","value":"integer","min":0,"max":2}},
  "real":{"type":"real"},
  "opt":{"type":{"key":"integer","min":0}},
  "small":{"type":{"key":{"type":"integer","maxInteger":9},"min":0,"max":3}},
  "fixed":{"type":"integer","mutable":false}},
  "indexes":[["number","name"],["name"]],"maxRows":4}}`;

function database(): TestDatabase {
  return new TestDatabase(tablesOf(ordinals));
}

const insertOf = (row: string): string => `{"op":"insert","table":"O","row":${row}}`;

/** Each line: operations, and the result after it. */
function check(db: TestDatabase, cases: readonly (readonly [string, string])[]): void {
  for (const [operations, expected] of cases) {
    assert.equal(db.run(operations), expected, operations);
  }
}

test('insert, select, update, mutate, delete', () => {
  const db = database();
  check(db, [
    [insertOf('{"number":1,"name":"one"}'), '[{"uuid":["uuid","<0>"]}]'],
    [
      '{"op":"select","table":"O","where":[],"columns":["number","name","tags","map"]}',
      '[{"rows":[{"map":["map",[]],"name":"one","number":1,"tags":["set",[]]}]}]',
    ],
    [
      '{"op":"update","table":"O","where":[["name","==","one"]],"row":{"real":1.5}}',
      '[{"count":1}]',
    ],
    [
      '{"op":"mutate","table":"O","where":[],"mutations":[["tags","insert",["set",["b","a"]]],["real","+=",1],["map","insert",["map",[["k",1]]]]]}',
      '[{"count":1}]',
    ],
    [
      '{"op":"select","table":"O","where":[["real",">",2]],"columns":["real","tags","map","_uuid"]}',
      '[{"rows":[{"_uuid":["uuid","<0>"],"map":["map",[["k",1]]],"real":2.5,"tags":["set",["a","b"]]}]}]',
    ],
    [
      '{"op":"delete","table":"O","where":[["_uuid","==",["uuid","00000000-0000-0000-0000-000000000000"]]]}',
      '[{"count":0}]',
    ],
    ['{"op":"delete","table":"O","where":[["tags","includes","a"]]}', '[{"count":1}]'],
    ['{"op":"mutate","table":"O","where":[],"mutations":[]}', '[{"count":0}]'],
  ]);
  assert.equal(db.database.atoms, 0);
});

test('a transaction that fails changes nothing and says where', () => {
  const db = database();
  check(db, [
    [
      `${insertOf('{"name":"x"}')},{"op":"abort"},${insertOf('{}')}`,
      '[{"uuid":["uuid","<0>"]},{"details":"aborted by request","error":"aborted"},null]',
    ],
    [
      '{"op":"dance"},{"op":"abort"}',
      '[{"details":"Parsing ovsdb operation 1 of 2 failed: No operation \\"dance\\"","error":"syntax error","syntax":"{\\"op\\":\\"dance\\"}"},null]',
    ],
    [
      '{"op":"abort","x":1}',
      '[{"details":"Parsing ovsdb operation 1 of 1 failed: Member \'x\' is present but not allowed here.","error":"syntax error","syntax":"{\\"op\\":\\"abort\\",\\"x\\":1}"}]',
    ],
    [
      '{"op":"insert","table":"N","row":{}}',
      '[{"details":"Parsing ovsdb operation 1 of 1 failed: No table named N.","error":"syntax error","syntax":"{\\"op\\":\\"insert\\",\\"row\\":{},\\"table\\":\\"N\\"}"}]',
    ],
    [
      insertOf('{"x":1}'),
      '[{"details":"No column x in table O.","error":"unknown column","syntax":"{\\"x\\":1}"}]',
    ],
    [
      insertOf('{"small":10}'),
      '[{"details":"10 is greater than maximum allowed value 9","error":"constraint violation"}]',
    ],
    [
      '{"op":"update","table":"O","where":[],"row":{"fixed":1}}',
      '[{"details":"Cannot update immutable column fixed in table O.","error":"constraint violation","syntax":"{\\"op\\":\\"update\\",\\"row\\":{\\"fixed\\":1},\\"table\\":\\"O\\",\\"where\\":[]}"}]',
    ],
    [
      '{"op":"mutate","table":"O","where":[],"mutations":[["fixed","+=",1]]}',
      '[{"details":"Cannot mutate immutable column fixed in table O.","error":"constraint violation","syntax":"[\\"fixed\\",\\"+=\\",1]"}]',
    ],
  ]);
  assert.equal(db.dump('O'), '');
});
