/**
 * All blocks of the last snapshot by name. A machine hands out changed blocks only, so the others
 * have to be at hand when the next snapshot is put together. They are: as views of the snapshot
 * before, which the new one then replaces. So the state is in memory twice, not three times, but
 * while a snapshot is made.
 */

import type { Block } from '../../engine/index.ts';
import { assert } from '../../stdx/index.ts';
import type { Checksum } from '../../wire/index.ts';
import {
  blockKey,
  SNAPSHOT_HEAD_SIZE,
  type SnapshotData,
  type SnapshotPoint,
  type StoredBlock,
  storedSize,
  writeBlock,
  writeSnapshotHead,
} from './snapshot-data.ts';

export class BlockMap {
  readonly #checksum: Checksum;
  readonly #blocks: Map<number, StoredBlock> = new Map();
  /** Bytes of all blocks with their heads. */
  #size: number = 0;

  constructor(checksum: Checksum) {
    this.#checksum = checksum;
  }

  get count(): number {
    return this.#blocks.size;
  }

  /** Begins with the blocks of a snapshot, whose bytes must stay as they are. */
  adopt(snapshot: SnapshotData): void {
    assert(this.#blocks.size === 0, 'BlockMap: adopts one snapshot, at the beginning');
    for (const block of snapshot.blocks) this.#set(block);
  }

  /** Takes in a changed block by copying it; an empty one deletes. */
  put(block: Block): void {
    const { kind, index, bytes } = block;
    if (bytes.length === 0) {
      this.#delete(blockKey(kind, index));
      return;
    }
    const checksum = new Uint8Array(16);
    if (block.checksum !== undefined) checksum.set(block.checksum);
    else this.#checksum.digest(bytes, 0, bytes.length, checksum, 0);
    this.#set({ kind, index, bytes: bytes.slice(), checksum });
  }

  /** Begins to put a snapshot together of what is here now; nothing may change until it is done. */
  assemble(point: SnapshotPoint): Assembly {
    return new Assembly(point, this.#blocks, this.#size);
  }

  #set(block: StoredBlock): void {
    const key = blockKey(block.kind, block.index);
    this.#delete(key);
    this.#blocks.set(key, block);
    this.#size += storedSize(block.bytes.length);
  }

  #delete(key: number): void {
    const block = this.#blocks.get(key);
    if (block === undefined) return;
    this.#blocks.delete(key);
    this.#size -= storedSize(block.bytes.length);
  }
}

/** A snapshot on its way to being whole: copied a bit at a time. */
export class Assembly {
  readonly #blocks: Map<number, StoredBlock>;
  readonly #keys: Float64Array;
  readonly #bytes: Uint8Array;
  #next: number = 0;
  #offset: number = SNAPSHOT_HEAD_SIZE;

  constructor(point: SnapshotPoint, blocks: Map<number, StoredBlock>, size: number) {
    this.#blocks = blocks;
    this.#keys = Float64Array.from(blocks.keys()).sort();
    this.#bytes = new Uint8Array(SNAPSHOT_HEAD_SIZE + size);
    writeSnapshotHead(this.#bytes, point, this.#keys.length);
  }

  /** Copies about `bytesMax` bytes further; the whole once it is complete. */
  advance(bytesMax: number): Uint8Array | null {
    const stop = this.#offset + bytesMax;
    while (this.#next < this.#keys.length && this.#offset < stop) {
      const key = this.#keys[this.#next++];
      const block = this.#blocks.get(key);
      assert(block !== undefined, 'Assembly: a block has gone');
      // From here on the new snapshot holds it, and the one before is let go.
      this.#blocks.set(key, writeBlock(this.#bytes, this.#offset, block));
      this.#offset += storedSize(block.bytes.length);
    }
    if (this.#next < this.#keys.length) return null;
    assert(this.#offset === this.#bytes.length, 'Assembly: another size than it was');
    return this.#bytes;
  }
}
