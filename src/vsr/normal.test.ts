import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  COUNTER_ADD,
  COUNTER_READ,
  CounterMachine,
  KEY_VALUE_GET,
  KEY_VALUE_PUT,
  KeyValueMachine,
  keyValueBody,
  PIPELINE_MAX,
} from '../engine/index.ts';
import { readSafeU64, readU64, u64Add, u64FromNumber, u64ToNumber } from '../stdx/index.ts';
import { HEADER_SIZE, ReplyOffset } from '../wire/index.ts';
import { checkpointAfter, fixedSize, headerOffset, prepareOffset } from './file/geometry.ts';
import {
  checksum,
  formatDisk,
  GEOMETRY_SMALL,
  TestClient,
  TestServer,
  WALL_START,
} from './replica-test-helper.ts';

const one = Uint8Array.of(1, 0, 0, 0);
const timestampOf = (reply: Uint8Array): number =>
  u64ToNumber(readU64(reply, ReplyOffset.timestamp));

function serve(): TestServer {
  return new TestServer(formatDisk(), new CounterMachine()).open();
}

test('an operation is on disk, body before header, before it is answered', () => {
  const server = serve();
  const client = new TestClient(1);
  client.register(server);
  server.writes.length = 0;
  server.isHeld = true;
  server.receive(1, client.build(COUNTER_ADD, one));
  assert.equal(server.take().length, 0);
  assert.equal(server.replica.status().op, 2);
  assert.equal(server.replica.status().opDurable, 1);
  server.run();
  assert.deepEqual(server.writes, [
    { offset: prepareOffset(GEOMETRY_SMALL, 2), length: 4096 },
    { offset: headerOffset(GEOMETRY_SMALL, 2), length: 4096 },
  ]);
  assert.equal(server.take().length, 1);
  server.stop();
});

test('the next log write leaves before an operation is executed', () => {
  const server = serve();
  const clients = [1, 2, 3].map((number) => new TestClient(number));
  for (const client of clients) client.register(server);
  server.take();
  server.isHeld = true;
  for (const client of clients) server.receive(client.connection, client.build(COUNTER_ADD, one));
  assert.equal(server.replica.status().op, 6, 'all are prepared at once');
  const step = server.replica.step.bind(server.replica);
  server.replica.step = (event, now) => {
    const effects = step(event, now);
    const types = new Set(effects.map(({ type }) => type));
    assert.ok(!(types.has('write') && types.has('send')), 'a step that writes executes nothing');
    return effects;
  };
  /** Replies and body writes in the order in which they left. */
  const order: string[] = [];
  const write = server.disk.write.bind(server.disk);
  server.disk.write = (offset, bytes): void => {
    const isBody = offset >= prepareOffset(GEOMETRY_SMALL, 0);
    order.push(...server.take().map(({ connection }) => `reply ${connection}`));
    if (isBody) order.push('write');
    write(offset, bytes);
  };
  server.run();
  order.push(...server.take().map(({ connection }) => `reply ${connection}`));
  assert.equal(order.join(' '), 'write reply 1 write reply 2 reply 3');
  server.stop();
});

test('the pipeline is bounded; whoever waits is prepared when there is room', () => {
  const server = serve();
  const clients = Array.from({ length: 20 }, (_, i) => new TestClient(i + 1));
  server.isHeld = true;
  for (const client of clients) server.receive(client.connection, client.buildRegister());
  assert.equal(server.replica.status().op, PIPELINE_MAX);
  assert.equal(server.replica.status().queued, 20 - PIPELINE_MAX);
  server.run();
  assert.equal(server.take().length, 20);
  assert.equal(server.replica.status().commitMin, 20);
  server.stop();
});

test('timestamps follow the wall clock, but never go back', () => {
  const server = serve();
  const client = new TestClient(1);
  assert.equal(timestampOf(client.register(server)), u64ToNumber(WALL_START));
  const next = (): number => {
    const reply = server.ask(1, client.build(COUNTER_READ))!;
    client.accept(reply);
    return timestampOf(reply);
  };
  server.wall = u64Add(WALL_START, 5000);
  assert.equal(next(), u64ToNumber(WALL_START) + 5000);
  server.wall = u64FromNumber(17);
  assert.equal(next(), u64ToNumber(WALL_START) + 5001);
  assert.equal(next(), u64ToNumber(WALL_START) + 5002);
  // Not after a restart either.
  const again = new TestServer(server.stop(), new CounterMachine());
  again.wall = u64FromNumber(17);
  again.open();
  const reply = again.ask(1, client.build(COUNTER_READ))!;
  assert.equal(timestampOf(reply), u64ToNumber(WALL_START) + 5003);
  again.stop();
});

test('what is due happens within two beats, without any traffic', () => {
  const machine = new KeyValueMachine(checksum);
  const server = new TestServer(formatDisk(), machine).open();
  const client = new TestClient(1);
  client.register(server);
  for (let i = 0; i < 40; i++) {
    client.call(server, KEY_VALUE_PUT, keyValueBody(`key ${i}`, one, 250));
  }
  const before = server.replica.status().commitMin;
  server.sleep(240_000_000);
  assert.equal(machine.size, 40);
  assert.equal(server.replica.status().commitMin, before, 'nothing due, nothing proposed');
  server.sleep(210_000_000);
  assert.equal(machine.size, 0);
  // 16 at a time: as many pulses as it takes, one after another.
  assert.equal(server.replica.status().commitMin, before + 3);
  server.sleep(1_000_000_000);
  assert.equal(server.replica.status().commitMin, before + 3);
  assert.equal(server.take().length, 0);
  server.stop();
});

