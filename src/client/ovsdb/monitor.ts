/**
 * Watches tables: a live replica, and a stream of changes for each reader. After a reconnect it
 * goes on where it was (monitor_cond_since), or compares everything (older servers, and those that
 * no longer know where we were); either way no change is lost or told twice.
 */
import {
  isArray,
  type Json,
  type JsonArray,
  type Schema,
  schemasEqual,
  UUID_ZERO,
  type Uuid,
} from '../../ovsdb/index.ts';
import { type Change, ChangeQueue } from './change-queue.ts';
import { OvsdbClientError, OvsdbErrorCode, OvsdbRequestError } from './errors.ts';
import { Replica, type RowChange, type UpdateVersion } from './replica.ts';
import type { AnyRow } from './row-values.ts';
import type { Session } from './session.ts';
import { type Wanted, watchedTables } from './wanted.ts';

const methods = ['monitor_cond_since', 'monitor_cond', 'monitor'] as const;
type Method = (typeof methods)[number];

/** Ids of monitors in one session. */
let monitorNumber = 0;

interface Waiter {
  resolve(): void;
  reject(error: Error): void;
}

export class TableMonitor implements AsyncDisposable {
  readonly #database: string;
  readonly #wanted: Map<string, Wanted>;
  readonly #forget: () => void;
  readonly #queues: Set<ChangeQueue> = new Set();
  readonly #ready: PromiseWithResolvers<void> = Promise.withResolvers();
  #replica: Replica = new Replica([]);
  #session: Session | null = null;
  #schema: Schema | null = null;
  #id: string = '';
  #method: Method = 'monitor_cond_since';
  #lastId: Uuid = UUID_ZERO;
  /** The session's first content has arrived. */
  #opened: boolean = false;
  #everOpened: boolean = false;
  #ended: boolean = false;
  /** Conditions that the server has not confirmed; they make what we have incomparable. */
  readonly #unconfirmed: Set<Waiter> = new Set();
  #conditionWaiters: Waiter[] = [];

  /** Made by a client; `forget` takes it off the client's list. */
  constructor(database: string, wanted: ReadonlyMap<string, Wanted>, forget: () => void) {
    this.#database = database;
    this.#wanted = new Map(wanted);
    this.#forget = forget;
    this.#ready.promise.catch(() => {});
  }

  /** Resolves when the replica holds what the server had; rejects when it never will. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** The server's name of the newest transaction in the replica; `null`: it names none. */
  get lastTransaction(): Uuid | null {
    return this.#lastId === UUID_ZERO ? null : this.#lastId;
  }

  /** By UUID; a view that follows the replica. */
  rows(table: string): ReadonlyMap<Uuid, AnyRow> {
    if (!this.#wanted.has(table)) {
      throw new OvsdbClientError(OvsdbErrorCode.schema, `table ${table} is not watched`);
    }
    return this.#replica.rows(table) ?? new Map();
  }

  /** First all rows, then what changes. Each iterator begins anew; its end leaves the monitor. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Change, void, void> {
    const queue = new ChangeQueue();
    if (this.#everOpened) queue.push(this.#change('initial', this.#replica.content()));
    if (this.#ended) queue.end(null);
    this.#queues.add(queue);
    try {
      for (;;) {
        const change = await queue.next();
        if (change === null) return;
        yield change;
      }
    } finally {
      this.#queues.delete(queue);
    }
  }

  /**
   * Watches other rows of a table: those for which any of the clauses holds, `null`: all. Resolves
   * when the replica holds them.
   */
  setCondition(table: string, where: JsonArray | null): Promise<void> {
    const wanted = this.#wanted.get(table);
    if (wanted === undefined) {
      const message = `table ${table} is not watched`;
      return Promise.reject(new OvsdbClientError(OvsdbErrorCode.schema, message));
    }
    this.#wanted.set(table, { ...wanted, where });
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { resolve, reject };
      if (this.#ended) reject(closedError());
      else if (this.#session === null || !this.#opened) this.#conditionWaiters.push(waiter);
      else this.#changeCondition(this.#session, table, where, waiter);
    });
  }

