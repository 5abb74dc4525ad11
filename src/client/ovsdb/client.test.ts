/** The client against servers that do as the test says. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Json, JsonObject } from '../../ovsdb/index.ts';
import type { Change } from './change-queue.ts';
import {
  type ConnectOvsdbOptions,
  connectOvsdb,
  type OvsdbClient,
  OvsdbErrorCode,
} from './index.ts';
import { type Received, Refuse, ScriptedServer, serverRow } from './scripted-server-test-helper.ts';

const A = 'a0000000-0000-4000-8000-000000000001';
const B = 'b0000000-0000-4000-8000-000000000002';
const TXN = 'c0000000-0000-4000-8000-00000000000';

async function serverOf(t: TestContext): Promise<ScriptedServer> {
  const server = await ScriptedServer.start();
  t.after(() => server.stop());
  return server;
}

async function clientOf(
  t: TestContext,
  servers: readonly ScriptedServer[],
  options: Partial<ConnectOvsdbOptions> = {},
): Promise<OvsdbClient> {
  const client = await connectOvsdb({
    remote: servers.map(({ address }) => address),
    database: 'D',
    backoffMinMs: 10,
    connectTimeoutMs: 3000,
    ...options,
  });
  t.after(() => client.close());
  return client as OvsdbClient;
}

async function until(isSo: () => boolean): Promise<void> {
  for (let i = 0; i < 300; i++) {
    if (isSo()) return;
    await sleep(10);
  }
  assert.fail('it never happens');
}

/** Takes changes of a monitor as they come. */
function collect(monitor: AsyncIterable<unknown>): Change[] {
  const changes: Change[] = [];
  void (async () => {
    for await (const change of monitor) changes.push(change as Change);
  })().catch(() => {});
  return changes;
}

/** `kind: table-less rows` as text, for comparisons. */
function told(changes: readonly Change[]): string[] {
  return changes.map(
    ({ kind, rows }) =>
      `${kind}: ${rows.map((row) => `${row.kind} ${row.after?.['name'] ?? row.before?.['name']}`).join(', ')}`,
  );
}

const isWatch = ({ method }: Received): boolean =>
  method.startsWith('monitor') && method !== 'monitor_cancel';

test('a transaction gives results; one that fails says which operation', async (t) => {
  const server = await serverOf(t);
  server.answer = ({ params }) =>
    (params[1] as JsonObject)['op'] === 'insert'
      ? [{ uuid: ['uuid', A] }]
      : [null, { error: 'constraint violation', details: 'no' }];
  const client = await clientOf(t, [server]);
  const insert = { op: 'insert', table: 'T', row: { name: 'x' } };
  assert.deepEqual(await client.transact([insert]), [{ uuid: ['uuid', A] }]);
  const failing = client.transact([{ op: 'delete', table: 'T', where: [] }, insert]);
  await assert.rejects(failing, {
    code: OvsdbErrorCode.transaction,
    tag: 'constraint violation',
    operation: 1,
  });
});

test('a request that is refused as a whole says why', async (t) => {
  const server = await serverOf(t);
  server.answer = () => {
    throw new Refuse({ error: 'unknown database', details: 'nothing here' });
  };
  const client = await clientOf(t, [server]);
  await assert.rejects(client.request('get_schema', ['X']), {
    code: OvsdbErrorCode.request,
    message: 'get_schema refused: unknown database: nothing here',
  });
});

test('a transaction under way when the connection ends is of unknown outcome', async (t) => {
  const server = await serverOf(t);
  server.answer = (_, connection) => {
    connection.drop();
    return undefined;
  };
  const client = await clientOf(t, [server]);
  await assert.rejects(client.transact([{ op: 'insert', table: 'T', row: {} }]), {
    code: OvsdbErrorCode.outcomeUnknown,
  });
  assert.equal(server.of('transact').length, 1, 'it is not sent twice');
});

test('one that only reads is sent again', async (t) => {
  const server = await serverOf(t);
  server.answer = (_, connection) => {
    if (server.of('transact').length > 1) return [{ rows: [] }];
    connection.drop();
    return undefined;
  };
  const client = await clientOf(t, [server]);
  assert.deepEqual(await client.transact([{ op: 'select', table: 'T', where: [] }]), [
    { rows: [] },
  ]);
  assert.equal(server.of('transact').length, 2);
});

