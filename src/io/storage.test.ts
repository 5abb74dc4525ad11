/** One table of behaviour for every storage, and what only a file on a disk can do. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { SECTOR_SIZE, type StorageError } from '../engine/index.ts';
import { createMemory } from '../wire/index.ts';
import { createDataFile } from './create-file.ts';
import { type DataFile, openDataFile } from './data-file.ts';
import { type DurableConstants, type FileSystem, platformConstants } from './durable-mode.ts';
import { MemoryFile } from './memory-file.ts';
import type { Storage } from './storage.ts';

const folder = fs.mkdtempSync(join(tmpdir(), 'roundelay-storage-'));
after(() => fs.rmSync(folder, { recursive: true }));
const SIZE = 1_048_576;
let files = 0;

async function newPath(): Promise<string> {
  files += 1;
  const path = join(folder, `data-${files}`);
  await createDataFile({ path, sizeBytes: SIZE, pieces: [{ offset: 0, bytes: zeros(SIZE) }] });
  return path;
}

function zeros(length: number): Uint8Array {
  return new Uint8Array(length);
}

function pattern(length: number, seed: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => i * 7 + seed + (i >> 8));
}

function write(storage: Storage, offset: number, bytes: Uint8Array, durable: boolean) {
  return new Promise<StorageError | null>((resolve) => {
    storage.write(offset, bytes, durable, resolve);
  });
}

function read(storage: Storage, offset: number, length: number) {
  return new Promise<{ bytes: Uint8Array; error: StorageError | null }>((resolve) => {
    storage.read(offset, length, (bytes, error) => resolve({ bytes: bytes.slice(), error }));
  });
}

function flush(storage: Storage) {
  return new Promise<StorageError | null>((resolve) => {
    storage.flush(resolve);
  });
}

const { O_DSYNC } = platformConstants();
const kinds: readonly (readonly [string, DurableConstants | null])[] = [
  ['memory', null],
  ['best', platformConstants()],
  ['O_DSYNC only', { O_DSYNC }],
  ['O_DIRECT only', { O_DIRECT: platformConstants().O_DIRECT }],
  ['no constants', {}],
];

for (const [name, constants] of kinds) {
  const open = async (): Promise<Storage> => {
    if (constants !== null) return await openDataFile({ path: await newPath(), constants });
    const file = new MemoryFile();
    file.put(0, zeros(SIZE));
    return file;
  };

  test(`storage, ${name}: what was written is read, durable or not, aligned or not`, async () => {
    const storage = await open();
    for (const durable of [true, false]) {
      for (const length of [SECTOR_SIZE, 16_384, 131_072]) {
        const bytes = pattern(length, length + Number(durable));
        assert.equal(await write(storage, 8192, bytes, durable), null);
        const back = await read(storage, 8192, length);
        assert.equal(back.error, null);
        assert.deepEqual(back.bytes, bytes);
      }
    }
    assert.equal(await flush(storage), null);
    const counters = storage.counters();
    assert.equal(counters.writes, 6);
    assert.equal(counters.durableWrites, 3);
    assert.equal(counters.reads, 6);
    assert.equal(counters.flushes, 1);
    assert.equal(counters.errors, 0);
    await storage.close();
  });

  test(`storage, ${name}: reads are short at the end, writes grow the file`, async () => {
    const storage = await open();
    assert.equal((await read(storage, SIZE - 4096, 16_384)).bytes.length, 4096);
    assert.equal((await read(storage, SIZE + 4096, 4096)).bytes.length, 0);
    const bytes = pattern(8192, 3);
    assert.equal(await write(storage, SIZE + 4096, bytes, false), null);
    assert.deepEqual((await read(storage, SIZE + 4096, 16_384)).bytes, bytes);
    assert.deepEqual((await read(storage, SIZE, 4096)).bytes, zeros(4096));
    await storage.close();
  });

  test(`storage, ${name}: many operations at once all complete, none from within the call`, async () => {
    const storage = await open();
    let inside = true;
    const results: Promise<StorageError | null>[] = [];
    for (let i = 0; i < 64; i++) {
      const bytes = pattern(SECTOR_SIZE, i);
      results.push(
        new Promise((resolve) => {
          storage.write(i * SECTOR_SIZE, bytes, i % 3 === 0, (error) => {
            assert.equal(inside, false);
            resolve(error);
          });
        }),
      );
    }
    inside = false;
    assert.deepEqual(await Promise.all(results), new Array(64).fill(null));
    for (let i = 0; i < 64; i++) {
      const { bytes } = await read(storage, i * SECTOR_SIZE, SECTOR_SIZE);
      assert.deepEqual(bytes, pattern(SECTOR_SIZE, i));
    }
    await storage.close();
  });

  test(`storage, ${name}: after close no callback comes, and bad alignment is a bug`, async () => {
    const storage = await open();
    assert.throws(() => storage.write(1, zeros(4096), true, () => {}), /aligned/);
    assert.throws(() => storage.write(0, zeros(100), true, () => {}), /aligned/);
    let called = 0;
    for (let i = 0; i < 16; i++) storage.write(0, pattern(65_536, i), true, () => called++);
    await storage.close();
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(called, 0);
  });
}

async function modeWith(constants: DurableConstants): Promise<string> {
  const file = await openDataFile({ path: await newPath(), constants });
  const { mode } = file;
  await file.close();
  return mode;
}

test('the mode of durable writes follows the constants that exist', async () => {
  assert.equal(await modeWith({}), 'fdatasync');
  assert.equal(await modeWith({ O_DIRECT: 0o40000 }), 'fdatasync');
  if (process.platform !== 'linux') return;
  assert.equal(await modeWith({ O_DSYNC }), 'dsync');
  const best = await modeWith(platformConstants());
  assert.ok(best === 'direct' || best === 'dsync', best);
  assert.deepEqual(platformConstants('darwin'), {});
});

test('without O_DSYNC each durable write is followed by fdatasync, with it by none', async () => {
  for (const [constants, expected] of [
    [{}, ['write', 'sync', 'write', 'sync']],
    [{ O_DSYNC }, ['write', 'write']],
  ] as const) {
    if (constants !== undefined && 'O_DSYNC' in constants && process.platform !== 'linux') continue;
    const calls: string[] = [];
    const fileSystem = spied({
      onWrite: () => calls.push('write'),
      onSync: () => calls.push('sync'),
    });
    const file = await openDataFile({ path: await newPath(), constants, fileSystem });
    assert.deepEqual(calls.splice(0), ['sync'], 'one sync at open');
    await write(file, 0, zeros(4096), true);
    await write(file, 4096, zeros(4096), true);
    assert.deepEqual(calls.splice(0), [...expected]);
    await write(file, 8192, zeros(4096), false);
    assert.deepEqual(calls.splice(0), ['write'], 'no sync unless asked for');
    await flush(file);
    assert.deepEqual(calls.splice(0), ['sync']);
    await file.close();
  }
});

interface Spy {
  onWrite?: (fd: number) => void;
  onSync?: () => void;
  writeError?: string;
  writeErrors?: number;
  syncError?: string;
  writeMax?: number;
  writtenWhenFull?: number;
}

function failure(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(code), { code });
}

/** The real file system, with eyes and faults. */
function spied(spy: Spy): FileSystem {
  const faulty = {
    ...fs,
    write: (
      fd: number,
      bytes: Uint8Array,
      offset: number,
      length: number,
      position: number,
      done: (error: NodeJS.ErrnoException | null, count: number) => void,
    ) => {
      spy.onWrite?.(fd);
      const { writeError } = spy;
      if (writeError !== undefined && (spy.writeErrors ?? Number.POSITIVE_INFINITY) > 0) {
        if (spy.writeErrors !== undefined) spy.writeErrors -= 1;
        setImmediate(() => done(failure(writeError), 0));
        return;
      }
      fs.write(fd, bytes, offset, Math.min(length, spy.writeMax ?? length), position, done);
    },
    fdatasync: (fd: number, done: (error: NodeJS.ErrnoException | null) => void) => {
      spy.onSync?.();
      const { syncError } = spy;
      if (syncError !== undefined) setImmediate(() => done(failure(syncError)));
      else fs.fdatasync(fd, done);
    },
  };
  return faulty as unknown as FileSystem;
}

