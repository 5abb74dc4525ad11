/**
 * All monitors of one database. They are told of commits, and give what their clients must be told:
 * one message for everything since the last one, whenever there is somebody to take it.
 */
import { assert } from '../../stdx/index.ts';
import { isError, OvsdbError, syntaxError } from '../data/error.ts';
import { UUID_ZERO, type Uuid } from '../data/uuid.ts';
import { serialize } from '../json/serialize.ts';
import { type Json, type JsonArray, jsonEqual, RawJson } from '../json/value.ts';
import type { ChangeSet } from '../store/change-set.ts';
import type { Database } from '../store/database.ts';
import { ConditionPool, Conditions } from './conditions.ts';
import { ConfirmedView } from './confirmed-view.ts';
import { History } from './history.ts';
import { HISTORY_MAX, ID_TEXT_MAX } from './limits.ts';
import {
  type IdTaken,
  type MonitorMethod,
  type MonitorRequest,
  parseChangeRequest,
  parseMonitorRequest,
} from './monitor-request.ts';
import type { Body, Rendering } from './rendering.ts';
import type { Format } from './row-updates.ts';
import { type Monitor, Shape } from './shape.ts';
import { UpdatesTooLong } from './updates-text.ts';

export interface MonitorsOptions {
  /** Transactions that are remembered. */
  readonly historyMax?: number;
}

const neverTaken: IdTaken = () => false;

export class DatabaseMonitors {
  readonly #database: Database;
  readonly #view: ConfirmedView = new ConfirmedView();
  readonly #history: History;
  readonly #shapes: Map<string, Shape> = new Map();
  readonly #conditions: ConditionPool = new ConditionPool();

  constructor(database: Database, options: MonitorsOptions = {}) {
    this.#database = database;
    this.#history = new History(options.historyMax ?? HISTORY_MAX);
  }

  /** Of the latest commit; zero where transactions have none. */
  get lastTxnId(): Uuid {
    return this.#history.lastTxnId;
  }

