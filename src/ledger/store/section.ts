/**
 * One of the five sections of the ledger's logical content, cut into leaves of 256 KiB: the unit in
 * which it goes into checkpoints and is hashed for the root.
 *
 * Tables mostly grow at their end, so leaves behind the last cut need no bookkeeping. Two sections
 * also change in place (balances of accounts, pending status of transfers): writers mark the leaf
 * before the first change. A cut is logical: it notes the number of records and freezes the leaves
 * that differ; a frozen leaf is copied when somebody marks it before it was handed out. So a
 * checkpoint may be sliced while the ledger goes on.
 */
import { BLOCK_SIZE_MAX, type Block } from '../../engine/index.ts';
import { assert } from '../../stdx/index.ts';
import type { Checksum } from '../../wire/index.ts';

/** What a section needs from its table; `Rows` and `PendingColumn` are two. */
export interface LeafTable {
  readonly count: number;
  readonly rowsPerLeaf: number;
  /** The bytes of a leaf of the first `count` records: a view of the table. */
  leaf(index: number, count: number): Uint8Array;
  restoreLeaf(index: number, bytes: Uint8Array): void;
}

const CUT_DIRTY = 1;
const HASH_DIRTY = 2;
const FROZEN = 4;
/** A leaf with this mark may be written without asking: all is known already. */
export const MARKED: number = CUT_DIRTY | HASH_DIRTY;

const HASH_SIZE = 16;

export class Section {
  readonly kind: number;
  readonly table: LeafTable;
  /** Per leaf: bits as above. Writers in place compare with {@link MARKED} and call `mark`. */
  marks: Uint8Array = new Uint8Array(64);
  readonly #mutable: boolean;

  /** Records at the last cut, and at the one before it. */
  #cutCount: number = 0;
  /** Leaves of the running cut, ascending, and how many of them were handed out. */
  #cutLeaves: number[] = [];
  #sliced: number = 0;
  /** Frozen leaves that were changed: their bytes as of the cut. */
  readonly #copies: Map<number, Uint8Array> = new Map();
  #sliceBytes: Uint8Array | null = null;

  #hashes: Uint8Array = new Uint8Array(HASH_SIZE * 64);
  #hashedCount: number = 0;
  /** The running cut was made right after its leaves were hashed, and none was hashed since. */
  #isCutHashed: boolean = false;
  /** Leaves whose hashes came with them when they were restored. */
  #hashesRestored: number = 0;

  constructor(kind: number, table: LeafTable, options: { mutable: boolean }) {
    this.kind = kind;
    this.table = table;
    this.#mutable = options.mutable;
  }

