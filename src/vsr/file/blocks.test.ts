import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BLOCK_SIZE_MAX } from '../../engine/index.ts';
import { Prng } from '../../stdx/index.ts';
import { BlockStore } from './blocks.ts';
import { blockKey, decodeChunk, ENTRIES_PER_CHUNK } from './manifest.ts';
import type { ChunkReference } from './superblock-codec.ts';

const BASE = 65_536;
const mark = (n: number): Uint8Array => new Uint8Array(16).fill(n);

/** Writes the manifest of the store into `disk`, by offset, and commits it. */
function checkpoint(store: BlockStore, disk: Map<number, Uint8Array>): ChunkReference[] {
  const chunks: ChunkReference[] = [];
  const count = store.beginManifest();
  for (let i = 0; i < count; i++) {
    const bytes = new Uint8Array(BLOCK_SIZE_MAX);
    const size = store.encodeChunk(i, bytes);
    const chunk = store.placeChunk(size, mark(0));
    disk.set(chunk.offset, bytes.slice(0, size));
    chunks.push(chunk);
  }
  store.commit(chunks);
  return chunks;
}

function reopen(
  store: BlockStore,
  chunks: readonly ChunkReference[],
  disk: Map<number, Uint8Array>,
) {
  const again = new BlockStore(BASE, store.fileSize);
  assert.equal(again.restoreChunks(chunks), true);
  const names: string[] = [];
  for (const chunk of chunks) {
    const entries = decodeChunk(disk.get(chunk.offset)!);
    assert.ok(entries !== null);
    for (const entry of entries) {
      assert.equal(again.restore(entry), true);
      names.push(`${entry.kind}/${entry.index}=${entry.checksum[0]}`);
    }
  }
  return { again, names };
}

test('a crash before the commit finds the old blocks untouched, after it the new ones', () => {
  for (let seed = 0; seed < 10; seed++) {
    const prng = new Prng(seed);
    const disk = new Map<number, Uint8Array>();
    let store = new BlockStore(BASE, BASE);
    const model = new Map<string, number>();
    /** What lies where, of the last commit: offset → contents. */
    let durable = new Map<number, number>();
    let chunks: ChunkReference[] = [];
    for (let round = 0; round < 30; round++) {
      const before = new Map(model);
      const written = new Map<number, number>();
      for (let i = prng.below(60); i > 0; i--) {
        const kind = prng.below(3);
        const index = prng.below(40);
        const value = 1 + prng.below(200);
        if (prng.chance(1, 5)) {
          store.delete(kind, index);
          model.delete(`${kind}/${index}`);
          continue;
        }
        const size = 1 + prng.below(prng.pick([4096, 20_000, BLOCK_SIZE_MAX]));
        const offset = store.replace(kind, index, size, mark(value));
        assert.equal(durable.has(offset), false, 'a block of the last checkpoint is overwritten');
        written.set(offset, value);
        model.set(`${kind}/${index}`, value);
      }
      if (prng.chance(1, 3)) {
        // The crash: nothing of this round has happened.
        const { again, names } = reopen(store, chunks, disk);
        assert.deepEqual(new Set(names), new Set([...before].map(([n, v]) => `${n}=${v}`)));
        store = again;
        model.clear();
        for (const [name, value] of before) model.set(name, value);
        continue;
      }
      assert.deepEqual(
        [...store.places()].map(([key, { checksum }]) => [key, checksum[0]!]),
        [...model].map(keyed).sort(([a], [b]) => a! - b!),
      );
      chunks = checkpoint(store, disk);
      const { again, names } = reopen(store, chunks, disk);
      assert.deepEqual(new Set(names), new Set([...model].map(([n, v]) => `${n}=${v}`)));
      assert.equal(again.count, model.size);
      assert.deepEqual(names, names.toSorted(byName), 'in ascending order');
      durable = new Map(offsetsOf(chunks, disk));
    }
    assert.ok(store.fileSize < BASE + 100 * BLOCK_SIZE_MAX, 'the file stays short');
  }
});

function* offsetsOf(
  chunks: readonly ChunkReference[],
  disk: Map<number, Uint8Array>,
): Generator<[number, number]> {
  for (const chunk of chunks) {
    yield [chunk.offset, 0];
    for (const entry of decodeChunk(disk.get(chunk.offset)!)!) {
      yield [entry.offset, entry.checksum[0]!];
    }
  }
}

/** A name of the model as the store has it. */
function keyed([name, value]: [string, number]): number[] {
  const [kind, index] = name.split('/').map(Number);
  return [blockKey(kind!, index!), value];
}

function byName(a: string, b: string): number {
  const [kindA, indexA] = a.split(/[/=]/).map(Number);
  const [kindB, indexB] = b.split(/[/=]/).map(Number);
  return kindA! - kindB! || indexA! - indexB!;
}

test('a manifest of more than one piece', () => {
  const store = new BlockStore(BASE, BASE);
  const count = ENTRIES_PER_CHUNK + 10;
  for (let i = 0; i < count; i++) store.replace(7, i, 100, mark(i & 0xff));
  const disk = new Map<number, Uint8Array>();
  const chunks = checkpoint(store, disk);
  assert.equal(chunks.length, 2);
  assert.equal(reopen(store, chunks, disk).names.length, count);
});

test('manifests that contradict themselves are refused', () => {
  const entry = { kind: 1, index: 1, offset: BASE, size: 100, checksum: mark(1) };
  const store = new BlockStore(BASE, BASE);
  assert.equal(store.restore(entry), true);
  assert.equal(store.restore({ ...entry, offset: BASE + 4096 }), false, 'twice the same name');
  assert.equal(store.restore({ ...entry, index: 2 }), false, 'twice the same place');
  assert.equal(decodeChunk(new Uint8Array(31)), null);
  assert.equal(decodeChunk(new Uint8Array(32)), null, 'a block of no bytes');
});
