/**
 * Prepares that were executed here, kept in memory after the log on disk has overwritten them: for
 * replicas that come back and lag. The log alone holds a second or less of a load of small
 * operations, which is less than a restart takes; a checkpoint would have to be copied again and
 * again. How much is kept depends on whether somebody lags: a restart takes the longer the more a
 * replica holds, and memory that nobody needs is not taken.
 */
import { assert } from '../../stdx/index.ts';
import { readSize } from '../../wire/index.ts';
import { opOf } from './log.ts';

/** Most bytes that are kept while nobody lags. */
export const HISTORY_BYTES_MAX = 33_554_432;
/** While somebody lags, so many times as much. */
const LAGGING_FACTOR = 8;
/** Most operations that are kept. */
const OPS_MAX = 65_536;
/** In so many pieces what is usually kept is let go. */
const SEGMENTS = 8;

/** Operations in a row, in one piece of memory. */
interface Segment {
  readonly bytes: Uint8Array;
  low: number;
  end: number;
}

export class History {
  readonly #bytesMax: number;
  /** Oldest first; the last one is being filled. */
  readonly #segments: Segment[] = [];
  /** Memory of a segment that was let go, for the next one. */
  #spare: Uint8Array | null = null;
  readonly #offsets: Uint32Array = new Uint32Array(OPS_MAX);
  readonly #sizes: Uint32Array = new Uint32Array(OPS_MAX);
  /** Kept are the operations from `low` to `high`; none when `low` is above. */
  #low: number = 1;
  #high: number = 0;
  #bytesHeld: number = 0;

  /** `bytesMax`: while nobody lags; 0: nothing is ever kept. */
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

  /** Memory taken, bytes. */
  get bytesHeld(): number {
    return this.#bytesHeld;
  }

  /**
   * Takes a copy of the prepare that was executed; what does not follow replaces everything.
   * `lags`: a replica that will be back needs more than is usually kept.
   */
  put(prepare: Uint8Array, lags: boolean): void {
    const size = readSize(prepare);
    const op = opOf(prepare);
    const bytesMax = lags ? this.#bytesMax * LAGGING_FACTOR : this.#bytesMax;
    if (op !== this.#high + 1 || size > this.#bytesMax) this.#clear(op);
    if (size > this.#bytesMax) return;
    let segment = this.#segments.at(-1);
    if (segment === undefined || segment.end + size > segment.bytes.length) {
      segment = this.#begin(op, size, bytesMax);
    }
    while (op - this.#low >= OPS_MAX) this.#dropOldest();
    segment.bytes.set(prepare.subarray(0, size), segment.end);
    this.#offsets[op % OPS_MAX] = segment.end;
    this.#sizes[op % OPS_MAX] = size;
    segment.end += size;
    this.#high = op;
  }

  /** The prepare of `op`, borrowed until the next one is put; `null` when it is not kept. */
  find(op: number): Uint8Array | null {
    if (op < this.#low || op > this.#high) return null;
    const segment = this.#segments.findLast(({ low }) => low <= op);
    assert(segment !== undefined, 'History: an operation without a segment');
    const offset = this.#offsets[op % OPS_MAX];
    return segment.bytes.subarray(offset, offset + this.#sizes[op % OPS_MAX]);
  }

  /** A new segment that begins with `op`; the oldest ones make room for it. */
  #begin(op: number, size: number, bytesMax: number): Segment {
    const length = Math.max(size, Math.ceil(this.#bytesMax / SEGMENTS));
    while (this.#segments.length > 0 && this.#bytesHeld + length > bytesMax) this.#dropOldest();
    const isFit = this.#spare !== null && this.#spare.length === length;
    const bytes = isFit && this.#spare !== null ? this.#spare : new Uint8Array(length);
    this.#spare = null;
    const segment = { bytes, low: op, end: 0 };
    this.#segments.push(segment);
    this.#bytesHeld += length;
    return segment;
  }

  #dropOldest(): void {
    const segment = this.#segments.shift();
    assert(segment !== undefined, 'History: nothing to drop');
    this.#bytesHeld -= segment.bytes.length;
    this.#spare = segment.bytes;
    this.#low = this.#segments[0]?.low ?? this.#high + 1;
  }

  #clear(op: number): void {
    this.#segments.length = 0;
    this.#spare = null;
    this.#bytesHeld = 0;
    this.#low = op;
    this.#high = op - 1;
  }
}
