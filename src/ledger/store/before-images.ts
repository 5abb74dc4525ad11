/**
 * What a table looked like at its cut, as far as it has changed since: its lines of 128 bytes, each
 * copied before its first change. Copying whole leaves would cost an operation that touches a few
 * records in each of many leaves as much as copying the table.
 */
import { BLOCK_SIZE_MAX } from '../../engine/index.ts';
import { assert } from '../../stdx/index.ts';

export const LINE_WORDS = 32;
const LINE_BYTES: number = LINE_WORDS * 4;
const LINES_PER_LEAF: number = BLOCK_SIZE_MAX / LINE_BYTES;
const LEAF_SHIFT: number = 31 - Math.clz32(LINES_PER_LEAF);
/** Lines of one piece of memory: 2 MiB. */
const LINES_PER_CHUNK = 16_384;
const CHUNK_SHIFT: number = 31 - Math.clz32(LINES_PER_CHUNK);

export interface LineTable {
  /** Copies line `line` to `target[at, + LINE_WORDS)`. */
  copyLine(line: number, target: Uint32Array, at: number): void;
}

export class BeforeImages {
  readonly #table: LineTable;
  /** One bit per line of the table: it is saved. */
  #saved: Uint32Array = new Uint32Array(64);
  /** Per leaf: number of the entry saved last, 0 for none. Entries are counted from 1. */
  #heads: Uint32Array = new Uint32Array(16);
  /** Per entry: the entry of the same leaf before it, and the line. */
  #entries: Uint32Array = new Uint32Array(2 * 256);
  /** Contents of the lines, in the order of entries. Kept for the next cut. */
  readonly #chunks: Uint32Array[] = [];
  #count: number = 0;
  /** Leaves that have entries. */
  #leaves: number = 0;

  constructor(table: LineTable) {
    this.#table = table;
  }

  /** Saves a line, unless that was done. */
  save(line: number): void {
    const word = line >>> 5;
    const bit = 1 << (line & 31);
    if (word >= this.#saved.length) this.#saved = grown(this.#saved, word + 1);
    if ((this.#saved[word] & bit) !== 0) return;
    this.#saved[word] |= bit;
    const index = this.#count++;
    if (index >>> CHUNK_SHIFT === this.#chunks.length) {
      this.#chunks.push(new Uint32Array(LINES_PER_CHUNK * LINE_WORDS));
    }
    const at = (index & (LINES_PER_CHUNK - 1)) * LINE_WORDS;
    this.#table.copyLine(line, this.#chunks[index >>> CHUNK_SHIFT], at);
    const leaf = line >>> LEAF_SHIFT;
    if (leaf >= this.#heads.length) this.#heads = grown(this.#heads, leaf + 1);
    if (2 * index === this.#entries.length) this.#entries = grown(this.#entries, 2 * index + 2);
    if (this.#heads[leaf] === 0) this.#leaves++;
    this.#entries[2 * index] = this.#heads[leaf];
    this.#entries[2 * index + 1] = line;
    this.#heads[leaf] = index + 1;
  }

  /** Puts the lines of a leaf back as they were, into its `bytes`, and forgets them. */
  restore(leaf: number, bytes: Uint8Array): void {
    if (leaf >= this.#heads.length || this.#heads[leaf] === 0) return;
    for (let entry = this.#heads[leaf]; entry !== 0; ) {
      const index = entry - 1;
      const line = this.#entries[2 * index + 1];
      assert(line >>> LEAF_SHIFT === leaf, 'BeforeImages: line of another leaf');
      this.#saved[line >>> 5] &= ~(1 << (line & 31));
      const to = (line & (LINES_PER_LEAF - 1)) * LINE_BYTES;
      assert(to < bytes.length, 'BeforeImages: line beyond the end of its leaf');
      const chunk = this.#chunks[index >>> CHUNK_SHIFT];
      const from = (index & (LINES_PER_CHUNK - 1)) * LINE_BYTES;
      const length = Math.min(LINE_BYTES, bytes.length - to);
      bytes.set(new Uint8Array(chunk.buffer, from, length), to);
      entry = this.#entries[2 * index];
    }
    this.#heads[leaf] = 0;
    this.#leaves--;
    if (this.#leaves === 0) this.#count = 0;
  }
}

function grown(words: Uint32Array, length: number): Uint32Array {
  const larger = new Uint32Array(Math.max(length, words.length * 2));
  larger.set(words);
  return larger;
}
