import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng } from '../../stdx/index.ts';
import { uuidsFromPrng } from '../data/uuid.ts';
import type { JsonObject } from '../json/value.ts';
import { RELAY_GRACE_MS, Relay } from './relay.ts';
import { Server, schemaText, Wire } from './replication-test-helper.ts';

function pair(options: { txnIds?: boolean } = {}) {
  const source = new Server(1).add();
  if (options.txnIds === true) source.txnIds = uuidsFromPrng(new Prng(5));
  const here = new Server(2).add({
    database: null,
    model: 'relay',
    journal: 'none',
    forwards: true,
    status: { connected: false, leader: false },
  });
  const relay = new Relay({ core: here.core, name: 'D', uuids: uuidsFromPrng(new Prng(99)) });
  here.onEffect = (effect) => {
    if (effect.kind === 'forward') relay.forward(effect.number, effect.params);
  };
  return { source, here, relay, wire: new Wire(source, here, relay) };
}

const insert = (name: string): JsonObject => ({ op: 'insert', table: 'T', row: { name } });
const select: JsonObject = {
  op: 'select',
  table: 'T',
  where: [],
  columns: ['name'],
  sort: ['name'],
};

test('a relay has what its source has, and sends writes on', () => {
  const { source, here, wire, relay } = pair();
  source.insert('T', { name: 'a', n: 1 });
  const early = here.ask('transact', ['D', select]);
  assert.match(JSON.stringify(here.replies.get(early)), /database not available/);
  wire.join();
  assert.equal(relay.state, 'monitoring');
  assert.equal(here.content, source.content);
  const id = here.ask('transact', ['D', insert('b')]);
  assert.equal(here.replies.get(id), undefined);
  wire.run();
  assert.match(JSON.stringify(here.replies.get(id)), /"result":\[\{"uuid"/);
  assert.match(here.content, /"b"/);
  assert.equal(here.content, source.content);
  assert.deepEqual(here.transact(select), [{ rows: [{ name: 'a' }, { name: 'b' }] }]);
});

test('errors are found here or there, each the same', () => {
  const { here, wire } = pair();
  wire.join();
  here.transact(insert('a'));
  wire.run();
  assert.match(JSON.stringify(here.transact({ op: 'insert', table: 'V', row: {} })), /No table/);
  const id = here.ask('transact', ['D', insert('a')]);
  wire.run();
  assert.match(JSON.stringify(here.replies.get(id)), /constraint violation/);
});

test('without a connection: reads go on, writes wait, and what was under way is cancelled', () => {
  const { source, here, relay, wire } = pair();
  source.insert('T', { name: 'a' });
  wire.join();
  wire.hold = (message) => message['method'] === undefined;
  const lost = here.ask('transact', ['D', insert('b')]);
  wire.run();
  wire.held.length = 0;
  wire.hold = null;
  wire.cut();
  assert.deepEqual(here.replies.get(lost), { id: lost, error: 'canceled' });
  const waits = here.ask('transact', ['D', insert('c')]);
  assert.match(JSON.stringify(here.transact(select)), /"a"/);
  assert.equal(here.replies.get(waits), undefined);
  wire.join();
  assert.match(JSON.stringify(here.replies.get(waits)), /"result":\[\{"uuid"/);
  assert.equal(here.content, source.content);
  assert.equal(relay.state, 'monitoring');
});

test('it says that it is connected a while longer than it is', () => {
  const { here, relay, wire } = pair();
  assert.equal(here.core.status('D').connected, false);
  wire.join();
  assert.equal(here.core.status('D').connected, true);
  here.nowMs = 1000;
  wire.cut();
  assert.equal(here.core.status('D').connected, true);
  assert.equal(relay.deadlineMs(), 1000 + RELAY_GRACE_MS);
  relay.tick(1000 + RELAY_GRACE_MS);
  assert.equal(here.core.status('D').connected, false);
});

test('after a short break only what is new is asked for, where the source remembers', () => {
  const { source, here, wire } = pair({ txnIds: true });
  wire.join();
  source.insert('T', { name: 'a' });
  wire.run();
  wire.cut();
  source.insert('T', { name: 'b' });
  const seen: JsonObject[] = [];
  wire.hold = (message) => {
    seen.push(message);
    return false;
  };
  wire.join();
  const reply = seen.find(({ result }) => Array.isArray(result) && result[0] === true);
  assert.match(JSON.stringify(reply), /"b"/);
  assert.doesNotMatch(JSON.stringify(reply), /"a"/);
  assert.equal(here.content, source.content);
});

test('it follows a conversion, on the same connection', () => {
  const { source, here, relay, wire } = pair();
  source.insert('T', { name: 'kept' });
  wire.join();
  const schema = JSON.parse(schemaText.replace('"1.0.0"', '"1.1.0"').replace('"u":', '"w":'));
  const id = source.ask('convert', ['D', schema]);
  wire.run();
  assert.deepEqual(source.replies.get(id)?.['result'], {});
  assert.equal(relay.state, 'monitoring');
  assert.ok(wire.joined);
  assert.equal(here.core.database('D')?.schema.version, '1.1.0');
  source.insert('U', { w: 3 });
  wire.run();
  assert.equal(here.content, source.content);
});

test('it leaves a source that is cut off, or that it has not got', () => {
  const { source, relay, wire } = pair();
  wire.join();
  source.core.removeDatabase('D', 0);
  wire.run();
  assert.match(wire.notes.at(-1) ?? '', /does not have D database/);
  assert.equal(relay.state, 'disconnected');
});
