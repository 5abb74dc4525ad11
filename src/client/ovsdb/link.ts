/**
 * Keeps one usable connection to one of several servers: connects, asks the server about its
 * database, moves on to the next server when this one will not do or goes away, and waits between
 * rounds, longer and longer. What a connection is used for is its user's business (`LinkUser`).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ActiveTarget,
  needsProbes,
  PROBE_INTERVAL_MS,
  type TlsContext,
} from '../../io/streams/index.ts';
import {
  isError,
  type Json,
  type JsonArray,
  parseJson,
  parseSchema,
  type Schema,
  schemasEqual,
} from '../../ovsdb/index.ts';
import { Channel } from './channel.ts';
import { abortError, OvsdbClientError, OvsdbErrorCode, OvsdbRequestError } from './errors.ts';
import { objection, type ServerStatus, ServerWatch, STATUS_COLUMNS } from './server-watch.ts';
import { Session } from './session.ts';

export interface LinkOptions {
  readonly addresses: readonly ActiveTarget[];
  readonly database: string;
  readonly leaderOnly: boolean;
  readonly tls: TlsContext | null;
  /** Without a sign of life for so long, a server is asked for one; `null`: 5000, Unix sockets 0. */
  readonly probeMs: number | null;
  /** Between two rounds of attempts: the first, and the longest. */
  readonly backoffMinMs: number;
  readonly backoffMaxMs: number;
  /** A connection that is not ready by then is given up. */
  readonly attemptMs: number;
}

export interface LinkUser {
  /** A connection can be used; again on the same one when the schema has changed. */
  connected(session: Session, schema: Schema): void;
  disconnected(): void;
  notification(method: string, params: JsonArray): void;
}

const SERVER_MONITOR = 'server';
const BACKOFF_DOUBLINGS_MAX = 16;

interface Usable {
  readonly session: Session;
  readonly schema: Schema;
}

export class Link {
  readonly #options: LinkOptions;
  readonly #user: LinkUser;
  readonly #closing: AbortController = new AbortController();
  #addresses: readonly ActiveTarget[] = [];
  #addressText: string = '';
  #attempts: number = 0;
  /** When the last connection was taken into use, ms. */
  #acceptedMs: number = Number.NEGATIVE_INFINITY;
  #indexMin: number | bigint = 0;
  #usable: Usable | null = null;
  #problem: string = 'nothing was tried yet';
  #waiters: (() => void)[] = [];
  #finished: Promise<void> | null = null;

  constructor(options: LinkOptions, user: LinkUser) {
    this.#options = options;
    this.#user = user;
  }

  start(): void {
    this.#addresses = shuffled(this.#options.addresses);
    this.#finished = this.#run();
  }

