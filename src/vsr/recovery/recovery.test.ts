import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  COUNTER_ADD,
  COUNTER_READ,
  CounterMachine,
  KEY_VALUE_DELETE,
  KEY_VALUE_GET,
  KEY_VALUE_PUT,
  KeyValueMachine,
  keyValueBody,
} from '../../engine/index.ts';
import { Prng, readSafeU64, toHex } from '../../stdx/index.ts';
import { fixedSize, headerOffset, prepareOffset, SUPERBLOCK_COPY_SIZE } from '../file/geometry.ts';
import {
  checksum,
  formatDisk,
  GEOMETRY_SMALL,
  TestClient,
  type TestDisk,
  TestServer,
} from '../replica-test-helper.ts';

const one = Uint8Array.of(1, 0, 0, 0);

/** A disk with `operations` committed operations on it, the register included. */
function usedDisk(operations: number): { readonly disk: TestDisk; readonly client: TestClient } {
  const server = new TestServer(formatDisk(), new CounterMachine()).open();
  const client = new TestClient(1);
  client.register(server);
  for (let op = 2; op <= operations; op++) client.call(server, COUNTER_ADD, one);
  return { disk: server.stop(), client };
}

test('a restart at every op brings back state, sessions and digest, in a new view', () => {
  const server = new TestServer(formatDisk(), new CounterMachine()).open();
  const client = new TestClient(1);
  client.register(server);
  // More than three wraps of the log.
  for (let op = 2; op <= 3 * GEOMETRY_SMALL.slots + 5; op++) {
    client.call(server, COUNTER_ADD, one);
    const before = server.replica.status();
    const machine = new CounterMachine();
    const second = new TestServer(server.disk.clone(), machine).open();
    assert.equal(second.halted, null);
    const after = second.replica.status();
    assert.equal(machine.total, op - 1);
    assert.equal(after.commitMin, op);
    assert.equal(after.digest, before.digest);
    assert.deepEqual(after.checkpoint, before.checkpoint);
    assert.equal(after.sessions, 1);
    assert.equal(after.view, before.view + 1);
    second.stop();
  }
  assert.ok(server.replica.status().checkpoint.op > 3 * GEOMETRY_SMALL.slots - 16);
  // Places of old blocks are used again.
  assert.ok(server.disk.bytes.length <= fixedSize(GEOMETRY_SMALL) + 12 * 4096);
  server.stop();
});

test('one replica through many restarts stays one replica', () => {
  const prng = new Prng(7);
  let disk = formatDisk();
  const client = new TestClient(1);
  let total = 0;
  for (let life = 0; life < 60; life++) {
    const server = new TestServer(disk, new CounterMachine()).open();
    assert.equal(server.replica.status().view, life + 1);
    if (life === 0) client.register(server);
    for (let i = prng.below(12); i > 0; i--) {
      total++;
      assert.equal(readSafeU64(client.call(server, COUNTER_ADD, one), 0), total);
    }
    disk = server.stop();
  }
  assert.ok(total > 200);
});

test('storage may complete in any order', () => {
  const prng = new Prng(31);
  let disk = formatDisk();
  const clients = Array.from({ length: 40 }, (_, i) => new TestClient(i + 1));
  let total = 0;
  for (let life = 0; life < 12; life++) {
    const machine = new CounterMachine();
    const server = new TestServer(disk, machine);
    server.shuffle = prng;
    server.open();
    assert.equal(server.halted, null);
    assert.equal(machine.total, total);
    // Many clients at once: operations are prepared while a checkpoint is being made.
    server.isHeld = true;
    for (let round = 0; round < 2; round++) {
      for (const client of clients) {
        const isFirst = life + round === 0;
        const request = isFirst ? client.buildRegister() : client.build(COUNTER_ADD, one);
        server.receive(client.connection, request);
        if (!isFirst) total++;
      }
      server.run();
      const replies = server.take();
      assert.equal(replies.length, clients.length);
      for (const { connection, bytes } of replies) clients[connection - 1]!.accept(bytes);
    }
    disk = server.stop();
  }
});

