import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BLOCK_SIZE_MAX, SECTOR_SIZE } from '../../engine/index.ts';
import { Prng, U64_ZERO, writeU32 } from '../../stdx/index.ts';
import { createChecksum } from '../../wire/index.ts';
import { sectorCeil } from '../file/geometry.ts';
import {
  blockKey,
  decodeChunk,
  ENTRIES_PER_CHUNK,
  encodeEntry,
  type Place,
} from '../file/manifest.ts';
import type { CheckpointReference, ChunkReference } from '../file/superblock-codec.ts';
import { Copy, type Item } from './copy.ts';

const checksum = createChecksum();
const BASE = 40 * SECTOR_SIZE;

function checksumOf(bytes: Uint8Array): Uint8Array {
  const target = new Uint8Array(16);
  checksum.digest(bytes, 0, bytes.length, target, 0);
  return target;
}

interface Block {
  readonly kind: number;
  readonly index: number;
  readonly size: number;
  /** Stands for the content. */
  readonly content: number;
}

/** What a block's bytes would sum up to. */
function sumOf({ kind, index, size, content }: Block): Uint8Array {
  const sum = new Uint8Array(16);
  [kind, index, size, content].forEach((value, i) => {
    writeU32(sum, 4 * i, value);
  });
  return sum;
}

/** A checkpoint in somebody's file: a reference, and the pieces of its manifest. */
function checkpoint(op: number, blocks: readonly Block[]): [CheckpointReference, Uint8Array[]] {
  const pieces: Uint8Array[] = [];
  const manifest: ChunkReference[] = [];
  let at = 1000 * BLOCK_SIZE_MAX;
  for (let i = 0; i < blocks.length; i += ENTRIES_PER_CHUNK) {
    const bytes = new Uint8Array(BLOCK_SIZE_MAX);
    let size = 0;
    for (const block of blocks.slice(i, i + ENTRIES_PER_CHUNK)) {
      const place = { offset: at, size: block.size, checksum: sumOf(block) };
      size = encodeEntry(bytes, size, blockKey(block.kind, block.index), place);
      at += BLOCK_SIZE_MAX;
    }
    const used = bytes.slice(0, size);
    pieces.push(used);
    manifest.push({ offset: (2000 + i) * BLOCK_SIZE_MAX, size, checksum: checksumOf(used) });
  }
  const id = new Uint8Array(16).fill(op);
  const sums = { prepareChecksum: id, digest: id, root: id, id, idParent: id };
  const reference = { op, timestamp: U64_ZERO, ...sums, blockCount: blocks.length, manifest };
  return [reference, pieces];
}

/** Fetches everything; returns what was fetched. Asserts that no two places overlap. */
function fetchAll(copy: Copy, pieces: readonly Uint8Array[], taken: Place[] = []): Item[] {
  const fetched: Item[] = [];
  for (let items = copy.missing(); items.length > 0; items = copy.missing()) {
    for (const item of items) {
      fetched.push(item);
      if (item.key < 0) assert.ok(copy.takeChunk(item.chunk, pieces[item.chunk] as Uint8Array));
      else taken.push(copy.place(item));
    }
  }
  return fetched;
}

function assertApart(places: readonly Place[], from: number): void {
  const sorted = places.toSorted((a, b) => a.offset - b.offset);
  let end = from;
  for (const { offset, size } of sorted) {
    assert.ok(offset % SECTOR_SIZE === 0 && offset >= end, `${offset} after ${end}`);
    end = offset + sectorCeil(size);
  }
}

const blocks: readonly Block[] = [
  { kind: 1, index: 0, size: 262_144, content: 1 },
  { kind: 1, index: 1, size: 5000, content: 2 },
  { kind: 2, index: 0, size: 1, content: 3 },
  { kind: 9, index: 7, size: 70_000, content: 4 },
  // Next to the second one, in an extent before the last.
  { kind: 9, index: 8, size: 6000, content: 5 },
];

test('first the manifest is missing, then the blocks that it lists', () => {
  const [reference, pieces] = checkpoint(7, blocks);
  const copy = new Copy(BASE, BASE, new Map());
  copy.begin(reference);
  assert.deepEqual(
    copy.missing().map(({ key, chunk }) => [key, chunk]),
    [[-1, 0]],
  );
  const taken: Place[] = [];
  const fetched = fetchAll(copy, pieces, taken);
  const names = blocks.map(({ kind, index }) => blockKey(kind, index));
  assert.deepEqual(
    fetched.map(({ key }) => key),
    [-1, ...names],
  );
  assert.deepEqual(copy.missing(), []);
  assertApart(taken, BASE);
  assert.equal(copy.fileSize, Math.max(...taken.map((one) => one.offset + sectorCeil(one.size))));
});

test('what is fetched goes behind everything that the file holds', () => {
  for (const fileSize of [BASE, BASE + SECTOR_SIZE, BASE + 3 * BLOCK_SIZE_MAX, BASE + 1_000_000]) {
    const rounded = Math.ceil((fileSize - BASE) / SECTOR_SIZE) * SECTOR_SIZE + BASE;
    const [reference, pieces] = checkpoint(7, blocks);
    const copy = new Copy(BASE, rounded, new Map());
    copy.begin(reference);
    const taken: Place[] = [];
    fetchAll(copy, pieces, taken);
    const chunks = copy.manifest(checksumOf).map(({ chunk }) => chunk);
    assertApart([...taken, ...chunks], rounded);
    assert.ok(copy.fileSize >= rounded);
    // The growing area is cut into extents from its base on; a new one begins for the copy.
    assert.equal((Math.min(...taken.map(({ offset }) => offset)) - BASE) % BLOCK_SIZE_MAX, 0);
  }
});