async function openFaulty(spy: Spy, constants: DurableConstants): Promise<DataFile> {
  return await openDataFile({ path: await newPath(), constants, fileSystem: spied(spy) });
}

test('partial writes are continued to the end', async () => {
  const file = await openFaulty({ writeMax: 4096 }, {});
  const bytes = pattern(65_536, 9);
  assert.equal(await write(file, 4096, bytes, true), null);
  assert.deepEqual((await read(file, 4096, 65_536)).bytes, bytes);
  await file.close();
});

test('a full disk is told apart from a broken one, and does not poison the file', async () => {
  for (const code of ['ENOSPC', 'EDQUOT']) {
    const file = await openFaulty({ writeError: code, writeErrors: 1 }, {});
    assert.equal(await write(file, 0, zeros(4096), false), 'no-space');
    assert.equal(await write(file, 0, zeros(4096), true), null);
    assert.equal(file.counters().errors, 1);
    await file.close();
  }
});

test('after a failed write nothing succeeds any more', async () => {
  const file = await openFaulty({ writeError: 'EIO', writeErrors: 1 }, {});
  assert.equal(await write(file, 0, zeros(4096), true), 'io');
  assert.equal(await write(file, 0, zeros(4096), true), 'io');
  assert.equal(await flush(file), 'io');
  assert.equal(file.counters().errors, 3);
  await file.close();
});