test('a pulse goes before requests that wait', () => {
  const machine = new KeyValueMachine(checksum);
  const server = new TestServer(formatDisk(), machine).open();
  const client = new TestClient(1);
  client.register(server);
  client.call(server, KEY_VALUE_PUT, keyValueBody('mortal', one, 10));
  server.wall = u64Add(server.wall, 20_000_000);
  const reply = client.call(server, KEY_VALUE_GET, keyValueBody('mortal'));
  assert.equal(reply[0], 0, 'expired by the pulse before it');
  assert.equal(server.replica.status().commitMin, 4);
  server.stop();
});

test('while a checkpoint is made, operations go on as far as they may', () => {
  for (const [slots, opMax] of [
    [40, 7 + 8],
    [64, 31 + 16],
  ] as const) {
    const geometry = { ...GEOMETRY_SMALL, slots };
    const server = new TestServer(formatDisk(geometry), new CounterMachine()).open();
    const first = checkpointAfter(geometry, 0);
    const clients = Array.from({ length: 60 }, (_, i) => new TestClient(i + 1));
    server.isHeld = true;
    for (const client of clients) server.receive(client.connection, client.buildRegister());
    let ahead = 0;
    const step = server.replica.step.bind(server.replica);
    server.replica.step = (event, now) => {
      const effects = step(event, now);
      const { commitMin, checkpoint } = server.replica.status();
      if (checkpoint.op === 0) ahead = Math.max(ahead, commitMin);
      return effects;
    };
    // The writes of the checkpoint take longer than anything else.
    server.isLate = (offset) => offset >= fixedSize(geometry);
    server.run();
    assert.equal(ahead, opMax);
    assert.ok(ahead > first);
    assert.equal(server.take().length, 60);
    assert.equal(server.replica.status().commitMin, 60);
    const traces = server.traces.filter(({ event }) => event === 'checkpoint');
    const ops = traces.map(({ fields }) => fields['op']);
    assert.deepEqual(ops, slots === 40 ? [7, 15, 23, 31, 39, 47, 55] : [31]);
    assert.equal(typeof traces[0]!.fields['durationMs'], 'number');
    assert.equal(traces[0]!.fields['operationsMeanwhile'], opMax - first);
    server.stop();
  }
});

test('a full disk makes it read-only until there is room again', () => {
  const machine = new CounterMachine();
  const server = new TestServer(formatDisk(), machine).open();
  server.spaceMax = fixedSize(GEOMETRY_SMALL);
  const client = new TestClient(1);
  client.register(server);
  for (let op = 2; op <= 7; op++) client.call(server, COUNTER_ADD, one);
  assert.equal(server.replica.status().isReadOnly, true);
  assert.equal(server.traces.filter(({ event }) => event === 'disk-full').length, 1);
  assert.equal(server.halted, null);
  const request = client.build(COUNTER_ADD, one);
  assert.equal(server.ask(1, request), null);
  assert.equal(server.replica.status().dropped['read-only'], 1);
  server.sleep(3_000_000_000);
  assert.equal(server.replica.status().isReadOnly, true, 'tried again, in vain');
  assert.ok(server.ask(1, client.buildPing()) !== null, 'pings are answered');
  server.spaceMax = Number.POSITIVE_INFINITY;
  server.sleep(1_100_000_000);
  assert.equal(server.replica.status().isReadOnly, false);
  assert.equal(server.replica.status().checkpoint.op, 7);
  const reply = server.ask(1, request)!;
  assert.equal(readSafeU64(reply, HEADER_SIZE), 7);
  server.stop();
});

test('a failed write, read or flush ends the replica; nothing is acknowledged after it', () => {
  const server = serve();
  const client = new TestClient(1);
  client.register(server);
  server.isHeld = true;
  let token = 0;
  const step = server.replica.step.bind(server.replica);
  server.replica.step = (event, now) => {
    const effects = step(event, now);
    for (const effect of effects) if (effect.type === 'write') token = effect.token;
    return effects;
  };
  server.receive(1, client.build(COUNTER_ADD, one));
  server.step({ type: 'written', token, error: 'io' });
  assert.equal(server.halted?.code, 'storage-failed');
  assert.equal(server.replica.status().role, 'halted');
  server.step({ type: 'written', token, error: null });
  server.receive(1, client.buildPing());
  assert.equal(server.take().length, 0);
  server.stop();
  for (const type of ['read', 'flushed'] as const) {
    const second = new TestServer(formatDisk(), new CounterMachine());
    second.isHeld = true;
    let reads = 0;
    const inner = second.replica.step.bind(second.replica);
    second.replica.step = (event, now) => {
      const isTarget = event.type === type && reads++ === 0;
      return inner(isTarget ? { ...event, error: 'io' } : event, now);
    };
    second.open();
    assert.equal(second.halted?.code, 'storage-failed', type);
    second.stop();
  }
});

test('a machine that throws is not caught', () => {
  const machine = new CounterMachine();
  const server = new TestServer(formatDisk(), machine).open();
  const client = new TestClient(1);
  client.register(server);
  machine.apply = (): number => {
    throw new RangeError('a bug');
  };
  assert.throws(() => server.receive(1, client.build(COUNTER_ADD, one)), /a bug/);
});

test('when replies that leave hold every slot, execution waits for one', () => {
  const server = serve();
  const clients = [new TestClient(1), new TestClient(2)];
  for (const client of clients) client.register(server);
  const held = [];
  while (server.pool.available('reply') > 0) held.push(server.pool.acquire('reply')!);
  server.receive(1, clients[0]!.build(COUNTER_ADD, one));
  assert.equal(server.take().length, 0);
  assert.equal(server.replica.status().opDurable, 3);
  assert.equal(server.replica.status().commitMin, 2);
  for (const message of held) server.pool.release(message);
  server.sleep(100_000_000);
  assert.equal(server.take().length, 1);
  server.stop();
});
