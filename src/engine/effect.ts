/**
 * What an engine wants done. One closed union; each variant says who executes it and when. Effects
 * of one step are executed in order; the array belongs to the engine and is valid until its next
 * step.
 */
import type { Message } from '../wire/index.ts';
import type { ConnectionId, TimerName } from './event.ts';

/** A value that a trace may carry. */
export type TraceValue = string | number | boolean;

export type Effect =
  /**
   * Network: send the message, now, on this connection; a connection that is gone or whose queue is
   * full drops it. The effect carries one reference, which the driver releases when the bytes have
   * left (or were dropped). The message is immutable from here on.
   */
  | { readonly type: 'send'; readonly connection: ConnectionId; readonly message: Message }
  /**
   * Network: send the message, now, to another replica. Dropped when there is no link to it, or
   * when too much waits on the link; in order otherwise. One reference, as with `send`.
   */
  | { readonly type: 'send-peer'; readonly replica: number; readonly message: Message }
  /** Network: close the connection, with a short reason for counters and logs. */
  | { readonly type: 'close'; readonly connection: ConnectionId; readonly reason: string }
  /**
   * Storage: write `bytes` at `offset` (both multiples of 4096), then report `written`. `durable`:
   * report only when the bytes survive a power cut. The engine keeps `bytes` unchanged until then.
   * Writes may complete in any order; the engine orders what must be ordered.
   */
  | {
      readonly type: 'write';
      readonly token: number;
      readonly offset: number;
      readonly bytes: Uint8Array;
      readonly durable: boolean;
    }
  /** Storage: read `length` bytes at `offset`, then report `read`. */
  | {
      readonly type: 'read';
      readonly token: number;
      readonly offset: number;
      readonly length: number;
    }
  /** Storage: make every write completed so far durable, then report `flushed`. */
  | { readonly type: 'flush'; readonly token: number }
  /**
   * Timers: report `timer` once, `afterNs` from this step's `monoNs`; `null` disarms it. 0 means as
   * soon as the effects of this step have been executed.
   */
  | { readonly type: 'timer'; readonly timer: TimerName; readonly afterNs: number | null }
  /** Programs: the replica has recovered and serves from now on. Once per life. */
  | { readonly type: 'ready' }
  /** Programs: something worth a log line. `event` is a stable kebab-case name. */
  | {
      readonly type: 'trace';
      readonly level: 'debug' | 'info' | 'warn' | 'error';
      readonly event: string;
      readonly fields: { readonly [name: string]: TraceValue };
    }
  /**
   * Programs: end this life and begin the next over the same file, at once and in this process.
   * Asked for when the file has received a newer checkpoint from another replica.
   */
  | { readonly type: 'restart' }
  /**
   * Programs: this replica must stop, nothing after this effect counts. `code` is stable:
   * `storage-failed`, `storage-corrupt`, `format-version`, `diverged`.
   */
  | { readonly type: 'halt'; readonly code: HaltCode; readonly reason: string };

export type HaltCode = 'storage-failed' | 'storage-corrupt' | 'format-version' | 'diverged';
