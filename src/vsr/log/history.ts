/**
 * Prepares that were executed here, kept in memory after the log on disk has overwritten them, as
 * far as a fixed number of bytes goes: for replicas that come back and lag. The log alone holds a
 * second or less of a load of small operations, which is less than a restart takes; a checkpoint
 * would have to be copied again and again.
 */
import { assert } from '../../stdx/index.ts';
import { readSize } from '../../wire/index.ts';
import { opOf } from './log.ts';

/** Most bytes that are kept. */
export const HISTORY_BYTES_MAX = 33_554_432;
/** Most operations that are kept. */
const OPS_MAX = 16_384;

export class History {
  readonly #bytesMax: number;
  /** A ring of messages, each in one piece; made when the first one comes. */
  #bytes: Uint8Array = new Uint8Array(0);
  readonly #offsets: Uint32Array = new Uint32Array(OPS_MAX);
  readonly #sizes: Uint32Array = new Uint32Array(OPS_MAX);
  /** Kept are the operations from `low` to `high`; none when `low` is above. */
  #low: number = 1;
  #high: number = 0;
  #end: number = 0;

  /** `bytesMax` 0: nothing is kept. */
  constructor(bytesMax: number) {
    assert(Number.isSafeInteger(bytesMax) && bytesMax >= 0, 'History: size');
    this.#bytesMax = bytesMax;
  }

  /** The lowest operation that is kept; above {@link high} when there is none. */
  get low(): number {
    return this.#low;
  }

  get high(): number {
    return this.#high;
  }

  /** Takes a copy of the prepare that was executed; what does not follow replaces everything. */
  put(prepare: Uint8Array): void {
    const size = readSize(prepare);
    const op = opOf(prepare);
    if (op !== this.#high + 1 || size > this.#bytesMax) this.#clear(op);
    if (size > this.#bytesMax) return;
    if (this.#bytes.length === 0) this.#bytes = new Uint8Array(this.#bytesMax);
    const isSplit = this.#end + size > this.#bytesMax;
    const start = isSplit ? 0 : this.#end;
    while (this.#low <= this.#high && this.#mustGo(start, size, isSplit)) this.#low++;
    this.#bytes.set(prepare.subarray(0, size), start);
    this.#offsets[op % OPS_MAX] = start;
    this.#sizes[op % OPS_MAX] = size;
    this.#high = op;
    this.#end = start + size;
  }

  /** The prepare of `op`, borrowed until the next one is put; `null` when it is not kept. */
  find(op: number): Uint8Array | null {
    if (op < this.#low || op > this.#high) return null;
    const offset = this.#offsets[op % OPS_MAX];
    return this.#bytes.subarray(offset, offset + this.#sizes[op % OPS_MAX]);
  }

  /** Whether the oldest one has to make room for `size` bytes at `start`. */
  #mustGo(start: number, size: number, isSplit: boolean): boolean {
    if (this.#high - this.#low + 1 >= OPS_MAX) return true;
    const offset = this.#offsets[this.#low % OPS_MAX];
    // Beginning anew at the front leaves the rest of the ring behind.
    if (isSplit && offset >= this.#end) return true;
    return offset < start + size && start < offset + this.#sizes[this.#low % OPS_MAX];
  }

  #clear(op: number): void {
    this.#low = op;
    this.#high = op - 1;
    this.#end = 0;
  }
}