  /** Call before changing a record of this leaf in place, unless its mark is MARKED. */
  mark(leaf: number): void {
    assert(this.#mutable, 'Section: append-only');
    if (leaf >= this.marks.length) this.#growMarks(leaf);
    if ((this.marks[leaf] & FROZEN) !== 0) {
      this.#copies.set(leaf, this.table.leaf(leaf, this.#cutCount).slice());
    }
    this.marks[leaf] = MARKED;
  }

  /** Starts a cut of what the table holds now. The previous one must have been handed out. */
  cut(): void {
    assert(this.#sliced === this.#cutLeaves.length, 'Section: previous cut not finished');
    const count = this.table.count;
    const grown = count > this.#cutCount;
    const appendedFrom = grown ? Math.floor(this.#cutCount / this.table.rowsPerLeaf) : Infinity;
    assert(count >= this.#cutCount, 'Section: records lost since the last cut');
    this.#cutLeaves = [];
    this.#sliced = 0;
    const leaves = this.#leafCount(count);
    if (this.#mutable && leaves > this.marks.length) this.#growMarks(leaves - 1);
    for (let leaf = this.#mutable ? 0 : Math.min(appendedFrom, leaves); leaf < leaves; leaf++) {
      const dirty = leaf >= appendedFrom || (this.marks[leaf] & CUT_DIRTY) !== 0;
      if (!dirty) continue;
      this.#cutLeaves.push(leaf);
      if (this.#mutable) this.marks[leaf] = (this.marks[leaf] & ~CUT_DIRTY) | FROZEN;
    }
    this.#cutCount = count;
    this.#isCutHashed = this.#hashedCount === count && !this.#cutLeaves.some(this.#isUnhashed);
  }

  readonly #isUnhashed = (leaf: number): boolean => {
    return this.#mutable && (this.marks[leaf] & HASH_DIRTY) !== 0;
  };

  /** The next leaf of the cut, or `null`. Its bytes hold until the next call. */
  slice(): Block | null {
    if (this.#sliced === this.#cutLeaves.length) {
      this.#sliceBytes = null;
      return null;
    }
    const index = this.#cutLeaves[this.#sliced++];
    const block = { kind: this.kind, index, bytes: this.#cutBytes(index) };
    if (!this.#isCutHashed) return block;
    // Whoever asked for the root just before has paid for the checksum already.
    const checksum = this.#hashes.slice(index * HASH_SIZE, (index + 1) * HASH_SIZE);
    return { ...block, checksum };
  }

  /** Puts back a leaf, and its hash if that comes with it; ascending. */
  restore(block: Block): void {
    assert(block.kind === this.kind, 'Section: block of another section');
    this.table.restoreLeaf(block.index, block.bytes);
    if (block.checksum === undefined || block.index !== this.#hashesRestored) return;
    while ((block.index + 1) * HASH_SIZE > this.#hashes.length) {
      this.#hashes = doubled(this.#hashes);
    }
    this.#hashes.set(block.checksum, block.index * HASH_SIZE);
    this.#hashesRestored += 1;
  }

  #cutBytes(leaf: number): Uint8Array {
    const live = (): Uint8Array => this.table.leaf(leaf, this.#cutCount);
    if (!this.#mutable) return live();
    const copy = this.#copies.get(leaf);
    if (copy !== undefined) {
      assert((this.marks[leaf] & FROZEN) === 0, 'Section: copied and still frozen');
      this.#copies.delete(leaf);
      return copy;
    }
    assert((this.marks[leaf] & FROZEN) !== 0, 'Section: neither copied nor frozen');
    this.marks[leaf] &= ~FROZEN;
    // The table may change before the next call, the block must not.
    const bytes = live();
    this.#sliceBytes ??= new Uint8Array(BLOCK_SIZE_MAX);
    this.#sliceBytes.set(bytes);
    return this.#sliceBytes.subarray(0, bytes.length);
  }

  /** The table was filled by restored leaves: they are what the last cut held. */
  restored(): void {
    assert(this.#cutLeaves.length === 0, 'Section: restored after a cut');
    this.#cutCount = this.table.count;
    if (this.#hashesRestored !== this.#leafCount(this.table.count)) return;
    this.#hashedCount = this.table.count;
  }

  /** Writes the hash of the section: that of its leaves' hashes. Only changed leaves are read. */
  hash(checksum: Checksum, target: Uint8Array, offset: number): void {
    const count = this.table.count;
    this.#isCutHashed = false;
    const grown = count !== this.#hashedCount;
    const appendedFrom = grown ? Math.floor(this.#hashedCount / this.table.rowsPerLeaf) : Infinity;
    const leaves = this.#leafCount(count);
    if (this.#mutable && leaves > this.marks.length) this.#growMarks(leaves - 1);
    while (leaves * HASH_SIZE > this.#hashes.length) this.#hashes = doubled(this.#hashes);
    for (let leaf = this.#mutable ? 0 : Math.min(appendedFrom, leaves); leaf < leaves; leaf++) {
      const dirty = leaf >= appendedFrom || (this.marks[leaf] & HASH_DIRTY) !== 0;
      if (!dirty) continue;
      const bytes = this.table.leaf(leaf, count);
      checksum.digest(bytes, 0, bytes.length, this.#hashes, leaf * HASH_SIZE);
      if (this.#mutable) this.marks[leaf] &= ~HASH_DIRTY;
    }
    this.#hashedCount = count;
    checksum.digest(this.#hashes, 0, leaves * HASH_SIZE, target, offset);
  }

  #leafCount(count: number): number {
    return Math.ceil(count / this.table.rowsPerLeaf);
  }

  #growMarks(leaf: number): void {
    while (leaf >= this.marks.length) this.marks = doubled(this.marks);
  }
}

function doubled(bytes: Uint8Array): Uint8Array {
  const larger = new Uint8Array(bytes.length * 2);
  larger.set(bytes);
  return larger;
}
