import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BLOCK_SIZE_MAX, type Effect } from '../../engine/index.ts';
import { Prng, U64_ZERO } from '../../stdx/index.ts';
import { MessagePool } from '../../wire/index.ts';
import { Outbox } from '../outbox.ts';
import { STAGING_SLOTS } from '../pool-sizes.ts';
import { BlockWriter } from './block-writer.ts';

type Write = Effect & { readonly type: 'write' };
const SECTOR = 4096;

/** A writer and the effects of its last step. */
class Rig {
  readonly pool: MessagePool = new MessagePool({
    requestSlotSize: SECTOR,
    requestSlots: 1,
    replySlots: STAGING_SLOTS + 1,
    smallSlots: 1,
    poison: true,
  });
  readonly outbox: Outbox = new Outbox();
  readonly writer: BlockWriter = new BlockWriter(this.pool, this.outbox);
  monoNs: number = 0;

  /** Writes blocks of that size, one after the other; returns how many there was room for. */
  put(offset: number, sizes: readonly number[]): number {
    let at = offset;
    for (const [i, size] of sizes.entries()) {
      const buffer = this.writer.buffer();
      if (buffer === null) return i;
      buffer.fill(1 + i, 0, size);
      this.writer.write(at, size);
      at += Math.ceil(size / SECTOR) * SECTOR;
    }
    return sizes.length;
  }

  /** One step in which `action` happens; returns what it asked for. */
  step(action: () => void): { readonly writes: Write[]; readonly flushes: number } {
    this.outbox.begin({ monoNs: this.monoNs, wall: U64_ZERO });
    action();
    this.writer.advance();
    const effects = this.outbox.effects();
    const writes = effects.filter((effect) => effect.type === 'write');
    return { writes, flushes: effects.filter(({ type }) => type === 'flush').length };
  }

  done(writes: readonly Write[]): { readonly writes: Write[]; readonly flushes: number } {
    return this.step(() => {
      for (const { token } of writes) this.writer.onWritten(token, null);
    });
  }
}

const placesOf = (writes: readonly Write[]): number[][] =>
  writes.map(({ offset, bytes }) => [offset, bytes.length]);

test('neighbours leave as one write, others by themselves, padded with zeros', () => {
  const rig = new Rig();
  const { writes } = rig.step(() => {
    rig.put(8 * SECTOR, [100, SECTOR, SECTOR + 1]);
    rig.put(40 * SECTOR, [5]);
    rig.put(41 * SECTOR, [6]);
    rig.put(39 * SECTOR, [7]);
  });
  assert.deepEqual(placesOf(writes), [
    [8 * SECTOR, 4 * SECTOR],
    [40 * SECTOR, 2 * SECTOR],
    [39 * SECTOR, SECTOR],
  ]);
  const bytes = writes[0]!.bytes;
  const marks = [0, 99, 100, SECTOR - 1, SECTOR, 2 * SECTOR, 3 * SECTOR, 3 * SECTOR + 1];
  assert.deepEqual(
    marks.map((at) => bytes[at]),
    [1, 1, 0, 0, 2, 3, 3, 0],
  );
  assert.deepEqual(rig.writer.takeCounts(), { blocks: 6, bytes: 7 * SECTOR });
  assert.deepEqual(rig.writer.takeCounts(), { blocks: 0, bytes: 0 });
});

test('what comes while something is written gathers, up to the memory there is', () => {
  const rig = new Rig();
  const first = rig.step(() => rig.put(0, [BLOCK_SIZE_MAX]));
  assert.equal(first.writes.length, 1, 'an idle disk does not wait');
  const base = 100 * BLOCK_SIZE_MAX;
  const second = rig.step(() => {
    assert.equal(rig.put(base, new Array(3).fill(BLOCK_SIZE_MAX)), 3);
  });
  assert.deepEqual(second.writes, []);
  const full = rig.step(() => {
    const offset = base + 3 * BLOCK_SIZE_MAX;
    assert.equal(rig.put(offset, new Array(3).fill(BLOCK_SIZE_MAX)), 1, 'one more fills it');
  });
  assert.deepEqual(placesOf(full.writes), [[base, 4 * BLOCK_SIZE_MAX]]);
  assert.equal(rig.writer.buffer(), null);
  // The memory of what is written is used again, and no other.
  const third = rig.done(first.writes);
  assert.deepEqual(third.writes, []);
  const last = rig.step(() => rig.put(0, [9]));
  assert.deepEqual(last.writes, []);
  assert.equal(rig.done(full.writes).writes.length, 1);
  rig.writer.releaseMessages();
  assert.equal(rig.pool.leaked(), 0);
});

