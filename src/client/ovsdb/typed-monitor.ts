/** A monitor with the types that a schema and the wanted columns give its rows. */
import type { Json, Uuid } from '../../ovsdb/index.ts';
import type { RowOf, SchemaShape, TableName } from './schema-types.ts';
import type { MonitorRequests } from './wanted.ts';

/** Of a row only the columns that are watched. */
type WatchedRow<S extends SchemaShape, T extends TableName<S>, Request> =
  string extends TableName<S>
    ? RowOf<S, T>
    : Request extends readonly (infer C)[]
      ? Pick<RowOf<S, T>, Extract<keyof RowOf<S, T>, C | '_uuid'>>
      : Request extends { readonly columns: readonly (infer C)[] }
        ? Pick<RowOf<S, T>, Extract<keyof RowOf<S, T>, C | '_uuid'>>
        : RowOf<S, T>;

type Watched<S extends SchemaShape, R extends MonitorRequests<S>> = keyof R & TableName<S>;

/** Told apart by `table`. */
export type RowChangeOf<S extends SchemaShape, R extends MonitorRequests<S>> = {
  [T in Watched<S, R>]: {
    readonly table: T;
    readonly uuid: Uuid;
    readonly kind: 'insert' | 'modify' | 'delete';
    /** `null`: there was none. */
    readonly before: WatchedRow<S, T, R[T]> | null;
    /** `null`: there is none any more. */
    readonly after: WatchedRow<S, T, R[T]> | null;
  };
}[Watched<S, R>];

export interface ChangeOf<S extends SchemaShape, R extends MonitorRequests<S>> {
  /** `resync`: what changed while there was no connection. */
  readonly kind: 'initial' | 'update' | 'resync';
  readonly rows: readonly RowChangeOf<S, R>[];
  /** `null`: the server names no transactions. */
  readonly lastTransaction: Uuid | null;
}

/** See {@link TableMonitor}, which it is. */
export interface OvsdbMonitor<S extends SchemaShape, R extends MonitorRequests<S>>
  extends AsyncDisposable,
    AsyncIterable<ChangeOf<S, R>, void, void> {
  /** Resolves when the replica holds what the server had; rejects when it never will. */
  readonly ready: Promise<void>;
  readonly lastTransaction: Uuid | null;
  /** By UUID; a view that follows the replica. */
  rows<T extends Watched<S, R>>(table: T): ReadonlyMap<Uuid, WatchedRow<S, T, R[T]>>;
  /**
   * Watches other rows of a table: those for which any of the clauses holds, `null`: all. Resolves
   * when the replica holds them.
   */
  setCondition(table: Watched<S, R>, where: readonly Json[] | null): Promise<void>;
  close(): Promise<void>;
}
