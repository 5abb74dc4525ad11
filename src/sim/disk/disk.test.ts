import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SECTOR_SIZE } from '../../engine/index.ts';
import { SimulationFailure } from '../world/failure.ts';
import { World } from '../world/world.ts';
import { DISK_DEFAULT, Disk } from './disk.ts';
import type { CrashOutcome } from './sector-store.ts';

const FOREVER = Number.MAX_SAFE_INTEGER;

function filled(byte: number, sectors: number = 1): Uint8Array {
  return new Uint8Array(sectors * SECTOR_SIZE).fill(byte);
}

function run(world: World): void {
  while (world.step(FOREVER));
}

/** What one sector holds: a letter per known filling, `~` for noise or a torn sector. */
function contents(disk: Disk, sectors: number): string {
  let text = '';
  for (let i = 0; i < sectors; i++) {
    const bytes = disk.peek(i * SECTOR_SIZE, SECTOR_SIZE);
    if (bytes.length === 0) text += '.';
    else text += bytes.every((b) => b === bytes[0]) ? String.fromCharCode(bytes[0]!) : '~';
  }
  return text;
}

const A = 0x41;
const B = 0x42;
const C = 0x43;

function sorted(texts: Set<string>): string[] {
  return [...texts].sort((a, b) => (a < b ? -1 : 1));
}

/** All contents that power cuts of many seeds leave behind. */
function outcomes(outcome: CrashOutcome, act: (disk: Disk, world: World) => void): string[] {
  const seen = new Set<string>();
  for (let seed = 0; seed < 300; seed++) {
    const world = new World({ seed });
    const disk = new Disk(world);
    disk.install(0, filled(A, 2));
    act(disk, world);
    disk.crash(outcome);
    run(world);
    seen.add(contents(disk, 2));
  }
  return sorted(seen);
}

test('a power cut resolves each sector of a running write on its own', () => {
  const act = (disk: Disk): void => {
    disk.write(0, filled(B, 2), true, () => assert.fail('reported after a power cut'));
  };
  assert.deepEqual(outcomes('old', act), ['AA']);
  assert.deepEqual(outcomes('new', act), ['BB']);
  const torn = outcomes('torn', act);
  // At most one garbage sector a write; zeros (a NUL) and a bit flip are ways of being garbage.
  for (const pair of torn) assert.ok(/[AB]/.test(pair), JSON.stringify(pair));
  assert.ok(torn.includes('A~') && torn.includes('~B'));
  const mixed = outcomes('mixed', act);
  for (const pair of ['AA', 'AB', 'BA', 'BB', 'A~', '~B']) assert.ok(mixed.includes(pair), pair);
});

test('a finished write survives only when durable or flushed', () => {
  const write = (durable: boolean) => (disk: Disk, world: World) => {
    disk.write(0, filled(B, 2), durable, (error) => assert.equal(error, null));
    run(world);
    assert.equal(contents(disk, 2), 'BB');
  };
  assert.deepEqual(outcomes('old', write(true)), ['BB']);
  assert.deepEqual(outcomes('torn', write(true)), ['BB']);
  assert.deepEqual(outcomes('old', write(false)), ['AA']);
  assert.deepEqual(outcomes('mixed', write(false)), ['AA', 'AB', 'BA', 'BB']);
  const flushed = (disk: Disk, world: World): void => {
    write(false)(disk, world);
    disk.flush((error) => assert.equal(error, null));
    run(world);
  };
  assert.deepEqual(outcomes('old', flushed), ['BB']);
  assert.deepEqual(outcomes('mixed', flushed), ['BB']);
});

test('a flush covers the writes that were finished when it began, and no others', () => {
  const act = (disk: Disk, world: World): void => {
    disk.write(0, filled(B), false, () => {
      disk.flush(() => {});
      disk.write(SECTOR_SIZE, filled(C), false, () => {});
    });
    run(world);
  };
  assert.deepEqual(outcomes('old', act), ['BA']);
  assert.deepEqual(outcomes('mixed', act), ['BA', 'BC']);
});

test('a sector keeps any of the versions since the last flush', () => {
  const act = (disk: Disk, world: World): void => {
    disk.write(0, filled(B), false, () => disk.write(0, filled(C), false, () => {}));
    run(world);
  };
  assert.deepEqual(outcomes('mixed', act), ['AA', 'BA', 'CA']);
});

