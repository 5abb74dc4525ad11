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
  keyIndex,
  keyKind,
  type ManifestEntry,
  type Place,
} from './manifest.ts';
import type { ChunkReference } from './superblock-codec.ts';

export class BlockStore {
  readonly #extents: Extents;
  /** By kind, then index: a look-up takes a fraction of what one by the whole name would. */
  readonly #places: Map<number, (Place | undefined)[]> = new Map();
  #count: number = 0;
  /** Names that the sorted ones below lack, and whether any of those is gone. */
  #keysNew: number[] = [];
  #isAnyGone: boolean = false;
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
    return this.#count;
  }

  /** Where each block is, by name; a copy. */
  places(): Map<number, Place> {
    this.#sortKeys();
    return new Map(Array.from(this.#keys, (key) => [key, this.#placeOf(key)]));
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
    const { kind, index, offset, size, checksum } = entry;
    if (this.#exchange(kind, index, { offset, size, checksum }) !== undefined) return false;
    return this.#extents.occupy(offset, size);
  }

  /** A new place for the block of that name; returns its offset. */
  replace(kind: number, index: number, size: number, checksum: Uint8Array): number {
    const place = this.#allocate(size, checksum);
    const before = this.#exchange(kind, index, place);
    if (before !== undefined) this.#replaced.push(before);
    return place.offset;
  }

  /** There is no such block any more. Deleting what never was does nothing. */
  delete(kind: number, index: number): void {
    const places = this.#places.get(kind);
    const before = places?.[index];
    if (places === undefined || before === undefined) return;
    this.#replaced.push(before);
    places[index] = undefined;
    this.#count--;
    this.#isAnyGone = true;
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
      size = encodeEntry(target, size, key, this.#placeOf(key));
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
    if (this.#keysNew.length === 0 && !this.#isAnyGone) return;
    const added = Float64Array.from(this.#keysNew).sort();
    const keys = new Float64Array(this.#count);
    let count = 0;
    for (let old = 0, fresh = 0; old < this.#keys.length || fresh < added.length; ) {
      const isOld = fresh === added.length || this.#keys[old] < added[fresh];
      const key = isOld ? this.#keys[old++] : added[fresh++];
      // A name may be deleted, or be there twice because it was deleted and came back.
      if (this.#isAnyGone && (!this.#has(key) || (count > 0 && keys[count - 1] === key))) continue;
      keys[count++] = key;
    }
    assert(count === this.#count, 'BlockStore: names are missing');
    this.#keys = keys;
    this.#keysNew = [];
    this.#isAnyGone = false;
  }

  /** Puts a block somewhere; returns where it was before. */
  #exchange(kind: number, index: number, place: Place): Place | undefined {
    const key = blockKey(kind, index);
    let places = this.#places.get(kind);
    if (places === undefined) {
      places = [];
      this.#places.set(kind, places);
    }
    const before = places[index];
    places[index] = place;
    if (before !== undefined) return before;
    this.#count++;
    this.#keysNew.push(key);
    return undefined;
  }

  #has(key: number): boolean {
    return this.#places.get(keyKind(key))?.[keyIndex(key)] !== undefined;
  }

  #placeOf(key: number): Place {
    const place = this.#places.get(keyKind(key))?.[keyIndex(key)];
    assert(place !== undefined, 'BlockStore: blocks changed under the manifest');
    return place;
  }

  #allocate(size: number, checksum: Uint8Array): Place {
    assert(checksum.length === 16, 'BlockStore: a checksum has 16 bytes');
    const offset = this.#extents.allocate(size);
    this.#fileSize = Math.max(this.#fileSize, offset + sectorCeil(size));
    return { offset, size, checksum };
  }
}
