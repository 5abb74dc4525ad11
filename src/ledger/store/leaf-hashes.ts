/**
 * The hashes of a section's leaves, 16 bytes each, one after the other: whoever has them has the
 * hash of the section.
 */
import { assert } from '../../stdx/index.ts';
import { CHECKSUM_SIZE, type Checksum } from '../../wire/index.ts';

export class LeafHashes {
  readonly #checksum: Checksum;
  #hashes: Uint8Array = new Uint8Array(CHECKSUM_SIZE * 64);

  constructor(checksum: Checksum) {
    this.#checksum = checksum;
  }

  /** Notes the hash of a leaf's bytes; returns it, a copy. */
  put(leaf: number, bytes: Uint8Array): Uint8Array {
    const at = leaf * CHECKSUM_SIZE;
    this.#growTo(at + CHECKSUM_SIZE);
    this.#checksum.digest(bytes, 0, bytes.length, this.#hashes, at);
    return this.#hashes.slice(at, at + CHECKSUM_SIZE);
  }

  /** Notes a hash that came with its leaf. */
  restore(leaf: number, hash: Uint8Array): void {
    assert(hash.length === CHECKSUM_SIZE, 'LeafHashes: not a hash');
    const at = leaf * CHECKSUM_SIZE;
    this.#growTo(at + CHECKSUM_SIZE);
    this.#hashes.set(hash, at);
  }

  /** Writes the hash over those of the first `count` leaves to `target[offset, + 16)`. */
  digest(count: number, target: Uint8Array, offset: number): void {
    const length = count * CHECKSUM_SIZE;
    this.#growTo(length);
    this.#checksum.digest(this.#hashes, 0, length, target, offset);
  }

  /** The same hashes, to be changed without consequences. */
  clone(): LeafHashes {
    const copy = new LeafHashes(this.#checksum);
    copy.#hashes = this.#hashes.slice();
    return copy;
  }

  #growTo(length: number): void {
    if (length <= this.#hashes.length) return;
    const larger = new Uint8Array(Math.max(length, this.#hashes.length * 2));
    larger.set(this.#hashes);
    this.#hashes = larger;
  }
}
