/** What is written once, and what is kept: costs that monitors of many clients must not have. */
import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { isError } from '../data/error.ts';
import type { Json } from '../json/value.ts';
import { Row } from '../store/row.ts';
import { tablesOf } from '../transact/transact-test-helper.ts';
import { DatabaseMonitors } from './database-monitors.ts';
import { MonitoredDatabase, uuid } from './monitor-test-helper.ts';
import { RowUpdates } from './row-updates.ts';
import type { Monitor } from './shape.ts';
import { UpdatesText, UpdatesTooLong } from './updates-text.ts';

const schema = tablesOf(`{"T":{"columns":{"name":{"type":"string"},"n":{"type":"integer"},
  "group":{"type":"integer"}}},"U":{"columns":{"u":{"type":"integer"}}}}`);

const request = { T: { columns: ['name', 'n'] } };

function filled(rows: number): MonitoredDatabase {
  const server = new MonitoredDatabase(schema);
  const inserts = Array.from({ length: rows }, (_, i) => ({
    op: 'insert',
    table: 'T',
    uuid: uuid(i),
    row: { name: `row ${i}`, group: i },
  }));
  server.transact(inserts);
  return server;
}

function bump(server: MonitoredDatabase, i: number): void {
  const where = [['_uuid', '==', ['uuid', uuid(i)]]];
  server.transact([{ op: 'mutate', table: 'T', where, mutations: [['n', '+=', 1]] }]);
}

/** How many row updates are written meanwhile. */
function written(work: () => void): number {
  const spy = mock.method(RowUpdates.prototype, 'text');
  try {
    work();
    return spy.mock.callCount();
  } finally {
    spy.mock.restore();
  }
}

test('500 monitors of one shape cost one writing of each commit', () => {
  const server = filled(10);
  const monitors = Array.from(
    { length: 500 },
    () => server.open('monitor_cond', 'm', request).monitor,
  );
  const others = Array.from(
    { length: 500 },
    (_, i) => server.open('monitor_cond', i, request).monitor,
  );
  for (let i = 0; i < 10; i++) {
    bump(server, i);
    assert.equal(server.monitors.pendingRows, 1);
    const texts = new Set<string | null>();
    const count = written(() => {
      for (const monitor of monitors) texts.add(server.monitors.flush(monitor));
      for (const monitor of others) server.monitors.flush(monitor);
    });
    assert.equal(count, 1);
    assert.equal(texts.size, 1);
    assert.equal(server.monitors.pending().length, 0);
  }
  assert.equal(server.monitors.pendingRows, 0);
});

test('500 initial replies cost one, and a commit between them one row', () => {
  const server = filled(2000);
  const open = (): Monitor => server.open('monitor_cond', 'm', request).monitor;
  assert.equal(
    written(() => open()),
    2000,
  );
  assert.equal(
    written(() => {
      for (let i = 0; i < 20; i++) open();
    }),
    0,
  );
  bump(server, 1);
  // The first change makes it keep the text in parts.
  assert.equal(
    written(() => open()),
    2000,
  );
  for (let i = 0; i < 20; i++) {
    bump(server, i);
    const count = written(() => open());
    assert.ok(count > 0 && count <= 2 * Math.ceil(2000 / 256), `${count} rows written`);
  }
  server.transact([{ op: 'insert', table: 'U', row: { u: 1 } }]);
  assert.equal(
    written(() => open()),
    0,
  );
  server.transact([{ op: 'delete', table: 'T', where: [['group', '<', 1900]] }]);
  const { reply } = server.open('monitor_cond', 'm', request);
  assert.equal(reply.split('"initial"').length - 1, 100);
});

test('an initial text that nobody asks for is not kept for ever', () => {
  const server = filled(3);
  server.open('monitor_cond', 'm', request);
  bump(server, 1);
  server.open('monitor_cond', 'm', request);
  const before = server.monitors.cachedTexts;
  for (let i = 0; i < 1001; i++) bump(server, 0);
  assert.equal(server.monitors.cachedTexts, before - 1);
});

