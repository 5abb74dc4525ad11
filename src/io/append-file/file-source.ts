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

  /** The descriptor stays its owner's. What the file grows by later is not seen. */
  constructor(fd: number) {
    this.#fd = fd;
    this.size = fs.fstatSync(fd).size;
  }

  /** `length` bytes from `offset`, within the file; valid until the next call. */
  read(offset: number, length: number): Uint8Array {
    assert(offset >= 0 && offset + length <= this.size, 'FileSource.read: beyond the file');
    const from = offset - this.#windowOffset;
    if (from >= 0 && from + length <= this.#window.length) {
      return this.#window.subarray(from, from + length);
    }
    if (length > WINDOW_SIZE / 4) return this.#load(offset, length);
    this.#window = this.#load(offset, Math.min(WINDOW_SIZE, this.size - offset));
    this.#windowOffset = offset;
    return this.#window.subarray(0, length);
  }

  #load(offset: number, length: number): Uint8Array {
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
