/** What the client server takes, refuses and cuts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng, readU32, writeU32 } from '../stdx/index.ts';
import { Command, HEADER_SIZE } from '../wire/index.ts';
import { ClientServer } from './client-server.ts';
import {
  checksum,
  cluster,
  Raw,
  REQUEST_SIZE_MAX,
  request,
  start,
  until,
} from './client-server-test-helper.ts';

for (const onread of [true, false]) {
  const way = onread ? 'onread' : 'data';

  test(`${way}: messages of all sizes come back, cut anywhere`, async () => {
    const world = await start({ onread, limits: { sendQueueMax: 1_000 } });
    const raw = await Raw.open(world.port);
    const prng = new Prng(7);
    const all: Uint8Array[] = [];
    for (let i = 0; i < 100; i++) {
      all.push(request(prng.below(4) === 0 ? 0 : prng.below(60_000), i));
    }
    const stream = Buffer.concat(all);
    for (let position = 0; position < stream.length; ) {
      const length = prng.chance(1, 4) ? prng.between(1, 300) : 90_000;
      raw.write(stream.subarray(position, position + length));
      position += length;
      if (prng.chance(1, 2)) await new Promise((resolve) => setImmediate(resolve));
    }
    for (const bytes of all) assert.deepEqual(await raw.read(bytes.length), bytes);
    assert.equal(world.server.counters().received['request'], 100);
    assert.deepEqual(world.server.counters().dropped, {});
    await world.close();
  });

  test(`${way}: a full pool stops the reading, freed slots let it go on`, async () => {
    const world = await start({ onread, requestSlots: 2 });
    const clients = await Promise.all([1, 2, 3, 4].map(() => Raw.open(world.port)));
    // Whoever has not sent a whole message yet would get half of the slots only.
    for (const client of clients) await client.echoes(request(0, 1, Command.pingClient));
    world.echo.hold = true;
    const sent = clients.map((_, i) => request(50_000, i + 1));
    for (const [i, client] of clients.entries()) client.write(sent[i]);
    await until(() => world.server.counters().blockedNow === 2, 'two blocked connections');
    assert.equal(world.echo.held.length, 2);
    assert.equal(world.pool.available('request'), 0);
    // Small messages do not wait for large ones.
    const other = await Raw.open(world.port);
    const ping = request(0, 1, Command.pingClient);
    other.write(ping);
    await until(() => world.echo.held.length === 3, 'the ping');
    world.echo.hold = false;
    world.echo.answerAll();
    for (const [i, client] of clients.entries()) {
      assert.deepEqual(await client.read(sent[i].length), sent[i]);
    }
    assert.deepEqual(await other.read(ping.length), ping);
    assert.equal(world.server.counters().blockedNow, 0);
    assert.equal(world.server.counters().blocked, 2);
    await world.close();
  });

  test(`${way}: one client with many requests shares two slots with itself`, async () => {
    const world = await start({ onread, requestSlots: 2, limits: { sendQueueMax: 1_000 } });
    const raw = await Raw.open(world.port);
    const all = Array.from({ length: 60 }, (_, i) => request(40_000 + i, i));
    raw.write(Buffer.concat(all));
    for (const bytes of all) assert.deepEqual(await raw.read(bytes.length), bytes);
    assert.equal(world.server.counters().received['request'], 60);
    await world.close();
  });

  test(`${way}: a blocked connection that goes away leaves nothing behind`, async () => {
    const world = await start({ onread, requestSlots: 1 });
    world.echo.hold = true;
    const first = await Raw.open(world.port);
    first.write(request(100));
    await until(() => world.echo.held.length === 1, 'the first request');
    const second = await Raw.open(world.port);
    second.write(request(100));
    await until(() => world.server.counters().blockedNow === 1, 'a blocked connection');
    second.socket.resetAndDestroy();
    first.socket.resetAndDestroy();
    await until(() => world.echo.disconnected.includes(1), 'the first disconnect');
    // A paused socket does not see the reset before it reads on.
    world.echo.answerAll();
    await until(() => world.server.counters().connections === 0, 'no connections');
    assert.equal(world.server.counters().blockedNow, 0);
    assert.equal(world.server.counters().dropped['disconnected'], 1);
    await world.close();
  });

  test(`${way}: the end of the peer's stream ends the connection`, async () => {
    const world = await start({ onread });
    const raw = await Raw.open(world.port);
    await raw.echoes(request(10));
    raw.socket.end();
    await raw.isClosed();
    await until(() => world.echo.disconnected.length === 1, 'the disconnect');
    assert.equal(world.server.counters().closed['peer'], 1);
    await world.close();
  });
}

function resealed(change: (bytes: Uint8Array) => void, bodySize: number = 300): Uint8Array {
  const bytes = request(bodySize);
  change(bytes);
  checksum.digest(bytes, 16, HEADER_SIZE - 16, bytes, 0);
  return bytes;
}

const hostile: readonly (readonly [string, string, RegExp, Uint8Array])[] = [
  [
    'a wrong header checksum',
    'header-checksum',
    /closed: the header checksum is wrong$/,
    new Uint8Array(256),
  ],
  [
    'a wrong body',
    'body-checksum',
    /the body checksum is wrong \(request\)$/,
    (() => {
      const bytes = request(300);
      bytes[300] ^= 1;
      return bytes;
    })(),
  ],
  ['command 255', 'unknown-command', /unknown command \(255\)$/, resealed((b) => (b[114] = 255))],
  ['the reserved command', 'unknown-command', /\(0\)$/, resealed((b) => (b[114] = 0))],
  ['a retired command', 'unknown-command', /\(12\)$/, resealed((b) => (b[114] = 12))],
  [
    'a prepare',
    'unexpected-command',
    /clients do not send this command \(prepare\)$/,
    resealed((b) => (b[114] = 6)),
  ],
  ['a reply', 'unexpected-command', /\(reply\)$/, resealed((b) => (b[114] = 8))],
  [
    'a size below a header',
    'size',
    /the message size is out of range \(request\)$/,
    resealed((b) => writeU32(b, 96, 255)),
  ],
  ['a size of zero', 'size', /out of range/, resealed((b) => writeU32(b, 96, 0))],
  [
    'a size above the largest message',
    'size',
    /out of range/,
    resealed((b) => writeU32(b, 96, 1_048_577)),
  ],
  [
    'another cluster',
    'cluster',
    /^client of cluster 340282366920938463463374607431768211201 refused, this is cluster 0$/,
    resealed((b) => {
      b.fill(255, 80, 96);
      b[80] = 1;
      b[81] = 255;
      writeU32(b, 80, readU32(b, 80));
    }),
  ],
];

for (const [name, reason, message, bytes] of hostile) {
  test(`${name} closes that connection, is counted and logged once`, async () => {
    const world = await start();
    const bystander = await Raw.open(world.port);
    await bystander.echoes(request(20));
    for (let i = 0; i < 3; i++) {
      const raw = await Raw.open(world.port);
      raw.write(bytes);
      await raw.isClosed();
    }
    await bystander.echoes(request(20));
    assert.equal(world.server.counters().closed[reason], 3);
    const lines = world.logs.filter((record) => record.event === `client-${reason}`);
    assert.equal(lines.length, 1, 'rate limited');
    assert.match(lines[0].message, message);
    await world.close();
  });
}

test('a request above the limit is drained and reported, and the stream goes on', async () => {
  const world = await start();
  const raw = await Raw.open(world.port);
  raw.write(request(REQUEST_SIZE_MAX));
  await until(() => world.echo.oversize === 1, 'the oversize request');
  assert.equal(world.pool.available('request'), 8);
  await world.close();
});

test('a client that takes no replies loses some, then its connection', async () => {
  const world = await start({ limits: { drainTimeoutMs: 300 } });
  const raw = await Raw.open(world.port);
  const bystander = await Raw.open(world.port);
  raw.socket.pause();
  const bytes = request(60_000);
  for (let i = 0; i < 400; i++) raw.write(bytes);
  await until(() => world.server.counters().closed['send-stalled'] === 1, 'the cut');
  assert.ok(world.server.counters().dropped['send-queue-full'] > 0);
  await bystander.echoes(request(20));
  raw.socket.destroy();
  await world.close();
});

test('a half-sent message may keep its slot only while nobody else wants it', async () => {
  const world = await start({ requestSlots: 1, limits: { receiveTimeoutMs: 200 } });
  const slow = await Raw.open(world.port);
  slow.write(request(50_000).subarray(0, 1_000));
  await until(() => world.pool.available('request') === 0, 'the slot to be taken');
  await new Promise((resolve) => setTimeout(resolve, 500));
  assert.equal(slow.closed, false);
  const other = await Raw.open(world.port);
  await other.echoes(request(50_000));
  await slow.isClosed();
  assert.equal(world.server.counters().closed['receive-stalled'], 1);
  await world.close();
});

test('a connection that waits for a slot is not cut for its silence', async () => {
  const limits = { receiveTimeoutMs: 200, receivePauseMs: 200, strangerPauseMs: 200 };
  const world = await start({ requestSlots: 1, limits });
  world.echo.hold = true;
  const holder = await Raw.open(world.port);
  holder.write(request(100));
  await until(() => world.echo.held.length === 1, 'the request that holds the slot');
  const waiting = await Raw.open(world.port);
  const bytes = request(50_000, 3);
  waiting.write(bytes);
  await until(() => world.server.counters().blockedNow === 1, 'the one that waits');
  await new Promise((resolve) => setTimeout(resolve, 900));
  assert.equal(waiting.closed, false);
  world.echo.hold = false;
  world.echo.answerAll();
  assert.deepEqual(await waiting.read(bytes.length), bytes);
  assert.equal(world.server.counters().closed['receive-stalled'], undefined);
  await world.close();
});

test('strangers with half-sent messages neither take all slots nor keep them', async () => {
  const world = await start({ requestSlots: 8, limits: { strangerPauseMs: 100 } });
  const client = await Raw.open(world.port);
  await client.echoes(request(10));
  const strangers = await Promise.all(Array.from({ length: 20 }, () => Raw.open(world.port)));
  for (const stranger of strangers) stranger.write(request(50_000).subarray(0, 1_000));
  await until(() => world.server.counters().blockedNow === 16, 'those who wait');
  assert.equal(world.pool.available('request'), 4);
  await client.echoes(request(50_000));
  // The last ones may keep their slots: nobody waits for them any more.
  await until(() => world.server.counters().closed['receive-stalled'] >= 16, 'the cuts');
  assert.equal(world.server.counters().blockedNow, 0);
  await client.echoes(request(50_000));
  await world.close();
});

test('a header that claims a body where none belongs gets no slot', async () => {
  const world = await start();
  for (const command of [Command.pingClient, Command.status]) {
    const raw = await Raw.open(world.port);
    raw.write(request(8_192 - HEADER_SIZE, 1, command).subarray(0, 400));
    await raw.isClosed();
  }
  assert.equal(world.server.counters().closed['size'], 2);
  await world.close();
});

test('what arrives before the server admits is answered afterwards', async () => {
  const world = await start({ early: true });
  const raw = await Raw.open(world.port);
  const gone = await Raw.open(world.port);
  const bytes = request(500);
  raw.write(bytes);
  gone.write(bytes);
  gone.socket.resetAndDestroy();
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.deepEqual(world.server.counters().received, {});
  world.server.admit();
  assert.deepEqual(await raw.read(bytes.length), bytes);
  await world.close();
});

test('a server that never admitted can be shut down', async () => {
  const world = await start({ early: true });
  const raw = await Raw.open(world.port);
  await world.close();
  await raw.isClosed();
});

test('a port in use and an address of another machine are errors of listen', async () => {
  const world = await start();
  const { pool, echo: handler } = world;
  const options = { pool, cluster, requestSizeMax: REQUEST_SIZE_MAX, handler, log: () => {} };
  const address = { host: '127.0.0.1', port: world.port };
  await assert.rejects(new ClientServer(options).listen(address), {
    code: 'ERR_ADDRESS_IN_USE',
    message: `cannot listen on 127.0.0.1:${world.port}: the address is in use`,
  });
  await assert.rejects(new ClientServer(options).listen({ host: '192.0.2.1', port: 0 }), {
    code: 'ERR_ADDRESS_UNAVAILABLE',
  });
  await world.close();
});

test('shutdown cuts everything at once, whatever is in flight', async () => {
  const world = await start();
  world.echo.hold = true;
  const clients = await Promise.all([1, 2, 3].map(() => Raw.open(world.port)));
  clients[0].write(request(50_000).subarray(0, 30_000));
  clients[1].write(request(50_000));
  await until(() => world.echo.held.length === 1, 'a request');
  const startMs = performance.now();
  await world.close();
  assert.ok(performance.now() - startMs < 1_000);
  for (const client of clients) await client.isClosed();
  assert.deepEqual(world.echo.disconnected, [], 'nobody is told after a shutdown');
});
