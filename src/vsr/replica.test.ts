import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COUNTER_ADD, COUNTER_READ, CounterMachine } from '../engine/index.ts';
import { readSafeU64 } from '../stdx/index.ts';
import { formatDisk, TestClient, TestServer } from './replica-test-helper.ts';

const two = Uint8Array.of(2, 0, 0, 0);

test('register, request, reply', () => {
  const server = new TestServer(formatDisk(), new CounterMachine()).open();
  assert.equal(server.isReady, true);
  assert.equal(server.replica.status().view, 1);
  const client = new TestClient(1);
  client.register(server);
  assert.equal(client.session, 1);
  assert.equal(readSafeU64(client.call(server, COUNTER_ADD, two), 0), 2);
  assert.equal(readSafeU64(client.call(server, COUNTER_ADD, two), 0), 4);
  assert.equal(readSafeU64(client.call(server, COUNTER_READ), 0), 4);
  assert.equal(server.replica.status().commitMin, 4);
  server.stop();
});

test('an operation is executed while the next one is written', () => {
  const server = new TestServer(formatDisk(), new CounterMachine()).open();
  const clients = [1, 2, 3].map((number) => new TestClient(number));
  for (const client of clients) client.register(server);
  server.take();
  server.writes.length = 0;
  server.isHeld = true;
  for (const client of clients) server.receive(client.connection, client.build(COUNTER_ADD, two));
  assert.equal(server.writes.length, 1, 'one operation after another');
  server.run();
  assert.equal(server.writes.length, 6);
  assert.deepEqual(
    server.take().map(({ connection }) => connection),
    [1, 2, 3],
  );
  server.stop();
});
