/**
 * What can happen to an engine. One closed union, so that a handler can be exhaustive and a
 * simulator complete. A driver (host or simulator) creates these; an engine never waits for one.
 */
import type { U64 } from '../stdx/index.ts';
import type { Message } from '../wire/index.ts';

/** The one reading of all clocks for one event; handlers never read time twice. */
export interface Instant {
  /**
   * Monotonic nanoseconds since an arbitrary start. Timers use it. A whole number, exact for 104
   * days and to a few nanoseconds after that, which is all that timers need.
   */
  readonly monoNs: number;
  /** Wall clock, nanoseconds since 1970. May step in any direction; timestamps use it. */
  readonly wall: U64;
}

/** A driver's number for one accepted or dialled connection. Never used twice by a process. */
export type ConnectionId = number;

/**
 * The timers of an engine, by name: re-arming a name replaces its deadline. `wake` is the nearest
 * of all the engine's deadlines. `commit` is always armed with 0 ns and means: execute the effects
 * of this step (a log write among them), then come back at once, so that an operation is applied
 * while the disk is busy with the next one. A driver must not round that 0 up to a millisecond.
 */
export type TimerName = 'wake' | 'commit';

/**
 * Why a storage operation failed. `no-space`: a growing write found the disk full, nothing else
 * is wrong. `io`: anything else; never retried, the replica stops acknowledging and halts.
 */
export type StorageError = 'no-space' | 'io';

export type Event =
  /** First event of a life: storage is there, nothing has been read yet. */
  | { readonly type: 'open' }
  /**
   * A message whose header and body checksums, command, size and cluster have been verified. The
   * event carries one reference to the message; the engine releases it or keeps it.
   */
  | { readonly type: 'message'; readonly connection: ConnectionId; readonly message: Message }
  /**
   * A request above the request limit but within the largest message: its body was drained by the
   * framer, `message` holds the verified header alone (one reference, as above).
   */
  | { readonly type: 'oversize'; readonly connection: ConnectionId; readonly message: Message }
  /** The connection is gone; the engine forgets it. */
  | { readonly type: 'disconnected'; readonly connection: ConnectionId }
  /**
   * A replica is connected, both ways, and has proven that it is the one at the configured address
   * of index `replica`. Comes again whenever the link was made anew.
   */
  | {
      readonly type: 'peer-up';
      readonly replica: number;
      /** 16 bytes, made when its data file was formatted. */
      readonly replicaId: Uint8Array;
      /**
       * Its data file was made by `recover` and has not joined yet; for logs: the id tells more.
       */
      readonly isRecovered: boolean;
    }
  /**
   * The link is gone, or an attempt to connect was refused by the other machine: whoever was there
   * is not there now. Not reported for attempts that merely time out.
   */
  | { readonly type: 'peer-down'; readonly replica: number }
  /** A verified message from a proven link; one reference, as with `message`. */
  | { readonly type: 'peer-message'; readonly replica: number; readonly message: Message }
  | { readonly type: 'timer'; readonly timer: TimerName }
  /** A `write` effect is done (and durable, when it asked for that). */
  | { readonly type: 'written'; readonly token: number; readonly error: StorageError | null }
  /** A `read` effect is done; `bytes` is valid during this step only. Short at the file's end. */
  | {
      readonly type: 'read';
      readonly token: number;
      readonly bytes: Uint8Array;
      readonly error: StorageError | null;
    }
  /** A `flush` effect is done: every write completed before it was issued is durable. */
  | { readonly type: 'flushed'; readonly token: number; readonly error: StorageError | null };
