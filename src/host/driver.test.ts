/** A scripted engine shows what the driver does with each effect, and in which order. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Command } from '../wire/index.ts';
import { settled, World } from './driver-test-helper.ts';

test('storage completions come back as events with their token, after the step', async () => {
  const bytes = new Uint8Array(4096).fill(7);
  const read: number[] = [];
  const world = new World((event) => {
    if (event.type === 'open') {
      return [
        { type: 'write', token: 1, offset: 4096, bytes, durable: true },
        { type: 'trace', level: 'info', event: 'first', fields: {} },
        { type: 'flush', token: 2 },
      ];
    }
    if (event.type === 'written')
      assert.deepEqual(event, { type: 'written', token: 1, error: null });
    if (event.type === 'flushed') {
      assert.equal(event.token, 2);
      return [{ type: 'read', token: 3, offset: 4096, length: 8192 }, { type: 'ready' }];
    }
    if (event.type === 'read') read.push(event.token, event.bytes.length, event.bytes[0]);
    return [];
  });
  world.driver.begin(world);
  assert.deepEqual(world.events, ['open'], 'nothing completes within the call');
  await settled();
  assert.deepEqual(world.events, ['open', 'written', 'flushed', 'read']);
  assert.deepEqual(world.seen, ['trace first', 'ready']);
  assert.deepEqual(read, [3, 4096, 7]);
});

test('a delay of zero means after all effects of the step, before anything else', () => {
  const world = new World((event) => {
    if (event.type === 'open') {
      return [
        { type: 'timer', timer: 'commit', afterNs: 0 },
        { type: 'trace', level: 'info', event: 'still the same step', fields: {} },
      ];
    }
    assert.deepEqual(world.seen, ['trace still the same step']);
    return [];
  });
  world.driver.begin(world);
  assert.deepEqual(world.events, ['open', 'timer commit']);
});

test('a timer fires once, not early, at its last deadline; a disarmed one never', async () => {
  const NS_PER_MS = 1_000_000;
  let armedNs = 0;
  let firedNs = 0;
  const world = new World((event, now) => {
    if (event.type === 'open') {
      return [
        { type: 'timer', timer: 'wake', afterNs: 2 * NS_PER_MS },
        { type: 'timer', timer: 'commit', afterNs: 5 * NS_PER_MS },
        { type: 'timer', timer: 'commit', afterNs: null },
        { type: 'ready' },
      ];
    }
    if (event.type === 'disconnected') {
      armedNs = now.monoNs;
      return [{ type: 'timer', timer: 'wake', afterNs: 30 * NS_PER_MS }];
    }
    firedNs = now.monoNs;
    return [];
  });
  world.driver.begin(world);
  // Pushes the deadline out before the first one is reached.
  world.driver.onDisconnected(1);
  await settled(80);
  assert.deepEqual(world.events, ['open', 'disconnected', 'timer wake']);
  assert.ok(firedNs - armedNs >= 30 * NS_PER_MS, `${firedNs - armedNs} ns`);
  world.driver.stop();
});

test('an earlier deadline replaces a later one', async () => {
  const world = new World((event) => {
    if (event.type !== 'open') return [];
    return [
      { type: 'timer', timer: 'wake', afterNs: 10_000_000_000 },
      { type: 'timer', timer: 'wake', afterNs: 1_000_000 },
    ];
  });
  world.driver.begin(world);
  await settled(40);
  assert.deepEqual(world.events, ['open', 'timer wake']);
});

test('messages reach the engine with their connection; status requests are the host’s', () => {
  const world = new World((event) => {
    if (event.type === 'message' || event.type === 'oversize') {
      return [{ type: 'send', connection: event.connection, message: event.message }];
    }
    if (event.type === 'open') return [{ type: 'ready' }];
    return [{ type: 'close', connection: 9, reason: 'gone' }];
  });
  world.driver.begin(world);
  world.driver.onMessage(4, world.message());
  world.driver.onOversize(5, world.message());
  world.driver.onMessage(6, world.message(Command.status));
  world.driver.onDisconnected(9);
  assert.deepEqual(world.events, ['open', 'message', 'oversize', 'disconnected']);
  assert.deepEqual(world.seen, ['ready', 'send 4', 'send 5', 'status 6', 'close 9 gone']);
  assert.equal(world.resumed, 4, 'once per turn');
  for (const message of world.sent) world.pool.release(message);
  assert.equal(world.pool.leaked(), 0);
});

test('nothing counts after a halt: no effect, no event, no leaked message', async () => {
  const bytes = new Uint8Array(4096);
  const world = new World((event) => {
    if (event.type === 'open')
      return [{ type: 'write', token: 1, offset: 0, bytes, durable: true }, { type: 'ready' }];
    const message = world.message();
    return [
      { type: 'halt', code: 'storage-failed', reason: 'broken' },
      { type: 'send', connection: 1, message },
      { type: 'ready' },
    ];
  });
  world.driver.begin(world);
  world.driver.onMessage(1, world.message());
  assert.ok(world.driver.isStopped);
  world.driver.onMessage(1, world.message());
  world.driver.onOversize(1, world.message());
  await settled();
  assert.deepEqual(world.events, ['open', 'message']);
  assert.deepEqual(world.seen, ['ready', 'halt storage-failed broken']);
  // The script never gave back the message of its own event.
  assert.equal(world.pool.leaked(), 1);
});

test('an engine that throws is not stepped again', () => {
  const world = new World((event) => {
    if (event.type === 'open') return [{ type: 'ready' }];
    throw new Error('a bug');
  });
  world.driver.begin(world);
  world.driver.onDisconnected(1);
  world.driver.onDisconnected(2);
  assert.deepEqual(world.events, ['open', 'disconnected']);
  assert.deepEqual(world.seen, ['ready', 'crash Error: a bug']);
});

test('peers reach the engine, and what it tells them reaches the links', () => {
  const world = new World((event) => {
    if (event.type === 'open') return [{ type: 'ready' }];
    if (event.type === 'peer-up') {
      assert.deepEqual(event.replicaId, new Uint8Array(16).fill(3));
      assert.equal(event.isRecovered, true);
    }
    if (event.type !== 'peer-message') return [];
    return [{ type: 'send-peer', replica: event.replica, message: event.message }];
  });
  world.driver.begin(world);
  world.driver.onPeerUp(2, new Uint8Array(16).fill(3), true);
  world.driver.onPeerMessage(2, world.message(Command.commit));
  world.driver.onPeerDown(2);
  assert.deepEqual(world.events, ['open', 'peer-up', 'peer-message', 'peer-down']);
  assert.deepEqual(world.seen, ['ready', 'send-peer 2']);
});

test('before it is ready an engine hears of nobody', () => {
  const world = new World(() => []);
  world.driver.begin(world);
  world.driver.onMessage(1, world.message());
  world.driver.onOversize(1, world.message());
  world.driver.onDisconnected(1);
  world.driver.onPeerUp(1, new Uint8Array(16), false);
  world.driver.onPeerMessage(1, world.message());
  world.driver.onPeerDown(1);
  assert.deepEqual(world.events, ['open']);
  assert.equal(world.pool.leaked(), 0);
  world.driver.onMessage(6, world.message(Command.status));
  assert.deepEqual(world.seen, ['status 6'], 'but it can be asked how it is');
});

test('a life that ends is followed by the next when the disk is done with it', async () => {
  const bytes = new Uint8Array(4096);
  const world = new World((event) => {
    switch (event.type) {
      case 'open':
        return [{ type: 'ready' }];
      case 'disconnected':
        return [
          { type: 'write', token: 1, offset: 0, bytes, durable: true },
          { type: 'timer', timer: 'wake', afterNs: 1_000_000 },
          { type: 'timer', timer: 'commit', afterNs: 0 },
          { type: 'restart' },
          { type: 'send', connection: 1, message: world.message() },
          { type: 'send-peer', replica: 1, message: world.message() },
        ];
      default:
        return [];
    }
  });
  world.driver.begin(world);
  world.driver.onDisconnected(1);
  world.driver.onMessage(1, world.message());
  assert.deepEqual(world.seen, ['ready'], 'the write is under way');
  assert.equal(world.pool.leaked(), 0);
  await settled();
  assert.deepEqual(world.seen, ['ready', 'restart']);
  world.driver.onPeerMessage(1, world.message());
  assert.deepEqual(world.events, ['open', 'disconnected'], 'neither completion nor timer');
  assert.deepEqual(world.seen, ['ready', 'restart'], 'told once');
  const second = new World((event) => (event.type === 'open' ? [{ type: 'ready' }] : []));
  world.driver.begin(second);
  world.driver.onPeerDown(1);
  await settled(20);
  assert.deepEqual(second.events, ['open', 'peer-down']);
  assert.deepEqual(world.seen, ['ready', 'restart', 'ready']);
  assert.equal(world.pool.leaked(), 0);
});

test('a driver that is stopped between two lives begins no other', async () => {
  const bytes = new Uint8Array(4096);
  const world = new World(() => [
    { type: 'write', token: 1, offset: 0, bytes, durable: true },
    { type: 'restart' },
  ]);
  world.driver.begin(world);
  world.driver.stop();
  await settled();
  assert.deepEqual(world.seen, []);
});