test('concurrent writes finish in any order, and the file ends where a power cut leaves it', () => {
  const orders = new Set<string>();
  for (let seed = 0; seed < 50; seed++) {
    const world = new World({ seed });
    const disk = new Disk(world);
    let order = '';
    disk.write(0, filled(A), true, () => (order += 'a'));
    disk.write(SECTOR_SIZE, filled(B), true, () => (order += 'b'));
    run(world);
    orders.add(order);
    disk.write(2 * SECTOR_SIZE, filled(C), false, () => {});
    run(world);
    assert.equal(contents(disk, 4), 'ABC.');
    disk.crash('old');
    assert.equal(contents(disk, 4), 'AB..');
    assert.equal(disk.sizeBytes, 2 * SECTOR_SIZE);
  }
  assert.deepEqual(sorted(orders), ['ab', 'ba']);
});

test('never-written sectors are noise, the same each time, another for another seed', () => {
  const noise = (seed: number): Uint8Array => {
    const disk = new Disk(new World({ seed }));
    disk.install(SECTOR_SIZE, filled(A));
    return disk.peek(0, SECTOR_SIZE);
  };
  assert.deepEqual(noise(1), noise(1));
  assert.notDeepEqual(noise(1), noise(2));
  assert.ok(new Set(noise(1)).size > 100);
});

test('a read that meets a running write finds each sector old or new', () => {
  const seen = new Set<string>();
  for (let seed = 0; seed < 100; seed++) {
    const world = new World({ seed });
    const slow = { minNs: 5_000_000, maxNs: 5_000_000 };
    const disk = new Disk(world, { ...DISK_DEFAULT, writeLatency: slow });
    disk.install(0, filled(A, 2));
    disk.write(0, filled(B, 2), true, () => {});
    disk.read(0, 2 * SECTOR_SIZE, (bytes) => {
      seen.add(String.fromCharCode(bytes[0]!, bytes[SECTOR_SIZE]!));
    });
    run(world);
  }
  assert.deepEqual(sorted(seen), ['AA', 'AB', 'BA', 'BB']);
});

test('misuse fails the run: overlap, alignment, a buffer that changes under a write', () => {
  const isMisuse = (error: unknown): boolean =>
    error instanceof SimulationFailure && error.code === 'disk-misuse';
  const world = new World({ seed: 1 });
  const disk = new Disk(world);
  disk.write(0, filled(A, 2), true, () => {});
  assert.throws(() => disk.write(SECTOR_SIZE, filled(B), true, () => {}), isMisuse);
  assert.throws(() => disk.read(1, SECTOR_SIZE, () => {}), isMisuse);
  assert.throws(() => disk.write(0, new Uint8Array(100), true, () => {}), isMisuse);
  run(world);
  const buffer = filled(B);
  disk.write(0, buffer, true, () => {});
  buffer[7] = 0;
  assert.throws(() => run(world), isMisuse);
});

test('errors come where they were asked for; a full disk refuses growing writes alone', () => {
  const world = new World({ seed: 1 });
  const disk = new Disk(world);
  disk.install(0, filled(A, 2));
  const results: string[] = [];
  const note = (error: string | null): number => results.push(error ?? 'done');
  disk.failAfter('write', 1);
  disk.failAfter('flush', 0);
  disk.write(0, filled(B), true, note);
  run(world);
  disk.write(0, filled(B), true, note);
  run(world);
  disk.flush(note);
  run(world);
  disk.flush(note);
  run(world);
  assert.deepEqual(results.splice(0), ['done', 'io', 'io', 'done']);
  disk.limit(2 * SECTOR_SIZE);
  disk.write(2 * SECTOR_SIZE, filled(C), true, note);
  run(world);
  disk.write(SECTOR_SIZE, filled(C), true, note);
  run(world);
  disk.limit(3 * SECTOR_SIZE);
  disk.write(2 * SECTOR_SIZE, filled(C), true, note);
  run(world);
  assert.deepEqual(results, ['no-space', 'done', 'done']);
  assert.equal(contents(disk, 3), 'BCC');
});
