import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { connectOvsdb } from '../../client/ovsdb/index.ts';
import { startOvsdb } from './start-ovsdb.ts';

const schema = {
  name: 'Zoo',
  version: '1.0.0',
  tables: {
    Animal: {
      columns: { name: { type: 'string' }, legs: { type: 'integer' } },
      indexes: [['name']],
      isRoot: true,
    },
  },
};

test('a database in memory, with rows to begin with', async () => {
  const data = { Animal: [{ name: 'emu', legs: 2 }] };
  await using server = await startOvsdb({ schema, data });
  await using client = await connectOvsdb({ remote: server.address, database: 'Zoo' });
  const [selected] = await client.transact([{ op: 'select', table: 'Animal', where: [] }]);
  assert.deepEqual((selected as { rows: object[] }).rows, await server.rows('Animal'));
  await client.transact([{ op: 'insert', table: 'Animal', row: { name: 'ant', legs: 6 } }]);
  const names = (await server.rows('Animal')).map((row) => row['name']);
  assert.deepEqual(new Set(names), new Set(['ant', 'emu']));
  const twice = [{ op: 'insert', table: 'Animal', row: { name: 'emu' } }];
  await assert.rejects(server.transact(twice), /constraint violation/);
  assert.equal((await server.rows('Animal')).length, 2);
});

test('a client sees what the program itself changes, and comes back when it was cut off', async () => {
  await using server = await startOvsdb({ schema });
  const remote = server.address;
  await using client = await connectOvsdb({ remote, database: 'Zoo', backoffMinMs: 20 });
  await using monitor = client.monitor({ Animal: true });
  await monitor.ready;
  await server.transact([{ op: 'insert', table: 'Animal', row: { name: 'emu' } }]);
  for await (const change of monitor) {
    if (change.kind === 'update') break;
  }
  server.server.reconnect(true, 'a test asked for it');
  await server.transact([{ op: 'insert', table: 'Animal', row: { name: 'ant' } }]);
  const [result] = await client.transact([{ op: 'select', table: 'Animal', where: [] }]);
  assert.equal((result as { rows: object[] }).rows.length, 2);
});

test('a database in a file is there again', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'start-ovsdb-'));
  try {
    const file = join(folder, 'zoo.db');
    {
      await using server = await startOvsdb({ schema, file });
      await server.transact([{ op: 'insert', table: 'Animal', row: { name: 'emu' } }]);
    }
    const remotes = [`punix:${join(folder, 'db.sock')}`];
    await using server = await startOvsdb({ schema, file, remotes });
    assert.equal((await server.rows('Animal')).length, 1);
    assert.equal(server.address, `unix:${join(folder, 'db.sock')}`);
    await using client = await connectOvsdb({ remote: server.address, database: 'Zoo' });
    const [result] = await client.transact([{ op: 'delete', table: 'Animal', where: [] }]);
    assert.deepEqual(result, { count: 1 });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('what cannot be started says why', async () => {
  await assert.rejects(startOvsdb({ schema: '{' }), /not JSON/);
  await assert.rejects(startOvsdb({ schema: { name: 'Zoo' } }), /'tables' member is missing/);
  const data = { Cage: [{}] };
  await assert.rejects(startOvsdb({ schema, data }), /No table named Cage/);
  await assert.rejects(startOvsdb({ schema, remotes: ['ptcp:0:192.0.2.1'] }), /ptcp:0:192.0.2.1/);
  await assert.rejects(startOvsdb({ schema, signal: AbortSignal.abort() }), { name: 'AbortError' });
});