test('one that is not answered in time is cancelled, and of unknown outcome', async (t) => {
  const server = await serverOf(t);
  const client = await clientOf(t, [server]);
  const waiting = client.transact([{ op: 'insert', table: 'T', row: {} }], { timeoutMs: 50 });
  await assert.rejects(waiting, { code: OvsdbErrorCode.outcomeUnknown });
  await until(() => server.of('cancel').length === 1);
  assert.deepEqual(server.of('cancel')[0]?.params, [server.of('transact')[0]?.id]);
  // Its reply, when it comes all the same, is nothing out of order.
  server.last.send({ id: server.of('transact')[0]?.id as Json, result: null, error: 'canceled' });
  await sleep(30);
  assert.equal(client.isConnected, true);
  assert.equal(server.connections.length, 1);
});

test('one that finds no server in time was not sent', async (t) => {
  const server = await serverOf(t);
  const client = await clientOf(t, [server]);
  server.stop();
  await until(() => !client.isConnected);
  const waiting = client.transact([{ op: 'insert', table: 'T', row: {} }], { timeoutMs: 60 });
  await assert.rejects(waiting, { code: OvsdbErrorCode.notSent });
});

test('connecting where nobody listens fails in time', async (t) => {
  const server = await serverOf(t);
  const options = { remote: server.address, database: 'D', connectTimeoutMs: 100 };
  server.stop();
  await assert.rejects(connectOvsdb(options), { code: OvsdbErrorCode.connect });
  await assert.rejects(connectOvsdb({ remote: 'nonsense', database: 'D' }), {
    code: OvsdbErrorCode.address,
  });
});

test('a server without the database will not do', async (t) => {
  const server = await serverOf(t);
  server.row = null;
  const options = { remote: server.address, database: 'D', connectTimeoutMs: 100 };
  await assert.rejects(connectOvsdb(options), /it has no database D/);
});

test('of a cluster the leader is chosen, and followed', async (t) => {
  const servers = await Promise.all([serverOf(t), serverOf(t), serverOf(t)]);
  const [first, second, third] = servers as [ScriptedServer, ScriptedServer, ScriptedServer];
  const clustered = (leader: boolean, index: number, connected = true): JsonObject =>
    serverRow({ model: 'clustered', leader, index, connected });
  first.row = clustered(false, 10);
  second.row = clustered(true, 10);
  third.row = clustered(true, 10, false);
  const client = await clientOf(t, servers);
  assert.equal(client.address, second.address);
  // It says that it leads no more; the third has not caught up, the first leads.
  first.row = clustered(true, 12);
  third.row = clustered(true, 11);
  second.row = clustered(false, 12);
  second.last.notify('update2', 'server', {
    Database: { 'a-row': { modify: { leader: false, index: 12 } } },
  });
  await until(() => client.address === first.address);
});

test('data older than what was seen is refused, even of a leader', async (t) => {
  const servers = await Promise.all([serverOf(t), serverOf(t)]);
  const [first, second] = servers as [ScriptedServer, ScriptedServer];
  const clustered = (leader: boolean, index: number): JsonObject =>
    serverRow({ model: 'clustered', leader, index });
  first.row = clustered(true, 10);
  second.row = clustered(false, 10);
  const client = await clientOf(t, servers);
  assert.equal(client.address, first.address);
  first.last.notify('update2', 'server', { Database: { 'a-row': { modify: { index: 20 } } } });
  await sleep(20);
  second.row = clustered(true, 19);
  first.row = clustered(false, 20);
  first.last.drop();
  await sleep(100);
  assert.equal(client.isConnected, false);
  second.row = clustered(true, 20);
  await until(() => client.address === second.address);
});

test('a monitor goes on where it was after a reconnect', async (t) => {
  const server = await serverOf(t);
  const initial = { T: { [A]: { initial: { name: 'a', tags: ['set', ['x', 'y']] } } } };
  server.answer = (request) => {
    if (request.method !== 'monitor_cond_since') return undefined;
    if (request.params[3] === `${TXN}2`) {
      return [true, `${TXN}3`, { T: { [A]: { modify: { tags: 'x' } } } }];
    }
    return [false, `${TXN}1`, initial];
  };
  const client = await clientOf(t, [server]);
  const monitor = client.monitor({ T: ['name', 'tags'] });
  const changes = collect(monitor);
  await monitor.ready;
  const id = server.of('monitor_cond_since')[0]?.params[1] as Json;
  const update = { T: { [B]: { insert: { name: 'b' } } } };
  server.last.notify('update3', id, `${TXN}2`, update);
  await until(() => changes.length === 2);
  server.last.drop();
  await until(() => changes.length === 3);
  assert.deepEqual(told(changes), ['initial: insert a', 'update: insert b', 'resync: modify a']);
  assert.deepEqual(monitor.rows('T').get(A), { _uuid: A, name: 'a', tags: ['y'] });
  assert.equal(monitor.lastTransaction, `${TXN}3`);
});

