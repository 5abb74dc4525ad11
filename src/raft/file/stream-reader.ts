/**
 * The way back from bodies of frames to a header and records. An item may come in pieces; one whose
 * end was lost in a crash is dropped when the next frame begins with a new item.
 */
import { readU32 } from '../../stdx/index.ts';
import { readHeader, readRecord } from '../dialect/codec.ts';
import type { FileHeader, LogRecord } from '../entry.ts';
import { FILE_HEADER_SIZE_MAX, RECORD_SIZE_MAX } from './layout.ts';
import { ITEM_HEAD_SIZE } from './stream-source.ts';

export class StreamReader {
  readonly records: LogRecord<Uint8Array>[] = [];
  #header: FileHeader<Uint8Array> | null = null;
  /** An item that is not complete: its size, then, once that is known, all of it. */
  #partial: Uint8Array = new Uint8Array(ITEM_HEAD_SIZE);
  #filled: number = 0;

  /** `null` until it has come. */
  get header(): FileHeader<Uint8Array> | null {
    return this.#header;
  }

  /**
   * Takes the body of the next frame; what is read are views of it, so it must not change. False:
   * this is no stream, whatever the checksums say.
   */
  push(body: Uint8Array, continues: boolean): boolean {
    if (continues && this.#filled === 0) return false;
    if (!continues) this.#drop();
    let at = 0;
    while (at < body.length) {
      const left = body.length - at;
      const size = this.#filled === 0 && left >= ITEM_HEAD_SIZE ? readU32(body, at) : null;
      if (size !== null && size <= left - ITEM_HEAD_SIZE) {
        const start = at + ITEM_HEAD_SIZE;
        if (!this.#take(body, start, start + size)) return false;
        at = start + size;
        continue;
      }
      at += this.#gather(body, at);
      if (this.#filled < ITEM_HEAD_SIZE) continue;
      if (this.#partial.length === ITEM_HEAD_SIZE && !this.#begin()) return false;
      if (this.#filled === this.#partial.length) {
        const item = this.#partial;
        this.#drop();
        if (!this.#take(item, ITEM_HEAD_SIZE, item.length)) return false;
      }
    }
    return true;
  }

  #gather(body: Uint8Array, at: number): number {
    const count = Math.min(this.#partial.length - this.#filled, body.length - at);
    this.#partial.set(body.subarray(at, at + count), this.#filled);
    this.#filled += count;
    return count;
  }

  /** The size of an item is known: makes room for all of it. */
  #begin(): boolean {
    const size = readU32(this.#partial, 0);
    const sizeMax = this.#header === null ? FILE_HEADER_SIZE_MAX : RECORD_SIZE_MAX;
    if (size < 1 || size > sizeMax) return false;
    const item = new Uint8Array(ITEM_HEAD_SIZE + size);
    item.set(this.#partial);
    this.#partial = item;
    return true;
  }

  #drop(): void {
    if (this.#filled === 0) return;
    this.#partial = new Uint8Array(ITEM_HEAD_SIZE);
    this.#filled = 0;
  }

  /** One complete item. */
  #take(bytes: Uint8Array, start: number, end: number): boolean {
    if (this.#header === null) {
      const read = readHeader(bytes, start, end);
      if (read === null || read.next !== end) return false;
      this.#header = read.header;
      return true;
    }
    const read = readRecord(bytes, start, end);
    if (read === null || read.next !== end) return false;
    this.records.push(read.record);
    return true;
  }
}
