/**
 * Database files between us and the original: each reads what the other has written, and neither
 * opens for writing what the other has open. Needs the real ovsdb-server and ovsdb-tool.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFile, schemaOf, TestServer } from '../src/host/ovsdb/storage/storage-test-helper.ts';
import {
  compareText,
  type Database,
  type Json,
  parseJson,
  rowToJson,
  type Schema,
  serializeSorted,
} from '../src/ovsdb/index.ts';
import { executable, peerMissing } from './ovsdb-peer/peer.ts';

const skip = peerMissing();

const schema = schemaOf({
  name: 'D',
  version: '1.0.0',
  tables: {
    Root: {
      isRoot: true,
      columns: {
        name: { type: 'string' },
        count: { type: 'integer' },
        real: { type: 'real' },
        tags: { type: { key: 'string', value: 'integer', min: 0, max: 'unlimited' } },
        leaf: { type: { key: { type: 'uuid', refTable: 'Leaf' }, min: 0, max: 'unlimited' } },
        peer: {
          type: {
            key: { type: 'uuid', refTable: 'Root', refType: 'weak' },
            min: 0,
            max: 'unlimited',
          },
        },
        brief: { type: 'string', ephemeral: true },
      },
      indexes: [['name']],
    },
    Leaf: { columns: { n: { type: { key: 'integer', min: 0, max: 5 } } } },
  },
});

/** Transactions that insert, change and delete, the i-th always the same. */
function operationsOf(i: number): Json[] {
  const name = `é${i % 17}`;
  const where: Json = [['name', '==', name]];
  const leaf: Json = {
    op: 'insert',
    table: 'Leaf',
    'uuid-name': 'l',
    row: { n: ['set', [i, -i]] },
  };
  switch (i < 17 ? 0 : i % 5) {
    case 0:
      return [
        { op: 'delete', table: 'Root', where },
        { op: 'insert', table: 'Root', row: { name: `${name}`, real: i / 3, count: i } },
      ].slice(i < 17 ? 1 : 0);
    case 1:
      return [
        leaf,
        {
          op: 'mutate',
          table: 'Root',
          where,
          mutations: [['leaf', 'insert', ['named-uuid', 'l']]],
        },
        { op: 'comment', comment: `leaf "${i}"` },
      ];
    case 2:
      return [
        {
          op: 'update',
          table: 'Root',
          where,
          row: {
            tags: [
              'map',
              [
                ['a', i],
                ['b', 2 ** 53 - i],
              ],
            ],
          },
        },
      ];
    case 3:
      return [
        {
          op: 'mutate',
          table: 'Root',
          where,
          mutations: [['tags', 'insert', ['map', [['c', i]]]]],
        },
      ];
    default:
      return [
        { op: 'update', table: 'Root', where, row: { leaf: ['set', []], brief: 'x', count: i } },
      ];
  }
}

const tool = (...args: string[]): { status: number | null; stdout: string; stderr: string } =>
  spawnSync(executable('ovsdb-tool') as string, args, { encoding: 'utf8', maxBuffer: 1e8 });

function originalContent(path: string): string[] {
  const select = [...schema.tables.keys()].map((table) => ({
    op: 'select',
    table,
    where: [],
    columns: columnsOf(table).map(({ name }) => name),
  }));
  const { status, stdout, stderr } = tool('query', path, serializeSorted(['D', ...select]));
  assert.equal(status, 0, stderr);
  const result = parseJson(stdout);
  assert.ok(result.ok);
  return (result.value as unknown as { rows: Json[] }[]).flatMap(({ rows }) =>
    rows.map(serializeSorted).sort(compareText),
  );
}

/** The original writes a schema's columns in an order of its own. */
function columnsOf(table: string, of: Schema = schema) {
  const columns = of.tables.get(table)?.columns ?? [];
  return columns.filter(({ name, persistent }) => persistent && name !== '_version');
}

function ownContent(database: Database): string[] {
  return [...schema.tables.keys()].flatMap((name) =>
    [...database.table(name).rows()]
      .map((row) => serializeSorted(rowToJson(row, columnsOf(name, database.schema))))
      .sort(compareText),
  );
}