test('a server that has forgotten us is compared with what we have', async (t) => {
  const server = await serverOf(t);
  let content: JsonObject = {
    [A]: { initial: { name: 'a' } },
    [B]: { initial: { name: 'b' } },
  };
  server.answer = ({ method }) => {
    if (method === 'monitor_cond_since') throw new Refuse('unknown method');
    return method === 'monitor_cond' ? { T: content } : undefined;
  };
  const client = await clientOf(t, [server]);
  const monitor = client.monitor({ T: true });
  const changes = collect(monitor);
  await monitor.ready;
  content = {
    [A]: { initial: { name: 'a', n: 7 } },
    [TXN + 9]: { initial: { name: 'new' } },
  };
  server.last.drop();
  await until(() => changes.length === 2);
  assert.deepEqual(told(changes), [
    'initial: insert a, insert b',
    'resync: modify a, insert new, delete b',
  ]);
  assert.deepEqual([...monitor.rows('T').keys()], [A, TXN + 9]);
  server.last.drop();
  await until(() => server.connections.length === 3 && client.isConnected);
  await sleep(30);
  assert.equal(changes.length, 2, 'the same content is no change');
});

test('one that has forgotten only where we were is compared too', async (t) => {
  const server = await serverOf(t);
  let content: JsonObject = { [A]: { initial: { name: 'a' } } };
  server.answer = ({ method }) =>
    method === 'monitor_cond_since' ? [false, `${TXN}1`, { T: content }] : undefined;
  const client = await clientOf(t, [server]);
  const monitor = client.monitor({ T: true });
  const changes = collect(monitor);
  await monitor.ready;
  content = { [B]: { initial: { name: 'b' } } };
  server.last.drop();
  await until(() => changes.length === 2);
  assert.deepEqual(told(changes), ['initial: insert a', 'resync: insert b, delete a']);
});

test('a server that knows the oldest request only is watched all the same', async (t) => {
  const server = await serverOf(t);
  server.answer = ({ method }) => {
    if (method !== 'monitor') throw new Refuse('unknown method');
    return { T: { [A]: { new: { name: 'a', n: ['set', []], tags: 't', kv: ['map', []] } } } };
  };
  const client = await clientOf(t, [server]);
  const monitor = client.monitor({ T: true });
  const changes = collect(monitor);
  await monitor.ready;
  const id = server.of('monitor')[0]?.params[1] as Json;
  const row = { name: 'a', n: 3, tags: 't', kv: ['map', [['k', 'v']]] };
  server.last.notify('update', id, { T: { [A]: { old: { n: ['set', []] }, new: row } } });
  server.last.notify('update', id, { T: { [A]: { old: row } } });
  await until(() => changes.length === 3);
  assert.deepEqual(told(changes), ['initial: insert a', 'update: modify a', 'update: delete a']);
  assert.deepEqual(changes[1]?.rows[0]?.after, {
    _uuid: A,
    name: 'a',
    n: 3,
    tags: ['t'],
    kv: new Map([['k', 'v']]),
  });
});

test('updates in the same packet as the first reply come after it', async (t) => {
  const server = await serverOf(t);
  server.answer = ({ method, params, id }, connection) => {
    if (method !== 'monitor_cond_since') return undefined;
    const result = [false, `${TXN}1`, { T: { [A]: { initial: { name: 'a' } } } }];
    const update = [params[1] as Json, `${TXN}2`, { T: { [A]: { delete: null } } }];
    connection.send({ id, result, error: null }, { id: null, method: 'update3', params: update });
    return undefined;
  };
  const client = await clientOf(t, [server]);
  const monitor = client.monitor({ T: true });
  const changes = collect(monitor);
  await until(() => changes.length === 2);
  assert.deepEqual(told(changes), ['initial: insert a', 'update: delete a']);
});