test('after a restart the last request is answered with the stored reply, in the new view', () => {
  for (const operations of [1, 2, 5, 7, 8, 20]) {
    const { disk, client } = usedDisk(operations);
    const server = new TestServer(disk, new CounterMachine()).open();
    const digest = server.replica.status().digest;
    // The client resends its last request: the same bytes as the first time.
    const last = new TestClient(1);
    const replay = new TestServer(formatDisk(), new CounterMachine()).open();
    let request = last.buildRegister();
    let reply = replay.ask(1, request);
    for (let op = 2; op <= operations; op++) {
      last.accept(reply!);
      request = last.build(COUNTER_ADD, one);
      reply = replay.ask(1, request);
    }
    const again = server.ask(1, request);
    assert.ok(again !== null && reply !== null);
    assert.equal(again[104], 2, 'the view of the second life');
    assert.equal(toHex(again.subarray(112)), toHex(reply.subarray(112)), 'all else is the same');
    assert.equal(server.replica.status().digest, digest, 'nothing was executed');
    assert.equal(server.replica.status().commitMin, operations);
    assert.equal(client.session, 1);
    server.stop();
  }
});

test('key-value: random operations, restarts and expiry against a map', () => {
  const prng = new Prng(99);
  const model = new Map<string, number>();
  let server = new TestServer(formatDisk(), new KeyValueMachine(checksum)).open();
  const client = new TestClient(5);
  client.register(server);
  for (let i = 0; i < 400; i++) {
    const key = `key ${prng.below(30)}`;
    const kind = prng.below(10);
    if (kind < 5) {
      const value = prng.u32() & 0xff;
      client.call(server, KEY_VALUE_PUT, keyValueBody(key, Uint8Array.of(value), 0));
      model.set(key, value);
    } else if (kind < 6) {
      client.call(server, KEY_VALUE_PUT, keyValueBody('mortal', Uint8Array.of(1), 150));
      server.sleep(400_000_000);
      assert.equal(client.call(server, KEY_VALUE_GET, keyValueBody('mortal'))[0], 0);
    } else if (kind < 8) {
      client.call(server, KEY_VALUE_DELETE, keyValueBody(key));
      model.delete(key);
    } else {
      const reply = client.call(server, KEY_VALUE_GET, keyValueBody(key));
      assert.equal(reply[0] === 1 ? reply[1] : undefined, model.get(key));
    }
    if (!prng.chance(1, 10)) continue;
    const machine = new KeyValueMachine(checksum);
    const { monoNs, wall } = server;
    server = new TestServer(server.stop(), machine);
    Object.assign(server, { monoNs, wall });
    server.open();
    assert.equal(machine.size, model.size);
  }
  assert.ok(server.replica.status().checkpoint.op > 300);
  server.stop();
});

test('what does not explain itself by a crash is refused, and the place is named', () => {
  const { disk } = usedDisk(20);
  const spoil = (offset: number, length: number): TestDisk => {
    const copy = disk.clone();
    copy.bytes.fill(0xee, offset, offset + length);
    return copy;
  };
  const reasonOf = (damaged: TestDisk): string | null => {
    const server = new TestServer(damaged, new CounterMachine()).open();
    const reason = server.halted?.reason ?? null;
    assert.equal(server.halted?.code ?? 'storage-corrupt', 'storage-corrupt');
    server.stop();
    return reason;
  };
  const prepareAt = (op: number): number => prepareOffset(GEOMETRY_SMALL, op);
  const headerAt = (op: number): number => headerOffset(GEOMETRY_SMALL, op);
  // Operations 16 … 20 lie behind the checkpoint at 15.
  assert.match(reasonOf(spoil(prepareAt(18), 256)) ?? '', /operation 18 is lost.*case C/);
  assert.match(reasonOf(spoil(prepareAt(18) + 256, 4)) ?? '', /operation 18 .*is damaged/);
  assert.match(reasonOf(spoil(prepareAt(20) + 300, 4)) ?? '', /operation 20 .*is damaged/);
  // A header alone is written again; an operation that the checkpoint covers is not needed.
  assert.equal(reasonOf(spoil(headerAt(18), 4096)), null);
  assert.equal(reasonOf(spoil(prepareAt(9), 4096)), null);
  assert.equal(reasonOf(spoil(0, SUPERBLOCK_COPY_SIZE)), null);
  // Swapped slots: needed ones are refused, others emptied.
  const swapped = (a: number, b: number): TestDisk => {
    const copy = disk.clone();
    const size = GEOMETRY_SMALL.slotSize;
    copy.bytes.set(disk.bytes.subarray(prepareAt(a), prepareAt(a) + size), prepareAt(b));
    copy.bytes.set(disk.bytes.subarray(prepareAt(b), prepareAt(b) + size), prepareAt(a));
    return copy;
  };
  assert.match(reasonOf(swapped(17, 19)) ?? '', /operation 17 is lost/);
  assert.equal(reasonOf(swapped(3, 5)), null);
  // A file that has lost its end.
  const short = disk.clone();
  short.bytes = short.bytes.slice(0, short.bytes.length - 4096);
  assert.match(reasonOf(short) ?? '', /the file ends at/);
});