test('equal conditions share the whole text, others the text of rows', () => {
  const server = filled(100);
  const monitors = [50, 50, 60, 70].map((limit) => {
    const where = [['group', '<', limit]];
    return server.open('monitor_cond', 'm', { T: { columns: ['name'], where } }).monitor;
  });
  assert.equal(server.monitors.conditionCount, 3);
  server.transact([{ op: 'update', table: 'T', where: [], row: { name: 'x' } }]);
  const count = written(() => {
    for (const monitor of monitors) assert.notEqual(server.flush(monitor), null);
  });
  assert.equal(count, 70);
});

test('a reader that is behind costs what has changed, not what has happened', () => {
  const server = filled(50);
  const stuck = server.open('monitor_cond', 'stuck', request).monitor;
  const prompt = server.open('monitor_cond', 'prompt', request).monitor;
  for (let i = 0; i < 1000; i++) {
    bump(server, i % 5);
    if (i % 3 === 0) server.monitors.flush(prompt);
    const late = server.open('monitor_cond', i, request).monitor;
    if (i % 10 === 1) server.monitors.flush(late);
    if (i % 10 !== 3) server.monitors.close(late);
  }
  assert.ok(server.monitors.pendingRows <= 5 * 110, String(server.monitors.pendingRows));
  server.monitors.flush(prompt);
  for (const monitor of server.monitors.pending())
    if (monitor !== stuck) server.monitors.close(monitor);
  assert.equal(server.monitors.pendingRows, 5);
  assert.equal(server.flush(stuck)?.split('"modify"').length, 6);
  assert.equal(server.monitors.pendingRows, 0);
});

test('a reader that only wants the beginning costs nothing later', () => {
  const server = filled(5);
  const select = { insert: false, delete: false, modify: false };
  const { reply } = server.open('monitor', 'm', { T: { select } });
  assert.equal(reply.split('"new"').length, 6);
  bump(server, 1);
  assert.equal(server.monitors.pendingRows, 0);
  const again = server.open('monitor', 'n', { T: { select } });
  assert.match(again.reply, /"n":1/);
});

test('thousands of equalities cost a row no more than a few', () => {
  const server = filled(2000);
  const clauses = (from: number): Json[] =>
    Array.from({ length: 3000 }, (_, i) => ['group', '==', from + (i % 1500)]);
  const { monitor } = server.open('monitor_cond', 'm', {
    T: { columns: ['name'], where: clauses(0) },
  });
  const spy = mock.method(Row.prototype, 'datum');
  const text = server.change(monitor, { T: [{ where: clauses(1000) }] }) ?? '';
  const reads = spy.mock.callCount();
  spy.mock.restore();
  assert.equal(text.split('"delete"').length - 1, 1000);
  assert.equal(text.split('"insert"').length - 1, 500);
  assert.ok(reads <= 2000 * 8, `${reads} values were looked at`);
});

test('conditions that name rows look at those only', () => {
  const server = filled(2000);
  const named = (...rows: number[]): Json => rows.map((i) => ['_uuid', '==', ['uuid', uuid(i)]]);
  const where = named(1, 2, 3);
  const { monitor, reply } = server.open('monitor_cond', 'm', { T: { columns: [], where } });
  assert.equal(reply.split('"initial"').length - 1, 3);
  const spy = mock.method(server.db.database.table('T'), 'rows');
  const text = server.change(monitor, { T: [{ where: named(3, 4) }] });
  assert.equal(
    text,
    `{"T":{"${uuid(1)}":{"delete":null},"${uuid(2)}":{"delete":null},"${uuid(4)}":{"insert":{}}}}`,
  );
  assert.equal(spy.mock.callCount(), 0);
  spy.mock.restore();
});

test('updates that do not fit into a message are noticed', () => {
  const text = new UpdatesText(20);
  text.row('u', '12345');
  assert.throws(() => text.row('u', '1234567890'), UpdatesTooLong);
  const server = filled(1);
  const { monitor } = server.open('monitor_cond', 'm', request);
  bump(server, 0);
  const spy = mock.method(UpdatesText.prototype, 'rows', () => {
    throw new UpdatesTooLong();
  });
  assert.equal(server.monitors.flush(monitor), null);
  assert.equal(monitor.overflowed, true);
  const opened = new DatabaseMonitors(server.db.database).open('monitor', ['D', 'm', request]);
  assert.ok(isError(opened) && opened.tag === 'resources exhausted');
  spy.mock.restore();
});
