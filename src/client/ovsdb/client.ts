/**
 * A client of one database on one server or a cluster. It reconnects by itself; monitors and locks
 * go on. A transaction that was not sent waits for a connection; one that was sent and not answered
 * rejects with "outcome unknown", unless it only reads: then it is sent again.
 */
import {
  isArray,
  isError,
  isObject,
  type Json,
  type JsonArray,
  type JsonObject,
  memberOf,
  parseColumnSet,
  type Schema,
  type TableSchema,
} from '../../ovsdb/index.ts';
import { OvsdbClientError, OvsdbErrorCode, OvsdbTransactionError } from './errors.ts';
import { Link, type LinkOptions } from './link.ts';
import { OvsdbLock } from './lock.ts';
import { TableMonitor } from './monitor.ts';
import { readRow, valuesToJson } from './row-values.ts';
import type { RowOf, SchemaShape, TableName, ValuesOf } from './schema-types.ts';
import type { Session } from './session.ts';
import type { OvsdbMonitor } from './typed-monitor.ts';
import { type MonitorRequests, wantedTables } from './wanted.ts';

export interface ClientOptions extends LinkOptions {
  /** For whatever waits for a server: connection and reply, ms. */
  readonly requestTimeoutMs: number;
}

export interface CallOptions {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** An operation of RFC 7047 §5.2: { op: 'insert', table, row, … }. */
export type Operation = JsonObject & { readonly op: string };

/** Operations that leave everything as it is. */
const reading: readonly Json[] = ['select', 'wait', 'comment', 'abort', 'assert'];

export class OvsdbClient<S extends SchemaShape = SchemaShape> implements AsyncDisposable {
  readonly database: string;
  readonly #options: ClientOptions;
  readonly #link: Link;
  readonly #monitors: Set<TableMonitor> = new Set();
  readonly #locks: Map<string, OvsdbLock> = new Map();
  #attached: { session: Session; schema: Schema } | null = null;