test('a fresh file survives the loss of slot 0', () => {
  for (const offset of [prepareOffset(GEOMETRY_SMALL, 0), headerOffset(GEOMETRY_SMALL, 0)]) {
    const disk = formatDisk();
    disk.bytes.fill(0, offset, offset + 4096);
    const server = new TestServer(disk, new CounterMachine()).open();
    assert.equal(server.isReady, true);
    const client = new TestClient(1);
    client.register(server);
    assert.equal(readSafeU64(client.call(server, COUNTER_ADD, one), 0), 1);
    server.stop();
  }
});

test('a crash at every write of a run loses nothing that was acknowledged', () => {
  const operations = 20;
  let isDone = false;
  for (let crashAt = 0; !isDone; crashAt++) {
    // Of the write that the crash interrupts, this many bytes arrive: a torn header, a torn body.
    for (const tornSize of [crashAt % 2 === 0 ? 100 : 2048, 256]) {
      const disk = formatDisk();
      const server = new TestServer(disk, new CounterMachine());
      const acknowledged = runUntil(server, crashAt, tornSize, operations);
      const machine = new CounterMachine();
      const second = new TestServer(disk, machine).open();
      assert.equal(second.halted, null, `crash at write ${crashAt}`);
      assert.ok(machine.total >= acknowledged, `crash at write ${crashAt}`);
      assert.ok(machine.total <= acknowledged + 1, `crash at write ${crashAt}`);
      const client = new TestClient(9);
      client.register(second);
      assert.equal(readSafeU64(client.call(second, COUNTER_READ), 0), machine.total);
      second.stop();
      isDone = acknowledged === operations;
    }
  }
});

/** Additions acknowledged until the write of that number is torn and all later ones are lost. */
function runUntil(
  server: TestServer,
  crashAt: number,
  tornSize: number,
  operations: number,
): number {
  const { disk } = server;
  const write = disk.write.bind(disk);
  let count = 0;
  disk.write = (offset, bytes): void => {
    if (count < crashAt) write(offset, bytes);
    if (count === crashAt) write(offset, bytes.subarray(0, tornSize));
    count++;
  };
  server.open();
  const client = new TestClient(1);
  let acknowledged = 0;
  if (count <= crashAt) client.register(server);
  while (count <= crashAt && acknowledged < operations) {
    const reply = client.call(server, COUNTER_ADD, one);
    if (count <= crashAt) acknowledged = readSafeU64(reply, 0) ?? 0;
  }
  disk.write = write;
  return acknowledged;
}

test('recovery waits for room: in the pool, on the disk', () => {
  const { disk } = usedDisk(14);
  const machine = new CounterMachine();
  const server = new TestServer(disk, machine);
  // Connections that are being received hold every slot.
  const held = [];
  while (server.pool.available('request') > 0) held.push(server.pool.acquire('request')!);
  server.open();
  assert.equal(server.isReady, false);
  for (const message of held) server.pool.release(message);
  server.sleep(200_000_000);
  assert.equal(server.isReady, true);
  assert.equal(machine.total, 13);
  server.stop();
  // A crash right before the checkpoint at 7, and a disk without room for it.
  const full = formatDisk();
  const first = new TestServer(full, new CounterMachine()).open();
  first.spaceMax = fixedSize(GEOMETRY_SMALL);
  const client = new TestClient(1);
  client.register(first);
  for (let op = 2; op <= 7; op++) client.call(first, COUNTER_ADD, one);
  first.stop();
  const second = new TestServer(full, new CounterMachine());
  second.spaceMax = fixedSize(GEOMETRY_SMALL);
  second.open();
  second.sleep(3_000_000_000);
  assert.equal(second.isReady, false);
  assert.equal(second.replica.status().isReadOnly, true);
  second.spaceMax = Number.POSITIVE_INFINITY;
  second.sleep(2_000_000_000);
  assert.equal(second.isReady, true);
  assert.equal(second.replica.status().checkpoint.op, 7);
  second.stop();
});
