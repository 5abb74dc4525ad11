/**
 * A checkpoint on its way into this file: which blocks of it are here already, which are to be
 * fetched, where they go. What is fetched goes behind everything that the file holds, so nothing
 * that counts is touched until the superblock names the copy. Blocks that the last checkpoint here
 * has in common with it stay where they are. Pure bookkeeping.
 */
import { BLOCK_SIZE_MAX } from '../../engine/index.ts';
import { assert, bytesEqual } from '../../stdx/index.ts';
import { Extents } from '../file/extents.ts';
import { sectorCeil } from '../file/geometry.ts';
import {
  blockKey,
  decodeChunk,
  ENTRIES_PER_CHUNK,
  encodeEntry,
  type ManifestEntry,
  type Place,
} from '../file/manifest.ts';
import type { CheckpointReference, ChunkReference } from '../file/superblock-codec.ts';

/** Something to fetch: a place in the other one's file. */
export interface Item {
  readonly offset: number;
  readonly size: number;
  readonly checksum: Uint8Array;
  /** −1: piece `chunk` of the manifest; else the name of a block. */
  readonly key: number;
  readonly chunk: number;
}

export class Copy {
  readonly #extents: Extents;
  #fileSize: number;
  /** Blocks that are in this file, by name. */
  readonly #here: Map<number, Place>;
  #reference: CheckpointReference | null = null;
  #entries: (readonly ManifestEntry[] | null)[] = [];

  /** `base`, `fileSize`: of the growing area here; `here`: blocks of the last checkpoint here. */
  constructor(base: number, fileSize: number, here: ReadonlyMap<number, Place>) {
    const extents = Math.ceil((fileSize - base) / BLOCK_SIZE_MAX);
    this.#extents = new Extents(base + extents * BLOCK_SIZE_MAX);
    this.#fileSize = fileSize;
    this.#here = new Map(here);
  }

  get reference(): CheckpointReference | null {
    return this.#reference;
  }

  get fileSize(): number {
    return this.#fileSize;
  }

  /** This is the checkpoint to be copied; what was fetched for another one is kept. */
  begin(reference: CheckpointReference): void {
    this.#reference = reference;
    this.#entries = reference.manifest.map(() => null);
  }

  /** What the checkpoint is, and where, has to be heard anew; what was fetched is kept. */
  forget(): void {
    this.#reference = null;
    this.#entries = [];
  }

  /** Everything that is still missing: pieces of the manifest first. */
  missing(): Item[] {
    const { manifest } = this.#target;
    const items: Item[] = [];
    manifest.forEach((chunk, i) => {
      if (this.#entries[i] === null) items.push({ ...chunk, key: -1, chunk: i });
    });
    if (items.length > 0) return items;
    for (const entry of this.#allEntries()) {
      const key = blockKey(entry.kind, entry.index);
      const { offset, size, checksum } = entry;
      if (!this.#has(key, entry)) items.push({ offset, size, checksum, key, chunk: 0 });
    }
    return items;
  }

  /** A piece of the manifest has come, verified; `false`: it is none. */
  takeChunk(chunk: number, bytes: Uint8Array): boolean {
    const entries = decodeChunk(bytes);
    if (entries === null) return false;
    this.#entries[chunk] = entries;
    return true;
  }

  /** Where a block that has come, verified, is to be written. */
  place(item: Item): Place {
    const place = this.#allocate(item.size, item.checksum);
    this.#here.set(item.key, place);
    return place;
  }

  /** The manifest of the copy: pieces to be written, in order. */
  manifest(checksumOf: (bytes: Uint8Array) => Uint8Array): {
    readonly chunk: ChunkReference;
    readonly bytes: Uint8Array;
  }[] {
    const entries = this.#allEntries();
    const pieces: { chunk: ChunkReference; bytes: Uint8Array }[] = [];
    for (let at = 0; at < entries.length; at += ENTRIES_PER_CHUNK) {
      const part = entries.slice(at, at + ENTRIES_PER_CHUNK);
      const bytes = new Uint8Array(BLOCK_SIZE_MAX);
      let size = 0;
      for (const { kind, index } of part) {
        const key = blockKey(kind, index);
        const place = this.#here.get(key);
        assert(place !== undefined, 'Copy: a block is missing');
        size = encodeEntry(bytes, size, key, place);
      }
      const used = bytes.subarray(0, size);
      pieces.push({ chunk: this.#allocate(size, checksumOf(used)), bytes: used });
    }
    return pieces;
  }

  get #target(): CheckpointReference {
    assert(this.#reference !== null, 'Copy: nothing to copy');
    return this.#reference;
  }

  #allEntries(): ManifestEntry[] {
    return this.#entries.flatMap((entries) => entries ?? []);
  }

  #has(key: number, { size, checksum }: ManifestEntry): boolean {
    const place = this.#here.get(key);
    if (place === undefined || place.size !== size) return false;
    return bytesEqual(place.checksum, 0, checksum, 0, 16);
  }

  #allocate(size: number, checksum: Uint8Array): Place {
    const offset = this.#extents.allocate(size);
    this.#fileSize = Math.max(this.#fileSize, offset + sectorCeil(size));
    return { offset, size, checksum };
  }
}
