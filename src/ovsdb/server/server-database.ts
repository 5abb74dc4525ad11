/**
 * The database `_Server`: tells clients which databases there are and whether they can be used. It
 * is built in, is kept in memory only, and clients cannot change it.
 */
import { assert } from '../../stdx/index.ts';
import { type Datum, EMPTY_DATUM } from '../data/datum.ts';
import { isError } from '../data/error.ts';
import type { UuidSource } from '../data/uuid.ts';
import { serializeSorted } from '../json/serialize.ts';
import type { Json } from '../json/value.ts';
import { parseSchema, type Schema, schemaToJson } from '../schema/schema.ts';
import { Database } from '../store/database.ts';
import { createRow, type Row } from '../store/row.ts';
import { Draft } from '../transact/draft.ts';
import type { ServedDatabase } from './served-database.ts';

export const SERVER_DATABASE = '_Server';

const TABLE = 'Database';

const optional = (type: string): Json => ({ type: { key: { type }, min: 0, max: 1 } });

/** Version 1.2.0, word for word: clients ask for it and compare. */
const schemaJson: Json = {
  name: SERVER_DATABASE,
  version: '1.2.0',
  cksum: '3009684573 744',
  tables: {
    [TABLE]: {
      columns: {
        name: { type: 'string' },
        model: {
          type: { key: { type: 'string', enum: ['set', ['standalone', 'clustered', 'relay']] } },
        },
        connected: { type: 'boolean' },
        leader: { type: 'boolean' },
        schema: optional('string'),
        cid: optional('uuid'),
        sid: optional('uuid'),
        index: optional('integer'),
      },
      isRoot: true,
    },
  },
};

export function createServerDatabase(): Database {
  const schema = parseSchema(schemaJson);
  assert(!isError(schema), 'createServerDatabase: the built-in schema is wrong');
  return new Database(schema);
}

/** Schemas as they are shown. They never change, and are long. */
const schemaTexts: WeakMap<Schema, string> = new WeakMap();

function schemaText(schema: Schema): string {
  let text = schemaTexts.get(schema);
  if (text === undefined) {
    text = serializeSorted(schemaToJson(schema));
    schemaTexts.set(schema, text);
  }
  return text;
}

/** A draft that makes the table tell what is the case. */
export function draftOfStatus(
  server: Database,
  databases: ReadonlyMap<string, ServedDatabase>,
  uuids: UuidSource,
): Draft {
  const draft = new Draft(server, uuids);
  const table = server.table(TABLE);
  const { byName } = table.schema;
  const nameIndex = byName.get('name')?.index ?? 0;
  const shown = new Map<string, Row>();
  for (const row of table.rows()) shown.set(String(row.datum(nameIndex)[0]), row);
  for (const [name, row] of shown) if (!databases.has(name)) draft.delete(table, row.uuid);
  for (const [name, served] of databases) {
    const values = new Map<number, Datum>();
    for (const [column, datum] of statusOf(served)) {
      values.set(byName.get(column)?.index as number, datum);
    }
    const row = shown.get(name);
    if (row !== undefined) draft.modify(table, row.with(values));
    else draft.insert(table, createRow(table.schema, uuids(), uuids(), values));
  }
  return draft;
}

function statusOf({ name, model, status, content }: ServedDatabase): [string, Datum][] {
  const { connected, leader, cid, sid, index } = status;
  return [
    ['name', [name]],
    ['model', [model]],
    ['connected', [connected]],
    ['leader', [leader]],
    ['schema', content === null ? EMPTY_DATUM : [schemaText(content.database.schema)]],
    ['cid', cid === null ? EMPTY_DATUM : [cid]],
    ['sid', sid === null ? EMPTY_DATUM : [sid]],
    ['index', index === null ? EMPTY_DATUM : [index]],
  ];
}
