/**
 * Blocks on their way to disk: the memory they wait in, the writes under way, the flushes.
 *
 * Blocks are gathered in slots of 1 MiB, and those that will be neighbours in the file leave as one
 * write. A slot leaves when it is full, or when nothing else is being written: so a busy disk gets
 * few large writes, and an idle one does not wait. Nobody waits for one of these writes, so they
 * are not durable one by one; but what gathers in caches is flushed every few megabytes, so that
 * the last flush of a checkpoint is a short one.
 *
 * A full disk is not an error of the disk: writes that found no room are tried again every second.
 */
import { BLOCK_SIZE_MAX, type StorageError } from '../../engine/index.ts';
import { assert } from '../../stdx/index.ts';
import type { Message, MessagePool } from '../../wire/index.ts';
import { sectorCeil } from '../file/geometry.ts';
import { type Outbox, Part } from '../outbox.ts';
import { STAGING_SLOTS } from '../pool-sizes.ts';

const RETRY_INTERVAL_NS = 1_000_000_000;
/** Bytes that may wait for a flush. */
const UNFLUSHED_MAX: number = 32 * BLOCK_SIZE_MAX;

/** A reply slot, held from the first block to the end of the replica's life. */
interface Slot {
  readonly message: Message;
  /** Bytes of it that are taken. */
  used: number;
  /** What is to be written from it, until it leaves. */
  readonly runs: Run[];
  /** Writes under way, or waiting for room on the disk. */
  writes: number;
}

/** Neighbours in the slot and in the file. */
interface Run {
  readonly slot: Slot;
  readonly start: number;
  readonly offset: number;
  length: number;
}

export class BlockWriter {
  readonly #pool: MessagePool;
  readonly #outbox: Outbox;
  readonly #slots: Slot[] = [];
  /** The one that is being filled. */
  #open: Slot | null = null;
  readonly #writes: Map<number, Run> = new Map();
  /** Writes that found the disk full, and since when the next attempt waits. */
  readonly #failed: Run[] = [];
  #failedNs: number = 0;
  /** The disk is full and the log says so; once is enough. */
  #isFullTold: boolean = false;
  #isFlushing: boolean = false;
  /** Bytes written since the last flush began. */
  #unflushed: number = 0;
  /** Since {@link takeCounts}. */
  #blocksWritten: number = 0;
  #bytesWritten: number = 0;

  constructor(pool: MessagePool, outbox: Outbox) {
    this.#pool = pool;
    this.#outbox = outbox;
  }

  /** The disk is full, also while it is tried again. */
  get isFull(): boolean {
    return this.#failed.length > 0 || this.#isFullTold;
  }

  /** Room for the next block, for {@link write}; `null` while there is none. */
  buffer(): Uint8Array | null {
    if (this.#open !== null && !hasRoom(this.#open)) this.#leave(this.#open);
    this.#open ??= this.#freeSlot();
    if (this.#open === null) return null;
    const { message, used } = this.#open;
    return message.bytes.subarray(used, used + BLOCK_SIZE_MAX);
  }

  /** Takes the first `size` bytes of the buffer that was asked for last, to be written there. */
  write(offset: number, size: number): void {
    const slot = this.#open;
    assert(slot !== null && hasRoom(slot), 'BlockWriter: no buffer');
    assert(size >= 1 && size <= BLOCK_SIZE_MAX, 'BlockWriter: size');
    const start = slot.used;
    const length = sectorCeil(size);
    slot.message.bytes.fill(0, start + size, start + length);
    slot.used += length;
    const last = slot.runs.at(-1);
    if (last !== undefined && last.offset + last.length === offset) last.length += length;
    else slot.runs.push({ slot, start, offset, length });
    this.#blocksWritten++;
    this.#bytesWritten += length;
  }

  /** Goes on as far as it can; called in every step. */
  advance(): void {
    const isDue = this.#outbox.now.monoNs >= this.#failedNs + RETRY_INTERVAL_NS;
    if (this.#failed.length > 0 && isDue) this.#failed.splice(0).forEach(this.#begin);
    const isIdle = this.#writes.size === 0;
    if (this.#open !== null && (isIdle || !hasRoom(this.#open))) this.#leave(this.#open);
    if (this.#unflushed >= UNFLUSHED_MAX && !this.#isFlushing) this.#flush();
  }

  /** Whether everything that was written is durable; sees to it that it will be. */
  settle(): boolean {
    if (this.#open !== null) this.#leave(this.#open);
    if (this.#isFlushing || this.#writes.size > 0 || this.#failed.length > 0) return false;
    if (this.#unflushed === 0) return true;
    this.#flush();
    return false;
  }

  onWritten(token: number, error: StorageError | null): void {
    const run = this.#writes.get(token);
    assert(run !== undefined, 'BlockWriter: nobody waits for this write');
    this.#writes.delete(token);
    if (error === null) {
      if (this.#failed.length === 0) this.#isFullTold = false;
      this.#unflushed += run.length;
      run.slot.writes--;
      if (run.slot.writes === 0) run.slot.used = 0;
      return;
    }
    assert(error === 'no-space', 'BlockWriter: a broken disk is not handled here');
    if (!this.#isFullTold) this.#outbox.trace('error', 'disk-full', { offset: run.offset });
    this.#isFullTold = true;
    this.#failed.push(run);
    this.#failedNs = this.#outbox.now.monoNs;
  }

  onFlushed(): void {
    assert(this.#isFlushing, 'BlockWriter: nobody waits for a flush');
    this.#isFlushing = false;
  }

  /** What was written since the last call. */
  takeCounts(): { readonly blocks: number; readonly bytes: number } {
    const counts = { blocks: this.#blocksWritten, bytes: this.#bytesWritten };
    this.#blocksWritten = 0;
    this.#bytesWritten = 0;
    return counts;
  }

  /** Gives back every message it holds. */
  releaseMessages(): void {
    for (const { message } of this.#slots) this.#pool.release(message);
    this.#slots.length = 0;
    this.#open = null;
  }

  /** A slot that holds nothing; as long as there are too few, one more from the pool. */
  #freeSlot(): Slot | null {
    const free = this.#slots.find(({ used }) => used === 0);
    if (free !== undefined) return free;
    if (this.#slots.length === STAGING_SLOTS) return null;
    const message = this.#pool.acquire('reply');
    if (message === null) return null;
    const slot = { message, used: 0, runs: [], writes: 0 };
    this.#slots.push(slot);
    return slot;
  }

  /** Writes what the slot holds; it is free when all of that is written. */
  #leave(slot: Slot): void {
    if (slot.runs.length === 0) return;
    slot.writes = slot.runs.length;
    slot.runs.splice(0).forEach(this.#begin);
    this.#open = null;
  }

  readonly #begin = (run: Run): void => {
    const { slot, start, offset, length } = run;
    const bytes = slot.message.bytes.subarray(start, start + length);
    this.#writes.set(this.#outbox.write(Part.checkpoint, offset, bytes, false), run);
  };

  #flush(): void {
    assert(!this.#isFlushing, 'BlockWriter: one flush at a time');
    this.#isFlushing = true;
    this.#unflushed = 0;
    this.#outbox.flush(Part.checkpoint);
  }
}

/** Whether a block of any size fits in. */
function hasRoom(slot: Slot): boolean {
  return slot.used + BLOCK_SIZE_MAX <= slot.message.bytes.length;
}
