import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng, U64_ZERO } from '../stdx/index.ts';
import { SUPERBLOCK_AREA_SIZE, SUPERBLOCK_COPY_SIZE } from './file/geometry.ts';
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
