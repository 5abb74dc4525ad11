/**
 * One of the five sections of the ledger's logical content, cut into leaves of 256 KiB: the unit in
 * which it goes into checkpoints and is hashed for the root. There are two kinds of sections, those
 * that only grow (here) and those that also change in place (`mutable-section`).
 *
 * A cut is logical: it notes the number of records. What only grows shows its first records for
 * ever, so the leaves of a cut can be made while the ledger goes on, and complete leaves before
 * there is a cut at all.
 */
import { BLOCK_SIZE_MAX, type Block } from '../../engine/index.ts';
import { assert } from '../../stdx/index.ts';
import type { Checksum } from '../../wire/index.ts';
import { LeafHashes } from './leaf-hashes.ts';

/** What a section needs from its table; `Rows` and `PendingColumn` are two. */
export interface LeafTable {
  readonly count: number;
  readonly rowsPerLeaf: number;
  /** The bytes of a leaf of the first `count` records: a view of the table. */
  leaf(index: number, count: number): Uint8Array;
  restoreLeaf(index: number, bytes: Uint8Array): void;
}

/** The part of a machine's contract that each section fulfils for itself. */
export interface Section {
  readonly kind: number;
  readonly table: LeafTable;
  /** Records at the last cut. */
  readonly cutCount: number;
  /** Starts a cut; the previous one must have been handed out. Returns the number of its leaves. */
  cut(): number;
  /** The next leaf of the cut, made in `target`, or `null`. */
  slice(target: Uint8Array): Block | null;
  /** A complete leaf, while no cut is handed out; `null`: none that is new. */
  sliceAhead(target: Uint8Array): Block | null;
  /** Puts back a leaf; ascending. */
  restore(block: Block): void;
  /** The table was filled by restored leaves: they are what the last cut held. */
  restored(): void;
  /** Writes the hash of the cut's leaf hashes, once all leaves are handed out. */
  hashOfCut(target: Uint8Array, offset: number): void;
  /** The same of what the table holds now. Reads what is not in the last cut. */
  hash(target: Uint8Array, offset: number): void;
}

export class GrowingSection implements Section {
  readonly kind: number;
  readonly table: LeafTable;
  /** Of the leaves below `#complete`, and of those of the cut that were handed out. */
  readonly #hashes: LeafHashes;
  /** Leaves, all of them complete, that were handed out: they never change again. */
  #complete: number = 0;
  #cutCount: number = 0;
  /** The next leaf of the cut, and where its leaves end. */
  #next: number = 0;
  #end: number = 0;

  constructor(kind: number, table: LeafTable, checksum: Checksum) {
    this.kind = kind;
    this.table = table;
    this.#hashes = new LeafHashes(checksum);
  }

  get cutCount(): number {
    return this.#cutCount;
  }

  cut(): number {
    assert(this.#next === this.#end, 'GrowingSection: previous cut not finished');
    const { count } = this.table;
    assert(count >= this.#cutCount, 'GrowingSection: records lost since the last cut');
    this.#end = leafCount(this.table, count);
    this.#next = count === this.#cutCount ? this.#end : this.#complete;
    this.#cutCount = count;
    return this.#end - this.#next;
  }

  slice(target: Uint8Array): Block | null {
    if (this.#next === this.#end) return null;
    const leaf = this.#next++;
    return this.#hand(leaf, this.#cutCount, target);
  }

  sliceAhead(target: Uint8Array): Block | null {
    assert(this.#next === this.#end, 'GrowingSection: a cut is being handed out');
    const count = (this.#complete + 1) * this.table.rowsPerLeaf;
    return count > this.table.count ? null : this.#hand(this.#complete, count, target);
  }

  restore(block: Block): void {
    restoreLeaf(this, this.#hashes, block);
  }

  restored(): void {
    assert(this.#cutCount === 0, 'GrowingSection: restored after a cut');
    const { count, rowsPerLeaf } = this.table;
    this.#cutCount = count;
    this.#complete = Math.floor(count / rowsPerLeaf);
    this.#end = leafCount(this.table, count);
    this.#next = this.#end;
  }

  hashOfCut(target: Uint8Array, offset: number): void {
    assert(this.#next === this.#end, 'GrowingSection: the cut is not handed out');
    this.#hashes.digest(leafCount(this.table, this.#cutCount), target, offset);
  }

  hash(target: Uint8Array, offset: number): void {
    const { count } = this.table;
    const hashes = this.#hashes.clone();
    const leaves = leafCount(this.table, count);
    for (let leaf = this.#complete; leaf < leaves; leaf++) {
      hashes.put(leaf, this.table.leaf(leaf, count));
    }
    hashes.digest(leaves, target, offset);
  }

  #hand(index: number, count: number, target: Uint8Array): Block {
    const bytes = copyOf(this.table.leaf(index, count), target);
    if (bytes.length === BLOCK_SIZE_MAX) {
      assert(index === this.#complete, 'GrowingSection: leaf out of order');
      this.#complete = index + 1;
    }
    return { kind: this.kind, index, bytes, checksum: this.#hashes.put(index, bytes) };
  }
}

/** Leaves of the first `count` records. */
export function leafCount(table: LeafTable, count: number): number {
  return Math.ceil(count / table.rowsPerLeaf);
}

/** Copies a leaf to the front of `target`. */
export function copyOf(leaf: Uint8Array, target: Uint8Array): Uint8Array {
  target.set(leaf);
  return target.subarray(0, leaf.length);
}

/** Puts back a leaf and its hash, which need not be computed if it came with the block. */
export function restoreLeaf(section: Section, hashes: LeafHashes, block: Block): void {
  assert(block.kind === section.kind, 'Section: block of another section');
  section.table.restoreLeaf(block.index, block.bytes);
  if (block.checksum === undefined) hashes.put(block.index, block.bytes);
  else hashes.restore(block.index, block.checksum);
}
