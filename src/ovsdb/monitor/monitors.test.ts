import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isError } from '../data/error.ts';
import { UUID_ZERO } from '../data/uuid.ts';
import { serialize } from '../json/serialize.ts';
import type { Json } from '../json/value.ts';
import { jsonOf, tablesOf } from '../transact/transact-test-helper.ts';
import { MonitoredDatabase, uuid } from './monitor-test-helper.ts';

const schema = tablesOf(`{"T":{"columns":{"name":{"type":"string"},"n":{"type":"integer"},
  "opt":{"type":{"key":"integer","min":0}},
  "set":{"type":{"key":"string","min":0,"max":"unlimited"}},
  "map":{"type":{"key":"string","value":"integer","min":0,"max":"unlimited"}}}},
  "U":{"columns":{"u":{"type":"integer"}}}}`);

const ALL = { T: { columns: ['name', 'n', 'opt', 'set', 'map'] } };

function insert(i: number, row: Json): Json {
  return { op: 'insert', table: 'T', uuid: uuid(i), row };
}

function update(i: number, row: Json): Json {
  return { op: 'update', table: 'T', where: [['_uuid', '==', ['uuid', uuid(i)]]], row };
}

function remove(i: number): Json {
  return { op: 'delete', table: 'T', where: [['_uuid', '==', ['uuid', uuid(i)]]] };
}

