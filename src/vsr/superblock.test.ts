import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng, U64_ZERO } from '../stdx/index.ts';
import { SUPERBLOCK_AREA_SIZE, SUPERBLOCK_COPY_SIZE } from './file/geometry.ts';
import type { Superblock } from './file/superblock-codec.ts';
import { readSuperblock } from './file/superblock-codec.ts';
import { Outbox } from './outbox.ts';
import { checksum, formatDisk, type TestDisk } from './replica-test-helper.ts';
import { SuperblockStore } from './superblock.ts';

const buffer = new Uint8Array(SUPERBLOCK_COPY_SIZE);

/** One life of updates: `writes` copies get through, the next one is torn. The durable view. */
function updateUntil(disk: TestDisk, writes: number, tornSize: number): number {
  const read = readSuperblock(disk.read(0, SUPERBLOCK_AREA_SIZE), checksum);
  assert.ok(read.ok, JSON.stringify(read));
  const outbox = new Outbox();
  const store = new SuperblockStore(read, outbox, checksum, buffer);
  outbox.begin({ monoNs: 0, wall: U64_ZERO });
  store.update({ view: store.current.view + 1 });
  for (let count = 0; ; count++) {
    const [effect] = outbox.effects();
    assert.ok(effect !== undefined && effect.type === 'write' && effect.durable);
    if (count === writes) {
      disk.write(effect.offset, effect.bytes.subarray(0, tornSize));
      return store.current.view;
    }
    disk.write(effect.offset, effect.bytes);
    outbox.begin({ monoNs: 0, wall: U64_ZERO });
    if (store.onWritten(effect.token)) store.update({ view: store.current.view + 1 });
  }
}

test('no series of crashes goes back behind what was durable', () => {
  const prng = new Prng(21);
  const disk = formatDisk();
  let viewMin = 0;
  for (let life = 0; life < 300; life++) {
    const durable = updateUntil(disk, prng.below(11), prng.pick([0, 100, 300, 16_384]));
    assert.ok(durable >= viewMin, `life ${life}`);
    viewMin = durable;
    const read = readSuperblock(disk.read(0, SUPERBLOCK_AREA_SIZE), checksum);
    assert.ok(read.ok, `life ${life}: ${JSON.stringify(read)}`);
    assert.ok(read.superblock.view >= viewMin, `life ${life}`);
    viewMin = read.superblock.view;
  }
  assert.ok(viewMin > 100);
});

/** A store on a disk; `write()` makes the copy durable that is being written. */
class StoreOnDisk {
  readonly disk: TestDisk;
  readonly store: SuperblockStore;
  readonly #outbox: Outbox = new Outbox();

  constructor(disk: TestDisk) {
    this.disk = disk;
    const read = readSuperblock(disk.read(0, SUPERBLOCK_AREA_SIZE), checksum);
    assert.ok(read.ok);
    this.store = new SuperblockStore(read, this.#outbox, checksum, buffer);
    this.#outbox.begin({ monoNs: 0, wall: U64_ZERO });
  }

  write(): boolean {
    const [effect, ...more] = this.#outbox.effects();
    assert.ok(effect !== undefined && effect.type === 'write' && more.length === 0);
    this.disk.write(effect.offset, effect.bytes);
    this.#outbox.begin({ monoNs: 0, wall: U64_ZERO });
    return this.store.onWritten(effect.token);
  }

  onDisk(): Superblock {
    const read = readSuperblock(this.disk.read(0, SUPERBLOCK_AREA_SIZE), checksum);
    assert.ok(read.ok);
    return read.superblock;
  }
}

test('changes asked for while an update is written become one update after it', () => {
  const server = new StoreOnDisk(formatDisk());
  const { store } = server;
  assert.ok(store.isIdle);
  store.update({ view: 3 });
  store.update({ commitMax: 7 });
  store.update({ view: 4, logView: 4 });
  assert.ok(!store.isIdle);
  assert.deepEqual([store.current.view, store.current.commitMax], [0, 0]);
  assert.deepEqual([store.newest.view, store.newest.commitMax], [4, 7]);
  assert.deepEqual(
    [1, 2, 3, 4].map(() => server.write()),
    [false, false, false, true],
  );
  assert.deepEqual([store.current.view, store.current.logView, store.current.commitMax], [3, 0, 0]);
  assert.deepEqual(server.onDisk(), store.current);
  assert.ok(!store.isIdle);
  store.update({ view: 5 });
  assert.deepEqual(
    [1, 2, 3, 4].map(() => server.write()),
    [false, false, false, true],
  );
  assert.deepEqual([store.current.view, store.current.logView, store.current.commitMax], [4, 4, 7]);
  assert.deepEqual(
    [1, 2, 3, 4].map(() => server.write()),
    [false, false, false, true],
  );
  assert.deepEqual(server.onDisk(), store.current);
  assert.equal(store.current.view, 5);
  assert.equal(store.current.sequence, 4);
  assert.ok(store.isIdle);
  assert.equal(store.newest, store.current);
});

test('nothing that must grow goes back, not even behind what is only asked for', () => {
  const { store } = new StoreOnDisk(formatDisk());
  store.update({ view: 3, logView: 2, commitMax: 9 });
  store.update({ view: 5 });
  assert.throws(() => store.update({ view: 4 }), /view goes back/);
  assert.throws(() => store.update({ logView: 1 }), /log view goes back/);
  assert.throws(() => store.update({ logView: 6 }), /inconsistent/);
  store.update({ commitMax: 8 });
  assert.equal(store.newest.commitMax, 9, 'others have learned more');
  const { checkpoint } = store.current;
  assert.throws(() => store.update({ checkpoint: { ...checkpoint, op: -1 } }), /checkpoint/);
  assert.deepEqual([store.newest.view, store.newest.logView, store.newest.commitMax], [5, 2, 9]);
});
