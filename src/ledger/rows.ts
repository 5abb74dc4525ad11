/**
 * A table of fixed-size records in 32-bit words, append-only at its end, held in chunks so that it
 * grows without copying. Position order is creation order, and for accounts and transfers that is
 * timestamp order: a row number is as good as a timestamp for ranges, and four bytes instead of
 * eight.
 *
 * The bytes of a row are the wire bytes (little-endian), so a lookup copies them verbatim and a
 * leaf of a checkpoint is a view, not an encoding.
 */
import { BLOCK_SIZE_MAX } from '../engine/index.ts';
import { assert } from '../stdx/index.ts';

/** Bytes of one chunk: eight leaves of a checkpoint. */
const CHUNK_BYTES: number = 8 * BLOCK_SIZE_MAX;

/** Words of a line; see `MutableTable`. */
const LINE_WORDS = 32;

export class Rows {
  readonly rowsPerLine: number = 1;
  /** Words of one record: a power of two. */
  readonly recordWords: number;
  /** `chunks[row >>> rowShift]` holds the row, at word `(row & rowMask) * recordWords`. */
  readonly rowShift: number;
  readonly rowMask: number;
  readonly rowsPerLeaf: number;
  readonly chunks: Uint32Array[] = [];
  count: number = 0;

  constructor(recordBytes: number) {
    assert(recordBytes >= 4 && (recordBytes & (recordBytes - 1)) === 0, 'Rows: record size');
    assert(recordBytes <= 128, 'Rows: record too large');
    this.recordWords = recordBytes / 4;
    const rowsPerChunk = CHUNK_BYTES / recordBytes;
    this.rowShift = 31 - Math.clz32(rowsPerChunk);
    this.rowMask = rowsPerChunk - 1;
    this.rowsPerLeaf = BLOCK_SIZE_MAX / recordBytes;
  }

  /** The chunk that holds `row`, which may be `count` (the next one to be appended). */
  chunkOf(row: number): Uint32Array {
    const index = row >>> this.rowShift;
    assert(index <= this.chunks.length, 'Rows: row beyond the end');
    if (index === this.chunks.length) this.chunks.push(newChunk(index));
    return this.chunks[index];
  }

  /** Word offset of `row` in its chunk. */
  baseOf(row: number): number {
    return (row & this.rowMask) * this.recordWords;
  }

  /** Makes room for one more row and returns its number; the caller fills all its words. */
  append(): number {
    const row = this.count;
    assert(row < 0x7fff_ffff, 'Rows: table full');
    this.chunkOf(row);
    this.count = row + 1;
    return row;
  }

  /** Forgets rows from `count` on: a rolled-back chain. */
  truncate(count: number): void {
    assert(count <= this.count, 'Rows: truncate beyond the end');
    this.count = count;
  }

  leafCount(): number {
    return Math.ceil(this.count / this.rowsPerLeaf);
  }

  /** The bytes of one leaf of the first `count` rows: a view of the table. */
  leaf(index: number, count: number = this.count): Uint8Array {
    const row = index * this.rowsPerLeaf;
    assert(row < count, 'Rows: leaf beyond the end');
    assert(count <= this.count, 'Rows: count beyond the end');
    const rows = Math.min(this.rowsPerLeaf, count - row);
    const chunk = this.chunkOf(row);
    return new Uint8Array(chunk.buffer, this.baseOf(row) * 4, rows * this.recordWords * 4);
  }

  /** Copies the record of a row that has 128 bytes. */
  copyLine(row: number, target: Uint32Array, at: number): void {
    assert(this.recordWords === LINE_WORDS, 'Rows: a line is a record of 128 bytes');
    const chunk = this.chunks[row >>> this.rowShift];
    const base = this.baseOf(row);
    for (let i = 0; i < LINE_WORDS; i++) target[at + i] = chunk[base + i];
  }

  /** Puts back one leaf; leaves come in ascending order, all but the last one full. */
  restoreLeaf(index: number, bytes: Uint8Array): void {
    const row = index * this.rowsPerLeaf;
    assert(row === this.count, 'Rows: leaf out of order');
    const recordBytes = this.recordWords * 4;
    assert(bytes.length % recordBytes === 0, 'Rows: torn leaf');
    assert(bytes.length <= BLOCK_SIZE_MAX, 'Rows: leaf too long');
    const chunk = this.chunkOf(row);
    new Uint8Array(chunk.buffer, this.baseOf(row) * 4, bytes.length).set(bytes);
    this.count = row + bytes.length / recordBytes;
  }
}

/** Chunks after these are shared memory. */
const CHUNKS_COUNTED = 8;

/**
 * V8 counts the bytes of ordinary buffers towards its next full collection, and a table that grows
 * by hundreds of megabytes makes it collect again and again, for nothing: chunks live as long as
 * their table. Shared memory is not counted and otherwise the same. Small tables stay ordinary, so
 * that a process with many of them still collects those it has dropped.
 */
function newChunk(index: number): Uint32Array {
  if (index < CHUNKS_COUNTED) return new Uint32Array(CHUNK_BYTES / 4);
  return new Uint32Array(new SharedArrayBuffer(CHUNK_BYTES));
}
