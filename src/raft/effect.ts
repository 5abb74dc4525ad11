/**
 * All that a Raft server asks for, to be carried out in order. A driver that crashes anywhere in
 * the list leaves a file that opens.
 */
import type { Entry, FileHeader, LogRecord, ServerId, Snapshot } from './entry.ts';
import type { Token } from './event.ts';
import type { CommandStatus, Msg } from './message.ts';

/** Answers to administrators that are no command statuses. */
export type AdminStatus =
  | 'already-leaving'
  | 'already-in-progress'
  | 'already-in-cluster'
  | 'already-not-in-cluster'
  | 'canceled'
  | 'committing'
  | 'would-be-empty'
  | 'joining'
  | 'unknown-server'
  | 'no-target'
  | 'change-pending'
  | 'out-of-range'
  | 'increase-too-large'
  | 'duplicate-snapshot'
  | 'no-such-index';

export type Status = CommandStatus | AdminStatus;

export type TraceLevel = 'debug' | 'info' | 'warn';

export type Effect<T> =
  /** Disk: adds records at the end of the file, at once; they may be lost until `synced`. */
  | { readonly type: 'append'; readonly seq: number; readonly records: readonly LogRecord<T>[] }
  /** Disk: reports `synced` when everything up to write `seq` is durable. May be coalesced. */
  | { readonly type: 'request-sync'; readonly seq: number }
  /**
   * Disk: a new file takes the place of the old one atomically. Writes that follow go to the new
   * one. Reports `synced` with its `seq` when the replacement cannot be undone by a crash. If it
   * is a continuation it says what the old one said: then the old one will do until the new one
   * is durable, provided that writes which follow go to both; it may be reported as soon as all
   * before it is.
   */
  | {
      readonly type: 'replace-file';
      readonly seq: number;
      readonly isContinuation: boolean;
      readonly header: FileHeader<T>;
      readonly records: readonly LogRecord<T>[];
    }
  /**
   * Network: to `peer` on any session with it, dropped if there is none. `peer` null: on the
   * session dialled to `address`.
   */
  | {
      readonly type: 'send';
      readonly peer: ServerId | null;
      readonly address: string;
      readonly message: Msg<T>;
    }
  /** Network: dial this address and again whenever the session ends. `peer` null: not known who. */
  | { readonly type: 'connect'; readonly peer: ServerId | null; readonly address: string }
  /** Network: no more sessions dialled to this address. */
  | { readonly type: 'disconnect'; readonly peer: ServerId | null; readonly address: string }
  /** Machine: the next committed entry. All entries come, those that are not data too. */
  | { readonly type: 'deliver'; readonly entry: Entry<T> }
  /** Machine: forget all and begin with this state. */
  | { readonly type: 'deliver-snapshot'; readonly snapshot: Snapshot<T> }
  /** Machine: make a snapshot of what is applied and give it back with `snapshot-ready`. */
  | { readonly type: 'want-snapshot' }
  /**
   * Client: what became of a command. `index`: with `success` of a proposal where it is in the log,
   * or the end of the snapshot it went into; it is applied here. Else 0.
   */
  | {
      readonly type: 'complete';
      readonly command: Token;
      readonly status: Status;
      readonly index: number;
    }
  /** Client: the machine may be read now; `success` false: this server cannot tell. */
  | {
      readonly type: 'read-ready';
      readonly read: Token;
      readonly success: boolean;
      readonly index: number;
    }
  /** Clock: `tick` at this time. Replaces the timer before. */
  | { readonly type: 'set-timer'; readonly deadlineMs: number }
  /** Watchers: role, term, leader, membership or connection to the cluster is not what it was. */
  | { readonly type: 'status-changed' }
  /** Logs: what happened and why. */
  | {
      readonly type: 'trace';
      readonly level: TraceLevel;
      readonly event: string;
      readonly fields: { readonly [name: string]: string | number | boolean };
    };
