/**
 * The life of a transaction: executed ahead of the storage, or waiting for a condition; confirmed
 * or refused by the storage; answered. Every one is answered exactly once, unless its session is
 * gone or has cancelled it; nothing is told to anybody that may still be taken back.
 */
import { assert } from '../../stdx/index.ts';
import { OvsdbError, syntaxError } from '../data/error.ts';
import { UUID_ZERO, type Uuid } from '../data/uuid.ts';
import { serialize } from '../json/serialize.ts';
import { type Json, RawJson } from '../json/value.ts';
import { changeSetToRecord } from '../record/write.ts';
import type { Database } from '../store/database.ts';
import { attemptTask } from './execution.ts';
import type { Hub } from './hub.ts';
import { errorText, idKey, replyText, tooLarge, unlessTooLarge } from './message.ts';
import { closeMonitorsOf } from './monitoring.ts';
import { contentOf, type ServedDatabase } from './served-database.ts';
import type { Session } from './session.ts';
import {
  type Entry,
  failureOf,
  refusalOf,
  type Settlement,
  type Task,
  tablesNamed,
} from './task.ts';

/** What a relay is answered by the server behind it. */
export type ForwardReply = { readonly result: Json } | { readonly error: Json };

export class Transactions {
  readonly #hub: Hub;

  constructor(hub: Hub) {
    this.#hub = hub;
  }

  /** Executes the task, which then waits, is on its way to the storage, or is answered. */
  attempt(task: Task, nowMs: number): void {
    if (task.served.frozen) {
      task.served.postponed.push(task);
      return;
    }
    const attempt = unlessTooLarge(() => attemptTask(task, this.#hub, nowMs));
    if (attempt === 'wait') this.#wait(task, nowMs);
    else if (attempt === 'forward') this.#forward(task, nowMs);
    else this.#settle(task, attempt ?? failureOf(tooLarge()), nowMs);
  }

  /** Why a session's task cannot be kept; `null`: it is kept under its id. */
  #keep(task: Task): OvsdbError | null {
    const { session } = task;
    if (session === null) return null;
    const key = idKey(task.id);
    const other = session.waiting.get(key);
    if (other !== undefined && other !== task) return duplicateId(task);
    if (session.waiting.size >= this.#hub.limits.waitingMax && other === undefined) {
      return new OvsdbError('resources exhausted', 'too many transactions wait');
    }
    session.waiting.set(key, task);
    return null;
  }

  #wait(task: Task, nowMs: number): void {
    // Executed once more for a session that is gone: nobody would ever end it.
    if (task.session?.closed === true) return;
    const problem = this.#keep(task);
    if (problem !== null) {
      this.#settle(task, failureOf(problem), nowMs);
      return;
    }
    const ruled = task.session !== null && task.session.options.role !== '';
    task.tables = ruled ? null : tablesNamed(task.params);
    task.served.waits.add(task);
  }

