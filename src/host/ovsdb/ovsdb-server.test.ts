/** The server over real sockets: framing, order, slow and hostile clients, files, permissions. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Json, JsonObject } from '../../ovsdb/index.ts';
import { defaultRemoteOptions } from './options.ts';
import { insertItem, RawClient, schema } from './ovsdb-server-test-helper.ts';
import { startOvsdb } from './start-ovsdb.ts';

function folder(t: { after(done: () => void): void }): string {
  const path = fs.mkdtempSync(join(tmpdir(), 'ovsdb-server-'));
  t.after(() => fs.rmSync(path, { recursive: true, force: true }));
  return path;
}

const countOf = (results: readonly Json[]): number =>
  ((results[0] as JsonObject)['rows'] as Json[]).length;

test('several requests in one segment are answered in order', async () => {
  await using ovsdb = await startOvsdb({ schema });
  const client = await RawClient.connect(ovsdb.address);
  const ids = Array.from({ length: 300 }, (_, i) => i);
  client.socket.write(
    ids.map((id) => JSON.stringify({ id, method: 'echo', params: [id] })).join('\n'),
  );
  await client.until(() => client.messages.length === 300);
  assert.deepEqual(
    client.messages.map(({ id }) => id),
    ids,
  );
  client.close();
});

test('a request may come byte by byte', async () => {
  await using ovsdb = await startOvsdb({ schema, data: { item: [{ name: 'é' }] } });
  const client = await RawClient.connect(ovsdb.address);
  const where = [['name', '==', 'é']];
  const params = ['shop', { op: 'select', table: 'item', where, columns: ['name'] }];
  for (const byte of Buffer.from(JSON.stringify({ id: 'x', method: 'transact', params }))) {
    client.socket.write(Buffer.of(byte));
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.deepEqual(await client.reply('x'), {
    id: 'x',
    result: [{ rows: [{ name: 'é' }] }],
    error: null,
  });
  client.close();
});

test('who sends nothing more still gets what it asked for, then the end', async (t) => {
  const file = join(folder(t), 'db');
  await using ovsdb = await startOvsdb({ schema, file });
  const client = await RawClient.connect(ovsdb.address);
  client.write({ id: 1, method: 'transact', params: ['shop', insertItem('a')] });
  client.socket.end();
  await client.reply(1);
  await client.until(() => client.isClosed);
});

test('what is no JSON closes only the connection that it came on', async () => {
  await using ovsdb = await startOvsdb({ schema });
  const witness = await RawClient.connect(ovsdb.address);
  const hostile = [
    'hello',
    '[1]',
    '{"method":"echo","id":1}',
    '{"method":"echo","params":{},"id":1}',
    '{"method":"echo","params":[],"id":1,"jsonrpc":"2.0"}',
    '{"id":5,"result":1,"error":null}',
    '['.repeat(2000),
    '{"id":1,"method":"echo","params":["\u0001"]}',
    '{"id":1,"method":"echo","params":["\\u0000"]}',
    '{"id":1,"method":"echo","params":["\\ud800"]}',
    '{"id":1,"method":"echo","params":[1e400]}',
    '{"id":1,"method":"echo","params":[01]}',
    '{"id":1,"method":"echo","params":[1,]}',
  ];
  for (const text of hostile) {
    const client = await RawClient.connect(ovsdb.address);
    client.socket.write(text);
    await client.until(() => client.isClosed);
    assert.deepEqual(client.messages, [], text);
  }
  assert.deepEqual(await witness.request('echo', ['there'], 'w'), ['there']);
  witness.close();
});

test('answers before a malformed message still arrive', async () => {
  await using ovsdb = await startOvsdb({ schema });
  const client = await RawClient.connect(ovsdb.address);
  client.socket.write('{"id":1,"method":"echo","params":[]}{"id":2,"method":"echo","params":[]}]');
  await client.until(() => client.isClosed);
  assert.deepEqual(
    client.messages.map(({ id }) => id),
    [1, 2],
  );
});

test('a reader that stops gets one merged update for all that it missed', async () => {
  await using ovsdb = await startOvsdb({ schema });
  const reader = await RawClient.connect(ovsdb.address);
  await reader.request('monitor', ['shop', 'm', { item: [{}] }], 'm');
  reader.socket.pause();
  const writer = await RawClient.connect(ovsdb.address);
  const rounds = 300;
  const text = 'x'.repeat(100_000);
  await ovsdb.transact([insertItem('a')]);
  for (let i = 1; i <= rounds; i++) {
    const row = { price: i, tags: `${text}${i}` };
    await writer.request('transact', ['shop', { op: 'update', table: 'item', where: [], row }], i);
  }
  // 30 MB were written; what waits for the reader is what the kernel took and little more.
  assert(Number(ovsdb.server.memory()['backlog']) < 1_000_000, 'the backlog is bounded');
  reader.messages.length = 0;
  reader.socket.resume();
  const price = (): Json => {
    const params = (reader.messages.at(-1)?.['params'] ?? [0, {}]) as [Json, JsonObject];
    const [update] = Object.values((params[1]['item'] ?? {}) as { [uuid: string]: JsonObject });
    return (update?.['new'] as JsonObject | undefined)?.['price'] ?? 0;
  };
  await reader.until(() => price() === rounds);
  assert(reader.messages.length < rounds / 2, `${reader.messages.length} updates: merged`);
  reader.close();
  writer.close();
});

test('500 idle connections, and 50 clients at once that ask one thing each', async () => {
  await using ovsdb = await startOvsdb({ schema });
  const idle = await Promise.all(
    Array.from({ length: 500 }, () => RawClient.connect(ovsdb.address)),
  );
  await Promise.all(
    idle.map((client, i) => client.request('monitor', ['shop', i, { item: [{}] }], i)),
  );
  const once = Array.from({ length: 50 }, async (_, i) => {
    const client = await RawClient.connect(ovsdb.address);
    const result = await client.request('transact', ['shop', insertItem(`i${i}`)], 1);
    client.close();
    return result;
  });
  for (const result of await Promise.all(once)) assert(Array.isArray(result));
  assert.equal(ovsdb.rows('item').length, 50);
  const names = (client: RawClient): number => {
    const updates = client.messages.filter(({ method }) => method === 'update');
    const rows = updates.map(({ params }) => (params as [Json, JsonObject])[1]['item']);
    return rows.reduce<number>((sum, update) => sum + Object.keys(update ?? {}).length, 0);
  };
  for (const client of idle) await client.until(() => names(client) === 50);
  for (const client of idle) client.close();
});

test('a unix socket takes the place of a file, is closed to others, and goes', async (t) => {
  const path = join(folder(t), 'server.sock');
  fs.writeFileSync(path, 'in the way');
  const ovsdb = await startOvsdb({ schema, remotes: [`punix:${path}`] });
  assert.equal(ovsdb.address, `unix:${path}`);
  const mode = fs.statSync(path).mode;
  assert(fs.statSync(path).isSocket());
  assert.equal(mode & 0o007, 0, 'nothing for others');
  assert.equal(mode & 0o700, 0o700);
  await ovsdb.transact([insertItem('a')]);
  await ovsdb.close();
  assert(!fs.existsSync(path));
});

test('a unix socket may be deeper than its address has room for', async (t) => {
  const deep = join(folder(t), 'd'.repeat(120));
  fs.mkdirSync(deep);
  await using ovsdb = await startOvsdb({ schema, remotes: [`punix:${join(deep, 's')}`] });
  await ovsdb.transact([insertItem('a')]);
  assert.equal(ovsdb.rows('item').length, 1);
});

test('remotes come and go, and others are not disturbed', async () => {
  await using ovsdb = await startOvsdb({ schema });
  const { server } = ovsdb;
  const first = await RawClient.connect(ovsdb.address);
  const both = new Map([
    ['ptcp:0:127.0.0.1', defaultRemoteOptions],
    ['ptcp:0:[::1]', { ...defaultRemoteOptions, readOnly: true }],
  ]);
  await server.setRemotes(both);
  const port = server.remoteStatus('ptcp:0:[::1]')?.boundPort;
  assert(typeof port === 'number', 'the port is told');
  const second = await RawClient.connect(ovsdb.address);
  await server.setRemotes(new Map([['ptcp:0:127.0.0.1', defaultRemoteOptions]]));
  assert.equal(server.remoteStatus('ptcp:0:[::1]'), null);
  assert.deepEqual(await first.request('echo', [], 1), []);
  assert.equal(server.remoteStatus('ptcp:0:127.0.0.1')?.connections, 2);
  await server.setRemotes(new Map());
  await first.until(() => first.isClosed);
  second.close();
});

test('the server calls clients that listen, and calls again', async (t) => {
  const net = await import('node:net');
  const path = join(folder(t), 'manager.sock');
  await using ovsdb = await startOvsdb({ schema });
  const listening = net.createServer();
  const sockets: import('node:net').Socket[] = [];
  const came = () => new Promise<void>((resolve) => listening.once('connection', () => resolve()));
  listening.on('connection', (socket) => sockets.push(socket));
  await new Promise<void>((resolve) => listening.listen(path, resolve));
  t.after(() => listening.close());
  const first = came();
  const target = `unix:${path}`;
  await ovsdb.server.setRemotes(
    new Map([
      ['ptcp:0:127.0.0.1', defaultRemoteOptions],
      [target, defaultRemoteOptions],
    ]),
  );
  await first;
  const answered = new Promise<string>((resolve) => {
    sockets[0]?.once('data', (chunk) => resolve(String(chunk)));
  });
  sockets[0]?.write('{"id":1,"method":"list_dbs","params":[]}');
  assert.match(await answered, /"shop"/);
  assert.equal(ovsdb.server.remoteStatus(target)?.state, 'ACTIVE');
  const again = came();
  sockets[0]?.destroy();
  await again;
  sockets[1]?.destroy();
});

test('a port that is taken is tried again until it is free', async () => {
  await using first = await startOvsdb({ schema });
  const port = first.address.split(':')[2];
  await using second = await startOvsdb({ schema });
  const target = `ptcp:${port}:127.0.0.1`;
  await second.server.setRemotes(
    new Map([
      ['ptcp:0:127.0.0.1', defaultRemoteOptions],
      [target, defaultRemoteOptions],
    ]),
  );
  assert.equal(second.server.remoteStatus(target), null);
  await first.close();
  while (second.server.remoteStatus(target) === null) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
});

test('what was acknowledged is there after the process was killed', async (t) => {
  const path = folder(t);
  const file = join(path, 'db');
  const program = `
    import { startOvsdb } from ${JSON.stringify(new URL('./start-ovsdb.ts', import.meta.url).href)};
    const schema = ${JSON.stringify(schema)};
    const ovsdb = await startOvsdb({ schema, file: ${JSON.stringify(file)} });
    process.stdout.write(ovsdb.address + '\\n');`;
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', program]);
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  const address = await new Promise<string>((resolve, reject) => {
    child.stdout.once('data', (chunk) => resolve(String(chunk).trim()));
    child.once('exit', () => reject(new Error(errors)));
  });
  const client = await RawClient.connect(address);
  let acknowledged = 0;
  for (let i = 0; i < 400; i++) {
    client.write({ id: i, method: 'transact', params: ['shop', insertItem(`i${i}`)] });
  }
  await client.until(() => client.messages.length >= 100);
  child.kill('SIGKILL');
  await new Promise((resolve) => child.once('close', resolve));
  await client.until(() => client.isClosed);
  acknowledged = client.messages.length;
  await using ovsdb = await startOvsdb({ schema, file });
  const rows = ovsdb.rows('item');
  assert(rows.length >= acknowledged, `${rows.length} rows of ${acknowledged}`);
  const names = new Set(rows.map(({ name }) => name));
  for (let i = 0; i < acknowledged; i++) assert(names.has(`i${i}`), `i${i} is missing`);
  assert.equal(countOf([{ rows }]), rows.length);
});

test('the schema, the data and the remote have to be right', async () => {
  await assert.rejects(startOvsdb({ schema: '{' }), /the schema is not JSON/);
  await assert.rejects(startOvsdb({ schema: { name: 'x' } }), /the schema cannot be used/);
  await assert.rejects(startOvsdb({ schema, data: { none: [{}] } }), /No table named none/);
  await assert.rejects(startOvsdb({ schema, remotes: ['ptcp:x'] }), /.+/);
});