test('blocks that are here already stay where they are; alike is not enough', () => {
  const here = new Map<number, Place>();
  const add = (block: Block, change: Partial<Place> = {}): void => {
    const place = { offset: BASE + 4096 * here.size, size: block.size, checksum: sumOf(block) };
    here.set(blockKey(block.kind, block.index), { ...place, ...change });
  };
  const [same, otherSum, otherSize, ...absent] = blocks as [Block, Block, Block, ...Block[]];
  add(same);
  add(otherSum, { checksum: new Uint8Array(16) });
  add(otherSize, { size: otherSize.size + 1 });
  const [reference, pieces] = checkpoint(7, blocks);
  const copy = new Copy(BASE, BASE + BLOCK_SIZE_MAX, here);
  copy.begin(reference);
  const fetched = fetchAll(copy, pieces).map(({ key }) => key);
  const wanted = [otherSum, otherSize, ...absent].map(({ kind, index }) => blockKey(kind, index));
  assert.deepEqual(fetched, [-1, ...wanted]);
  const [piece] = copy.manifest(checksumOf);
  const entries = decodeChunk(piece?.bytes ?? new Uint8Array(1)) ?? [];
  assert.deepEqual(
    entries.map(({ kind, index, size, checksum: sum }) => ({ kind, index, size, sum })),
    blocks.map((block) => ({
      kind: block.kind,
      index: block.index,
      size: block.size,
      sum: sumOf(block),
    })),
  );
  assert.equal(entries[0]?.offset, BASE, 'where it was');
  assert.deepEqual(piece?.chunk.checksum, checksumOf(piece?.bytes ?? new Uint8Array(1)));
});

test('a newer checkpoint takes over what was fetched for an older one', () => {
  const [older, olderPieces] = checkpoint(7, blocks);
  const changed = blocks.map((block, i) => (i === 1 ? { ...block, content: 50 } : block));
  const added = { kind: 10, index: 0, size: 9000, content: 6 };
  const [newer, newerPieces] = checkpoint(15, [...changed, added]);
  const copy = new Copy(BASE, BASE, new Map());
  const taken: Place[] = [];
  copy.begin(older);
  fetchAll(copy, olderPieces, taken);
  copy.begin(newer);
  const fetched = fetchAll(copy, newerPieces, taken).map(({ key }) => key);
  assert.deepEqual(fetched, [-1, blockKey(1, 1), blockKey(10, 0)]);
  assertApart([...taken, ...copy.manifest(checksumOf).map(({ chunk }) => chunk)], BASE);
  assert.equal(copy.reference?.op, 15);
});

test('when it has to hear anew what the checkpoint is, nothing is fetched twice', () => {
  const [reference, pieces] = checkpoint(7, blocks);
  const copy = new Copy(BASE, BASE, new Map());
  copy.begin(reference);
  const [manifest] = copy.missing() as [Item];
  copy.takeChunk(manifest.chunk, pieces[0] as Uint8Array);
  const [first] = copy.missing() as [Item];
  copy.place(first);
  copy.forget();
  assert.equal(copy.reference, null);
  // From another file, where it lies elsewhere.
  copy.begin({
    ...reference,
    manifest: [{ ...(reference.manifest[0] as ChunkReference), offset: 0 }],
  });
  const rest = fetchAll(copy, pieces).map(({ key }) => key);
  assert.ok(!rest.includes(first.key) && rest.length === blocks.length);
});

test('bytes that are no piece of a manifest are refused', () => {
  const [reference, pieces] = checkpoint(7, blocks);
  const copy = new Copy(BASE, BASE, new Map());
  copy.begin(reference);
  const [piece] = pieces as [Uint8Array];
  assert.ok(!copy.takeChunk(0, piece.subarray(1)));
  const zero = piece.slice();
  writeU32(zero, 12, 0);
  assert.ok(!copy.takeChunk(0, zero));
  assert.equal(copy.missing().length, 1);
});

test('manifests of several pieces, with blocks of any size', () => {
  const prng = new Prng(11);
  const many: Block[] = Array.from({ length: ENTRIES_PER_CHUNK + 500 }, (_, index) => {
    const size = prng.pick([1, 4096, 4097, 16_384, 20_000, 65_536]);
    return { kind: 3, index, size, content: index };
  });
  const [reference, pieces] = checkpoint(7, many);
  assert.equal(pieces.length, 2);
  const copy = new Copy(BASE, BASE, new Map());
  copy.begin(reference);
  const taken: Place[] = [];
  fetchAll(copy, pieces, taken);
  const chunks = copy.manifest(checksumOf);
  assert.equal(chunks.length, 2);
  assertApart([...taken, ...chunks.map(({ chunk }) => chunk)], BASE);
  const entries = chunks.flatMap(({ bytes }) => decodeChunk(bytes) ?? []);
  assert.equal(entries.length, many.length);
  entries.forEach((entry, i) => {
    assert.equal(entry.index, i);
    assert.equal(entry.offset, taken[i]?.offset);
  });
});