  #forward(task: Task, nowMs: number): void {
    const problem = this.#keep(task);
    if (problem !== null) {
      this.#settle(task, failureOf(problem), nowMs);
      return;
    }
    const { served, params } = task;
    served.lastNumber += 1;
    task.forward = served.lastNumber;
    served.forwarded.set(task.forward, task);
    this.#hub.emit({ kind: 'forward', database: served.name, number: task.forward, params });
  }

  #settle(task: Task, settlement: Settlement, nowMs: number): void {
    const { served, session } = task;
    const { changes, conversion } = settlement;
    if (session !== null) forgetWaiting(session, task);
    if (changes !== null) {
      assert(served.content !== null, 'Transactions: changes without a database');
      served.content.database.apply(changes);
      served.content.monitors.applied(changes);
      served.waits.touched(changes);
    }
    const entry: Entry = { ...settlement, task, number: this.#append(served, settlement, nowMs) };
    if (entry.number === 0 && served.pipeline.size === 0) {
      this.#complete(entry, task.txnId, nowMs);
      return;
    }
    served.pipeline.push(entry);
    if (conversion !== null) served.frozen = true;
    if (session === null) return;
    session.unconfirmed += 1;
    session.unconfirmedIn = served;
  }

  /** Asks for the change to be kept, under the number that is returned; 0: it need not be. */
  #append(served: ServedDatabase, settlement: Settlement, nowMs: number): number {
    const { changes, conversion, durable } = settlement;
    if (served.journal === 'none' || (changes === null && conversion === null)) return 0;
    const { dateOffsetMs, columnDiff } = this.#hub;
    const dateMs = Math.trunc(nowMs + dateOffsetMs);
    const record = changes === null ? null : changeSetToRecord(changes, { dateMs, columnDiff });
    if (record === null && conversion === null) return 0;
    served.lastNumber += 1;
    this.#hub.emit({
      kind: 'append',
      database: served.name,
      number: served.lastNumber,
      changes,
      record,
      schema: conversion?.schema ?? null,
      content: conversion,
      durable,
    });
    return served.lastNumber;
  }

  /** The storage has everything up to this number. */
  appended(served: ServedDatabase, number: number, txnId: Uuid, nowMs: number): void {
    for (const entry of served.pipeline.confirm(number)) {
      this.#release(entry);
      this.#complete(entry, entry.number === 0 ? entry.task.txnId : txnId, nowMs);
    }
    this.#unblock(served, nowMs);
  }

  /**
   * The storage will never have this number nor what came after it. Up to `through` that is told to
   * those who asked for it; what only came after it is executed anew.
   */
  appendFailed(
    served: ServedDatabase,
    number: number,
    error: OvsdbError,
    through: number,
    nowMs: number,
  ): void {
    if (served.content === null) return;
    const undone = served.pipeline.refuse(number, served.content);
    for (const entry of undone) {
      this.#release(entry);
      if (entry.conversion !== null) served.frozen = false;
      if (entry.changes !== null) served.waits.touched(entry.changes);
    }
    for (const entry of undone) {
      const refused = entry.number !== 0 && entry.number <= through;
      if (refused) this.#settle(entry.task, refusalOf(entry, error), nowMs);
      else this.attempt(entry.task, nowMs);
    }
    this.#unblock(served, nowMs);
  }

  #release({ task: { session } }: Entry): void {
    if (session === null) return;
    assert(session.unconfirmed > 0, 'Transactions: more confirmed than executed');
    session.unconfirmed -= 1;
    if (session.unconfirmed > 0) return;
    session.unconfirmedIn = null;
    this.#hub.wake(session);
  }

  #unblock(served: ServedDatabase, nowMs: number): void {
    if (served.frozen || served.pipeline.size > this.#hub.limits.unconfirmedMax / 2) return;
    for (const task of served.postponed.splice(0)) this.attempt(task, nowMs);
    for (const session of served.blocked) this.#hub.wake(session);
    served.blocked.clear();
  }

  /** For good. */
  #complete(entry: Entry, txnId: Uuid, nowMs: number): void {
    const { task, changes, conversion } = entry;
    const { served } = task;
    if (changes !== null) {
      served.content?.monitors.committed(changes, txnId);
      served.revision += 1;
      served.changed = true;
    }
    if (conversion === null) {
      this.#answer(task, entry.text, entry.error);
      return;
    }
    served.frozen = false;
    this.#exchange(served, conversion);
    this.#answer(task, entry.text, entry.error);
    this.#cancelWaiting(served);
    this.#hub.replaced(served, `committed ${served.name} database schema conversion`, nowMs);
  }

  /** Puts another database in the place of this one. Who monitored it is told so. */
  #exchange(served: ServedDatabase, database: Database | null): void {
    closeMonitorsOf(served, this.#hub);
    served.content = contentOf(database);
    served.revision += 1;
  }

  /** Another database, from elsewhere, in the place of what was there, if anything was. */
  replace(served: ServedDatabase, database: Database, reason: string, nowMs: number): void {
    this.#exchange(served, database);
    this.#cancelPending(served);
    this.#cancelWaiting(served);
    this.#hub.replaced(served, reason, nowMs);
    this.#unblock(served, nowMs);
  }

  /** The database goes away. Those who are not told are dropped anyway. */
  remove(served: ServedDatabase): void {
    closeMonitorsOf(served, this.#hub);
    this.#cancelPending(served);
    this.#cancelWaiting(served);
    for (const task of served.postponed.splice(0)) this.#answerCanceled(task);
    for (const session of served.blocked) this.#hub.wake(session);
    served.blocked.clear();
  }

  #cancelPending(served: ServedDatabase): void {
    served.frozen = false;
    for (const entry of served.pipeline.takeAll()) {
      this.#release(entry);
      this.#answerCanceled(entry.task);
    }
  }

  #cancelWaiting(served: ServedDatabase): void {
    for (const task of this.#takeWaiting(served)) this.#answerCanceled(task);
  }

  #takeWaiting(served: ServedDatabase): Task[] {
    const tasks = [...served.waits.takeAll(), ...served.forwarded.values()];
    served.forwarded.clear();
    for (const task of tasks) if (task.session !== null) forgetWaiting(task.session, task);
    return tasks;
  }

  /** Sessions that are not change-aware are only hung up on. */
  #answerCanceled(task: Task): void {
    const { session, id } = task;
    if (session?.changeAware === false) return;
    const error = new OvsdbError('canceled', 'the database went away');
    if (session === null) task.done?.(error, 'null');
    else this.#hub.send(session, errorText(id, 'canceled'));
  }

  /** `text`: of the reply's "result", or of its "error" when there is one. */
  #answer({ session, id, done }: Task, text: string, error: OvsdbError | null): void {
    if (session === null) {
      done?.(error, text);
      return;
    }
    const reply = unlessTooLarge(() =>
      error === null ? replyText(id, text) : errorText(id, new RawJson(text)),
    );
    if (reply === null) this.#hub.drop(session, 'a reply is too large');
    else this.#hub.send(session, reply);
  }

  /** Tries again what changes have made due, at most `max` of it. */
  retry(served: ServedDatabase, max: number, nowMs: number): void {
    if (served.frozen) return;
    for (const task of served.waits.takeDue(max)) this.attempt(task, nowMs);
  }

  /** Tries for the last time what has waited long enough. */
  expire(served: ServedDatabase, nowMs: number): void {
    if (served.frozen) return;
    for (const task of served.waits.takeExpired(nowMs)) this.attempt(task, nowMs);
  }

  /**
   * The notification "cancel". What was executed already is answered as if nothing had been said.
   */
  cancel(session: Session, id: Json): void {
    const task = session.waiting.get(idKey(id));
    if (task === undefined) return;
    this.#forget(session, task);
    this.#answerCanceled(task);
  }

  /** The session is gone. */
  leave(session: Session): void {
    for (const task of [...session.waiting.values()]) this.#forget(session, task);
  }

  #forget(session: Session, task: Task): void {
    forgetWaiting(session, task);
    task.served.waits.remove(task);
    task.served.forwarded.delete(task.forward);
  }

  /** The server behind a relay has answered. */
  forwarded(served: ServedDatabase, number: number, reply: ForwardReply): void {
    const task = served.forwarded.get(number);
    if (task === undefined || task.session === null) return;
    this.#forget(task.session, task);
    const { session, id } = task;
    if ('error' in reply) this.#hub.send(session, errorText(id, reply.error));
    else this.#hub.send(session, resultText(id, reply.result));
  }
}

function resultText(id: Json, result: Json): string {
  return unlessTooLarge(() => replyText(id, serialize(result))) ?? errorText(id, tooLarge());
}

function forgetWaiting(session: Session, task: Task): void {
  if (session.waiting.size === 0) return;
  const key = idKey(task.id);
  if (session.waiting.get(key) === task) session.waiting.delete(key);
}

export function duplicateId({ kind, params }: Pick<Task, 'kind' | 'params'>): OvsdbError {
  return syntaxError(params, `${kind}: duplicate request ID`);
}

/** A task of a session or of the server itself, not executed yet. */
export function newTask(from: Pick<Task, 'kind' | 'served' | 'createdMs'> & Partial<Task>): Task {
  return {
    session: null,
    id: null,
    params: [],
    compose: null,
    done: null,
    txnId: UUID_ZERO,
    tables: null,
    deadlineMs: null,
    forward: 0,
    ...from,
  };
}