test('a failed sync is never retried', async () => {
  const spy: Spy = {};
  const file = await openFaulty(spy, {});
  spy.syncError = 'EIO';
  assert.equal(await write(file, 0, zeros(4096), false), null);
  assert.equal(await flush(file), 'io');
  delete spy.syncError;
  assert.equal(await flush(file), 'io');
  await file.close();
});

test('a sync that fails at open is an error of the open', async () => {
  await assert.rejects(openFaulty({ syncError: 'EIO' }, {}), { code: 'ERR_STORAGE_FAILED' });
});

test('writes from the pool go out as they are, others through an aligned copy', async (t) => {
  const path = await newPath();
  const file = await openDataFile({ path });
  if (file.mode !== 'direct') {
    await file.close();
    t.skip('this file system has no O_DIRECT');
    return;
  }
  const memory = createMemory(65_536);
  file.setAlignedMemory(memory);
  const aligned = new Uint8Array(memory.buffer, 8192, 8192);
  aligned.set(pattern(8192, 1));
  assert.equal(await write(file, 0, aligned, true), null);
  const unaligned = new Uint8Array(20_000).subarray(17, 17 + 16_384);
  unaligned.set(pattern(16_384, 2));
  assert.equal(await write(file, 8192, unaligned, true), null);
  const large = pattern(131_072, 3);
  assert.equal(await write(file, 24_576, large, true), null);
  assert.equal(file.mode, 'direct');
  assert.deepEqual((await read(file, 0, 8192)).bytes, pattern(8192, 1));
  assert.deepEqual((await read(file, 8192, 16_384)).bytes, pattern(16_384, 2));
  assert.deepEqual((await read(file, 24_576, 131_072)).bytes, large);
  await file.close();
});

test('a direct write that the file system refuses falls back to write and sync', async (t) => {
  const path = await newPath();
  const file = await openDataFile({ path });
  if (file.mode !== 'direct') {
    await file.close();
    t.skip('this file system has no O_DIRECT');
    return;
  }
  // An ordinary array that claims to be page aligned: the kernel says EINVAL.
  const buffer = new ArrayBuffer(1_048_576);
  file.setAlignedMemory({ buffer });
  const all = await Promise.all(
    [0, 1, 2, 3].map((i) => {
      const bytes = new Uint8Array(buffer, i * 8192, 8192);
      bytes.set(pattern(8192, i));
      return write(file, i * 8192, bytes, true);
    }),
  );
  assert.deepEqual(all, [null, null, null, null]);
  for (let i = 0; i < 4; i++) {
    assert.deepEqual((await read(file, i * 8192, 8192)).bytes, pattern(8192, i));
  }
  await file.close();
});

test('durable writes do not wait behind a queue of others', async () => {
  const fds: number[] = [];
  const fileSystem = spied({ onWrite: (fd) => fds.push(fd) });
  const constants = { O_DSYNC };
  const file = await openDataFile({ path: await newPath(), constants, fileSystem });
  const bulk = Array.from({ length: 32 }, () => write(file, 0, zeros(262_144), false));
  const durable = write(file, 524_288, zeros(4096), true);
  await Promise.all([...bulk, durable]);
  // What was handed to the kernel, in order: two bulk writes, and then the one that matters.
  assert.equal(fds.length, 33);
  assert.notEqual(fds[2], fds[0]);
  assert.equal(fds.lastIndexOf(fds[2] as number), 2);
  await file.close();
});

test('a memory file can be opened again with its contents', async () => {
  const file = new MemoryFile();
  await write(file, 4096, pattern(4096, 1), true);
  await file.close();
  file.reopen();
  assert.deepEqual((await read(file, 4096, 4096)).bytes, pattern(4096, 1));
  assert.equal(file.size, 8192);
});
