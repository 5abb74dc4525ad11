import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  Database,
  execute,
  isError,
  type Json,
  parseSchema,
  precommit,
  uuidsFromPrng,
} from '../../../ovsdb/index.ts';
import { Prng } from '../../../stdx/index.ts';
import type { RemoteStatus } from './backend.ts';
import { type Databases, findColumn, findRemotes, findText } from './db-columns.ts';
import { statusOperations } from './remote-status.ts';

const text = { type: 'string' };
const many = { type: { key: 'string', min: 0, max: 'unlimited' } };
const integer = { type: { key: 'integer', min: 0, max: 1 } };
const pairs = { type: { key: 'string', value: 'string', min: 0, max: 'unlimited' } };
const managers = { key: { type: 'uuid', refTable: 'Manager' }, min: 0, max: 'unlimited' };

/** A database with a table of names and one of managers. */
function create(): Database {
  const schema = parseSchema({
    name: 'db',
    version: '1.0.0',
    tables: {
      Root: { columns: { targets: many, managers: { type: managers }, number: integer } },
      Manager: {
        columns: {
          target: text,
          max_backoff: integer,
          inactivity_probe: integer,
          read_only: { type: 'boolean' },
          role: text,
          other_config: pairs,
          is_connected: { type: { key: 'boolean', min: 0, max: 1 } },
          status: pairs,
        },
      },
    },
  });
  assert.ok(!isError(schema));
  return new Database(schema);
}

const uuids = uuidsFromPrng(new Prng(1, 2));

function transact(database: Database, ...operations: Json[]): void {
  const context = {
    uuids,
    ownsLock: () => true,
    readOnly: false,
    client: null,
    elapsedMs: 0,
  };
  const outcome = execute(database, ['db', ...operations], context);
  assert.equal(outcome.kind, 'composed');
  if (outcome.kind !== 'composed') return;
  const changes = precommit(outcome.draft);
  assert.ok(changes !== null && !isError(changes));
  database.apply(changes);
}

function filled(): Databases {
  const database = create();
  const row = { target: 'ssl:1.2.3.4:5', max_backoff: 7, read_only: true, role: 'r' };
  transact(
    database,
    {
      op: 'insert',
      table: 'Root',
      row: { targets: ['set', ['ptcp:1', 'punix:x']], managers: ['named-uuid', 'm'] },
    },
    {
      op: 'insert',
      table: 'Manager',
      'uuid-name': 'm',
      row: { ...row, other_config: ['map', [['dscp', '63']]] },
    },
    { op: 'insert', table: 'Manager', row: { target: 'tcp:nobody:refers' } },
  );
  return new Map([
    ['db', database],
    ['unknown', null],
  ]);
}

test('a place in a database that is not there is told of in the words of the original', () => {
  const databases = filled();
  const table: readonly (readonly [string, string | null])[] = [
    ['db:x,y,z', '"db:x,y,z": no database named x'],
    ['db:db,y,z', '"db:db,y,z": no table named y'],
    ['db:db,Root,z', '"db:db,Root,z": table "Root" has no column "z"'],
    ['db:db,Root', '"db:db,Root": invalid syntax'],
    ['db:unknown,a,b', null],
  ];
  for (const [name, expected] of table) assert.equal(findColumn(databases, name), expected, name);
});

test('remotes are texts in a column, or the targets that references lead to', () => {
  const problems: string[] = [];
  const texts = findRemotes(filled(), 'db:db,Root,targets', problems);
  assert.deepEqual([...texts.keys()], ['ptcp:1', 'punix:x']);
  const rows = findRemotes(filled(), 'db:db,Root,managers', problems);
  assert.deepEqual(
    [...rows],
    [
      [
        'ssl:1.2.3.4:5',
        { maxBackoffMs: 7, inactivityProbeMs: null, readOnly: true, role: 'r', dscp: 63 },
      ],
    ],
  );
  assert.deepEqual(problems, []);
  assert.equal(findRemotes(filled(), 'db:nope,a,b', problems).size, 0);
  assert.deepEqual(problems, ['"db:nope,a,b": no database named nope']);
});

test('file names are the first text of a column, or what they are', () => {
  const problems: string[] = [];
  const databases = filled();
  assert.equal(findText(databases, 'key.pem', problems), 'key.pem');
  assert.equal(findText(databases, null, problems), null);
  assert.equal(findText(databases, 'db:db,Root,targets', problems), 'ptcp:1');
  assert.equal(findText(databases, 'db:db,Manager,role', problems), 'r');
  assert.deepEqual(problems, []);
  assert.equal(findText(databases, 'db:db,Root,number', problems), null);
  assert.deepEqual(problems, [
    '"db:db,Root,number": table "Root" column "number" is not string or set of strings',
  ]);
});

test('the status of remotes is written where it differs, and nowhere else', () => {
  const databases = filled();
  const place = findColumn(databases, 'db:db,Root,managers');
  assert.ok(place !== null && typeof place !== 'string');
  const status: RemoteStatus = {
    isConnected: true,
    state: 'ACTIVE',
    secSinceConnect: 3,
    secSinceDisconnect: null,
    lastError: null,
    locksHeld: ['a', 'b'],
    locksWaiting: [],
    locksLost: [],
    connections: 2,
    boundPort: null,
  };
  const asked: string[] = [];
  const operations = statusOperations(place, (target) => {
    asked.push(target);
    return status;
  });
  assert.deepEqual(asked, ['ssl:1.2.3.4:5']);
  assert.equal(operations.length, 1);
  transact(databases.get('db') as Database, ...operations);
  const [row] = [...place.database.table('Manager').rows()].filter(
    (one) =>
      one.datum(
        place.database.table('Manager').schema.byName.get('is_connected')?.index ?? 0,
      )[0] === true,
  );
  const column = place.database.table('Manager').schema.byName.get('status');
  assert.deepEqual(row.datum(column?.index ?? 0), [
    ...['locks_held', 'a b', 'n_connections', '2', 'sec_since_connect', '3', 'state', 'ACTIVE'],
  ]);
  assert.deepEqual(
    statusOperations(place, () => status),
    [],
  );
  assert.equal(statusOperations(place, () => ({ ...status, secSinceConnect: 4 })).length, 1);
});