test('the original reads our files, compacted or not', { skip }, async (t) => {
  const path = await createFile(t, schema);
  const server = await TestServer.open(path);
  for (let i = 0; i < 200; i++) {
    await server.transact(...operationsOf(i));
    if (i === 90 || i === 150) await server.storage.compact();
    if (i % 40 === 39) assert.deepEqual(originalContent(path), ownContent(server.database));
  }
  await server.storage.close();
  const log = tool('show-log', path);
  assert.equal(log.status, 0, log.stderr);
  assert.match(log.stdout, /leaf "/);
});

test('the original reads a large snapshot of ours', { skip }, async (t) => {
  const path = await createFile(t, schema);
  const server = await TestServer.open(path);
  const name = 'n'.repeat(500);
  for (let i = 0; i < 3000; i++) {
    void server.transact({ op: 'insert', table: 'Root', row: { name: `${name}${i}` } });
  }
  await server.storage.compact();
  await server.transact({ op: 'insert', table: 'Root', row: { name: 'last' } });
  assert.match(fs.readFileSync(path, 'utf8'), /\nOVSDB JSON 00000/);
  assert.deepEqual(originalContent(path), ownContent(server.database));
  await server.storage.close();
});

test('we read the files of the original, compacted or not', { skip }, async (t) => {
  const path = await createFile(t, schema);
  fs.rmSync(path);
  const schemaPath = `${path}.schema`;
  fs.writeFileSync(schemaPath, fs.readFileSync(await createFile(t, schema), 'utf8').split('\n')[1]);
  assert.equal(tool('create', path, schemaPath).status, 0);
  for (let i = 0; i < 120; i++) {
    const { status, stderr } = tool('transact', path, serializeSorted(['D', ...operationsOf(i)]));
    assert.equal(status, 0, stderr);
    if (i === 70) assert.equal(tool('compact', path).status, 0);
    if (i % 30 !== 29) continue;
    const server = await TestServer.open(path);
    assert.deepEqual(server.warnings, []);
    assert.deepEqual(ownContent(server.database), originalContent(path));
    await server.storage.close();
  }
});

test('what we have open, the original refuses', { skip }, async (t) => {
  const path = await createFile(t, schema);
  const server = await TestServer.open(path);
  for (const command of [
    ['compact', path],
    ['transact', path, '["D"]'],
  ]) {
    const { status, stderr } = tool(...command);
    assert.equal(status, 1);
    assert.match(stderr, new RegExp(`already locked by pid ${process.pid}\\b`));
    assert.match(stderr, /failed to lock lockfile \(Resource temporarily unavailable\)/);
  }
  await server.storage.compact();
  assert.equal(tool('compact', path).status, 1);
  assert.equal(tool('query', path, '["D"]').status, 0);
  await server.storage.close();
  assert.equal(tool('compact', path).status, 0);
});

test('what the original has open, we refuse, and read what it has written', { skip }, async (t) => {
  const path = await createFile(t, schema);
  const stop = await startOriginal(t, path);
  const refused = new RegExp(
    `^I/O error: ${path}: failed to lock lockfile \\(Resource temporarily unavailable\\)$`,
  );
  await assert.rejects(TestServer.open(path), { code: 'ERR_DATA_FILE_LOCKED', message: refused });
  await stop();
  const server = await TestServer.open(path);
  await server.storage.close();
});

/** A real server with the file open; what ends it. */
async function startOriginal(t: TestContext, path: string): Promise<() => Promise<void>> {
  const folder = join(path, '..');
  const remote = `punix:${join(folder, 's')}`;
  const child = spawn(
    executable('ovsdb-server') as string,
    [path, `--remote=${remote}`, '--unixctl', join(folder, 'ctl'), '-vconsole:off'],
    { stdio: 'ignore', env: { ...process.env, OVS_RUNDIR: folder } },
  );
  t.after(() => child.kill('SIGKILL'));
  for (let i = 0; i < 200 && !fs.existsSync(join(folder, 's')); i++) await sleep(25);
  return async () => {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  };
}

test('the original serves a file that we have written', { skip }, async (t) => {
  const path = await createFile(t, schema);
  const server = await TestServer.open(path);
  for (let i = 0; i < 60; i++) await server.transact(...operationsOf(i));
  await server.storage.compact();
  for (let i = 60; i < 90; i++) await server.transact(...operationsOf(i));
  await server.storage.close();
  const stop = await startOriginal(t, path);
  assert.ok(fs.existsSync(join(path, '..', 's')), 'the original did not start');
  assert.deepEqual(originalContent(path), ownContent(server.database));
  await stop();
});
