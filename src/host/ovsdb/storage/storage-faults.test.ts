/**
 * A disk that fails by seed: full now and then, writing half, syncing not at all. Whatever happens,
 * the file holds exactly what was confirmed, and memory what the file holds; a copy of the file
 * taken at any moment, as a crash would leave it, opens to a state between the two.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { join } from 'node:path';
import { mock, type TestContext, test } from 'node:test';
import { type Json, OvsdbError } from '../../../ovsdb/index.ts';
import { Prng } from '../../../stdx/index.ts';
import {
  contentOf,
  contentOfFile,
  createFile,
  TestServer,
  temporaryFolder,
} from './storage-test-helper.ts';

const seeds = Number(process.env['STORAGE_SEEDS'] ?? 10);
const STEPS = 120;
/** A deadlock is a failure, not a wait. */
const timeout = 20_000;

function systemError(code: string): Error {
  return Object.assign(new Error(code), { code, syscall: 'write' });
}

type Faults = 'none' | 'full' | 'half' | 'no sync';

type Done = (error: Error | null, count: number) => void;
type WriteCall = (
  fd: number,
  bytes: Uint8Array,
  from: number,
  length: number,
  at: number,
  done?: Done,
) => number;

/** Puts the faults into the calls of the file system, for as long as the test runs. */
class Disk {
  faults: Faults = 'none';
  readonly #prng: Prng;

  constructor(t: TestContext, prng: Prng) {
    this.#prng = prng;
    const { fdatasync } = fs;
    const writeSync = fs.writeSync as WriteCall;
    const write = fs.write as unknown as WriteCall;
    const mocks = [
      mock.method(fs, 'writeSync', (fd: number, bytes: Uint8Array, ...rest: number[]) => {
        const [from, length, at] = rest;
        return writeSync(fd, bytes, from, this.#lengthOf(length), at);
      }),
      mock.method(fs, 'write', (...args: [number, Uint8Array, number, number, number, Done]) => {
        const [fd, bytes, from, length, at, done] = args;
        try {
          write(fd, bytes, from, this.#lengthOf(length), at, done);
        } catch (error) {
          setImmediate(() => done(error as Error, 0));
        }
      }),
      mock.method(fs, 'fdatasync', ((fd: number, done: (error: Error | null) => void) => {
        if (this.faults === 'no sync') setImmediate(() => done(systemError('EIO')));
        else fdatasync(fd, done);
      }) as typeof fs.fdatasync),
    ];
    t.after(() => {
      for (const { mock: one } of mocks) one.restore();
    });
  }

  #lengthOf(wanted: number): number {
    if (this.faults === 'full') throw systemError('ENOSPC');
    if (this.faults !== 'half') return wanted;
    if (this.#prng.below(3) === 0) throw systemError('ENOSPC');
    return 1 + this.#prng.below(wanted);
  }
}

for (let seed = 1; seed <= seeds; seed++) {
  test(`a disk that fails loses nothing that was confirmed, seed ${seed}`, {
    timeout,
  }, async (t) => {
    const prng = new Prng(seed);
    const path = await createFile(t);
    const copies = temporaryFolder(t);
    let server = await TestServer.open(path);
    const disk = new Disk(t, prng);
    const confirmed: Set<number> = new Set();
    const refused: Set<number> = new Set();
    let pending: Promise<void>[] = [];
    let next = 1;

    const insert = (): void => {
      const n = next++;
      const row = { op: 'insert', table: 'T', row: { n, s: 'x'.repeat(prng.below(300)) } };
      const operations: Json[] = prng.below(4) === 0 ? [row, durable] : [row];
      const done = server.transact(...operations).then(
        () => void confirmed.add(n),
        (error: unknown) => {
          assert.ok(error instanceof OvsdbError, String(error));
          refused.add(n);
        },
      );
      pending.push(done);
    };

    for (let step = 0; step < STEPS; step++) {
      const dice = prng.below(20);
      if (dice < 12) for (let count = 1 + prng.below(4); count > 0; count--) insert();
      else if (dice < 14) disk.faults = faultsOf(prng);
      else if (dice === 14) await server.storage.compact().catch(() => {});
      else if (dice === 15) pending.push(server.storage.compact().catch(() => {}));
      else if (dice === 16) {
        const before = new Set(confirmed);
        const copy = join(copies, String(step));
        fs.copyFileSync(path, copy);
        const attempted = next;
        const faults = disk.faults;
        disk.faults = 'none';
        await checkCopy(copy, before, refused, attempted);
        disk.faults = faults;
      } else if (dice === 17) {
        disk.faults = 'none';
        await Promise.all(pending);
        pending = [];
        await server.storage.close();
        assert.equal(await contentOfFile(path), contentOf(server.database), `step ${step}`);
        server = await TestServer.open(path);
      } else await new Promise((resolve) => setImmediate(resolve));
    }
    disk.faults = 'none';
    await Promise.all(pending);
    await server.storage.close();
    const rows = numbersOf(server);
    assert.deepEqual(rows, confirmed);
    assert.equal(confirmed.size + refused.size, next - 1);
    assert.ok(confirmed.size > 10, 'hardly anything was confirmed');
    assert.equal(await contentOfFile(path), contentOf(server.database));
  });
}

const durable: Json = { op: 'commit', durable: true };

function faultsOf(prng: Prng): Faults {
  return (['none', 'none', 'full', 'half', 'no sync'] as const)[prng.below(5)];
}

/** A file as a crash leaves it: all that was confirmed, and nothing that never was attempted. */
async function checkCopy(
  copy: string,
  before: ReadonlySet<number>,
  refused: ReadonlySet<number>,
  attempted: number,
): Promise<void> {
  const server = await TestServer.open(copy);
  const rows = numbersOf(server);
  for (const n of before) assert.ok(rows.has(n), `${n} was confirmed and is gone`);
  for (const n of rows)
    assert.ok(n < attempted && !refused.has(n), `${n} was refused and is there`);
  await server.storage.close();
}

function numbersOf({ database }: TestServer): Set<number> {
  const table = database.table('T');
  const index = table.schema.byName.get('n')?.index ?? -1;
  return new Set([...table.rows()].map((row) => Number(row.datum(index)[0])));
}