  /** Made by `connectOvsdb`. */
  constructor(options: ClientOptions) {
    this.database = options.database;
    this.#options = options;
    this.#link = new Link(options, {
      connected: (session, schema) => this.#connected(session, schema),
      disconnected: () => this.#disconnected(),
      notification: (method, params) => this.#notification(method, params),
    });
  }

  /** Of `connectOvsdb`: resolves with the first usable connection. */
  async start(signal: AbortSignal): Promise<void> {
    this.#link.start();
    await this.#link.usable(signal);
  }

  get isConnected(): boolean {
    return this.#link.isConnected;
  }

  /** Of the server in use; `null`: none is. */
  get address(): string | null {
    return this.#link.address;
  }

  /** The schema as the server has it. */
  async schema(options: CallOptions = {}): Promise<Schema> {
    return (await this.#link.usable(this.#limit(options))).schema;
  }

  /**
   * Executes the operations, all or none. Gives their results; rejects with an
   * OvsdbTransactionError when one fails.
   */
  async transact(
    operations: readonly Operation[],
    options: CallOptions = {},
  ): Promise<readonly JsonObject[]> {
    const params = [this.database, ...operations];
    const repeatable = operations.every(({ op }) => reading.includes(op));
    return resultsOf(await this.#request('transact', params, options, repeatable), operations);
  }

  /** Rows of a table; without columns: all of them. */
  async select<T extends TableName<S>>(
    table: T,
    where: JsonArray = [],
    columns?: readonly (keyof RowOf<S, T> & string)[],
    options: CallOptions = {},
  ): Promise<RowOf<S, T>[]> {
    const schema = await this.#table(table, options);
    const all = schema.columns.filter(({ name }) => name !== '_version').map(({ name }) => name);
    const names = columns === undefined ? all : [...new Set(['_uuid', ...columns])];
    const set = parseColumnSet(names, schema);
    if (isError(set)) throw new OvsdbClientError(OvsdbErrorCode.schema, set.details);
    const [result] = await this.transact([{ op: 'select', table, where, columns: names }], options);
    const rows = memberOf(result as JsonObject, 'rows');
    if (!isArray(rows as Json)) throw protocolError('a select gave no rows');
    const own = set.filter(({ name }) => name !== '_uuid');
    return (rows as JsonArray).map((row) => readRow(uuidOf(row), row, own) as RowOf<S, T>);
  }

  /** Columns' values as the `row` of an insert or an update; checks them against the schema. */
  async row<T extends TableName<S>>(
    table: T,
    values: ValuesOf<S, T>,
    options: CallOptions = {},
  ): Promise<JsonObject> {
    return valuesToJson(values, await this.#table(table, options));
  }

  /** Watches tables from now on. */
  monitor<const R extends MonitorRequests<S>>(requests: R): OvsdbMonitor<S, R> {
    this.#assertOpen();
    const monitor: TableMonitor = new TableMonitor(this.database, wantedTables(requests), () => {
      this.#monitors.delete(monitor);
    });
    this.#monitors.add(monitor);
    if (this.#attached !== null) monitor.attach(this.#attached.session, this.#attached.schema);
    return monitor as unknown as OvsdbMonitor<S, R>;
  }

  /** Waits for a lock, or takes it (`steal`). A client asks for a lock once. */
  lock(name: string, options: { readonly steal?: boolean } = {}): OvsdbLock {
    this.#assertOpen();
    if (this.#locks.has(name)) {
      throw new OvsdbClientError(OvsdbErrorCode.limit, `the lock ${name} was asked for already`);
    }
    const lock = new OvsdbLock(name, options.steal === true, () => this.#locks.delete(name));
    this.#locks.set(name, lock);
    if (this.#attached !== null) lock.attach(this.#attached.session);
    return lock;
  }

  /** Any request of the protocol. It is sent once. */
  request(method: string, params: JsonArray, options: CallOptions = {}): Promise<Json> {
    return this.#request(method, params, options, false);
  }

  /** Leaves the server for the next one. */
  reconnect(): void {
    this.#link.reconnect('the client wants another server');
  }

  async close(): Promise<void> {
    for (const lock of this.#locks.values()) lock.closed();
    for (const monitor of this.#monitors) monitor.closed(null);
    this.#locks.clear();
    this.#monitors.clear();
    await this.#link.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #assertOpen(): void {
    if (!this.#link.isClosed) return;
    throw new OvsdbClientError(OvsdbErrorCode.closed, 'the client is closed');
  }

  #limit({ timeoutMs, signal }: CallOptions): AbortSignal {
    const timeout = AbortSignal.timeout(timeoutMs ?? this.#options.requestTimeoutMs);
    return signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  }

  async #table(name: string, options: CallOptions): Promise<TableSchema> {
    const schema = await this.schema(options);
    const table = schema.tables.get(name);
    if (table !== undefined) return table;
    const message = `database ${this.database} has no table ${name}`;
    throw new OvsdbClientError(OvsdbErrorCode.schema, message);
  }

  async #request(
    method: string,
    params: JsonArray,
    options: CallOptions,
    repeatable: boolean,
  ): Promise<Json> {
    const limit = this.#limit(options);
    for (;;) {
      const { session } = await this.#link.usable(limit);
      try {
        return await session.request(method, params, limit);
      } catch (error) {
        if (!(error instanceof OvsdbClientError) || limit.aborted) throw error;
        const again =
          error.code === OvsdbErrorCode.notSent ||
          (error.code === OvsdbErrorCode.outcomeUnknown && repeatable);
        if (!again || this.#link.isClosed) throw error;
      }
    }
  }

  #connected(session: Session, schema: Schema): void {
    this.#attached = { session, schema };
    for (const lock of this.#locks.values()) lock.attach(session);
    for (const monitor of [...this.#monitors]) monitor.attach(session, schema);
  }

  #disconnected(): void {
    this.#attached = null;
    for (const lock of this.#locks.values()) lock.detach();
    for (const monitor of this.#monitors) monitor.detach();
  }

  #notification(method: string, params: JsonArray): void {
    if (method === 'locked' || method === 'stolen') {
      this.#locks.get(String(params[0]))?.notified(method);
      return;
    }
    for (const monitor of this.#monitors) monitor.notified(method, params);
  }
}

/** Results of operations that all succeeded; anything else is thrown. */
function resultsOf(results: Json, operations: readonly Operation[]): readonly JsonObject[] {
  if (!isArray(results)) throw protocolError('the results of a transaction are not an array');
  for (const [i, result] of results.entries()) {
    if (!isObject(result)) continue;
    const tag = memberOf(result, 'error');
    if (typeof tag !== 'string') continue;
    const details = memberOf(result, 'details');
    const place = i < operations.length ? i : null;
    throw new OvsdbTransactionError(
      tag,
      typeof details === 'string' ? details : '',
      place,
      results,
    );
  }
  if (results.length !== operations.length || !results.every(isObject)) {
    throw protocolError('the results of a transaction are not one for each operation');
  }
  return results as readonly JsonObject[];
}

function uuidOf(row: Json): string {
  const json = isObject(row) ? memberOf(row, '_uuid') : undefined;
  if (isArray(json as Json)) return String((json as JsonArray)[1]);
  throw protocolError('a row has no _uuid');
}

function protocolError(message: string): OvsdbClientError {
  return new OvsdbClientError(OvsdbErrorCode.protocol, message);
}
