/** The client library against ovsdb-server, the original's and ours. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { connectOvsdb, OvsdbErrorCode } from '../src/client/ovsdb/index.ts';
import { lacking, until, type Whose, World } from './e2e/ovsdb-programs.ts';
import { certificatesMissing, makeCertificates } from './ovsdb-peer/certificates.ts';

const schema = {
  name: 'D',
  version: '1.0.0',
  tables: {
    T: {
      isRoot: true,
      indexes: [['name']],
      columns: {
        name: { type: 'string' },
        n: { type: { key: 'integer', min: 0, max: 1 } },
        tags: { type: { key: 'string', min: 0, max: 'unlimited' } },
        kv: { type: { key: 'string', value: 'integer', min: 0, max: 'unlimited' } },
        refs: { type: { key: { type: 'uuid', refTable: 'U' }, min: 0, max: 'unlimited' } },
      },
    },
    U: { columns: { x: { type: 'real' } } },
  },
} as const;

async function worldOf(t: TestContext, whose: Whose): Promise<World> {
  const world = new World();
  t.after(() => world.end());
  writeFileSync(world.path('D.ovsschema'), JSON.stringify(schema));
  await world.startServer(whose, { schemas: [world.path('D.ovsschema')], socket: 's' });
  return world;
}

const sides: readonly Whose[] = ['theirs', 'ours'];
const skip = lacking(['ovsdb-server', 'ovsdb-tool']);

for (const whose of sides)
  test(`rows go there and come back as they were (${whose})`, { skip }, async (t) => {
    const world = await worldOf(t, whose);
    await using client = await connectOvsdb({
      remote: `unix:${world.path('s')}`,
      database: 'D',
      schema,
    });
    const row = await client.row('T', {
      name: 'x',
      n: 9_007_199_254_740_993n,
      tags: ['b', 'a'],
      kv: new Map([
        ['q', 2],
        ['p', 1],
      ]),
    });
    const [inserted] = await client.transact([{ op: 'insert', table: 'T', row }]);
    const [, uuid] = (inserted as { uuid: readonly [string, string] }).uuid;
    const [read] = await client.select('T', [['name', '==', 'x']]);
    assert.deepEqual(read, {
      _uuid: uuid,
      name: 'x',
      n: 9_007_199_254_740_993n,
      tags: ['a', 'b'],
      kv: new Map([
        ['p', 1],
        ['q', 2],
      ]),
      refs: [],
    });
    await assert.rejects(client.transact([{ op: 'insert', table: 'T', row }]), {
      code: OvsdbErrorCode.transaction,
      tag: 'constraint violation',
      operation: null,
    });
    await assert.rejects(client.row('T', { tags: 'no set' as never, n: 'x' as never }), {
      code: OvsdbErrorCode.schema,
    });
  });

for (const whose of sides)
  test(`a monitor follows transactions, conditions and a restart of the server (${whose})`, {
    skip,
  }, async (t) => {
    const world = new World();
    t.after(() => world.end());
    writeFileSync(world.path('D.ovsschema'), JSON.stringify(schema));
    const start = () =>
      world.startServer(whose, { schemas: [world.path('D.ovsschema')], socket: 's' });
    const server = await start();
    await using client = await connectOvsdb({
      remote: `unix:${world.path('s')}`,
      database: 'D',
      schema,
      backoffMinMs: 20,
    });
    const insert = (name: string, n: number) =>
      ({ op: 'insert', table: 'T', row: { name, n } }) as const;
    await client.transact([insert('a', 1), insert('b', 2)]);
    const monitor = client.monitor({
      T: { columns: ['name', 'n', 'tags'], where: [['n', '<', 2]] },
    });
    const seen: string[] = [];
    void (async () => {
      for await (const { kind, rows } of monitor) {
        const changes = rows.map((row) => `${row.kind} ${(row.after ?? row.before)?.name}`);
        seen.push(`${kind}: ${changes.sort().join(', ')}`);
      }
    })();
    await monitor.ready;
    await client.transact([insert('c', 3)]);
    await client.transact([
      {
        op: 'update',
        table: 'T',
        where: [['name', '==', 'a']],
        row: { tags: ['set', ['x', 'y']] },
      },
    ]);
    assert.deepEqual(
      [...monitor.rows('T').values()].map(({ tags }) => tags),
      [['x', 'y']],
    );
    await monitor.setCondition('T', null);
    assert.equal(monitor.rows('T').size, 3);
    await world.stop(server);
    await until(
      () => !client.isConnected,
      5000,
      () => 'still connected',
    );
    await start();
    await client.transact([{ op: 'delete', table: 'T', where: [['name', '==', 'b']] }]);
    await until(
      () => monitor.rows('T').size === 2,
      5000,
      () => `${seen.join('\n')}`,
    );
    await monitor.setCondition('T', [['name', '==', 'c']]);
    assert.deepEqual(
      [...monitor.rows('T').values()].map(({ name }) => name),
      ['c'],
    );
    await monitor.close();
    assert.equal(seen[0], 'initial: insert a');
    assert.ok(seen.includes('update: insert b, insert c'), seen.join('\n'));
    assert.ok(
      seen.some((line) => /^(resync|update): delete b$/.test(line)),
      seen.join('\n'),
    );
  });

for (const whose of sides)
  test(`after a conversion a monitor has the new columns (${whose})`, { skip }, async (t) => {
    const world = await worldOf(t, whose);
    await using client = await connectOvsdb({ remote: `unix:${world.path('s')}`, database: 'D' });
    await client.transact([{ op: 'insert', table: 'T', row: { name: 'a', n: 1 } }]);
    const monitor = client.monitor({ T: true });
    await monitor.ready;
    const { T, U } = schema.tables;
    const columns = { ...T.columns, more: { type: 'string' } };
    const next = { ...schema, version: '2.0.0', tables: { T: { ...T, columns }, U } };
    await client.request('convert', ['D', next as never]);
    await until(
      () => [...monitor.rows('T').values()].some((row) => row['more'] === ''),
      5000,
      () => 'the column does not appear',
    );
    assert.equal((await client.schema()).version, '2.0.0');
    await client.transact([{ op: 'update', table: 'T', where: [], row: { more: 'y' } }]);
    assert.deepEqual(
      [...monitor.rows('T').values()].map((row) => row['more']),
      ['y'],
    );
  });

for (const whose of sides)
  test(`locks wait, are stolen, and come back (${whose})`, { skip }, async (t) => {
    const world = await worldOf(t, whose);
    const remote = `unix:${world.path('s')}`;
    await using first = await connectOvsdb({ remote, database: 'D' });
    await using second = await connectOvsdb({ remote, database: 'D' });
    const [mine, yours] = [first.lock('l'), second.lock('l')];
    await mine.acquired();
    const guarded = [
      { op: 'assert', lock: 'l' },
      { op: 'insert', table: 'T', row: {} },
    ];
    await assert.rejects(second.transact(guarded), { tag: 'not owner', operation: 0 });
    await first.transact(guarded);
    assert.equal(yours.held, false);
    await yours.steal();
    assert.equal(yours.held, true);
    await until(
      () => !mine.held,
      2000,
      () => 'the loss is not told',
    );
    await yours.release();
    await mine.acquired();
  });

for (const whose of sides)
  test(`a wait that is given up is cancelled at the server (${whose})`, { skip }, async (t) => {
    const world = await worldOf(t, whose);
    await using client = await connectOvsdb({ remote: `unix:${world.path('s')}`, database: 'D' });
    const operation = {
      op: 'wait',
      table: 'T',
      where: [],
      columns: ['name'],
      until: '==',
      rows: [{ name: 'never' }],
    };
    const options = { signal: AbortSignal.timeout(100) };
    await assert.rejects(client.transact([operation], options), {
      code: OvsdbErrorCode.outcomeUnknown,
    });
    assert.deepEqual(await client.transact([{ op: 'comment', comment: 'still here' }]), [{}]);
  });

for (const whose of sides) {
  const without = skip || certificatesMissing();
  test(`over TLS (${whose})`, { skip: without }, async (t) => {
    const world = new World();
    t.after(() => world.end());
    makeCertificates(world.folder);
    writeFileSync(world.path('D.ovsschema'), JSON.stringify(schema));
    const files = ['-p', world.path('key.pem'), '-c', world.path('chain.pem')];
    await world.startServer(whose, {
      schemas: [world.path('D.ovsschema')],
      socket: 's',
      parameters: ['--remote=pssl:0:127.0.0.1', ...files, '-C', world.path('cacert.pem')],
    });
    const port = (): string | undefined =>
      /listening on port (\d+)/.exec(readFileSync(world.path('s.log'), 'utf8'))?.[1];
    await until(
      () => port() !== undefined,
      5000,
      () => 'it listens nowhere',
    );
    const remote = `ssl:127.0.0.1:${port()}`;
    const tls = {
      privateKey: world.path('key.pem'),
      certificate: world.path('cert.pem'),
      caCert: world.path('cacert.pem'),
    };
    await using client = await connectOvsdb({ remote, database: 'D', tls });
    assert.deepEqual(await client.transact([{ op: 'comment', comment: 'x' }]), [{}]);
    assert.equal(client.address, remote);
    const stranger = { ...tls, caCert: world.path('key.pem') };
    const refused = connectOvsdb({ remote, database: 'D', tls: stranger, connectTimeoutMs: 500 });
    await assert.rejects(refused, { code: OvsdbErrorCode.connect });
    await assert.rejects(connectOvsdb({ remote, database: 'D' }), {
      code: OvsdbErrorCode.address,
    });
  });
}
