/** A scripted engine shows what the driver does with each effect, and in which order. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Effect, Engine, Event, Instant } from '../engine/index.ts';
import { Clock, MemoryFile } from '../io/index.ts';
import { Command, HEADER_SIZE, initHeader, type Message, MessagePool } from '../wire/index.ts';
import { Driver, type Network } from './driver.ts';

type Script = (event: Event, now: Instant) => readonly Effect[];

class World implements Engine, Network {
  readonly pool: MessagePool = new MessagePool({
    requestSlotSize: 4096,
    requestSlots: 4,
    replySlots: 0,
    smallSlots: 4,
    poison: true,
  });
  readonly storage: MemoryFile = new MemoryFile();
  readonly clock: Clock = new Clock();
  readonly events: string[] = [];
  readonly seen: string[] = [];
  readonly sent: Message[] = [];
  readonly driver: Driver;
  readonly script: Script;
  resumed: number = 0;
  #isInside: boolean = false;

  constructor(script: Script) {
    this.script = script;
    this.driver = new Driver({
      engine: this,
      pool: this.pool,
      storage: this.storage,
      network: this,
      now: () => this.clock.now(),
      listener: {
        onReady: () => this.seen.push('ready'),
        onTrace: ({ event }) => this.seen.push(`trace ${event}`),
        onStatus: (connection) => this.seen.push(`status ${connection}`),
        onHalt: (code, reason) => this.seen.push(`halt ${code} ${reason}`),
        onCrash: (error) => this.seen.push(`crash ${String(error)}`),
      },
    });
  }

  step(event: Event, now: Instant): readonly Effect[] {
    assert.equal(this.#isInside, false, 'entered twice');
    this.#isInside = true;
    this.events.push(event.type === 'timer' ? `timer ${event.timer}` : event.type);
    try {
      return this.script(event, now);
    } finally {
      this.#isInside = false;
    }
  }

  invariants(): void {}

  send(connection: number, message: Message): void {
    this.seen.push(`send ${connection}`);
    this.sent.push(message);
  }

  close(connection: number, reason: string): void {
    this.seen.push(`close ${connection} ${reason}`);
  }

  resume(): void {
    this.resumed += 1;
  }

  message(command: Command = Command.request): Message {
    const message = this.pool.acquire('small');
    assert.ok(message !== null);
    const cluster = new Uint8Array(16);
    const size = HEADER_SIZE;
    initHeader(message.bytes, { command, size, cluster, view: 0, release: 1, replica: 0 });
    return message;
  }
}

function settled(ms: number = 5): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

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
  world.driver.start();
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
  world.driver.start();
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
      ];
    }
    if (event.type === 'disconnected') {
      armedNs = now.monoNs;
      return [{ type: 'timer', timer: 'wake', afterNs: 30 * NS_PER_MS }];
    }
    firedNs = now.monoNs;
    return [];
  });
  world.driver.start();
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
  world.driver.start();
  await settled(40);
  assert.deepEqual(world.events, ['open', 'timer wake']);
});

test('messages reach the engine with their connection; status requests are the host’s', () => {
  const world = new World((event) => {
    if (event.type === 'message' || event.type === 'oversize') {
      return [{ type: 'send', connection: event.connection, message: event.message }];
    }
    return event.type === 'open' ? [] : [{ type: 'close', connection: 9, reason: 'gone' }];
  });
  world.driver.start();
  world.driver.onMessage(4, world.message());
  world.driver.onOversize(5, world.message());
  world.driver.onMessage(6, world.message(Command.status));
  world.driver.onDisconnected(9);
  assert.deepEqual(world.events, ['open', 'message', 'oversize', 'disconnected']);
  assert.deepEqual(world.seen, ['send 4', 'send 5', 'status 6', 'close 9 gone']);
  assert.equal(world.resumed, 4, 'once per turn');
  for (const message of world.sent) world.pool.release(message);
  assert.equal(world.pool.leaked(), 0);
});

test('nothing counts after a halt: no effect, no event, no leaked message', async () => {
  const bytes = new Uint8Array(4096);
  const world = new World((event) => {
    if (event.type === 'open')
      return [{ type: 'write', token: 1, offset: 0, bytes, durable: true }];
    const message = world.message();
    return [
      { type: 'halt', code: 'storage-failed', reason: 'broken' },
      { type: 'send', connection: 1, message },
      { type: 'ready' },
    ];
  });
  world.driver.start();
  world.driver.onMessage(1, world.message());
  assert.ok(world.driver.isStopped);
  world.driver.onMessage(1, world.message());
  world.driver.onOversize(1, world.message());
  await settled();
  assert.deepEqual(world.events, ['open', 'message']);
  assert.deepEqual(world.seen, ['halt storage-failed broken']);
  // The script never gave back the message of its own event.
  assert.equal(world.pool.leaked(), 1);
});

test('an engine that throws is not stepped again', () => {
  const world = new World((event) => {
    if (event.type === 'open') return [];
    throw new Error('a bug');
  });
  world.driver.start();
  world.driver.onDisconnected(1);
  world.driver.onDisconnected(2);
  assert.deepEqual(world.events, ['open', 'disconnected']);
  assert.deepEqual(world.seen, ['crash Error: a bug']);
});
