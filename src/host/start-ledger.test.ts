/** Lives of real ledgers: on files, in memory, and all the ways in which they refuse to start. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { DataFileCorruptError, type LogRecord, type Storage } from '../io/index.ts';
import { Ledger } from '../ledger/index.ts';
import { writeU32 } from '../stdx/index.ts';
import {
  GEOMETRY_DEVELOPMENT,
  headerOffset,
  prepareOffset,
  SUPERBLOCK_COPIES,
  SUPERBLOCK_COPY_SIZE,
} from '../vsr/index.ts';
import { createChecksum } from '../wire/index.ts';
import { formatLedger } from './format.ts';
import { vsrHome } from './homes/vsr-home.ts';
import { registerClient, statusOf } from './host-test-helper.ts';
import { openMemoryFile } from './replica-file.ts';
import { ReplicaServer } from './replica-server.ts';
import { startLedger, startReplicaServer } from './start-ledger.ts';

const folder = fs.mkdtempSync(join(tmpdir(), 'roundelay-host-'));
after(() => fs.rmSync(folder, { recursive: true }));
let files = 0;

async function newFile(): Promise<string> {
  files += 1;
  const path = join(folder, `file-${files}`);
  const { sizeBytes } = await formatLedger({ path, development: true });
  assert.equal(fs.statSync(path).size, sizeBytes);
  assert.ok(sizeBytes <= 8 * 1_048_576, 'a small file for development');
  return path;
}

const local = { host: '127.0.0.1', port: 0 };

test('a ledger in memory answers a register request and ends with its block', async () => {
  let port: number;
  {
    await using ledger = await startLedger();
    port = ledger.port;
    assert.equal(ledger.address, `127.0.0.1:${port}`);
    assert.equal(ledger.path, null);
    const { session, release, bodySizeMax } = await registerClient(port);
    assert.ok(session >= 1);
    assert.equal(release, 0x1109);
    assert.equal(bodySizeMax, 32_768 - 256);
    assert.equal(ledger.status().role, 'primary');
    assert.equal(ledger.status().sessions, 1);
    assert.equal(ledger.status().durability, 'memory');
    assert.match(ledger.root(), /^[0-9a-f]{32}$/);
  }
  const refused = net.connect({ port, host: '127.0.0.1' });
  const error = await new Promise<Error>((resolve) => refused.once('error', resolve));
  assert.equal('code' in error && error.code, 'ECONNREFUSED');
});

test('a ledger on a folder makes its file, keeps its data, and starts in the next view', async () => {
  const directory = join(folder, 'new', 'deep');
  const first = await startLedger({ directory, development: true });
  assert.equal(first.path, join(directory, '0_0.roundelay'));
  assert.equal(fs.statSync(first.path).mode & 0o777, 0o600);
  assert.equal(fs.statSync(directory).mode & 0o777, 0o700);
  const { session } = await registerClient(first.port);
  const { view, commitMin } = first.status();
  const root = first.root();
  await first.close();
  assert.equal(await first.ended, null);
  assert.equal(fs.existsSync(`${first.path}.lock`), false);

  const second = await startLedger({ directory });
  assert.equal(second.status().view, view + 1);
  assert.equal(second.status().commitMin, commitMin);
  assert.equal(second.status().sessions, 1);
  assert.equal(second.root(), root);
  assert.ok((await registerClient(second.port)).session > session);
  await second.close();
});

test('the status that a client asks for is the one that the program sees', async () => {
  const ledger = await startLedger();
  await registerClient(ledger.port);
  const report = await statusOf(ledger.port);
  const own = ledger.status();
  for (const name of ['role', 'view', 'op', 'commitMin', 'digest', 'sessions', 'pid', 'address']) {
    assert.deepEqual(report[name], own[name as keyof typeof own], name);
  }
  assert.equal(own.clients.received['status'], 1);
  assert.equal(own.clients.sent['statusReply'], 1);
  await ledger.close();
});

test('a file in use is refused with the holder; after a close it is free', async () => {
  const path = await newFile();
  const server = await startReplicaServer({ path, addresses: [local] });
  await assert.rejects(startReplicaServer({ path, addresses: [local] }), {
    code: 'ERR_DATA_FILE_LOCKED',
    pid: process.pid,
  });
  await registerClient(server.address.port);
  await server.close();
  await (await startReplicaServer({ path, addresses: [local] })).close();
});

test('an address in use is found before anything is written', async () => {
  const path = await newFile();
  const other = await startLedger();
  const before = fs.readFileSync(path);
  const address = { host: '127.0.0.1', port: other.port };
  await assert.rejects(startReplicaServer({ path, addresses: [address] }), {
    code: 'ERR_ADDRESS_IN_USE',
  });
  assert.deepEqual(fs.readFileSync(path), before);
  await other.close();
  await (await startReplicaServer({ path, addresses: [address] })).close();
});

/** Changes the file and starts it: what does it say, and where? */
async function damaged(change: (bytes: Buffer) => Buffer): Promise<Error> {
  const path = await newFile();
  fs.writeFileSync(path, change(fs.readFileSync(path)));
  const attempt = startReplicaServer({ path, addresses: [local] });
  const error = await attempt.then(
    () => assert.fail('it started'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof Error);
  assert.ok(error.message.includes(path), error.message);
  assert.ok(!fs.existsSync(`${path}.lock`), 'the lock is given back');
  return error;
}

function damageCopies(bytes: Buffer, copies: number): Buffer {
  for (let i = 0; i < copies; i++)
    bytes.fill(0, i * SUPERBLOCK_COPY_SIZE, (i + 1) * SUPERBLOCK_COPY_SIZE);
  return bytes;
}

test('damaged files are refused with file and place, lightly damaged ones are not', async () => {
  const truncated = await damaged((bytes) => bytes.subarray(0, bytes.length - 512));
  assert.match(
    truncated.message,
    /is corrupt at offset \d+: the file ends here, it must have \d+ bytes$/,
  );
  const empty = await damaged(() => Buffer.alloc(0));
  assert.match(
    empty.message,
    /is corrupt at offset 0: there is no superblock, so it is no data file$/,
  );
  const other = await damaged(() => Buffer.from('a text file\n'.repeat(10_000)));
  assert.match(other.message, /no data file$/);
  const three = await damaged((bytes) => damageCopies(bytes, 3));
  assert.match(three.message, /is corrupt at offset 0/);
  for (const error of [truncated, empty, other, three]) {
    assert.equal('code' in error && error.code, 'ERR_DATA_FILE_CORRUPT');
  }
  const path = await newFile();
  fs.writeFileSync(path, damageCopies(fs.readFileSync(path), 1));
  await (await startReplicaServer({ path, addresses: [local] })).close();
});

test('files of another format version are refused with both versions', async () => {
  const checksum = createChecksum();
  for (const version of [0, 2, 77]) {
    const error = await damaged((bytes) => {
      for (let i = 0; i < SUPERBLOCK_COPIES; i++) {
        const copy = bytes.subarray(i * SUPERBLOCK_COPY_SIZE, (i + 1) * SUPERBLOCK_COPY_SIZE);
        writeU32(copy, 32, version);
        checksum.digest(copy, 16, copy.length - 16, copy, 0);
      }
      return bytes;
    });
    assert.equal('code' in error && error.code, 'ERR_FORMAT_VERSION');
    assert.match(error.message, new RegExp(`has format version ${version}, .* reads version 1$`));
  }
});

test('a file that is not the one asked for is refused', async () => {
  const path = await newFile();
  const two = [local, { host: '127.0.0.1', port: 1 }];
  await assert.rejects(startReplicaServer({ path, addresses: two }), {
    code: 'ERR_DATA_FILE_MISMATCH',
    message: `data file ${path} was formatted for 1 replica, 2 addresses were given`,
  });
  await assert.rejects(startReplicaServer({ path, addresses: [local], cluster: 7 }), {
    code: 'ERR_DATA_FILE_MISMATCH',
    message: `data file ${path} belongs to another cluster than 7`,
  });
  await assert.rejects(startReplicaServer({ path: join(folder, 'nowhere'), addresses: [local] }), {
    code: 'ERR_DATA_FILE_MISSING',
  });
  for (const odd of [{ replicaCount: 7 }, { replica: 3, replicaCount: 3 }, { replicaCount: 0 }]) {
    await assert.rejects(formatLedger({ path: join(folder, 'odd'), ...odd }), {
      code: 'ERR_DATA_FILE_MISMATCH',
    });
  }
  await assert.rejects(formatLedger({ path }), { code: 'ERR_DATA_FILE_EXISTS' });
  await assert.rejects(startLedger({ cluster: -1 }), RangeError);
});

test('a normal file does not start as a development one', async () => {
  const path = join(folder, 'normal');
  await formatLedger({ path });
  await assert.rejects(startReplicaServer({ path, addresses: [local], development: true }), {
    code: 'ERR_DATA_FILE_MISMATCH',
    message: `data file ${path} was formatted without --development, which cannot be changed afterwards`,
  });
  fs.rmSync(path);
});

test('a folder that cannot be used is said so', async () => {
  fs.writeFileSync(join(folder, 'plain'), '');
  await assert.rejects(startLedger({ directory: join(folder, 'plain', 'sub') }), (error) => {
    assert.ok(error instanceof Error && 'code' in error);
    return true;
  });
});

test('a log that has lost an operation is refused, not cut', async () => {
  const path = await newFile();
  const server = await startReplicaServer({ path, addresses: [local] });
  await registerClient(server.address.port);
  await registerClient(server.address.port);
  await server.close();
  const bytes = fs.readFileSync(path);
  const geometry = GEOMETRY_DEVELOPMENT;
  bytes.fill(0xee, headerOffset(geometry, 1), headerOffset(geometry, 1) + 256);
  bytes.fill(0xee, prepareOffset(geometry, 1), prepareOffset(geometry, 1) + 512);
  fs.writeFileSync(path, bytes);
  await assert.rejects(startReplicaServer({ path, addresses: [local] }), (error) => {
    assert.ok(error instanceof DataFileCorruptError);
    assert.equal(error.code, 'ERR_DATA_FILE_CORRUPT');
    assert.ok(error.message.startsWith(`data file ${path} is corrupt: `), error.message);
    assert.match(error.message, /offset \d+/);
    return true;
  });
  assert.ok(!fs.existsSync(`${path}.lock`));
});

test('a disk that fails stops the server before anything is acknowledged', async () => {
  const file = await openMemoryFile(0);
  const disk: { isBroken: boolean } = { isBroken: false };
  const storage: Storage = {
    read: (offset, length, done) => file.storage.read(offset, length, done),
    flush: (done) => file.storage.flush(done),
    counters: () => file.storage.counters(),
    close: () => file.storage.close(),
    write: (offset, bytes, durable, done) => {
      if (disk.isBroken) queueMicrotask(() => done('io'));
      else file.storage.write(offset, bytes, durable, done);
    },
  };
  const records: LogRecord[] = [];
  const server = await ReplicaServer.start({
    home: { ...vsrHome(file, undefined), storage },
    makeMachine: (checksum) => new Ledger({ checksum }),
    addresses: [local],
    log: (record) => records.push(record),
  });
  await registerClient(server.address.port);
  disk.isBroken = true;
  await assert.rejects(registerClient(server.address.port));
  const error = await server.ended;
  assert.ok(error !== null && 'code' in error);
  assert.equal(error.code, 'ERR_STORAGE_FAILED');
  assert.deepEqual(
    records.map(({ event, level }) => [event, level]),
    [
      ['recovered', 'info'],
      ['halted', 'error'],
    ],
  );
  assert.equal(server.status().role, 'halted');
});

test('a server whose file was taken over by another process stops', async () => {
  const path = await newFile();
  const server = await startReplicaServer({ path, addresses: [local] });
  const holder = { pid: 1, startTime: '1', boot: 'b', namespace: 'n', token: 'another' };
  fs.writeFileSync(`${path}.lock`, JSON.stringify(holder));
  const error = await server.ended;
  assert.match(String(error), /another process has taken the data file over/);
});

test('close ends at once, whatever is in flight, and may be called twice', async () => {
  const path = await newFile();
  const server = await startReplicaServer({ path, addresses: [local] });
  const { port } = server.address;
  const sockets = Array.from({ length: 5 }, () => net.connect({ port, host: '127.0.0.1' }));
  const registering = Array.from({ length: 20 }, () => registerClient(port).catch(() => null));
  for (const socket of sockets) {
    socket.on('error', () => {});
    socket.write(new Uint8Array(100));
  }
  await Promise.any(registering);
  const startMs = performance.now();
  await Promise.all([server.close(), server.close()]);
  assert.ok(performance.now() - startMs < 2_000);
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(server.status().messagesHeld, 0, 'every message has come back');
  for (const socket of sockets) socket.destroy();
  await (await startReplicaServer({ path, addresses: [local] })).close();
});

test('log records are whole: level, event, one line, fields', async () => {
  const records: LogRecord[] = [];
  const ledger = await startLedger({ log: (record) => records.push(record) });
  const socket = net.connect({ port: ledger.port, host: '127.0.0.1' });
  socket.write(new Uint8Array(256));
  await new Promise((resolve) => socket.once('close', resolve));
  const [recovered, closed, ...more] = records;
  assert.deepEqual([recovered.level, recovered.event], ['info', 'recovered']);
  assert.deepEqual([closed.level, closed.event], ['warn', 'client-header-checksum']);
  assert.deepEqual(more, []);
  assert.match(
    closed.message,
    /^connection from 127\.0\.0\.1:\d+ closed: the header checksum is wrong$/,
  );
  await ledger.close();
});
