/**
 * Sorted runs as blocks of a checkpoint. Runs of one table, in the order in which they were built,
 * form one stream of words that only grows; blocks are its pieces of the largest size. That way
 * thousands of small runs do not become thousands of small blocks, and nothing but the last piece
 * is ever written twice.
 */
import { BLOCK_SIZE_MAX, type Block } from '../../engine/index.ts';
import { assert } from '../../stdx/index.ts';
import type { IndexTable } from './index-table.ts';
import { RUN_HEADER_WORDS, runWords, SortedRun } from './sorted-run.ts';

const BLOCK_WORDS: number = BLOCK_SIZE_MAX / 4;

export class IndexBlocks {
  readonly #kind: number;
  readonly #table: IndexTable;
  /** Where each run of the table begins in the stream, in words, and where the last one ends. */
  readonly #offsets: number[] = [0];
  /** Words of the stream that earlier blocks hold, and its length at the cut. */
  #storedWords: number = 0;
  #cutWords: number = 0;
  /** The block that was restored last; made when there is one. */
  #block: Uint32Array = new Uint32Array(0);

  /** While restoring: the header of the run under way, its words, and how many are there. */
  readonly #header: Uint32Array = new Uint32Array(RUN_HEADER_WORDS);
  #partial: Uint32Array | null = null;
  #partialWords: number = 0;
  #blocksRestored: number = 0;

  constructor(kind: number, table: IndexTable) {
    this.#kind = kind;
    this.#table = table;
  }

  /** Returns the number of blocks of this cut. */
  cut(): number {
    this.#cutWords = this.#wordsNow();
    if (this.#storedWords >= this.#cutWords) return 0;
    return Math.ceil(this.#cutWords / BLOCK_WORDS) - Math.floor(this.#storedWords / BLOCK_WORDS);
  }

  /** The next block of the cut, made in `target`. */
  next(target: Uint8Array): Block | null {
    if (this.#storedWords >= this.#cutWords) return null;
    const index = Math.floor(this.#storedWords / BLOCK_WORDS);
    return this.#make(index, Math.min((index + 1) * BLOCK_WORDS, this.#cutWords), target);
  }

  /** The next block if all of it is there; while no cut is handed out. */
  nextAhead(target: Uint8Array): Block | null {
    assert(this.#storedWords >= this.#cutWords, 'IndexBlocks: a cut is being handed out');
    const index = Math.floor(this.#storedWords / BLOCK_WORDS);
    const end = (index + 1) * BLOCK_WORDS;
    return end > this.#wordsNow() ? null : this.#make(index, end, target);
  }

  /** Length of the stream now, in words. */
  #wordsNow(): number {
    const { runs } = this.#table;
    for (let i = this.#offsets.length - 1; i < runs.length; i++) {
      this.#offsets.push(this.#offsets[i] + runs[i].words.length);
    }
    return this.#offsets[runs.length];
  }

  /** Block `index` of the stream as far as word `end`. */
  #make(index: number, end: number, target: Uint8Array): Block {
    assert(target.byteOffset % 4 === 0, 'IndexBlocks: target is not aligned');
    const first = index * BLOCK_WORDS;
    const block = new Uint32Array(target.buffer, target.byteOffset, end - first);
    for (let run = this.#runAt(first), at = first; at < end; run++) {
      const { words } = this.#table.runs[run];
      const from = at - this.#offsets[run];
      const count = Math.min(words.length - from, end - at);
      block.set(words.subarray(from, from + count), at - first);
      at += count;
    }
    this.#storedWords = end;
    return { kind: this.#kind, index, bytes: target.subarray(0, (end - first) * 4) };
  }

  /** Puts back one block; false when it is not one of these. */
  restore(block: Block): boolean {
    if (block.kind !== this.#kind) return false;
    assert(block.index === this.#blocksRestored, 'IndexBlocks: block out of order');
    assert(block.bytes.length % 4 === 0, 'IndexBlocks: torn block');
    this.#blocksRestored += 1;
    this.#makeBlock();
    const words = this.#block;
    new Uint8Array(words.buffer).set(block.bytes);
    const count = block.bytes.length / 4;
    for (let at = 0; at < count; ) at += this.#restoreWords(words.subarray(at, count));
    return true;
  }

  /** After the last block: what was restored need not be written again. */
  restored(): void {
    assert(this.#partialWords === 0, 'IndexBlocks: the last run is not complete');
    this.#storedWords = this.#offsets[this.#table.runs.length];
    this.#cutWords = this.#storedWords;
  }

  #makeBlock(): void {
    if (this.#block.length === 0) this.#block = new Uint32Array(BLOCK_WORDS);
  }

  /** Number of the run that holds word `word` of the stream. */
  #runAt(word: number): number {
    let low = 0;
    let high = this.#offsets.length - 1;
    while (low + 1 < high) {
      const middle = (low + high) >>> 1;
      if (this.#offsets[middle] <= word) low = middle;
      else high = middle;
    }
    return low;
  }

  /** Takes what the run under way still needs, header first; returns how many words that was. */
  #restoreWords(words: Uint32Array): number {
    if (this.#partial === null) {
      const taken = Math.min(words.length, RUN_HEADER_WORDS - this.#partialWords);
      this.#header.set(words.subarray(0, taken), this.#partialWords);
      this.#partialWords += taken;
      if (this.#partialWords < RUN_HEADER_WORDS) return taken;
      this.#partial = new Uint32Array(runWords(this.#header, 0));
      this.#partial.set(this.#header);
      this.#finishRun();
      return taken;
    }
    const taken = Math.min(words.length, this.#partial.length - this.#partialWords);
    this.#partial.set(words.subarray(0, taken), this.#partialWords);
    this.#partialWords += taken;
    this.#finishRun();
    return taken;
  }

  #finishRun(): void {
    const partial = this.#partial;
    if (partial === null || this.#partialWords < partial.length) return;
    const { runs } = this.#table;
    runs.push(new SortedRun(partial));
    this.#offsets.push(this.#offsets[runs.length - 1] + partial.length);
    this.#partial = null;
    this.#partialWords = 0;
  }
}
