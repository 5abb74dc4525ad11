/**
 * What became of each transfer as a pending one: one byte per transfer, in row order. It stands
 * beside the rows because it is the only thing about a transfer that ever changes.
 */
import { BLOCK_SIZE_MAX } from '../../engine/index.ts';
import { assert } from '../../stdx/index.ts';
import { PendingStatus } from '../tables.ts';
import { LINE_WORDS } from './before-images.ts';

const SHIFT = 31 - Math.clz32(BLOCK_SIZE_MAX);
const MASK = BLOCK_SIZE_MAX - 1;

export class PendingColumn {
  readonly rowsPerLeaf: number = BLOCK_SIZE_MAX;
  readonly rowsPerLine: number = LINE_WORDS * 4;
  count: number = 0;
  /** One chunk per leaf; bytes from `count` on are zero. */
  readonly #chunks: Uint8Array[] = [];
  /** The same chunks. */
  readonly #words: Uint32Array[] = [];

  get(row: number): number {
    assert(row < this.count, 'PendingColumn: no such row');
    return this.#chunks[row >>> SHIFT][row & MASK];
  }

  set(row: number, status: number): void {
    assert(row < this.count, 'PendingColumn: no such row');
    this.#chunks[row >>> SHIFT][row & MASK] = status;
  }

  /** The next transfer, of the usual kind: not pending. */
  appendNone(): void {
    if ((this.count & MASK) === 0) this.#grow();
    this.count++;
  }

  append(status: number): void {
    this.appendNone();
    this.set(this.count - 1, status);
  }

  /** Forgets rows from `count` on. */
  truncate(count: number): void {
    assert(count <= this.count, 'PendingColumn: truncate beyond the end');
    for (let row = count; row < this.count; row++) this.set(row, PendingStatus.none);
    this.count = count;
  }

  leaf(index: number, count: number): Uint8Array {
    const row = index * BLOCK_SIZE_MAX;
    assert(row < count, 'PendingColumn: leaf beyond the end');
    assert(count <= this.count, 'PendingColumn: count beyond the end');
    return this.#chunks[index].subarray(0, Math.min(BLOCK_SIZE_MAX, count - row));
  }

  /** Copies the statuses of a line; those behind the last row are zero. */
  copyLine(line: number, target: Uint32Array, at: number): void {
    const row = line * this.rowsPerLine;
    const words = this.#words[row >>> SHIFT];
    const from = (row & MASK) >>> 2;
    for (let i = 0; i < LINE_WORDS; i++) target[at + i] = words[from + i];
  }

  restoreLeaf(index: number, bytes: Uint8Array): void {
    assert(index * BLOCK_SIZE_MAX === this.count, 'PendingColumn: leaf out of order');
    assert(bytes.length > 0 && bytes.length <= BLOCK_SIZE_MAX, 'PendingColumn: leaf size');
    this.#grow();
    this.#chunks[index].set(bytes);
    this.count += bytes.length;
  }

  #grow(): void {
    const index = this.count >>> SHIFT;
    if (index === this.#chunks.length) {
      const chunk = new Uint8Array(BLOCK_SIZE_MAX);
      this.#chunks.push(chunk);
      this.#words.push(new Uint32Array(chunk.buffer));
    }
    assert(index < this.#chunks.length, 'PendingColumn: hole');
  }
}
