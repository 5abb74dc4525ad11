/** Who keeps a place, and who gets one, when there are more connections than places. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Command, Offset, ReplyOffset, RequestOffset, sealBody } from '../wire/index.ts';
import { checksum, Raw, request, start, until, type World } from './client-server-test-helper.ts';

const ping: Uint8Array = request(0, 1, Command.pingClient);

/** A request of client number `id`. */
function requestOf(id: number): Uint8Array {
  const bytes = request(0);
  bytes[RequestOffset.client] = id;
  sealBody(bytes, checksum);
  checksum.digest(bytes, 16, bytes.length - 16, bytes, Offset.checksum);
  return bytes;
}

/** Gets an answer as client number `id`, and with it a session. */
async function talk(raw: Raw, id: number): Promise<void> {
  const bytes = requestOf(id);
  raw.write(bytes);
  const reply = await raw.read(bytes.length);
  assert.equal(reply[Offset.command], Command.reply);
  assert.equal(reply[ReplyOffset.client], id);
}

async function crowd(connectionsMax: number): Promise<World> {
  const limits = { connectionsMax, strangerIdleMs: 50, idleMs: 100_000 };
  const world = await start({ limits });
  world.echo.replies = true;
  return world;
}

test('a silent stranger makes room when there are too many connections', async () => {
  const world = await crowd(3);
  const client = await Raw.open(world.port);
  await client.echoes(ping);
  const strangers = [await Raw.open(world.port), await Raw.open(world.port)];
  await new Promise((resolve) => setTimeout(resolve, 100));
  const newcomer = await Raw.open(world.port);
  await newcomer.echoes(ping);
  await (strangers[0] as Raw).isClosed();
  assert.equal((strangers[1] as Raw).closed, false);
  await client.echoes(ping);
  await world.close();
});

test('strangers that ping make room for a newcomer, the oldest first', async () => {
  const world = await crowd(6);
  const strangers: Raw[] = [];
  for (let i = 0; i < 6; i++) {
    const stranger = await Raw.open(world.port);
    await stranger.echoes(ping);
    strangers.push(stranger);
  }
  // What the oldest sends most recently does not save it.
  await strangers[0].echoes(ping);
  const newcomer = await Raw.open(world.port);
  await talk(newcomer, 1);
  await strangers[0].isClosed();
  for (const other of strangers.slice(1)) await other.echoes(ping);
  const next = await Raw.open(world.port);
  await next.echoes(ping);
  await strangers[1].isClosed();
  await talk(newcomer, 1);
  assert.equal(world.server.counters().closed['connections-max'], 2);
  await world.close();
});

test('those with a session survive a flood of strangers', async () => {
  const world = await crowd(8);
  const clients: Raw[] = [];
  for (let id = 1; id <= 4; id++) {
    const client = await Raw.open(world.port);
    await talk(client, id);
    clients.push(client);
  }
  for (let i = 0; i < 40; i++) {
    const stranger = await Raw.open(world.port);
    await stranger.echoes(ping);
  }
  assert.equal(world.server.counters().closed['connections-max'], 36);
  for (const [index, client] of clients.entries()) await talk(client, index + 1);
  await world.close();
});

test('a session keeps one connection, however many ask for its reply', async () => {
  const world = await crowd(6);
  const connections: Raw[] = [];
  for (let i = 0; i < 6; i++) {
    const raw = await Raw.open(world.port);
    await talk(raw, 1);
    connections.push(raw);
  }
  for (let i = 0; i < 5; i++) await (await Raw.open(world.port)).echoes(ping);
  for (const former of connections.slice(0, 5)) await former.isClosed();
  await talk(connections[5], 1);
  await world.close();
});

test('sessions hold half of the places and no more, and an eviction ends the claim', async () => {
  const world = await crowd(4);
  const clients: Raw[] = [];
  for (let id = 1; id <= 4; id++) {
    const client = await Raw.open(world.port);
    await talk(client, id);
    clients.push(client);
  }
  const first = await Raw.open(world.port);
  await first.echoes(ping);
  await clients[0].isClosed();
  await (await Raw.open(world.port)).echoes(ping);
  await clients[1].isClosed();
  // The places of the two that are left are kept until one of them is evicted.
  world.echo.replies = false;
  await clients[2].echoes(ping);
  world.echo.evicts = true;
  clients[2].write(requestOf(3));
  await clients[2].read(ping.length);
  await (await Raw.open(world.port)).echoes(ping);
  await clients[2].isClosed();
  assert.equal(clients[3].closed, false);
  await world.close();
});

test('only where sessions hold every place is a newcomer refused', async () => {
  const world = await crowd(1);
  const client = await Raw.open(world.port);
  await talk(client, 1);
  const newcomer = await Raw.open(world.port);
  await newcomer.isClosed();
  assert.equal(world.server.counters().closed['connections-max'], 1);
  await talk(client, 1);
  client.socket.destroy();
  await until(() => world.server.counters().connections === 0, 'the place to be free');
  await talk(await Raw.open(world.port), 1);
  await world.close();
});
