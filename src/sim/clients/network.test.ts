import assert from 'node:assert/strict';
import { test } from 'node:test';
import { World } from '../world/world.ts';
import { Network, type NetworkClient, type NetworkServer } from './network.ts';

const LATENCY = { minNs: 10, maxNs: 1_000 };

/** A server that keeps what it hears, and a client likewise. */
function ends(world: World, chances: { losses: number; duplicates: number; disconnects: number }) {
  const heard: string[] = [];
  const server: NetworkServer & { isListening: boolean } = {
    isListening: true,
    onConnected: (connection) => heard.push(`connected ${connection}`),
    onBytes: (_, bytes) => heard.push(`server ${bytes[0]}`),
    onDisconnected: (connection) => heard.push(`disconnected ${connection}`),
  };
  const client: NetworkClient & { connection: number } = {
    connection: 0,
    onConnected(connection) {
      this.connection = connection;
    },
    onRefused: () => heard.push('refused'),
    onBytes: (bytes) => heard.push(`client ${bytes[0]}`),
    onDisconnected: () => heard.push('client disconnected'),
  };
  const network = new Network(world, { latency: LATENCY, ...chances }, server);
  const run = (): void => {
    while (world.step(Number.MAX_SAFE_INTEGER));
  };
  return { network, server, client, heard, run };
}

const CALM = { losses: 0, duplicates: 0, disconnects: 0 };

test('messages arrive as copies, in any order, on connections that were made', () => {
  const orders = new Set<string>();
  for (let seed = 0; seed < 50; seed++) {
    const { network, client, heard, run } = ends(new World({ seed }), CALM);
    network.connect(client);
    run();
    const bytes = new Uint8Array([1]);
    network.toServer(client.connection, bytes);
    bytes[0] = 2;
    network.toServer(client.connection, bytes);
    bytes[0] = 9;
    network.toServer(client.connection + 1, bytes);
    run();
    orders.add(heard.join(', '));
  }
  const both = ['connected 1, server 1, server 2', 'connected 1, server 2, server 1'];
  assert.deepEqual(
    [...orders].toSorted((a, b) => (a < b ? -1 : 1)),
    both,
  );
});

test('loss, doubling and breaks happen about as often as they should', () => {
  const world = new World({ seed: 3 });
  const chances = { losses: 200, duplicates: 300, disconnects: 0 };
  const { network, client, heard, run } = ends(world, chances);
  network.connect(client);
  run();
  for (let i = 0; i < 2000; i++) network.toClient(client.connection, new Uint8Array([7]));
  run();
  const count = heard.filter((line) => line === 'client 7').length;
  assert.ok(count > 1900 && count < 2260, String(count));
  assert.ok(world.coverage.count('losses') > 320, 'losses');
  assert.ok(world.coverage.count('duplicates') > 400, 'duplicates');
  network.calm();
  heard.length = 0;
  for (let i = 0; i < 100; i++) network.toClient(client.connection, new Uint8Array([7]));
  run();
  assert.equal(heard.length, 100);
});

test('a break is heard on both sides, once; what was on its way is gone', () => {
  const { network, server, client, heard, run } = ends(new World({ seed: 5 }), CALM);
  network.connect(client);
  run();
  network.toServer(client.connection, new Uint8Array([1]));
  network.disconnect(client.connection);
  network.disconnect(client.connection);
  run();
  assert.deepEqual(heard, ['connected 1', 'disconnected 1', 'client disconnected']);
  network.connect(client);
  run();
  network.serverDown();
  server.isListening = false;
  network.connect(client);
  run();
  assert.equal(heard[3], 'connected 2');
  assert.deepEqual(new Set(heard.slice(4)), new Set(['client disconnected', 'refused']));
});

test('a server that is gone hears nothing; what it had sent may still arrive', () => {
  const seen = new Set<string>();
  for (let seed = 0; seed < 40; seed++) {
    const { network, client, heard, run } = ends(new World({ seed }), CALM);
    network.connect(client);
    run();
    network.toClient(client.connection, new Uint8Array([5]));
    network.toServer(client.connection, new Uint8Array([6]));
    network.serverDown();
    run();
    seen.add(heard.join(', '));
  }
  assert.ok(seen.has('connected 1, client disconnected'), [...seen].join('; '));
  assert.ok(seen.has('connected 1, client 5, client disconnected'), [...seen].join('; '));
  assert.equal(seen.size, 2);
});