  get monitorCount(): number {
    let count = 0;
    for (const shape of this.#shapes.values()) count += shape.monitors;
    return count;
  }

  get shapeCount(): number {
    return this.#shapes.size;
  }

  get conditionCount(): number {
    return this.#conditions.size;
  }

  /** Texts that are kept for whoever needs them next. */
  get cachedTexts(): number {
    let count = 0;
    for (const shape of this.#shapes.values()) count += shape.cached;
    return count;
  }

  /** Rows that are kept for monitors that are behind. */
  get pendingRows(): number {
    let count = 0;
    for (const shape of this.#shapes.values()) count += shape.chain.size;
    return count;
  }

  get historyLength(): number {
    return this.#history.length;
  }

  get historyAtoms(): number {
    return this.#history.atoms;
  }

  /**
   * A new monitor, and the `result` of its reply. `params` as received, the database's name first,
   * which has been looked at.
   */
  open(
    method: MonitorMethod,
    params: JsonArray,
    idTaken: IdTaken = neverTaken,
  ): { monitor: Monitor; reply: Json } | OvsdbError {
    const request = parseMonitorRequest(method, params, this.#database, idTaken);
    if (isError(request)) return request;
    const idText = idTextOf(request.id);
    if (isError(idText)) return idText;
    const shape = this.#shapeOf(request);
    const conditions = new Conditions(this.#conditions, request.conditions);
    shape.lookAt(conditions);
    const monitor: Monitor = {
      version: request.version,
      id: request.id,
      idText,
      shape,
      conditions,
      position: null,
      overflowed: false,
      owner: null,
    };
    const reply = unlessTooLong(() => this.#reply(monitor, request.lastTxnId));
    if (reply instanceof UpdatesTooLong) {
      conditions.drop();
      return new OvsdbError('resources exhausted', reply.message);
    }
    monitor.position = shape.chain.join(monitor);
    shape.monitors += 1;
    this.#shapes.set(shape.key, shape);
    return { monitor, reply };
  }

  #shapeOf({ tables }: MonitorRequest): Shape {
    const key = tables.map((table) => table.key).join(';');
    return this.#shapes.get(key) ?? new Shape(key, tables, this.#view);
  }

  #reply(monitor: Monitor, knownTxnId: Uuid): Json {
    const { shape, conditions, version } = monitor;
    const known = knownTxnId === UUID_ZERO ? null : this.#history.since(knownTxnId);
    const text =
      known === null
        ? shape.initial(formatOf(monitor), conditions)
        : (shape.resumed(knownTxnId, known).body(2, conditions).text ?? '{}');
    const updates = new RawJson(text);
    return version === 3 ? [known !== null, this.lastTxnId, updates] : updates;
  }

  /**
   * Changes conditions and id. `update`: what has to be sent before the reply, all that the monitor
   * was behind included; `null`: nothing. `params`: [old id, new id, requests].
   */
  change(
    monitor: Monitor,
    params: JsonArray,
    idTaken: IdTaken = neverTaken,
  ): { update: string | null } | OvsdbError {
    if (params.length !== 3) return syntaxError(params, 'invalid parameters');
    const { shape, conditions: was } = monitor;
    const id = params[1];
    if (!jsonEqual(id, monitor.id) && idTaken(id)) {
      return syntaxError(id, 'duplicate monitor ID');
    }
    const changed = parseChangeRequest(params, this.#database, shape.tables);
    if (isError(changed)) return changed;
    const idText = idTextOf(id);
    if (isError(idText)) return idText;
    monitor.id = id;
    monitor.idText = idText;
    if (monitor.version === 1 || changed.size === 0) return { update: this.flush(monitor) };
    const is = was.with(changed);
    shape.lookAt(is);
    const update =
      is.key === was.key
        ? this.flush(monitor)
        : this.#deliver(monitor, (behind) => shape.changeConditions(behind, was, is));
    monitor.conditions = is;
    was.drop();
    return { update };
  }

  /** The change set is in the tables, but may still be taken back. */
  applied(changes: ChangeSet): void {
    this.#view.applied(changes);
  }

  /** The change set applied last was taken back. */
  reverted(changes: ChangeSet): void {
    this.#view.reverted(changes);
  }

  /**
   * The change set is in the database for good: the oldest of those told by {@link applied}, or one
   * that was not. Nothing is written here.
   */
  committed(changes: ChangeSet, txnId: Uuid): void {
    this.#view.confirmed(changes);
    this.#history.add(changes, txnId, this.#database.atoms);
    for (const shape of this.#shapes.values()) shape.committed(changes);
  }

  /** Monitors that may have something to be told. They may be flushed and closed meanwhile. */
  pending(): Monitor[] {
    return [...this.#shapes.values()].flatMap((shape) => [...shape.chain.behind()]);
  }

  /**
   * Everything since the last time as one notification, the text of the whole message; `null`:
   * there is nothing. Equal monitors that are equally far get the same string.
   */
  flush(monitor: Monitor): string | null {
    const { shape, position } = monitor;
    assert(position !== null, 'DatabaseMonitors.flush: closed');
    if (shape.chain.upToDate(position)) return null;
    return this.#deliver(monitor, (behind) => behind.body(formatOf(monitor), monitor.conditions));
  }

  #deliver(monitor: Monitor, make: (behind: Rendering) => Body): string | null {
    const { shape, position } = monitor;
    assert(position !== null, 'DatabaseMonitors: closed');
    const behind = shape.chain.since(position);
    const message = unlessTooLong(() => make(behind).message(monitor, this.lastTxnId));
    monitor.position = shape.chain.move(position, monitor);
    if (!(message instanceof UpdatesTooLong)) return message;
    monitor.overflowed = true;
    return null;
  }

  close(monitor: Monitor): void {
    const { shape, position } = monitor;
    assert(position !== null, 'DatabaseMonitors.close: closed before');
    shape.chain.leave(position, monitor);
    monitor.position = null;
    monitor.conditions.drop();
    shape.monitors -= 1;
    if (shape.monitors === 0) this.#shapes.delete(shape.key);
  }
}

function formatOf(monitor: Monitor): Format {
  return monitor.version === 1 ? 1 : 2;
}

function idTextOf(id: Json): string | OvsdbError {
  const tooLong = new OvsdbError('resources exhausted', 'the monitor ID is too long');
  try {
    const text = serialize(id);
    return text.length <= ID_TEXT_MAX ? text : tooLong;
  } catch (error) {
    // Numbers may be longer written than read.
    if (error instanceof RangeError) return tooLong;
    throw error;
  }
}

function unlessTooLong<T>(make: () => T): T | UpdatesTooLong {
  try {
    return make();
  } catch (error) {
    if (error instanceof UpdatesTooLong) return error;
    throw error;
  }
}