test('a flush after every few megabytes, and a last one', () => {
  const rig = new Rig();
  let flushes = 0;
  for (let i = 0; i < 80; i++) {
    const { writes } = rig.step(() => rig.put(i * BLOCK_SIZE_MAX, [BLOCK_SIZE_MAX]));
    const done = rig.done(writes);
    if (done.flushes > 0) rig.step(() => rig.writer.onFlushed());
    flushes += done.flushes;
  }
  assert.equal(flushes, 2);
  const { writes } = rig.step(() => rig.put(0, [1]));
  let isSettled = rig.writer.settle();
  assert.equal(isSettled, false, 'something is being written');
  rig.done(writes);
  const last = rig.step(() => {
    isSettled = rig.writer.settle();
  });
  assert.deepEqual([isSettled, last.flushes], [false, 1]);
  const after = rig.step(() => {
    rig.writer.onFlushed();
    isSettled = rig.writer.settle();
  });
  assert.deepEqual([isSettled, after.flushes], [true, 0]);
});

test('what was written while a flush was under way needs another one', () => {
  const rig = new Rig();
  rig.done(rig.step(() => rig.put(0, [1])).writes);
  assert.equal(rig.step(() => rig.writer.settle()).flushes, 1);
  const { writes } = rig.step(() => rig.put(SECTOR, [1]));
  rig.done(writes);
  const again = rig.step(() => {
    rig.writer.onFlushed();
    assert.equal(rig.writer.settle(), false);
  });
  assert.equal(again.flushes, 1);
});

test('a full disk: the same writes once a second, until there is room', () => {
  const rig = new Rig();
  rig.monoNs = 5_000_000_000;
  const { writes } = rig.step(() => rig.put(0, [1, 2]));
  rig.step(() => {
    for (const { token } of writes) rig.writer.onWritten(token, 'no-space');
  });
  assert.equal(rig.writer.isFull, true);
  rig.monoNs += 999_999_999;
  assert.deepEqual(rig.step(() => {}).writes, []);
  assert.equal(rig.writer.settle(), false);
  rig.monoNs += 1;
  const again = rig.step(() => {});
  assert.deepEqual(
    again.writes.map(({ offset, bytes }) => [offset, bytes]),
    writes.map(({ offset, bytes }) => [offset, bytes]),
  );
  rig.done(again.writes);
  assert.equal(rig.writer.isFull, false);
  assert.equal(rig.step(() => rig.writer.settle()).flushes, 1);
});

test('random blocks and completions: what is written is what was given', () => {
  const prng = new Prng(11);
  const rig = new Rig();
  const wanted = new Map<number, number>();
  const flights: Write[] = [];
  let sector = 0;
  for (let round = 0; round < 600; round++) {
    const { writes } = rig.step(() => {
      for (let i = prng.below(4); i > 0; i--) {
        const buffer = rig.writer.buffer();
        if (buffer === null) return;
        const size = 1 + prng.below(prng.pick([SECTOR, 20_000, BLOCK_SIZE_MAX]));
        const mark = 1 + prng.below(250);
        buffer.fill(mark, 0, size);
        if (prng.chance(1, 3)) sector += 1 + prng.below(5);
        rig.writer.write(sector * SECTOR, size);
        wanted.set(sector * SECTOR, mark);
        sector += Math.ceil(size / SECTOR);
      }
      while (flights.length > 0 && prng.chance(1, 2)) {
        const [flight] = flights.splice(prng.below(flights.length), 1);
        // Its memory must still hold what it held when it left.
        for (const [offset, mark] of wanted) {
          if (offset < flight!.offset || offset >= flight!.offset + flight!.bytes.length) continue;
          assert.equal(flight!.bytes[offset - flight!.offset], mark);
          wanted.delete(offset);
        }
        rig.writer.onWritten(flight!.token, null);
      }
    });
    flights.push(...writes);
    if (rig.outbox.effects().some(({ type }) => type === 'flush')) rig.writer.onFlushed();
  }
  assert.ok(sector > 5000 && wanted.size < 50, `${sector} sectors, ${wanted.size} blocks left`);
});
