/**
 * The block store: named blocks of a checkpoint in the growing area of the file, copy on write. A
 * block that is written again gets a new place, and the old one stays what it was until the
 * superblock names the new manifest: until then a crash leads back to the old checkpoint, whole.
 *
 * This file knows places and names; who writes the bytes, and when, is the checkpoint's business.
 */
import { SECTOR_SIZE } from '../../engine/index.ts';
import { assert } from '../../stdx/index.ts';
import { Extents } from './extents.ts';
import { sectorCeil } from './geometry.ts';
import {
  blockKey,
  ENTRIES_PER_CHUNK,
  encodeEntry,
  type ManifestEntry,
  type Place,
} from './manifest.ts';
import type { ChunkReference } from './superblock-codec.ts';

export class BlockStore {
  readonly #extents: Extents;
  readonly #places: Map<number, Place> = new Map();
  /** Names that the sorted ones below lack. */
  #keysNew: number[] = [];
  #chunks: readonly ChunkReference[] = [];
  /** Places that the durable manifest still needs, free once the next one is durable. */
  #replaced: Place[] = [];
  /** The file is at least this long once everything is written, bytes. */
  #fileSize: number;
  /** Names in ascending order, as of the last manifest. */
  #keys: Float64Array = new Float64Array(0);

  /** `base`: where the growing area begins; `fileSize`: what the superblock knows of its end. */
  constructor(base: number, fileSize: number) {
    assert(fileSize >= base && fileSize % SECTOR_SIZE === 0, 'BlockStore: file size');
    this.#extents = new Extents(base);
    this.#fileSize = fileSize;
  }

  get count(): number {
    return this.#places.size;
  }

  /** Where each block is, by name; borrowed. */
  get places(): ReadonlyMap<number, Place> {
    return this.#places;
  }

  get fileSize(): number {
    return this.#fileSize;
  }

  /** Takes in the pieces of the manifest that the superblock names; `false`: they overlap. */
  restoreChunks(chunks: readonly ChunkReference[]): boolean {
    assert(this.#chunks.length === 0, 'BlockStore: restored twice');
    this.#chunks = chunks;
    return chunks.every((chunk) => this.#extents.occupy(chunk.offset, chunk.size));
  }

  /** Takes in one block of the manifest; `false`: its place is taken, or its name. */
  restore(entry: ManifestEntry): boolean {
    const key = blockKey(entry.kind, entry.index);
    if (this.#places.has(key)) return false;
    this.#places.set(key, { offset: entry.offset, size: entry.size, checksum: entry.checksum });
    this.#keysNew.push(key);
    return this.#extents.occupy(entry.offset, entry.size);
  }

  /** A new place for the block of that name; returns its offset. */
  replace(kind: number, index: number, size: number, checksum: Uint8Array): number {
    const key = blockKey(kind, index);
    const before = this.#places.get(key);
    if (before === undefined) this.#keysNew.push(key);
    else this.#replaced.push(before);
    const place = this.#allocate(size, checksum);
    this.#places.set(key, place);
    return place.offset;
  }

  /** There is no such block any more. Deleting what never was does nothing. */
  delete(kind: number, index: number): void {
    const key = blockKey(kind, index);
    const before = this.#places.get(key);
    if (before === undefined) return;
    this.#replaced.push(before);
    this.#places.delete(key);
  }

  /** Begins a manifest of the blocks as they are now; returns the number of its pieces. */
  beginManifest(): number {
    this.#sortKeys();
    return Math.ceil(this.#keys.length / ENTRIES_PER_CHUNK);
  }

  /** Writes piece `chunk` of the manifest to `target`; returns its size in bytes. */
  encodeChunk(chunk: number, target: Uint8Array): number {
    const keys = this.#keys.subarray(chunk * ENTRIES_PER_CHUNK, (chunk + 1) * ENTRIES_PER_CHUNK);
    assert(keys.length > 0, 'BlockStore: no such piece');
    let size = 0;
    for (const key of keys) {
      const place = this.#places.get(key);
      assert(place !== undefined, 'BlockStore: blocks changed under the manifest');
      size = encodeEntry(target, size, key, place);
    }
    return size;
  }

  /** A place for a piece of the manifest. */
  placeChunk(size: number, checksum: Uint8Array): ChunkReference {
    return this.#allocate(size, checksum);
  }

  /** The superblock names `chunks`: what they replaced is free. */
  commit(chunks: readonly ChunkReference[]): void {
    for (const place of this.#replaced) this.#extents.free(place.offset, place.size);
    for (const chunk of this.#chunks) this.#extents.free(chunk.offset, chunk.size);
    this.#replaced = [];
    this.#chunks = chunks;
  }

  /** Sorts what is new and merges it in: sorting all of a large ledger's names takes too long. */
  #sortKeys(): void {
    const added = Float64Array.from(this.#keysNew).sort();
    this.#keysNew = [];
    const keys = new Float64Array(this.#places.size);
    let count = 0;
    for (let old = 0, fresh = 0; old < this.#keys.length || fresh < added.length; ) {
      const isOld = fresh === added.length || this.#keys[old] < added[fresh];
      const key = isOld ? this.#keys[old++] : added[fresh++];
      // A name may be deleted, or be there twice because it was deleted and came back.
      if (!this.#places.has(key) || (count > 0 && keys[count - 1] === key)) continue;
      keys[count++] = key;
    }
    assert(count === this.#places.size, 'BlockStore: names are missing');
    this.#keys = keys;
  }

  #allocate(size: number, checksum: Uint8Array): Place {
    assert(checksum.length === 16, 'BlockStore: a checksum has 16 bytes');
    const offset = this.#extents.allocate(size);
    this.#fileSize = Math.max(this.#fileSize, offset + sectorCeil(size));
    return { offset, size, checksum };
  }
}
