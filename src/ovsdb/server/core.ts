/**
 * The core of an OVSDB server: sessions and databases in, effects out. It has no sockets, files or
 * clock; the host tells it what arrived, what was stored and what time it is, and does what it
 * wants done. Requests are read in turn, one of each session, so that nobody's pile starves the
 * others.
 */
import { assert } from '../../stdx/index.ts';
import type { OvsdbError } from '../data/error.ts';
import { UUID_ZERO, type Uuid, type UuidSource } from '../data/uuid.ts';
import type { Json } from '../json/value.ts';
import type { Database } from '../store/database.ts';
import type { Draft } from '../transact/draft.ts';
import { type CoreCounters, countersOf } from './counters.ts';
import type { CoreEffect, SessionId } from './effects.ts';
import type { Hub } from './hub.ts';
import { type CoreLimits, limitsWith } from './limits.ts';
import { type LockStates, Locks } from './locks.ts';
import { type Message, notificationText, readMessage } from './message.ts';
import { closeMonitors, flushMonitors } from './monitoring.ts';
import { Requests } from './requests.ts';
import { type DatabaseStatus, ServedDatabase, type ServedOptions } from './served-database.ts';
import { createServerDatabase, draftOfStatus, SERVER_DATABASE } from './server-database.ts';
import { Session, type SessionOptions } from './session.ts';
import type { TaskDone } from './task.ts';
import { type ForwardReply, newTask, Transactions } from './transactions.ts';

export interface CoreOptions {
  /** For new rows and versions. */
  readonly uuids: UuidSource;
  /** Of this process, fresh at each start. */
  readonly serverId: Uuid;
  readonly limits?: Partial<CoreLimits>;
}

export class OvsdbCore {
  readonly serverId: Uuid;
  /** Wall clock − the clock of `nowMs`, ms: for the dates in records. */
  dateOffsetMs: number = 0;
  /** Whether changed columns are kept as diffs, which readers older than 2.15 do not know. */
  columnDiff: boolean = true;
  /**
   * Whether "monitor_cond" and "monitor_cond_since" are known: not knowing them is a test's wish.
   */
  monitorCond: boolean = true;
  readonly #limits: CoreLimits;
  readonly #uuids: UuidSource;
  readonly #databases: Map<string, ServedDatabase> = new Map();
  readonly #sessions: Map<SessionId, Session> = new Map();
  #lastSession: SessionId = 0;
  readonly #locks: Locks<Session> = new Locks();
  readonly #transactions: Transactions;
  readonly #requests: Requests;
  /** Sessions whose monitors may have something to tell them. */
  readonly #untold: Set<Session> = new Set();
  #effects: CoreEffect[] = [];

  constructor({ uuids, serverId, limits = {} }: CoreOptions) {
    this.serverId = serverId;
    this.#uuids = uuids;
    this.#limits = limitsWith(limits);
    const hub = this.#hub();
    this.#transactions = new Transactions(hub);
    this.#requests = new Requests(hub, this.#transactions, serverId);
    const server = new ServedDatabase({
      name: SERVER_DATABASE,
      database: createServerDatabase(),
      model: 'standalone',
      journal: 'none',
    });
    this.#databases.set(SERVER_DATABASE, server);
    this.#refresh(0);
  }

  #hub(): Hub {
    const core = this;
    return {
      limits: this.#limits,
      uuids: this.#uuids,
      locks: this.#locks,
      databases: this.#databases,
      get dateOffsetMs() {
        return core.dateOffsetMs;
      },
      get columnDiff() {
        return core.columnDiff;
      },
      get monitorCond() {
        return core.monitorCond;
      },
      sessions: () => [...this.#sessions.values()],
      emit: (effect) => void this.#effects.push(effect),
      send: (session, text) => this.#send(session, text),
      tell: (session) => this.#tell(session),
      drop: (session, reason) => this.#drop(session, reason),
      wake: (session) => this.#requests.wake(session),
      replaced: (served, reason, nowMs) => {
        assert(this.#databases.get(served.name) === served, 'OvsdbCore: replaced what is gone');
        this.dropSessions(reason);
        this.#refresh(nowMs);
      },
    };
  }

  /** Everything to be done since the last time, in order. */
  takeEffects(): CoreEffect[] {
    const effects = this.#effects;
    this.#effects = [];
    return effects;
  }

  // --- Sessions -------------------------------------------------------------------------------

  openSession(options: SessionOptions): SessionId {
    this.#lastSession += 1;
    this.#sessions.set(this.#lastSession, new Session(this.#lastSession, options));
    return this.#lastSession;
  }

  /** The connection is gone. Sessions that were dropped may be closed too, to no effect. */
  closeSession(id: SessionId): void {
    const session = this.#session(id);
    if (session !== undefined) this.#forget(session);
    this.#finish();
  }

  /** One message, parsed. It is looked at in {@link tick}. */
  receive(id: SessionId, json: Json): void {
    const session = this.#session(id);
    if (session !== undefined) this.#enqueue(session, readMessage(json));
  }

  /** What came is no JSON. What came before is answered first. */
  malformed(id: SessionId, reason: string): void {
    const session = this.#session(id);
    if (session !== undefined) this.#enqueue(session, { kind: 'malformed', reason });
  }

  #enqueue(session: Session, message: Message): void {
    if (session.queue.length >= this.#limits.queuedMax) {
      this.#drop(session, 'too many requests wait');
      return;
    }
    session.queue.push(message);
    this.#requests.wake(session);
  }