test('a condition that was not confirmed makes everything be compared', async (t) => {
  const server = await serverOf(t);
  server.answer = ({ method }) =>
    method === 'monitor_cond_since' ? [false, `${TXN}1`, {}] : undefined;
  const client = await clientOf(t, [server]);
  const monitor = client.monitor({ T: { columns: ['name'], where: [false] } });
  await monitor.ready;
  const changed = monitor.setCondition('T', [['n', '==', 1]]);
  await until(() => server.of('monitor_cond_change').length === 1);
  server.last.drop();
  await changed;
  const [first, second] = server.of('monitor_cond_since');
  assert.deepEqual(first?.params[2], { T: [{ columns: ['name'], where: [false] }] });
  assert.deepEqual(second?.params[2], { T: [{ columns: ['name'], where: [['n', '==', 1]] }] });
  assert.equal(second?.params[3], '00000000-0000-0000-0000-000000000000');
});

test('a difference of a row that never was makes the client start over', async (t) => {
  const server = await serverOf(t);
  server.answer = ({ method }) =>
    method === 'monitor_cond_since' ? [false, `${TXN}1`, {}] : undefined;
  const client = await clientOf(t, [server]);
  const monitor = client.monitor({ T: true });
  await monitor.ready;
  const id = server.of('monitor_cond_since')[0]?.params[1] as Json;
  server.last.notify('update3', id, `${TXN}2`, { T: { [A]: { modify: { name: 'x' } } } });
  await until(() => server.of('monitor_cond_since').length === 2);
  assert.equal(
    server.of('monitor_cond_since')[1]?.params[3],
    '00000000-0000-0000-0000-000000000000',
  );
});

test('a table that the server has not is refused to its monitor only', async (t) => {
  const server = await serverOf(t);
  const client = await clientOf(t, [server]);
  await assert.rejects(client.monitor({ X: true }).ready, { code: OvsdbErrorCode.schema });
  await assert.rejects(client.monitor({ T: ['x'] }).ready, /no column x/);
  assert.equal(client.isConnected, true);
  assert.equal(server.received.filter(isWatch).length, 1, 'only _Server is watched');
});

test('a lock is asked for again after a reconnect, and says what happens', async (t) => {
  const server = await serverOf(t);
  server.answer = ({ method }) => {
    if (method === 'lock') return { locked: server.connections.length > 1 };
    return method === 'unlock' ? {} : undefined;
  };
  const client = await clientOf(t, [server]);
  const lock = client.lock('l');
  const events: string[] = [];
  const watching = (async () => {
    for await (const event of lock.events()) events.push(event);
  })();
  await until(() => server.of('lock').length === 1);
  assert.equal(lock.held, false);
  server.last.notify('locked', 'l');
  await lock.acquired();
  server.last.notify('stolen', 'l');
  await until(() => !lock.held);
  server.last.notify('locked', 'l');
  await lock.acquired();
  server.last.drop();
  await until(() => events.length === 5);
  await lock.release();
  await watching;
  assert.deepEqual(
    events,
    ['acquired', 'lost', 'acquired', 'lost', 'acquired', 'lost'].slice(0, 5),
  );
  client.lock('m');
  assert.throws(() => client.lock('m'), { code: OvsdbErrorCode.limit });
});

test('a silent server is left', async (t) => {
  const server = await serverOf(t);
  const client = await clientOf(t, [server], { probeMs: 30 });
  // Everything arrives, and nothing is answered any more.
  server.answer = () => undefined;
  const silent = server.last;
  silent.send = () => {};
  await until(() => server.connections.length >= 2);
  await until(() => client.isConnected);
});

test('closing ends everything: waits, monitors, locks', async (t) => {
  const server = await serverOf(t);
  server.answer = ({ method }) =>
    method === 'monitor_cond_since' ? [false, `${TXN}1`, {}] : undefined;
  const client = await clientOf(t, [server]);
  const monitor = client.monitor({ T: true });
  await monitor.ready;
  const ended = (async () => {
    for await (const change of monitor) assert.equal(change.kind, 'initial');
  })();
  const lock = client.lock('l');
  const acquired = assert.rejects(lock.acquired(), { code: OvsdbErrorCode.closed });
  const transaction = assert.rejects(client.transact([{ op: 'insert', table: 'T', row: {} }]), {
    code: OvsdbErrorCode.outcomeUnknown,
  });
  await until(() => server.of('transact').length === 1);
  await client[Symbol.asyncDispose]();
  await Promise.all([ended, acquired, transaction]);
  await assert.rejects(client.transact([]), { code: OvsdbErrorCode.closed });
});

test('a signal closes the client', async (t) => {
  const server = await serverOf(t);
  const controller = new AbortController();
  const client = await clientOf(t, [server], { signal: controller.signal });
  controller.abort();
  await assert.rejects(client.transact([]), { code: OvsdbErrorCode.closed });
});
