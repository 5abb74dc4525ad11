import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestDatabase, tablesOf } from './transact-test-helper.ts';

const schema = tablesOf(`{
  "RBAC_Role":{"isRoot":true,"columns":{"name":{"type":"string"},"permissions":{"type":
    {"key":"string","value":{"type":"uuid","refTable":"RBAC_Permission","refType":"weak"},
     "min":0,"max":"unlimited"}}}},
  "RBAC_Permission":{"isRoot":true,"columns":{"table":{"type":"string"},
    "authorization":{"type":{"key":"string","min":0,"max":"unlimited"}},
    "insert_delete":{"type":"boolean"},
    "update":{"type":{"key":"string","min":0,"max":"unlimited"}}}},
  "Chassis":{"isRoot":true,"columns":{"name":{"type":"string"},"load":{"type":"integer"},
    "ids":{"type":{"key":"string","value":"string","min":0,"max":"unlimited"}}}},
  "Secret":{"isRoot":true,"columns":{"x":{"type":"integer"}}}}`);

function guarded(): TestDatabase {
  const db = new TestDatabase(schema);
  db.run(`{"op":"insert","table":"RBAC_Permission","uuid-name":"p","row":{"table":"Chassis",
    "authorization":["set",["name","ids:owner"]],"insert_delete":true,"update":["set",["load"]]}},
    {"op":"insert","table":"RBAC_Role","row":{"name":"controller",
    "permissions":["map",[["Chassis",["named-uuid","p"]]]]}},
    {"op":"insert","table":"Chassis","row":{"name":"c1"}},
    {"op":"insert","table":"Chassis","row":{"name":"c2","ids":["map",[["owner","c1"]]]}},
    {"op":"insert","table":"Chassis","row":{"name":"c3"}},
    {"op":"insert","table":"Secret","row":{}}`);
  db.client = { role: 'controller', id: 'c1' };
  return db;
}

const where = (name: string): string => `"where":[["name","==","${name}"]]`;
const set = (name: string, row: string): string =>
  `{"op":"update","table":"Chassis",${where(name)},"row":${row}}`;

test('a role may do what its permissions say, to rows that are its own', () => {
  const denied = (
    act: string,
    table: string,
    id: string = 'c1',
    role: string = 'controller',
  ): string =>
    `[{"details":"RBAC rules for client \\"${id}\\" role \\"${role}\\" prohibit ${act} table \\"${table}\\".","error":"permission error"}]`;
  const count = (n: number): string => `[{"count":${n}}]`;
  const cases: readonly (readonly [string, string])[] = [
    [set('c1', '{"load":1}'), count(1)],
    [set('c2', '{"load":1}'), count(1)],
    [set('c3', '{"load":1}'), denied('modification of', 'Chassis')],
    [set('c1', '{"name":"c9"}'), denied('modification of', 'Chassis')],
    [set('nobody', '{"name":"c9"}'), count(0)],
    [`{"op":"mutate","table":"Chassis",${where('c1')},"mutations":[["load","+=",1]]}`, count(1)],
    [
      `{"op":"mutate","table":"Chassis",${where('c3')},"mutations":[["load","+=",1]]}`,
      denied('mutate operation on', 'Chassis'),
    ],
    [`{"op":"mutate","table":"Chassis","where":[],"mutations":[]}`, count(3)],
    [
      '{"op":"insert","table":"Chassis","row":{"name":"other"}}',
      denied('row insertion into', 'Chassis'),
    ],
    ['{"op":"delete","table":"Chassis","where":[]}', denied('row deletion from', 'Chassis')],
    [`{"op":"delete","table":"Chassis",${where('c1')}}`, count(1)],
    ['{"op":"delete","table":"Secret","where":[]}', denied('row deletion from', 'Secret')],
    ['{"op":"insert","table":"Secret","row":{}}', denied('row insertion into', 'Secret')],
    ['{"op":"select","table":"Secret","where":[],"columns":["x"]}', '[{"rows":[{"x":0}]}]'],
  ];
  const db = guarded();
  for (const [operation, expected] of cases) assert.equal(db.run(operation), expected, operation);
  db.client = { role: 'stranger', id: 'c2' };
  assert.equal(db.run(set('c2', '{}')), denied('modification of', 'Chassis', 'c2', 'stranger'));
  db.client = { role: 'controller', id: null };
  assert.equal(db.run(set('c2', '{}')), denied('modification of', 'Chassis', '(null)'));
  db.client = { role: '', id: null };
  assert.equal(db.run('{"op":"delete","table":"Chassis","where":[]}'), count(2));
});

test('an empty authorization is anybody, and without the table there are no rules', () => {
  const db = guarded();
  db.client = null;
  db.run(
    '{"op":"update","table":"RBAC_Permission","where":[],"row":{"authorization":["set",["","x"]]}}',
  );
  db.client = { role: 'controller', id: 'c1' };
  assert.equal(db.run(set('c3', '{"load":1}')), '[{"count":1}]');
  const plain = new TestDatabase(tablesOf('{"T":{"columns":{"x":{"type":"integer"}}}}'));
  plain.client = { role: 'controller', id: null };
  assert.match(plain.run('{"op":"insert","table":"T","row":{}}'), /uuid/);
});