  get isConnected(): boolean {
    return this.#usable !== null;
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Address of the server in use. */
  get address(): string | null {
    return this.#usable === null ? null : this.#addressText;
  }

  /** The usable connection, when there is one; rejects when `signal` aborts before. */
  async usable(signal: AbortSignal): Promise<Usable> {
    for (;;) {
      if (this.isClosed) throw new OvsdbClientError(OvsdbErrorCode.closed, 'the client is closed');
      if (this.#usable !== null) return this.#usable;
      if (signal.aborted) throw this.#notConnected(signal);
      await this.#change(signal);
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#usable?.session.close('the client is closed');
    this.#notify();
    await this.#finished;
  }

  /** Leaves this server; another connection is made at once. */
  reconnect(reason: string): void {
    this.#usable?.session.close(reason);
  }

  #notConnected(signal: AbortSignal): OvsdbClientError {
    return abortError(signal, OvsdbErrorCode.notSent, `no connection: ${this.#problem}`);
  }

  /** The last reason why there was no connection. */
  get problem(): string {
    return this.#problem;
  }

  #change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        signal.removeEventListener('abort', done);
        resolve();
      };
      signal.addEventListener('abort', done, { once: true });
      this.#waiters.push(done);
    });
  }

  #notify(): void {
    for (const waiter of this.#waiters.splice(0)) waiter();
  }

  async #run(): Promise<void> {
    while (!this.isClosed) {
      const address = this.#addresses[this.#attempts % this.#addresses.length] as ActiveTarget;
      this.#attempts += 1;
      try {
        const reason = await this.#use(address);
        this.#problem = `${address.text}: ${reason}`;
      } catch (error) {
        this.#problem = `${address.text}: ${error instanceof Error ? error.message : String(error)}`;
      }
      await sleep(this.#pauseMs(), undefined, { signal: this.#closing.signal }).catch(() => {});
    }
  }

  /** None within the first round after a connection that was of some use. */
  #pauseMs(): number {
    const { backoffMinMs, backoffMaxMs } = this.#options;
    if (this.#attempts === 0 && performance.now() - this.#acceptedMs < backoffMinMs) {
      return backoffMinMs;
    }
    const round = Math.floor(this.#attempts / this.#addresses.length);
    if (round === 0) return 0;
    return Math.min(backoffMaxMs, backoffMinMs * 2 ** Math.min(round - 1, BACKOFF_DOUBLINGS_MAX));
  }

  /** Connects and stays for as long as it lasts; resolves with the reason of its end. */
  async #use(address: ActiveTarget): Promise<string> {
    const { attemptMs, tls, probeMs } = this.#options;
    let session: Session | null = null;
    const ended = Promise.withResolvers<string>();
    const events = {
      message: (json: Json): void => session?.received(json),
      closed: (reason: string): void => {
        session?.closed(reason);
        ended.resolve(reason);
      },
    };
    const { signal } = this.#closing;
    const channel = await Channel.open(address, tls, attemptMs, events, signal);
    const watch = new ServerWatch(this.#options.database);
    session = new Session(channel, {
      notification: (method, params) =>
        this.#notification(session as Session, watch, method, params),
    });
    const closing = (): void => session?.close('the client is closed');
    signal.addEventListener('abort', closing, { once: true });
    session.probe(probeMs ?? (needsProbes(address.text) ? PROBE_INTERVAL_MS : 0));
    const limit = AbortSignal.timeout(attemptMs);
    const tooLate = (): void => session?.close(`not ready within ${attemptMs} ms`);
    limit.addEventListener('abort', tooLate, { once: true });
    try {
      const schema = await this.#introduce(session, watch);
      limit.removeEventListener('abort', tooLate);
      if (signal.aborted) return 'the client is closed';
      this.#accept(address, session, schema);
      return await ended.promise;
    } catch (error) {
      session.close('it will not do');
      throw error;
    } finally {
      limit.removeEventListener('abort', tooLate);
      signal.removeEventListener('abort', closing);
      if (this.#usable?.session === session) {
        this.#usable = null;
        this.#user.disconnected();
      }
    }
  }

  #accept(address: ActiveTarget, session: Session, schema: Schema): void {
    // The next server after this one is another.
    const at = this.#addresses.indexOf(address) + 1;
    this.#addresses = [...this.#addresses.slice(at), ...this.#addresses.slice(0, at)];
    this.#addressText = address.text;
    this.#acceptedMs = performance.now();
    this.#attempts = 0;
    this.#usable = { session, schema };
    this.#user.connected(session, schema);
    this.#notify();
  }

  /** Whether the server will do, and its schema. */
  async #introduce(session: Session, watch: ServerWatch): Promise<Schema> {
    const { database } = this.#options;
    await session.request('set_db_change_aware', [true]).catch(ignoreRefusal);
    const columns = [...STATUS_COLUMNS];
    const where: Json = [['name', '==', database]];
    const params = ['_Server', SERVER_MONITOR, { Database: [{ columns, where }] }];
    const known = await new Promise<boolean>((resolve, reject) => {
      session.call('monitor_cond', params, {
        resolve: (updates) => {
          watch.update(updates);
          resolve(true);
        },
        reject: (error) => (error instanceof OvsdbRequestError ? resolve(false) : reject(error)),
      });
    });
    // Servers from before `_Server` are standalone: the schema is all there is to ask for.
    if (!known) return schemaOf(await session.request('get_schema', [database]));
    this.#check(watch.status);
    return schemaOf(parsed(watch.status?.schema ?? ''));
  }

  #check(status: ServerStatus | null): void {
    const { database, leaderOnly } = this.#options;
    const problem = objection(status, database, leaderOnly, this.#indexMin);
    if (problem !== null) throw new OvsdbClientError(OvsdbErrorCode.connect, problem);
    if (status?.index !== null && status !== null) this.#indexMin = status.index;
  }

  #notification(session: Session, watch: ServerWatch, method: string, params: JsonArray): void {
    if (method !== 'update2' || params[0] !== SERVER_MONITOR) {
      this.#user.notification(method, params);
      if (method === 'monitor_canceled') this.#refresh(session);
      return;
    }
    const before = watch.status?.schema;
    watch.update(params[1] as Json);
    if (this.#usable?.session !== session) return;
    // What it has told us of stays seen, whatever becomes of it.
    const index = watch.status?.index ?? null;
    if (index !== null && index > this.#indexMin) this.#indexMin = index;
    try {
      this.#check(watch.status);
      const text = watch.status?.schema;
      if (text === before || typeof text !== 'string') return;
      const schema = schemaOf(parsed(text));
      if (schemasEqual(schema, this.#usable.schema)) return;
      this.#usable = { session, schema };
      this.#user.connected(session, schema);
    } catch (error) {
      session.close(error instanceof Error ? error.message : String(error));
    }
  }

  /** The database was converted, or is gone: that comes before `_Server` says so. */
  #refresh(session: Session): void {
    session.call('get_schema', [this.#options.database], {
      resolve: (json) => {
        if (this.#usable?.session !== session) return;
        try {
          const schema = schemaOf(json);
          this.#usable = { session, schema };
          this.#user.connected(session, schema);
        } catch (error) {
          session.close(error instanceof Error ? error.message : String(error));
        }
      },
      reject: (error) => session.close(error.message),
    });
  }
}

/** An old server's way of saying that it does not know the method. */
function ignoreRefusal(error: unknown): null {
  if (error instanceof OvsdbRequestError) return null;
  throw error;
}

function parsed(text: string): Json {
  const json = parseJson(text);
  if (json.ok) return json.value;
  throw new OvsdbClientError(OvsdbErrorCode.protocol, `the schema cannot be read: ${json.error}`);
}

function schemaOf(json: Json): Schema {
  const schema = parseSchema(json);
  if (!isError(schema)) return schema;
  throw new OvsdbClientError(OvsdbErrorCode.protocol, `the schema cannot be read: ${schema}`);
}

function shuffled(addresses: readonly ActiveTarget[]): readonly ActiveTarget[] {
  return addresses
    .map((address) => ({ address, place: Math.random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ address }) => address);
}
