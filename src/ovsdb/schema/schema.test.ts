import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isError } from '../data/error.ts';
import { parseJson } from '../json/parse.ts';
import { serializeSorted } from '../json/serialize.ts';
import type { Json } from '../json/value.ts';
import {
  checkNoEphemeral,
  parseSchema,
  persistEphemeral,
  type Schema,
  schemasEqual,
  schemaToJson,
} from './schema.ts';
import { rightSchemas, wrongSchemas } from './schema-cases-test-helper.ts';

function json(text: string): Json {
  const result = parseJson(text);
  assert.ok(result.ok, text);
  return result.value;
}

function schemaOf(text: string): Schema {
  const schema = parseSchema(json(text));
  assert.ok(!isError(schema), String(schema));
  return schema;
}

const table = (members: string): string =>
  `{"name":"D","tables":{"A":{"columns":{"x":{"type":"integer"}}${members}}}}`;

test('a schema is written as it was read', () => {
  const texts = [
    '{"cksum":"12 3","name":"D","tables":{},"version":"1.20.3"}',
    '{"name":"D","tables":{"A":{"columns":{"x":{"type":"integer"}},"indexes":[["x"]],"maxRows":3}}}',
    '{"name":"D","tables":{"A":{"columns":{"x":{"ephemeral":true,"mutable":false,"type":"real"}},"isRoot":true},"B":{"columns":{"y":{"type":{"key":{"refTable":"A","type":"uuid"},"max":"unlimited","min":0}}}}}}',
  ];
  for (const text of texts) {
    const schema = schemaOf(text);
    assert.equal(serializeSorted(schemaToJson(schema)), text);
    assert.ok(schemasEqual(schema, schemaOf(text)));
  }
  assert.ok(!schemasEqual(schemaOf(texts[0]), schemaOf(texts[1])));
});

test('without any root every table is one', () => {
  const schema = schemaOf(table(''));
  assert.ok(schema.tables.get('A')?.isRoot);
  assert.equal(serializeSorted(schemaToJson(schema)), table(''));
  assert.equal(serializeSorted(schemaToJson(schemaOf(table(',"isRoot":true')))), table(''));
});

test('built-in columns come first', () => {
  const columns = schemaOf(table('')).tables.get('A')?.columns ?? [];
  assert.deepEqual(
    columns.map(({ name, index, mutable, persistent }) => ({ name, index, mutable, persistent })),
    [
      { name: '_uuid', index: 0, mutable: false, persistent: true },
      { name: '_version', index: 1, mutable: false, persistent: false },
      { name: 'x', index: 2, mutable: true, persistent: true },
    ],
  );
});

test('wrong schemas are refused in the original words', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['{"tables":{}}', "Parsing database schema failed: Required 'name' member is missing."],
    [
      '{"name":"1","tables":{}}',
      "Parsing database schema failed: Type mismatch for member 'name'.",
    ],
    ['{"name":"D","version":"1.2","tables":{}}', 'schema version "1.2" not in format x.y.z'],
    ['{"name":"D","tables":{"_A":{}}}', 'names beginning with "_" are reserved'],
    ['{"name":"D","tables":{"a-b":{}}}', 'name must be a valid id'],
    [
      '{"name":"D","tables":{"A":{}}}',
      "Parsing table schema for table A failed: Required 'columns' member is missing.",
    ],
    ['{"name":"D","tables":{"A":{"columns":{}}}}', 'table must have at least one column'],
    ['{"name":"D","tables":{"A":{"columns":{"_x":{}}}}}', 'names beginning with "_" are reserved'],
    [
      '{"name":"D","tables":{"A":{"columns":{"x":{}}}}}',
      "Parsing schema for column x failed: Required 'type' member is missing.",
    ],
    [table(',"maxRows":0'), 'maxRows must be at least 1'],
    [table(',"indexes":[[]]'), 'index must have at least one column'],
    [table(',"indexes":[["x","x"]]'), 'array of distinct column names expected'],
    [table(',"indexes":["x"]'), 'array of distinct column names expected'],
    [table(',"indexes":[["y"]]'), 'y is not a valid column name'],
    [
      '{"name":"D","tables":{"A":{"columns":{"x":{"type":"integer","ephemeral":true}},"indexes":[["x"]]}}}',
      'ephemeral columns (such as x) may not be indexed',
    ],
    [
      '{"name":"D","tables":{"A":{"columns":{"x":{"type":{"key":{"type":"uuid","refTable":"B"}}}}}}}',
      'column x key refers to undefined table B',
    ],
    [
      '{"name":"D","tables":{"A":{"columns":{"x":{"type":{"key":"uuid","value":{"type":"uuid","refTable":"B"}}}}}}}',
      'column x value refers to undefined table B',
    ],
  ];
  for (const [text, details] of cases) {
    const error = parseSchema(json(text));
    assert.ok(isError(error), text);
    assert.equal(error.details, details);
  }
});

const linked = (column: string, root: string): Schema =>
  schemaOf(
    `{"name":"D","tables":{"A":{"isRoot":true,"columns":{"x":{${column},"type":{"key":{"type":"uuid","refTable":"B","refType":"${root}"},"min":0}}}},"B":{"columns":{"y":{"type":"integer"}}}}}`,
  );

test('references force what they need', () => {
  const strong = linked('"ephemeral":true', 'strong').tables.get('A')?.byName.get('x');
  assert.ok(strong?.persistent && strong.strong && !strong.weak);
  const weak = linked('"ephemeral":true,"mutable":false', 'weak').tables.get('A')?.byName.get('x');
  assert.ok(weak?.mutable && !weak.persistent && weak.weak && !weak.strong);
});

test('clusters have no ephemeral columns', () => {
  const schema = linked('"ephemeral":true', 'weak');
  assert.match(String(checkNoEphemeral(schema)), /Table A column x is ephemeral but clustered/);
  const { schema: persistent, changed } = persistEphemeral(schema);
  assert.deepEqual(changed, [{ table: 'A', column: 'x' }]);
  assert.equal(checkNoEphemeral(persistent), null);
  assert.ok(persistent.tables.get('A')?.columns[2].persistent);
  assert.ok(!schema.tables.get('A')?.columns[2].persistent);
});

test('every right schema is written as it was read, every wrong one refused', () => {
  for (const text of rightSchemas)
    assert.equal(serializeSorted(schemaToJson(schemaOf(text))), text);
  for (const text of wrongSchemas) assert.ok(isError(parseSchema(json(text))), text);
});
