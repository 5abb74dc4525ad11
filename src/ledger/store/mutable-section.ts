/**
 * A section whose records also change in place: accounts (balances), pending status of transfers.
 *
 * Writers tell it before they change a record. Which leaves a cut has to hand out is known from
 * that. A cut freezes those leaves: until a leaf is handed out, a record is copied before its first
 * change, so that the leaf can be made as it was.
 */
import type { Block } from '../../engine/index.ts';
import { assert } from '../../stdx/index.ts';
import type { Checksum } from '../../wire/index.ts';
import { BeforeImages, type LineTable } from './before-images.ts';
import { LeafHashes } from './leaf-hashes.ts';
import { copyOf, type LeafTable, leafCount, restoreLeaf, type Section } from './section.ts';

/** Something in the leaf has changed since the last cut. */
const CHANGED = 1;
/** The leaf belongs to the running cut and was not handed out. */
const FROZEN = 2;
/** A leaf with this mark may be written without asking: all is known already. */
export const MARKED: number = CHANGED;

export interface MutableTable extends LeafTable, LineTable {
  /** Records of a line, the unit that is copied before a change: a power of two. */
  readonly rowsPerLine: number;
}

export class MutableSection implements Section {
  readonly kind: number;
  readonly table: MutableTable;
  /** Per leaf: bits as above. Writers in place compare with {@link MARKED} and call `touch`. */
  marks: Uint8Array = new Uint8Array(64);
  readonly #images: BeforeImages;
  /** Of all leaves as they were handed out last. */
  readonly #hashes: LeafHashes;
  readonly #lineShift: number;
  readonly #leafShift: number;
  #cutCount: number = 0;
  /** Leaves of the running cut, ascending, and how many of them were handed out. */
  #cutLeaves: number[] = [];
  #sliced: number = 0;

  constructor(kind: number, table: MutableTable, checksum: Checksum) {
    this.kind = kind;
    this.table = table;
    this.#images = new BeforeImages(table);
    this.#hashes = new LeafHashes(checksum);
    this.#lineShift = shiftOf(table.rowsPerLine);
    this.#leafShift = shiftOf(table.rowsPerLeaf);
  }

  get cutCount(): number {
    return this.#cutCount;
  }

  /** Call before changing a record in place, unless its leaf is MARKED. */
  touch(row: number): void {
    const leaf = row >>> this.#leafShift;
    if (leaf >= this.marks.length) this.#growMarks(leaf);
    const isFrozen = (this.marks[leaf] & FROZEN) !== 0;
    // What was appended after the cut is not in it.
    if (isFrozen && row < this.#cutCount) this.#images.save(row >>> this.#lineShift);
    this.marks[leaf] |= CHANGED;
  }

  cut(): number {
    assert(this.#sliced === this.#cutLeaves.length, 'MutableSection: previous cut not finished');
    const { count } = this.table;
    assert(count >= this.#cutCount, 'MutableSection: records lost since the last cut');
    const leaves = leafCount(this.table, count);
    if (leaves > this.marks.length) this.#growMarks(leaves - 1);
    this.#cutLeaves = [];
    this.#sliced = 0;
    for (let leaf = 0; leaf < leaves; leaf++) {
      if (!this.#hasChanged(leaf)) continue;
      this.#cutLeaves.push(leaf);
      this.marks[leaf] = FROZEN;
    }
    this.#cutCount = count;
    return this.#cutLeaves.length;
  }

  slice(target: Uint8Array): Block | null {
    if (this.#sliced === this.#cutLeaves.length) return null;
    const index = this.#cutLeaves[this.#sliced++];
    const bytes = copyOf(this.table.leaf(index, this.#cutCount), target);
    this.#images.restore(index, bytes);
    assert((this.marks[index] & FROZEN) !== 0, 'MutableSection: leaf handed out twice');
    this.marks[index] &= ~FROZEN;
    return { kind: this.kind, index, bytes, checksum: this.#hashes.put(index, bytes) };
  }

  /** Nothing here is ever complete. */
  sliceAhead(_target: Uint8Array): Block | null {
    return null;
  }

  restore(block: Block): void {
    restoreLeaf(this, this.#hashes, block);
  }

  restored(): void {
    assert(this.#cutCount === 0, 'MutableSection: restored after a cut');
    this.#cutCount = this.table.count;
  }

  hashOfCut(target: Uint8Array, offset: number): void {
    assert(this.#sliced === this.#cutLeaves.length, 'MutableSection: the cut is not handed out');
    this.#hashes.digest(leafCount(this.table, this.#cutCount), target, offset);
  }

  hash(target: Uint8Array, offset: number): void {
    const { count } = this.table;
    const hashes = this.#hashes.clone();
    const leaves = leafCount(this.table, count);
    for (let leaf = 0; leaf < leaves; leaf++) {
      const isKnown = !this.#hasChanged(leaf) && (this.marks[leaf] & FROZEN) === 0;
      if (!isKnown) hashes.put(leaf, this.table.leaf(leaf, count));
    }
    hashes.digest(leaves, target, offset);
  }

  /** Whether the leaf differs from what the last cut held. */
  #hasChanged(leaf: number): boolean {
    if (leaf < this.marks.length && (this.marks[leaf] & CHANGED) !== 0) return true;
    // Appended to, or new.
    const end = Math.min((leaf + 1) * this.table.rowsPerLeaf, this.table.count);
    return end > this.#cutCount;
  }

  #growMarks(leaf: number): void {
    const larger = new Uint8Array(Math.max(leaf + 1, this.marks.length * 2));
    larger.set(this.marks);
    this.marks = larger;
  }
}

function shiftOf(count: number): number {
  const shift = 31 - Math.clz32(count);
  assert(1 << shift === count, 'MutableSection: not a power of two');
  return shift;
}
