/**
 * The face of a data file towards a driver: what the storage effects of an engine need, and nothing
 * else. There is one on a disk and one in memory; both pass the same test table.
 */
import type { StorageError } from '../engine/index.ts';

export interface StorageCounters {
  readonly reads: number;
  readonly readBytes: number;
  readonly writes: number;
  readonly writeBytes: number;
  readonly durableWrites: number;
  readonly flushes: number;
  /** Operations that failed, for whatever reason. */
  readonly errors: number;
}

/**
 * Callbacks come later, never from within the call, each exactly once while the storage is open;
 * after `close` none comes. Operations may complete in any order.
 */
export interface Storage {
  /**
   * Writes all of `bytes` at `offset` (both multiples of 4096); the caller keeps them unchanged
   * until `done`. `durable`: done when they survive a power cut.
   */
  write(
    offset: number,
    bytes: Uint8Array,
    durable: boolean,
    done: (error: StorageError | null) => void,
  ): void;
  /**
   * Reads up to `length` bytes, fewer at the end of the file. They are valid until `done` returns.
   */
  read(
    offset: number,
    length: number,
    done: (bytes: Uint8Array, error: StorageError | null) => void,
  ): void;
  /** Makes every write completed so far durable. */
  flush(done: (error: StorageError | null) => void): void;
  counters(): StorageCounters;
  /** Ends within `timeoutMs`, whatever is in flight; what was not begun is dropped. */
  close(timeoutMs?: number): Promise<void>;
}
