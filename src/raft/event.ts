/**
 * All that can happen to a Raft server. A driver hands one at a time to `Raft.step`, or all of one
 * turn to `Raft.stepAll`, with the monotonic time in milliseconds, and carries out the effects in
 * order before the next. Events of an earlier life of the server must not reach a later one.
 */
import type { ServerId } from './entry.ts';
import type { RecoveredState } from './log/recovery.ts';
import type { Msg } from './message.ts';

/** A number by which the driver recognises its own command or read in the answer. */
export type Token = number;

export type Event<T> =
  /** First of all, once: what `recover` made of the file. */
  | { readonly type: 'open'; readonly state: RecoveredState<T> }
  /** The time of the last `set-timer` has come. Early or superfluous ticks do no harm. */
  | { readonly type: 'tick' }
  /**
   * A session can be written to. `peer` is null on a dialled session whose other end has not said
   * who it is (only servers that join dial such); when it has, a second `connected` follows with
   * `isDialled: false`. A dialled session is greeted. A pair may well have two sessions.
   */
  | {
      readonly type: 'connected';
      readonly peer: ServerId | null;
      readonly address: string;
      readonly isDialled: boolean;
    }
  /** A session with an identified peer has gone; one event for each `connected` that named it. */
  | { readonly type: 'disconnected'; readonly peer: ServerId }
  /** Nobody listens at a peer's address: the process is gone, which a silence would not prove. */
  | { readonly type: 'refused'; readonly peer: ServerId }
  | { readonly type: 'message'; readonly peer: ServerId; readonly message: Msg<T> }
  /** Everything up to write `seq` survives a power failure. */
  | { readonly type: 'synced'; readonly seq: number }
  /** A write or sync failed. It may not be tried again; the server is done for. */
  | { readonly type: 'write-failed' }
  /**
   * A command for the log. `eid`: null lets the engine choose one. `prerequisite`: only if the
   * newest data entry of the leader's log has this eid; null: in any case.
   */
  | {
      readonly type: 'propose';
      readonly command: Token;
      readonly data: T;
      readonly size: number;
      readonly eid: string | null;
      readonly prerequisite: string | null;
    }
  /**
   * Something of somebody who waits at this server is under way at the leader, without being
   * proposed here: that it is committed should be known here soon.
   */
  | { readonly type: 'expedite' }
  /** `local`: as of what is applied here. `linearizable`: of all that was ever acknowledged. */
  | { readonly type: 'read'; readonly read: Token; readonly mode: 'local' | 'linearizable' }
  /** Adds a server that is set up to join but does not ask by itself. Leader only. */
  | {
      readonly type: 'add-server';
      readonly command: Token;
      readonly server: ServerId;
      readonly address: string;
    }
  /** Removes any server, this one too. Passed on to the leader. */
  | { readonly type: 'kick'; readonly command: Token; readonly server: ServerId }
  /** This server leaves for ever; done when the status says `left`. */
  | { readonly type: 'leave'; readonly command: Token }
  /** The leader gives up its office; `target` null: to the most suitable. */
  | {
      readonly type: 'transfer';
      readonly command: Token;
      readonly target: ServerId | null;
      readonly reason: string;
    }
  | {
      readonly type: 'change-election-timer';
      readonly command: Token;
      readonly electionTimerMs: number;
    }
  /** The machine's state as it was when `index` had been applied. The log may be longer by now. */
  | {
      readonly type: 'snapshot-ready';
      readonly command: Token;
      readonly index: number;
      readonly data: T | null;
      readonly size: number;
    }
  /** The machine has applied everything delivered up to `index`. */
  | { readonly type: 'applied'; readonly index: number };
