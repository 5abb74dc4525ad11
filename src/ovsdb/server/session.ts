/** One client's connection, as the core knows it. Written by the core's parts, each its members. */
import type { Monitor } from '../monitor/index.ts';
import type { SessionId } from './effects.ts';
import type { Message } from './message.ts';
import type { ServedDatabase } from './served-database.ts';
import type { Task } from './task.ts';

export interface SessionOptions {
  /** It may change nothing and has no locks. */
  readonly readOnly: boolean;
  /** For role-based access control; empty: everything is allowed. */
  readonly role: string;
  /** The name in its certificate. */
  readonly clientId: string | null;
  /** How logs name it. */
  readonly label: string;
}

export interface OpenMonitor {
  readonly served: ServedDatabase;
  readonly monitor: Monitor;
}

export class Session {
  readonly id: SessionId;
  readonly options: SessionOptions;
  /** It learns from `_Server` what happens to databases, and stays connected then. */
  changeAware: boolean = false;
  /** Nothing is read from it and nobody answers it any more. */
  closed: boolean = false;
  /** The host holds bytes for it that have not left. */
  backlogged: boolean = false;
  /** Messages sent since it is {@link backlogged}. */
  behind: number = 0;
  /** Read, not yet looked at. */
  readonly queue: Message[] = [];
  /** Transactions executed but not confirmed, all of one database. */
  unconfirmed: number = 0;
  unconfirmedIn: ServedDatabase | null = null;
  /** By {@link idKey} of the monitor's id. */
  readonly monitors: Map<string, OpenMonitor> = new Map();
  /** Transactions that wait or are forwarded, by {@link idKey} of the request's id. */
  readonly waiting: Map<string, Task> = new Map();

  constructor(id: SessionId, options: SessionOptions) {
    this.id = id;
    this.options = options;
  }
}
