/**
 * What the core wants done: the host takes the effects after every call and executes them in order.
 */
import type { JsonArray, JsonObject } from '../json/value.ts';
import type { Schema } from '../schema/schema.ts';
import type { ChangeSet } from '../store/change-set.ts';
import type { Database } from '../store/database.ts';

/** Counted from 1, never used again. */
export type SessionId = number;

/** To be kept by the database's storage, in the order of the numbers. */
export interface AppendEffect {
  readonly kind: 'append';
  readonly database: string;
  /** Counts up for ever, also past numbers that were refused. */
  readonly number: number;
  /** `null` exactly when the whole database is replaced. */
  readonly changes: ChangeSet | null;
  /** The changes as files keep them. */
  readonly record: JsonObject | null;
  /** The new schema, when the database was converted. */
  readonly schema: Schema | null;
  /** The whole new database, when it was converted. It does not change until this is confirmed. */
  readonly content: Database | null;
  /** A client waits until it is on the disk, not only with the operating system. */
  readonly durable: boolean;
}

export type CoreEffect =
  /** One JSON message. Equal notifications to many sessions are one string object. */
  | { readonly kind: 'send'; readonly session: SessionId; readonly text: string }
  /** Close the connection after what was sent before has left. The core has forgotten it. */
  | { readonly kind: 'drop'; readonly session: SessionId; readonly reason: string }
  | AppendEffect
  /** A relay: send this "transact" to the server behind it, and its reply to `forwarded`. */
  | {
      readonly kind: 'forward';
      readonly database: string;
      readonly number: number;
      readonly params: JsonArray;
    };
