/** A file that is read from its beginning, with jumps, in the process's own time. */
import fs from 'node:fs';
import { assert } from '../../stdx/index.ts';

/** Read ahead when less is wanted, bytes. */
const WINDOW_SIZE = 1024 * 1024;

export class FileSource {
  readonly size: number;
  readonly #fd: number;
  #window: Uint8Array = new Uint8Array(0);
  #windowOffset: number = 0;
  /** What was read last, when it is not the window. */
  #large: Uint8Array<ArrayBuffer> | null = null;

  /** The descriptor stays its owner's. What the file grows by later is not seen. */
  constructor(fd: number) {
    this.#fd = fd;
    this.size = fs.fstatSync(fd).size;
  }

  /** `length` bytes from `offset`, within the file; valid until the next call. */
  read(offset: number, length: number): Uint8Array {
    assert(offset >= 0 && offset + length <= this.size, 'FileSource.read: beyond the file');
    this.release();
    const from = offset - this.#windowOffset;
    if (from >= 0 && from + length <= this.#window.length) {
      return this.#window.subarray(from, from + length);
    }
    if (length > WINDOW_SIZE / 4) {
      this.#large = this.#load(offset, length);
      return this.#large;
    }
    this.#window = this.#load(offset, Math.min(WINDOW_SIZE, this.size - offset));
    this.#windowOffset = offset;
    return this.#window.subarray(0, length);
  }

  /**
   * Gives back the memory of what was read last if that was large: whole databases are, and it may
   * be long before somebody else finds out that they are not needed any more.
   */
  release(): void {
    this.#large?.buffer.transfer(0);
    this.#large = null;
  }

  #load(offset: number, length: number): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(length);
    let done = 0;
    while (done < length) {
      const count = fs.readSync(this.#fd, bytes, done, length - done, offset + done);
      // Cut by somebody else meanwhile: the rest reads as zeros, which no record consists of.
      if (count === 0) break;
      done += count;
    }
    return bytes;
  }
}