  /** More should be read from the session: all that came was looked at, all that was sent left. */
  wantsInput(id: SessionId): boolean {
    const session = this.#session(id);
    return session !== undefined && session.queue.length === 0 && !session.backlogged;
  }

  /** Something that was sent has not left yet. Until it has, only answers are sent. */
  backlogged(id: SessionId): void {
    const session = this.#session(id);
    if (session === undefined || session.backlogged) return;
    session.backlogged = true;
    session.behind = 0;
  }

  /** Everything sent has left. */
  drained(id: SessionId): void {
    const session = this.#session(id);
    if (session === undefined || !session.backlogged) return;
    session.backlogged = false;
    this.#untold.add(session);
    this.#requests.wake(session);
  }

  /** Closes connections, so that clients look anew; unless forced, only of those not told else. */
  dropSessions(reason: string, { force = false }: { force?: boolean } = {}): void {
    for (const session of [...this.#sessions.values()]) {
      if (force || !session.changeAware) this.#drop(session, reason);
    }
  }

  #session(id: SessionId): Session | undefined {
    assert(id > 0 && id <= this.#lastSession, 'OvsdbCore: no such session ever');
    return this.#sessions.get(id);
  }

  #send(session: Session, text: string): void {
    if (this.#tell(session)) this.#emitTo(session, text);
  }

  /** Sends what the session's monitors have to tell it; `false`: it is gone. */
  #tell(session: Session): boolean {
    if (session.closed) return false;
    const texts = flushMonitors(session);
    if (texts === null) this.#drop(session, 'an update is too large');
    for (const text of texts ?? []) this.#emitTo(session, text);
    return !session.closed;
  }

  #emitTo(session: Session, text: string): void {
    if (session.closed) return;
    this.#effects.push({ kind: 'send', session: session.id, text });
    if (!session.backlogged) return;
    session.behind += 1;
    if (session.behind > this.#limits.backlogMax) this.#drop(session, 'it does not read');
  }

