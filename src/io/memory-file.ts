/**
 * A data file in memory: for tests, and for a ledger that need not outlive its process. It is
 * sparse, so an untouched log costs nothing, and it keeps its contents when it is closed: opening
 * the same object again is what a restart looks like.
 */
import { SECTOR_SIZE, type StorageError } from '../engine/index.ts';
import { assert, isZero } from '../stdx/index.ts';
import type { Storage, StorageCounters } from './storage.ts';

/** Bytes that are allocated at a time. */
const CHUNK_SIZE = 65_536;

export class MemoryFile implements Storage {
  readonly #chunks: Map<number, Uint8Array> = new Map();
  #size: number = 0;
  #open: boolean = true;
  /** Raised by `close`: callbacks of an earlier life stay away from the next one. */
  #life: number = 0;
  readonly #counters: { -readonly [K in keyof StorageCounters]: StorageCounters[K] } = {
    reads: 0,
    readBytes: 0,
    writes: 0,
    writeBytes: 0,
    durableWrites: 0,
    flushes: 0,
    errors: 0,
  };

  /** Size of the file, bytes: the end of the furthest write. */
  get size(): number {
    return this.#size;
  }

  write(
    offset: number,
    bytes: Uint8Array,
    durable: boolean,
    done: (error: StorageError | null) => void,
  ): void {
    assert(offset % SECTOR_SIZE === 0, 'MemoryFile: offset is not sector aligned');
    assert(bytes.length % SECTOR_SIZE === 0, 'MemoryFile: length is not sector aligned');
    assert(this.#open, 'MemoryFile: closed');
    this.put(offset, bytes);
    this.#counters.writes += 1;
    this.#counters.writeBytes += bytes.length;
    if (durable) this.#counters.durableWrites += 1;
    this.#later(() => done(null));
  }

  read(
    offset: number,
    length: number,
    done: (bytes: Uint8Array, error: StorageError | null) => void,
  ): void {
    assert(this.#open, 'MemoryFile: closed');
    const bytes = this.peek(offset, length);
    this.#counters.reads += 1;
    this.#counters.readBytes += bytes.length;
    this.#later(() => done(bytes, null));
  }

  flush(done: (error: StorageError | null) => void): void {
    assert(this.#open, 'MemoryFile: closed');
    this.#counters.flushes += 1;
    this.#later(() => done(null));
  }

  counters(): StorageCounters {
    return { ...this.#counters };
  }

  close(): Promise<void> {
    this.#open = false;
    this.#life += 1;
    return Promise.resolve();
  }

  /** Opens it again after a close, with what was written. */
  reopen(): void {
    assert(!this.#open, 'MemoryFile: open already');
    this.#open = true;
  }

  /** Writes at once, without a callback: for formatting and for tests that damage a file. */
  put(offset: number, bytes: Uint8Array): void {
    assert(Number.isSafeInteger(offset) && offset >= 0, 'MemoryFile: offset out of range');
    let done = 0;
    while (done < bytes.length) {
      const index = Math.floor((offset + done) / CHUNK_SIZE);
      const start = (offset + done) % CHUNK_SIZE;
      const length = Math.min(CHUNK_SIZE - start, bytes.length - done);
      let chunk = this.#chunks.get(index);
      if (chunk === undefined && !isZero(bytes, done, length)) {
        chunk = new Uint8Array(CHUNK_SIZE);
        this.#chunks.set(index, chunk);
      }
      chunk?.set(bytes.subarray(done, done + length), start);
      done += length;
    }
    this.#size = Math.max(this.#size, offset + bytes.length);
  }

  /** A copy of up to `length` bytes; what was never written reads as zeros. */
  peek(offset: number, length: number): Uint8Array {
    assert(Number.isSafeInteger(offset) && offset >= 0, 'MemoryFile: offset out of range');
    const bytes = new Uint8Array(Math.max(0, Math.min(length, this.#size - offset)));
    let done = 0;
    while (done < bytes.length) {
      const index = Math.floor((offset + done) / CHUNK_SIZE);
      const start = (offset + done) % CHUNK_SIZE;
      const part = Math.min(CHUNK_SIZE - start, bytes.length - done);
      const chunk = this.#chunks.get(index);
      if (chunk !== undefined) bytes.set(chunk.subarray(start, start + part), done);
      done += part;
    }
    return bytes;
  }

  #later(action: () => void): void {
    const life = this.#life;
    queueMicrotask(() => {
      if (this.#life === life) action();
    });
  }
}