  async close(): Promise<void> {
    if (this.#ended) return;
    const session = this.#session;
    this.closed(null);
    this.#forget();
    await session?.request('monitor_cancel', [this.#id]).catch(() => {});
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Of the client: there is a connection, or its schema has changed. */
  attach(session: Session, schema: Schema): void {
    const watched = watchedTables(schema, this.#wanted);
    if (watched instanceof OvsdbClientError) {
      this.#forget();
      this.closed(watched);
      return;
    }
    if (this.#session === session && this.#opened) {
      session.call('monitor_cancel', [this.#id], { resolve: () => {}, reject: () => {} });
    }
    // Differences are told in terms of columns as they were.
    if (this.#schema !== null && !schemasEqual(this.#schema, schema)) this.#lastId = UUID_ZERO;
    this.#schema = schema;
    this.#replica.watch(watched);
    this.#session = session;
    this.#open(session, 'monitor_cond_since');
  }

  /** Of the client: the connection is gone. */
  detach(): void {
    this.#session = null;
    this.#opened = false;
  }

  /** Of the client: a notification with this monitor's id, if it is. */
  notified(method: string, params: JsonArray): void {
    if (params[0] !== this.#id) return;
    if (method === 'monitor_canceled') this.#opened = false;
    else if (this.#opened) this.#update(method, params);
  }

  /** The end, in peace or not. */
  closed(error: Error | null): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#session = null;
    this.#ready.reject(error ?? closedError());
    for (const { reject } of this.#conditionWaiters.splice(0)) reject(error ?? closedError());
    for (const queue of this.#queues) queue.end(error);
  }

  #open(session: Session, method: Method): void {
    this.#method = method;
    this.#opened = false;
    this.#id = `monitor-${++monitorNumber}`;
    const requests = Object.fromEntries(
      [...this.#wanted].map(([name, one]) => [name, [requestOf(one, this.#replica, name, method)]]),
    );
    if (this.#unconfirmed.size > 0) this.#lastId = UUID_ZERO;
    this.#unconfirmed.clear();
    const waiters = this.#conditionWaiters.splice(0);
    const since = method === 'monitor_cond_since' ? [this.#lastId] : [];
    session.call(method, [this.#database, this.#id, requests, ...since], {
      resolve: (result) => {
        if (this.#session !== session) return;
        this.#guard(session, () => this.#first(result));
        for (const waiter of waiters) waiter.resolve();
      },
      reject: (error) => {
        this.#conditionWaiters.push(...waiters);
        if (this.#session === session) this.#refused(session, method, error);
      },
    });
  }

  #refused(session: Session, method: Method, error: Error): void {
    // The connection is gone: the next one will do it.
    if (!(error instanceof OvsdbRequestError)) return;
    const older = methods[methods.indexOf(method) + 1];
    if (error.error === 'unknown method' && older !== undefined) this.#open(session, older);
    else {
      this.#forget();
      this.closed(error);
    }
  }

  #first(result: Json): void {
    const rows = this.#takeFirst(result);
    this.#opened = true;
    if (!this.#everOpened) {
      this.#everOpened = true;
      this.#push('initial', rows);
      this.#ready.resolve();
    } else if (rows.length > 0) this.#push('resync', rows);
  }

  #takeFirst(result: Json): RowChange[] {
    if (this.#method !== 'monitor_cond_since') {
      return this.#replica.replace(result, this.#updateVersion);
    }
    if (!isArray(result) || result.length !== 3) throw protocolError('monitor_cond_since');
    const [found, lastId, updates] = result as readonly [Json, Json, Json];
    this.#lastId = String(lastId);
    return found === true && this.#everOpened
      ? this.#replica.update(updates, 2)
      : this.#replica.replace(updates, 2);
  }

  get #updateVersion(): UpdateVersion {
    return this.#method === 'monitor' ? 1 : 2;
  }

  #update(method: string, params: JsonArray): void {
    const session = this.#session;
    if (session === null) return;
    this.#guard(session, () => {
      if (method === 'update3') this.#lastId = String(params[1]);
      const updates = params[params.length - 1] as Json;
      const rows = this.#replica.update(updates, method === 'update' ? 1 : 2);
      if (rows.length > 0) this.#push('update', rows);
    });
  }

  /** A server that breaks the protocol is left; then everything is compared. */
  #guard(session: Session, work: () => void): void {
    try {
      work();
    } catch (error) {
      if (!(error instanceof OvsdbClientError)) throw error;
      this.#lastId = UUID_ZERO;
      session.close(error.message);
    }
  }

  #changeCondition(session: Session, table: string, where: JsonArray | null, waiter: Waiter): void {
    if (this.#method === 'monitor') {
      waiter.reject(new OvsdbClientError(OvsdbErrorCode.schema, 'the server knows no conditions'));
      return;
    }
    this.#unconfirmed.add(waiter);
    const change = { [table]: [{ where: where ?? [true] }] };
    session.call('monitor_cond_change', [this.#id, this.#id, change], {
      resolve: () => {
        this.#unconfirmed.delete(waiter);
        waiter.resolve();
      },
      reject: (error) => {
        if (error instanceof OvsdbRequestError) {
          this.#unconfirmed.delete(waiter);
          waiter.reject(error);
        } else if (this.#ended) waiter.reject(closedError());
        else this.#conditionWaiters.push(waiter);
      },
    });
  }

  #push(kind: Change['kind'], rows: readonly RowChange[]): void {
    const change = this.#change(kind, rows);
    for (const queue of this.#queues) queue.push(change);
  }

  #change(kind: Change['kind'], rows: readonly RowChange[]): Change {
    return { kind, rows, lastTransaction: this.lastTransaction };
  }
}

function requestOf({ where }: Wanted, replica: Replica, table: string, method: Method): Json {
  const columns = replica.columns(table).map(({ name }) => name);
  return where === null || method === 'monitor' ? { columns } : { columns, where };
}

function protocolError(method: string): OvsdbClientError {
  return new OvsdbClientError(OvsdbErrorCode.protocol, `the reply to ${method} cannot be read`);
}

function closedError(): OvsdbClientError {
  return new OvsdbClientError(OvsdbErrorCode.closed, 'the monitor is closed');
}
