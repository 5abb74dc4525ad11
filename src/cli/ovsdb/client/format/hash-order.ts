/**
 * The order in which the original's hash tables hand out names. Some of its output (lists of tables
 * and columns, rows of an update, backups) comes in that order, and scripts compare outputs, so it
 * is worked out here: the hash (a Murmur hash over 32-bit words), buckets whose newest member comes
 * first, and how a table grows. A table that is filled from another one depends on its order too.
 */
import { encodeUtf8 } from '../../../../ovsdb/json/utf8.ts';

/** `names`, which are distinct, in the order of a table into which they went one by one. */
export function hashOrder(names: readonly string[]): string[] {
  const table = new HashTable();
  for (const name of names) table.insert(name);
  return table.names();
}

interface Node {
  readonly name: string;
  readonly hash: number;
}

class HashTable {
  /** A power of two of them; the last of each is its first. */
  #buckets: Node[][] = [[]];
  #count: number = 0;

  insert(name: string): void {
    this.#put(this.#buckets, { name, hash: hashOf(encodeUtf8(name)) });
    this.#count += 1;
    if (this.#count >>> 1 > this.#buckets.length - 1) this.#grow();
  }

  names(): string[] {
    return this.#buckets.flatMap((bucket) => bucket.map((node) => node.name).reverse());
  }

  #put(buckets: Node[][], node: Node): void {
    (buckets[(node.hash & (buckets.length - 1)) >>> 0] as Node[]).push(node);
  }

  #grow(): void {
    const size = bucketCount(this.#count);
    if (size <= this.#buckets.length) return;
    const grown: Node[][] = Array.from({ length: size }, () => []);
    for (const bucket of this.#buckets) {
      for (let i = bucket.length - 1; i >= 0; i--) this.#put(grown, bucket[i] as Node);
    }
    this.#buckets = grown;
  }
}

/** At least 4 once there is more than one. */
function bucketCount(capacity: number): number {
  let mask = capacity >>> 1;
  for (const shift of [1, 2, 4, 8, 16]) mask |= mask >>> shift;
  return (mask | ((mask & 1) << 1)) + 1;
}

function hashOf(bytes: Uint8Array): number {
  let hash = 0;
  for (let at = 0; at < bytes.length; at += 4) {
    let word = 0;
    for (let i = Math.min(4, bytes.length - at) - 1; i >= 0; i--) {
      word = (word << 8) | (bytes[at + i] as number);
    }
    hash = addWord(hash, word);
  }
  return finish(hash ^ bytes.length);
}

function addWord(hash: number, word: number): number {
  let data = Math.imul(word, 0xcc9e2d51);
  data = Math.imul(rotate(data, 15), 0x1b873593);
  return (Math.imul(rotate(hash ^ data, 13), 5) + 0xe6546b64) | 0;
}

function rotate(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}

function finish(hash: number): number {
  let mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
