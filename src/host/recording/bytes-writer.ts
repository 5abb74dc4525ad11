/** A buffer that grows while fields are put into it, little-endian; made once and used again. */
import { writeU16, writeU32 } from '../../stdx/index.ts';

const CAPACITY_FIRST = 65_536;
const encoder = new TextEncoder();

export class BytesWriter {
  #bytes: Uint8Array<ArrayBuffer> = new Uint8Array(CAPACITY_FIRST);
  #view: DataView = new DataView(this.#bytes.buffer);
  #length: number = 0;

  get length(): number {
    return this.#length;
  }

  /** What is in it; valid until something else is put in. */
  get written(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Forgets what comes after the first `length` bytes. */
  truncate(length: number): void {
    this.#length = length;
  }

  u8(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = value;
  }

  u16(value: number): void {
    this.#reserve(2);
    writeU16(this.#bytes, this.#length, value);
    this.#length += 2;
  }

  u32(value: number): void {
    this.#reserve(4);
    writeU32(this.#bytes, this.#length, value);
    this.#length += 4;
  }

  f64(value: number): void {
    this.#reserve(8);
    this.#view.setFloat64(this.#length, value, true);
    this.#length += 8;
  }

  bytes(value: Uint8Array): void {
    this.#reserve(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
  }

  /** u32 length, UTF-8. */
  text(value: string): void {
    const bytes = encoder.encode(value);
    this.u32(bytes.length);
    this.bytes(bytes);
  }

  /** Over what was written at `offset`. */
  patchU32(offset: number, value: number): void {
    writeU32(this.#bytes, offset, value);
  }

  #reserve(size: number): void {
    const needed = this.#length + size;
    if (needed <= this.#bytes.length) return;
    let capacity = this.#bytes.length;
    while (capacity < needed) capacity *= 2;
    const larger = new Uint8Array(capacity);
    larger.set(this.written);
    this.#bytes = larger;
    this.#view = new DataView(larger.buffer);
  }
}
