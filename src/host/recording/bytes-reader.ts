/** Takes fields out of bytes that may be too short; whoever is done asks whether they were. */
import { readU16, readU32 } from '../../stdx/index.ts';

const NOTHING = new Uint8Array(0);
const decoder = new TextDecoder();

export class BytesReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #offset: number = 0;
  #isShort: boolean = false;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /** Something was asked for that is not there; it was answered with zeros or nothing. */
  get isShort(): boolean {
    return this.#isShort;
  }

  /** Bytes not taken yet. */
  get left(): number {
    return this.#bytes.length - this.#offset;
  }

  u8(): number {
    return this.#take(1) ? this.#bytes[this.#offset - 1] : 0;
  }

  u16(): number {
    return this.#take(2) ? readU16(this.#bytes, this.#offset - 2) : 0;
  }

  u32(): number {
    return this.#take(4) ? readU32(this.#bytes, this.#offset - 4) : 0;
  }

  f64(): number {
    return this.#take(8) ? this.#view.getFloat64(this.#offset - 8, true) : 0;
  }

  /** A view. */
  bytes(length: number): Uint8Array {
    if (!this.#take(length)) return NOTHING;
    return this.#bytes.subarray(this.#offset - length, this.#offset);
  }

  text(): string {
    return decoder.decode(this.bytes(this.u32()));
  }

  #take(length: number): boolean {
    if (length > this.left) this.#isShort = true;
    if (this.#isShort) return false;
    this.#offset += length;
    return true;
  }
}
