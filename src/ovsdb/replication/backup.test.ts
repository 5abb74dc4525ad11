import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng } from '../../stdx/index.ts';
import { uuidsFromPrng } from '../data/uuid.ts';
import { Backup, backupStatus } from './backup.ts';
import { Server, schemaText, Wire } from './replication-test-helper.ts';

function backupOf(server: Server, excluded: string[] = []): Backup {
  const uuids = uuidsFromPrng(new Prng(99));
  return new Backup({ core: server.core, name: 'D', excluded: new Set(excluded), uuids });
}

function pair(excluded: string[] = [], text: string = schemaText) {
  const active = new Server(1).add();
  const here = new Server(2).add({ readOnly: true }, text);
  const backup = backupOf(here, excluded);
  return { active, here, backup, wire: new Wire(active, here, backup) };
}

test('a backup copies everything, then every change', () => {
  const { active, here, backup, wire } = pair();
  active.insert('T', { name: 'a', n: 1 }, { name: 'b', s: ['set', ['x', 'y']] });
  wire.join();
  assert.equal(backup.state, 'replicating');
  assert.equal(here.content, active.content);
  active.transact({
    op: 'update',
    table: 'T',
    where: [['name', '==', 'a']],
    row: { n: ['set', []] },
  });
  active.transact({ op: 'delete', table: 'T', where: [['name', '==', 'b']] });
  active.insert('U', { u: 5 });
  wire.run();
  assert.equal(here.content, active.content);
  assert.match(here.content, /"a"/);
});

test('what is different here goes when the copy is complete, and is told as changes only', () => {
  const { active, here, wire } = pair();
  active.insert('T', { name: 'both', n: 1 });
  wire.join();
  wire.cut();
  active.insert('T', { name: 'new' });
  here.core.setReadOnly('D', false);
  const session = here.core.openSession({ readOnly: false, role: '', clientId: null, label: '' });
  const told: string[] = [];
  here.onEffect = (effect) => {
    if (effect.kind === 'send') told.push(effect.text);
  };
  here.core.receive(session, {
    id: 1,
    method: 'monitor',
    params: ['D', 'm', { T: [{ columns: ['name'] }] }],
  });
  here.core.receive(session, {
    id: 2,
    method: 'transact',
    params: ['D', { op: 'insert', table: 'T', row: { name: 'stray' } }],
  });
  here.settle();
  told.length = 0;
  wire.join();
  assert.equal(here.content, active.content);
  assert.equal(told.length, 1);
  assert.match(told[0], /stray/);
  assert.match(told[0], /new/);
  assert.doesNotMatch(told[0], /both/);
});

test('promoted between the schema and the copy, it keeps what it had', () => {
  const { active, here, backup, wire } = pair();
  active.insert('T', { name: 'old' });
  wire.join();
  wire.cut();
  const before = here.content;
  active.insert('T', { name: 'newer' });
  wire.hold = (message) => JSON.stringify(message).includes('newer');
  wire.join();
  assert.equal(backup.state, 'monitor');
  assert.equal(here.content, before);
  // The host forgets the backup; whatever arrives afterwards has nobody to go to.
  backup.disconnected();
  here.core.setReadOnly('D', false);
  wire.release();
  assert.equal(here.content, before);
});

test('it does not copy from itself', () => {
  const server = new Server(1).add();
  server.insert('T', { name: 'precious' });
  const before = server.content;
  const backup = backupOf(server);
  const wire = new Wire(server, server, backup);
  wire.join();
  assert.equal(backup.state, 'failed');
  assert.deepEqual(wire.notes, ['failed: D: Self replicating is not allowed']);
  assert.equal(server.content, before);
});

test('excluded tables are neither copied nor emptied', () => {
  const { active, here, wire } = pair(['U']);
  active.insert('U', { u: 1 });
  active.insert('T', { name: 'a' });
  here.core.internal('D', [{ op: 'insert', table: 'U', row: { u: 7 } }], 0);
  here.settle();
  wire.join();
  assert.match(here.content, /"u":7/);
  assert.doesNotMatch(here.content, /"u":1/);
  assert.match(here.content, /"name":"a"/);
});

test('a newer schema here can hold what an older one there has; not the other way round', () => {
  const wider = schemaText.replace('"n":', '"extra":{"type":"string"},"n":');
  const newer = pair([], wider);
  newer.active.insert('T', { name: 'a' });
  newer.wire.join();
  assert.equal(newer.backup.state, 'replicating');
  assert.match(newer.here.content, /"name":"a"/);
  const narrower = schemaText.replace(',"s":{"type":{"key":"string","min":0,"max":9}}', '');
  assert.notEqual(narrower, schemaText);
  const older = pair([], narrower);
  older.wire.join();
  assert.equal(older.backup.state, 'failed');
  assert.match(older.wire.notes.join(), /Column s not present in the local db schema table T/);
});

test('a database that is not there, or a full disk here', () => {
  const lonely = new Server(1);
  const here = new Server(2).add();
  const backup = backupOf(here);
  const wire = new Wire(lonely, here, backup);
  wire.join();
  assert.deepEqual(wire.notes, ['failed: D: database name is not in the list']);

  const full = pair();
  full.active.insert('T', { name: 'a' });
  full.here.full = true;
  full.wire.join();
  assert.match(full.wire.notes.at(-1) ?? '', /^reconnect: I\/O error/);
  assert.equal(full.backup.state, 'disconnected');
  assert.equal(full.here.content, '{}');
  full.here.full = false;
  full.wire.join();
  assert.equal(full.here.content, full.active.content);
});

test('its state in words', () => {
  assert.equal(backupStatus('failed', 's', true, []), 'Replication to (s) failed');
  assert.equal(backupStatus('schema', 's', true, []), 'connecting: s');
  assert.equal(backupStatus('schema', 's', false, []), 'not connected to s');
  assert.equal(backupStatus('replicating', 's', true, ['D:T']), 'replicating: s\nexclude: D:T');
  assert.equal(backupStatus('replicating', 's', true, []), 'replicating: s\n');
});