test('a slow reader gets one update of what is left of many', () => {
  const server = new MonitoredDatabase(schema);
  server.transact([insert(1, { name: 'a' }), insert(2, { name: 'b', set: ['set', ['x', 'y']] })]);
  const { monitor } = server.open('monitor_cond', 'm', ALL);
  const old = server.open('monitor', 'm', ALL).monitor;
  server.transact([insert(3, { name: 'c' })]);
  server.transact([update(1, { n: 1 })]);
  server.transact([remove(3), insert(4, { n: 4 })]);
  server.transact([update(1, { n: 2, name: 'A' }), update(4, { name: 'd' })]);
  server.transact([update(2, { set: ['set', ['y', 'z']], map: ['map', [['k', 1]]] })]);
  server.transact([update(2, { set: ['set', ['y', 'z', 'w']], opt: 7 })]);
  assert.equal(
    server.flush(monitor),
    `{"T":{"${uuid(1)}":{"modify":{"n":2,"name":"A"}},"${uuid(2)}":{"modify":{"map":["map",[["k",1]]],"opt":7,"set":["set",["w","x","z"]]}},"${uuid(4)}":{"insert":{"n":4,"name":"d"}}}}`,
  );
  const text = server.flush(old) ?? '';
  assert.match(text, /"new":\{"map":\["map",\[\]\],"n":2,"name":"A","opt":\["set",\[\]\]/);
  assert.match(text, /"old":\{"n":0,"name":"a"\}/);
  assert.equal(server.flush(monitor), null);
  server.transact([update(1, { n: 3 })]);
  server.transact([update(1, { n: 2 })]);
  assert.equal(server.flush(monitor), null);
  server.transact([remove(1)]);
  server.transact([insert(1, { name: 'A', n: 2, opt: 1 })]);
  assert.equal(server.flush(monitor), `{"T":{"${uuid(1)}":{"modify":{"opt":1}}}}`);
  assert.equal(server.flush(old)?.includes('"opt":1'), true);
});

test('changes of columns that are not monitored are no news', () => {
  const server = new MonitoredDatabase(schema);
  server.transact([insert(1, {})]);
  const { monitor } = server.open('monitor_cond', 'm', { T: { columns: ['name'] } });
  server.transact([update(1, { n: 5 })]);
  server.transact([{ op: 'insert', table: 'U', row: { u: 1 } }]);
  assert.deepEqual(server.monitors.pending(), []);
  assert.equal(server.flush(monitor), null);
});

test('a column that only the condition looks at moves rows in and out', () => {
  const server = new MonitoredDatabase(schema);
  server.transact([insert(1, { name: 'a' }), insert(2, { name: 'b', n: 1 })]);
  const where = [['n', '==', 1]];
  const { monitor, reply } = server.open('monitor_cond', 'm', { T: { columns: ['name'], where } });
  assert.equal(reply, `{"T":{"${uuid(2)}":{"initial":{"name":"b"}}}}`);
  server.transact([update(1, { n: 1 }), update(2, { n: 2 })]);
  assert.equal(
    server.flush(monitor),
    `{"T":{"${uuid(1)}":{"insert":{"name":"a"}},"${uuid(2)}":{"delete":null}}}`,
  );
  assert.equal(
    server.change(monitor, { T: [{ where: [['opt', '==', 3]] }] }),
    `{"T":{"${uuid(1)}":{"delete":null}}}`,
  );
  server.transact([update(2, { opt: 3 })]);
  assert.equal(server.flush(monitor), `{"T":{"${uuid(2)}":{"insert":{"name":"b"}}}}`);
});

test('new conditions of a reader that is behind look at rows as they are', () => {
  const server = new MonitoredDatabase(schema);
  server.transact([insert(1, { name: 'a' }), insert(2, { name: 'b' }), insert(3, { name: 'c' })]);
  const where = [['name', '!=', 'c']];
  const { monitor } = server.open('monitor_cond', 'm', { T: { columns: ['name'], where } });
  server.transact([update(1, { name: 'A' })]);
  // Nobody looks at this column yet, so it is not recorded.
  server.transact([update(1, { n: 9 }), update(3, { n: 9 })]);
  assert.equal(
    server.change(monitor, { T: [{ where: [['n', '==', 9]] }] }),
    `{"T":{"${uuid(1)}":{"modify":{"name":"A"}},"${uuid(2)}":{"delete":null},"${uuid(3)}":{"insert":{"name":"c"}}}}`,
  );
});

test('a change of conditions that is wrong anywhere changes nothing', () => {
  const server = new MonitoredDatabase(schema);
  server.transact([insert(1, { name: 'a' })]);
  const { monitor } = server.open('monitor_cond', 'm', { T: [{}], U: [{ where: [false] }] });
  const requests = jsonOf('{"T":[{"where":[false]}],"U":[{"where":[["x","==",1]]}]}');
  const changed = server.monitors.change(monitor, ['m', 'new', requests]);
  assert.ok(isError(changed) && changed.tag === 'unknown column');
  assert.equal(monitor.id, 'm');
  assert.equal(server.change(monitor, { T: [{ where: [true] }] }), null);
  assert.equal(
    server.change(monitor, { T: [{ where: [false] }] }, ['new']),
    `{"T":{"${uuid(1)}":{"delete":null}}}`,
  );
  assert.deepEqual(monitor.id, ['new']);
  server.transact([{ op: 'insert', table: 'U', uuid: uuid(7), row: {} }]);
  assert.equal(server.monitors.flush(monitor), null);
});

test('an id that the session uses already is refused where the original does', () => {
  const server = new MonitoredDatabase(schema);
  const taken = (id: Json): boolean => serialize(id) === '["x"]';
  const openedAs = (id: Json, requests: Json): string => {
    const opened = server.monitors.open('monitor_cond', ['D', id, requests], taken);
    return isError(opened) ? opened.details : 'opened';
  };
  assert.equal(openedAs(['x'], 5), 'monitor-requests must be object');
  assert.equal(openedAs(['x'], { Q: {} }), 'duplicate monitor ID');
  assert.equal(openedAs(['y'], { T: {} }), 'opened');
  const { monitor } = server.open('monitor_cond', 'm', ALL);
  const changedTo = (id: Json, requests: Json): string => {
    const changed = server.monitors.change(monitor, [monitor.id, id, requests], taken);
    return isError(changed) ? changed.details : 'changed';
  };
  assert.equal(changedTo(['x'], 5), 'duplicate monitor ID');
  assert.equal(changedTo('m', {}), 'changed');
  assert.equal(changedTo('z', 5), 'monitor-cond-change-requests must be object');
  assert.equal(changedTo('9'.repeat(2 ** 20), {}), 'the monitor ID is too long');
});

test('clients that come back are told what they missed', () => {
  const server = new MonitoredDatabase(schema, { historyMax: 3 });
  const since = (id: Json): string => {
    const { monitor, reply } = server.open(
      'monitor_cond_since',
      'm',
      { T: { columns: ['n'] } },
      id,
    );
    server.monitors.close(monitor);
    return reply;
  };
  assert.equal(since(UUID_ZERO), `[false,"${UUID_ZERO}",{}]`);
  server.transact(Array.from({ length: 9 }, (_, i) => insert(i, {})));
  const ids = [server.monitors.lastTxnId];
  for (let n = 1; n <= 3; n++) {
    server.transact([update(1, { n })]);
    ids.push(server.monitors.lastTxnId);
  }
  assert.equal(since(ids[3] as string), `[true,"${ids[3]}",{}]`);
  assert.equal(
    since(ids[1] as string),
    `[true,"${ids[3]}",{"T":{"${uuid(1)}":{"modify":{"n":3}}}}]`,
  );
  assert.match(since(ids[0] as string), new RegExp(`^\\[false,"${ids[3]}",.*initial`));
  assert.match(since(uuid(99)), /^\[false/);
  server.transact([update(1, { n: 4 })]);
  assert.match(since(ids[1] as string), /^\[false/);
  assert.match(since(ids[2] as string), /"modify":\{"n":4\}/);
  // All of the table at once weighs more than the database: only the latest is kept.
  server.transact([
    { op: 'update', table: 'T', where: [], row: { set: ['set', ['a', 'b', 'c']] } },
  ]);
  assert.equal(server.monitors.historyLength, 1);
  assert.match(since(ids[3] as string), /^\[false/);
  assert.equal(since(server.monitors.lastTxnId), `[true,"${server.monitors.lastTxnId}",{}]`);
});

test('what one client missed is not told to the next when more has happened', () => {
  const server = new MonitoredDatabase(schema);
  server.transact(Array.from({ length: 9 }, (_, i) => insert(i, {})));
  server.transact([update(1, { n: 1 })]);
  const known = server.monitors.lastTxnId;
  for (let n = 2; n <= 3; n++) {
    server.transact([update(1, { n })]);
    const { reply } = server.open('monitor_cond_since', n, { T: { columns: ['n'] } }, known);
    assert.match(reply, new RegExp(`"modify":\\{"n":${n}\\}`));
  }
});

test('columns of one table may want to hear of different changes', () => {
  const server = new MonitoredDatabase(schema);
  server.transact([insert(1, { name: 'a', n: 1, opt: 1 })]);
  const requests = {
    T: [
      { columns: ['name'], select: { modify: false } },
      { columns: ['n'], select: { initial: false, delete: false } },
    ],
  };
  const v1 = server.open('monitor', 'm', requests);
  const v2 = server.open('monitor_cond', 'm', requests);
  const told = (): (string | null)[] => [server.flush(v1.monitor), server.flush(v2.monitor)];
  const of = (row: string): string => `{"T":{"${uuid(1)}":${row}}}`;
  assert.equal(v1.reply, of('{"new":{"name":"a"}}'));
  assert.equal(v2.reply, of('{"initial":{"name":"a"}}'));
  server.transact([update(1, { n: 2, name: 'b' })]);
  assert.deepEqual(told(), [of('{"new":{"n":2},"old":{"n":1}}'), of('{"modify":{"n":2}}')]);
  server.transact([update(1, { name: 'c' })]);
  assert.deepEqual(told(), [of('{"new":{"n":2},"old":{}}'), of('{"modify":{}}')]);
  server.transact([remove(1)]);
  assert.deepEqual(told(), [of('{"old":{"name":"c"}}'), of('{"delete":null}')]);
});

test('one change is an insertion to some and a modification to others', () => {
  const server = new MonitoredDatabase(schema);
  server.transact([insert(1, { name: 'a', n: 1 })]);
  const monitors = [[['n', '>', 1]], [['n', '>', 0]], [['n', '==', 1]]].map((where) => {
    return server.open('monitor_cond', 'm', { T: { columns: ['name', 'n'], where } }).monitor;
  });
  server.transact([update(1, { n: 2 })]);
  assert.deepEqual(
    monitors.map((monitor) => server.flush(monitor)),
    ['{"insert":{"n":2,"name":"a"}}', '{"modify":{"n":2}}', '{"delete":null}'].map(
      (row) => `{"T":{"${uuid(1)}":${row}}}`,
    ),
  );
});

test('a condition on a new column does not miss what happened before it was looked at', () => {
  const server = new MonitoredDatabase(schema);
  server.transact(Array.from({ length: 9 }, (_, i) => insert(i, {})));
  server.transact([update(2, { n: 1 })]);
  const known = server.monitors.lastTxnId;
  server.transact([update(1, { opt: 5 })]);
  const columns = ['name'];
  const first = server.open('monitor_cond_since', 'a', { T: { columns } }, known);
  assert.match(first.reply, /,\{\}\]$/);
  const where = [['opt', '==', 5]];
  const second = server.open('monitor_cond_since', 'b', { T: { columns, where } }, known);
  assert.match(second.reply, /"insert":\{\}/);
});

test('a standalone server remembers nothing', () => {
  const server = new MonitoredDatabase(schema, { standalone: true });
  server.transact([insert(1, { n: 1 })]);
  const { reply, monitor } = server.open(
    'monitor_cond_since',
    'm',
    { T: { columns: ['n'] } },
    uuid(5),
  );
  assert.equal(reply, `[false,"${UUID_ZERO}",{"T":{"${uuid(1)}":{"initial":{"n":1}}}}]`);
  server.transact([update(1, { n: 2 })]);
  assert.equal(
    server.monitors.flush(monitor),
    `{"id":null,"method":"update3","params":["m","${UUID_ZERO}",{"T":{"${uuid(1)}":{"modify":{"n":2}}}}]}`,
  );
  assert.equal(server.monitors.historyLength, 0);
});

test('integers of 64 bits and awkward text arrive as they are', () => {
  const server = new MonitoredDatabase(schema);
  server.transact([insert(1, { name: 'é\u0001"\\ud800😀', n: 9223372036854775807n })]);
  const opened = server.monitors.open('monitor_cond', ['D', 'n', ALL]);
  assert.ok(!isError(opened));
  assert.equal(
    serialize(opened.reply),
    `{"T":{"${uuid(1)}":{"initial":{"name":"é\\u0001\\"\\\\ud800😀","n":9223372036854775807}}}}`,
  );
  server.transact([update(1, { n: -9223372036854775808n })]);
  assert.match(
    server.monitors.flush(opened.monitor) ?? '',
    /"modify":\{"n":-9223372036854775808\}/,
  );
});

test('what is not confirmed is not shown', () => {
  const server = new MonitoredDatabase(schema);
  server.transact([insert(1, { name: 'a' }), insert(2, { name: 'b' })]);
  const { db, monitors } = server;
  db.transact([remove(1), update(2, { name: 'B' }), insert(3, { name: 'c' })]);
  const first = db.history.at(-1);
  assert.ok(first !== undefined);
  monitors.applied(first);
  db.transact([update(2, { name: 'BB' }), remove(3), insert(4, {})]);
  const second = db.history.at(-1);
  assert.ok(second !== undefined);
  monitors.applied(second);
  const request = { T: { columns: ['name'] } };
  const { monitor, reply } = server.open('monitor_cond', 'm', request);
  assert.equal(
    reply,
    `{"T":{"${uuid(1)}":{"initial":{"name":"a"}},"${uuid(2)}":{"initial":{"name":"b"}}}}`,
  );
  const named = [
    ['_uuid', '==', ['uuid', uuid(1)]],
    ['_uuid', '==', ['uuid', uuid(4)]],
  ];
  const { reply: some } = server.open('monitor_cond', 's', { T: { columns: [], where: named } });
  assert.equal(some, `{"T":{"${uuid(1)}":{"initial":{}}}}`);
  assert.equal(server.flush(monitor), null);
  monitors.committed(first, db.uuids());
  assert.equal(
    server.flush(monitor),
    `{"T":{"${uuid(1)}":{"delete":null},"${uuid(2)}":{"modify":{"name":"B"}},"${uuid(3)}":{"insert":{"name":"c"}}}}`,
  );
  db.database.revert(second);
  monitors.reverted(second);
  assert.equal(server.flush(monitor), null);
  assert.throws(() => monitors.reverted(first), /latest/);
});