  #drop(session: Session, reason: string): void {
    if (session.closed) return;
    this.#effects.push({ kind: 'drop', session: session.id, reason });
    this.#forget(session);
  }

  #forget(session: Session): void {
    session.closed = true;
    session.queue.length = 0;
    this.#sessions.delete(session.id);
    this.#untold.delete(session);
    this.#requests.forget(session);
    closeMonitors(session);
    for (const { name, owner } of this.#locks.releaseAll(session)) {
      this.#send(owner, notificationText('locked', [name]));
    }
    this.#transactions.leave(session);
  }

  // --- Databases ------------------------------------------------------------------------------

  addDatabase(options: ServedOptions, nowMs: number): void {
    const { name } = options;
    assert(!this.#databases.has(name), 'OvsdbCore.addDatabase: there is one of that name');
    this.dropSessions(`adding ${name} database`);
    this.#databases.set(name, new ServedDatabase(options));
    this.#refresh(nowMs);
    this.#finish();
  }

  removeDatabase(name: string, nowMs: number, reason: string = `removing ${name} database`): void {
    const served = this.#served(name);
    assert(name !== SERVER_DATABASE, 'OvsdbCore.removeDatabase: it is built in');
    this.#transactions.remove(served);
    this.dropSessions(reason);
    this.#databases.delete(name);
    this.#refresh(nowMs);
    this.#finish();
  }

  /** Puts another database of that name in the place of the present one, or of none. */
  replaceDatabase(name: string, database: Database, nowMs: number, reason?: string): void {
    assert(database.name === name, 'OvsdbCore.replaceDatabase: another name');
    const text = reason ?? `database ${name} schema changed`;
    this.#transactions.replace(this.#served(name), database, text, nowMs);
    this.#finish();
  }

  setStatus(name: string, status: Partial<DatabaseStatus>, nowMs: number): void {
    const served = this.#served(name);
    served.status = { ...served.status, ...status };
    this.#refresh(nowMs);
    this.#finish();
  }

  /** Whether clients may change it. Existing sessions are dropped, so that they notice. */
  setReadOnly(name: string, readOnly: boolean): void {
    const served = this.#served(name);
    if (served.readOnly === readOnly) return;
    served.readOnly = readOnly;
    this.dropSessions(`database ${name} is ${readOnly ? 'read-only' : 'writable'} now`, {
      force: true,
    });
  }

  /** Operations of the server itself, which nobody forbids and nobody's locks stop. */
  internal(name: string, operations: readonly Json[], nowMs: number, done?: TaskDone): void {
    const served = this.#served(name);
    const params = [name, ...operations];
    const kind = 'transact';
    const task = newTask({ kind, served, params, createdMs: nowMs, done: done ?? null });
    this.#transactions.attempt(task, nowMs);
    this.#finish();
  }

  /**
   * Changes that come from elsewhere. `compose` may be called again when what was before it is
   * refused by the storage; `txnId`: what they are known by there.
   */
  compose(
    name: string,
    compose: (database: Database) => Draft | OvsdbError,
    nowMs: number,
    { done = null, txnId = UUID_ZERO }: { done?: TaskDone | null; txnId?: Uuid } = {},
  ): void {
    const served = this.#served(name);
    const kind = 'compose';
    const task = newTask({ kind, served, compose, done, txnId, createdMs: nowMs });
    this.#transactions.attempt(task, nowMs);
    this.#finish();
  }

  /** `null`: not known yet. */
  database(name: string): Database | null {
    return this.#served(name).content?.database ?? null;
  }

  /** `_Server` among them. */
  databaseNames(): string[] {
    return [...this.#databases.keys()];
  }

  hasDatabase(name: string): boolean {
    return this.#databases.has(name);
  }

  /** Grows with every confirmed change. */
  revision(name: string): number {
    return this.#served(name).revision;
  }

  status(name: string): DatabaseStatus {
    return this.#served(name).status;
  }

  #served(name: string): ServedDatabase {
    const served = this.#databases.get(name);
    assert(served !== undefined, 'OvsdbCore: no such database');
    return served;
  }

  /** Lets `_Server` tell what is the case. */
  #refresh(nowMs: number): void {
    const served = this.#served(SERVER_DATABASE);
    const task = newTask({
      kind: 'compose',
      served,
      compose: (server) => draftOfStatus(server, this.#databases, this.#uuids),
      createdMs: nowMs,
      done: (error) => assert(error === null, 'OvsdbCore: _Server cannot be changed'),
    });
    this.#transactions.attempt(task, nowMs);
  }

  // --- Storage and time -----------------------------------------------------------------------

  /** The storage has all appends up to `number`; `txnId`: what the last one is known by. */
  appended(name: string, number: number, nowMs: number, txnId: Uuid = UUID_ZERO): void {
    const served = this.#databases.get(name);
    if (served !== undefined) this.#transactions.appended(served, number, txnId, nowMs);
    this.#finish();
  }

  /**
   * The storage has neither append `number` nor any after it, nor will it. Those up to `through`
   * are answered with the error, all others are executed anew, with new numbers.
   */
  appendFailed(
    name: string,
    number: number,
    error: OvsdbError,
    nowMs: number,
    through: number = Number.POSITIVE_INFINITY,
  ): void {
    const served = this.#databases.get(name);
    if (served !== undefined) {
      this.#transactions.appendFailed(served, number, error, through, nowMs);
    }
    this.#finish();
  }

  /** What the server behind a relay has answered to a `forward`. */
  forwarded(name: string, number: number, reply: ForwardReply): void {
    const served = this.#databases.get(name);
    if (served !== undefined) this.#transactions.forwarded(served, number, reply);
    this.#finish();
  }

  /**
   * Does a bounded part of what there is to do now; {@link deadlineMs} says whether there is more.
   */
  tick(nowMs: number): void {
    // Whole milliseconds, so that nobody's time is over by the timer and not by the difference.
    const now = Math.floor(nowMs);
    for (const served of this.#databases.values()) this.#transactions.expire(served, now);
    this.#requests.run(now);
    for (const served of this.#databases.values()) {
      this.#transactions.retry(served, this.#limits.retriesPerTick, now);
    }
    this.#finish();
  }

  /** When {@link tick} has something to do, ms; 0: now; `null`: not before something happens. */
  deadlineMs(): number | null {
    if (this.#requests.any || this.#untold.size > 0) return 0;
    let deadline: number | null = null;
    for (const { waits, frozen } of this.#databases.values()) {
      if (frozen) continue;
      if (waits.anyDue) return 0;
      const { deadlineMs } = waits;
      if (deadlineMs !== null && (deadline === null || deadlineMs < deadline)) {
        deadline = deadlineMs;
      }
    }
    return deadline;
  }

  /** Tells sessions about changes, a bounded number of them. */
  #finish(): void {
    for (const served of this.#databases.values()) {
      if (!served.changed) continue;
      served.changed = false;
      for (const { owner } of served.content?.monitors.pending() ?? []) {
        this.#untold.add(owner as Session);
      }
    }
    let left = this.#limits.flushesPerTick;
    for (const session of this.#untold) {
      if (left === 0) return;
      left -= 1;
      this.#untold.delete(session);
      // Those that have a backlog are told when it has gone.
      if (!session.backlogged) this.#tell(session);
    }
  }

  // --- Status ---------------------------------------------------------------------------------

  sessionLocks(id: SessionId): LockStates {
    const session = this.#session(id);
    if (session === undefined) return { held: [], waiting: [], lost: [] };
    return this.#locks.states(session);
  }

  counters(): CoreCounters {
    return countersOf(this.#sessions.values(), this.#databases.values(), this.#locks);
  }
}
