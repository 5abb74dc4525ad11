/**
 * A relay of one database: a copy in memory of what another server has, with its transaction ids,
 * so that many clients can read here, and "transact" requests that write, sent on to that server.
 * It looks at the other server's `_Server` and moves on when that one is cut off or behind. While
 * there is no connection, clients go on reading what there is.
 */
import { assert } from '../../stdx/index.ts';
import { isError, type OvsdbError, syntaxError } from '../data/error.ts';
import { parseUuid, UUID_ZERO, type Uuid, type UuidSource } from '../data/uuid.ts';
import { parseJson } from '../json/parse.ts';
import { serialize } from '../json/serialize.ts';
import { isArray, type Json, type JsonArray, jsonEqual } from '../json/value.ts';
import { parseSchema, type Schema, schemasEqual } from '../schema/schema.ts';
import type { OvsdbCore } from '../server/core.ts';
import { type Message, readMessage, replyText } from '../server/message.ts';
import { SERVER_DATABASE } from '../server/server-database.ts';
import { Database } from '../store/database.ts';
import { precommit } from '../transact/precommit.ts';
import type { SourceEffect } from './effects.ts';
import { RemoteStatus } from './remote-status.ts';
import { draftOfUpdates } from './updates.ts';

export type RelayState =
  | 'disconnected'
  | 'server-schema'
  | 'server-monitor'
  | 'schema'
  | 'monitor'
  | 'monitoring';

export interface RelayOptions {
  readonly core: OvsdbCore;
  /** Added to the core as model "relay", with `forwards`, no journal and no database yet. */
  readonly name: string;
  readonly uuids: UuidSource;
}

/** For so long after the connection broke the relay still says that it is connected, ms. */
export const RELAY_GRACE_MS = 30_000;

const methods = { 1: 'monitor', 2: 'monitor_cond', 3: 'monitor_cond_since' } as const;

export class Relay {
  readonly #core: OvsdbCore;
  readonly #name: string;
  readonly #uuids: UuidSource;
  #state: RelayState = 'disconnected';
  #requestId: number = 0;
  #lastId: number = 0;
  #remote: RemoteStatus;
  /** Of the data's monitor; the next to try while it is asked for. */
  #version: 1 | 2 | 3 = 3;
  /** Of the other server. */
  #schema: Schema | null = null;
  #lastTxnId: Uuid = UUID_ZERO;
  /** Not sent yet. */
  readonly #waiting: Map<number, JsonArray> = new Map();
  /** Sent: the id under which → the core's number. */
  readonly #sent: Map<number, number> = new Map();
  #lastConnectedMs: number | null = null;
  #effects: SourceEffect[] = [];

  constructor({ core, name, uuids }: RelayOptions) {
    this.#core = core;
    this.#name = name;
    this.#uuids = uuids;
    this.#remote = new RemoteStatus(name, uuids);
  }

  get state(): RelayState {
    return this.#state;
  }

  takeEffects(): SourceEffect[] {
    const effects = this.#effects;
    this.#effects = [];
    return effects;
  }

  connected(nowMs: number): void {
    this.#remote.restart();
    this.#version = 3;
    this.#request('server-schema', 'get_schema', [SERVER_DATABASE]);
    this.tick(nowMs);
  }

  /** What was sent and not answered may or may not have been done: that is all clients are told. */
  disconnected(nowMs: number): void {
    if (this.#state === 'monitoring') this.#lastConnectedMs = nowMs;
    this.#state = 'disconnected';
    this.#requestId = 0;
    const sent = [...this.#sent.values()];
    this.#sent.clear();
    for (const number of sent) this.#core.forwarded(this.#name, number, { error: 'canceled' });
    this.tick(nowMs);
  }

  /** When {@link tick} has something to do, ms. */
  deadlineMs(): number | null {
    if (this.#state === 'monitoring' || this.#lastConnectedMs === null) return null;
    if (!this.#core.status(this.#name).connected) return null;
    return this.#lastConnectedMs + RELAY_GRACE_MS;
  }

  tick(nowMs: number): void {
    const graceMs = this.#lastConnectedMs === null ? 0 : this.#lastConnectedMs + RELAY_GRACE_MS;
    const connected = this.#state === 'monitoring' || nowMs < graceMs;
    if (this.#core.status(this.#name).connected === connected) return;
    this.#core.setStatus(this.#name, { connected }, nowMs);
  }

  /** The core's effect `forward`: sent now, or as soon as it can be. */
  forward(number: number, params: JsonArray): void {
    this.#waiting.set(number, params);
    this.#sendWaiting();
  }

  #sendWaiting(): void {
    if (this.#state !== 'monitoring') return;
    for (const [number, params] of this.#waiting) {
      this.#lastId += 1;
      this.#sent.set(this.#lastId, number);
      this.#send(serialize({ id: this.#lastId, method: 'transact', params }));
    }
    this.#waiting.clear();
  }

  /** One message of the other server, parsed. */
  receive(json: Json, nowMs: number): void {
    if (this.#state === 'disconnected') return;
    const message = readMessage(json);
    switch (message.kind) {
      case 'request':
        if (message.method === 'echo') this.#send(replyText(message.id, serialize(message.params)));
        break;
      case 'notification':
        this.#onNotification(message.method, message.params, nowMs);
        break;
      case 'reply':
      case 'error':
        this.#onReply(message, nowMs);
        break;
      case 'malformed':
        this.#reconnect(message.reason, nowMs);
    }
  }

  #onReply(message: Message & { kind: 'reply' | 'error' }, nowMs: number): void {
    const { id, content, kind } = message;
    if (id === this.#requestId) {
      this.#requestId = 0;
      if (kind === 'reply') this.#onAnswer(content, nowMs);
      else this.#onRefusal(content, nowMs);
      return;
    }
    const number = typeof id === 'number' ? this.#sent.get(id) : undefined;
    if (number === undefined) return;
    this.#sent.delete(id as number);
    const reply = kind === 'reply' ? { result: content } : { error: content };
    this.#core.forwarded(this.#name, number, reply);
  }

  #onAnswer(content: Json, nowMs: number): void {
    switch (this.#state) {
      case 'server-schema': {
        const requests = { Database: [{ columns: this.#remote.columns }] };
        this.#request('server-monitor', 'monitor_cond', [
          SERVER_DATABASE,
          this.#remote.id,
          requests,
        ]);
        break;
      }
      case 'server-monitor':
        this.#onServerStatus(content, nowMs);
        break;
      case 'schema':
        this.#version = 2;
        this.#onSchema(content, nowMs);
        break;
      case 'monitor':
        this.#onInitial(content, nowMs);
        break;
      default:
        assert(false, 'Relay: a reply to nothing');
    }
  }

  /** Servers from before `_Server`, and before each of the three ways to monitor. */
  #onRefusal(content: Json, nowMs: number): void {
    switch (this.#state) {
      case 'server-schema':
      case 'server-monitor':
        this.#request('schema', 'get_schema', [this.#name]);
        break;
      case 'monitor':
        if (this.#version > 1) {
          this.#version = this.#version === 3 ? 2 : 1;
          this.#monitor();
          break;
        }
        this.#reconnect(`it refuses to be monitored: ${serialize(content)}`, nowMs);
        break;
      default:
        this.#reconnect(`unexpected error: ${serialize(content)}`, nowMs);
    }
  }

  /** What a monitor told that is cancelled already does not count. */
  #onServerUpdate(updates: Json, nowMs: number): void {
    if (this.#state === 'monitor' || this.#state === 'monitoring') {
      this.#onServerStatus(updates, nowMs);
    }
  }

  #onServerStatus(updates: Json, nowMs: number): void {
    const problem = this.#remote.update(updates) ?? this.#remote.whyNot();
    if (problem !== null) {
      this.#reconnect(problem, nowMs);
      return;
    }
    if (this.#state !== 'server-monitor') return;
    this.#lastId += 1;
    this.#send(serialize({ id: this.#lastId, method: 'set_db_change_aware', params: [true] }));
    const schema = parseJson(this.#remote.schemaText);
    if (schema.ok) this.#onSchema(schema.value, nowMs);
    else this.#reconnect('its schema is not JSON', nowMs);
  }

  #onSchema(json: Json, nowMs: number): void {
    const schema = parseSchema(json);
    if (isError(schema) || schema.name !== this.#name) {
      this.#reconnect(isError(schema) ? String(schema) : 'a schema of another name', nowMs);
      return;
    }
    this.#schema = schema;
    this.#monitor();
  }

  #monitor(): void {
    assert(this.#schema !== null, 'Relay: monitors what it does not know');
    const requests = Object.fromEntries(
      [...this.#schema.tables.keys()].map((name) => [name, [{}]]),
    );
    const params: Json[] = [this.#name, this.#monitorId, requests];
    if (this.#version === 3) params.push(this.#knownTxnId());
    this.#request('monitor', methods[this.#version], params);
  }

  get #monitorId(): Json {
    return ['monid', this.#name];
  }

  /** The other server may go on from there only if what is here is of the same schema. */
  #knownTxnId(): Uuid {
    const ours = this.#core.database(this.#name);
    assert(this.#schema !== null, 'Relay: no schema');
    return ours !== null && schemasEqual(ours.schema, this.#schema) ? this.#lastTxnId : UUID_ZERO;
  }

  #onInitial(content: Json, nowMs: number): void {
    let [found, txnId, updates]: [Json, Json, Json] = [false, UUID_ZERO, content];
    if (this.#version === 3) {
      if (!isArray(content) || content.length !== 3) {
        this.#reconnect('bad monitor_cond_since reply format', nowMs);
        return;
      }
      [found, txnId, updates] = content as [Json, Json, Json];
    }
    const problem = this.#take(updates, found !== true, txnId, nowMs);
    if (problem !== null) {
      this.#reconnect(String(problem), nowMs);
      return;
    }
    this.#state = 'monitoring';
    this.#core.setStatus(this.#name, { connected: true }, nowMs);
    this.#sendWaiting();
  }

  /** `whole`: the updates are all that there is. */
  #take(updates: Json, whole: boolean, txnJson: Json, nowMs: number): OvsdbError | null {
    const txnId = typeof txnJson === 'string' ? parseUuid(txnJson) : null;
    if (txnId === null) return syntaxError(txnJson, 'Last-id is not in UUID format.');
    const format = this.#version === 1 ? 1 : 2;
    const options = { format, whole: whole ? () => true : null, uuids: this.#uuids } as const;
    const ours = this.#core.database(this.#name);
    assert(this.#schema !== null, 'Relay: updates without a schema');
    let problem: OvsdbError | null = null;
    if (whole && (ours === null || !schemasEqual(ours.schema, this.#schema))) {
      const fresh = filled(new Database(this.#schema), updates, options);
      if (isError(fresh)) return fresh;
      const what = ours === null ? 'connected to storage' : 'schema changed';
      this.#core.replaceDatabase(this.#name, fresh, nowMs, `database ${this.#name} ${what}`);
    } else {
      const done = (error: OvsdbError | null): void => {
        problem = error;
      };
      const compose = (database: Database) => draftOfUpdates(database, updates, options);
      this.#core.compose(this.#name, compose, nowMs, { done, txnId });
    }
    if (problem === null) this.#lastTxnId = txnId;
    return problem;
  }

  #onNotification(method: string, params: JsonArray, nowMs: number): void {
    switch (method) {
      case 'update':
      case 'update2':
      case 'update3':
        if (jsonEqual(params[0], this.#remote.id)) this.#onServerUpdate(params[1], nowMs);
        else if (jsonEqual(params[0], this.#monitorId)) this.#onUpdate(params, nowMs);
        break;
      case 'monitor_canceled':
        // Another schema: everything from the start, on the same connection.
        if (!jsonEqual(params[0], this.#monitorId)) break;
        this.#lastId += 1;
        this.#send(
          serialize({ id: this.#lastId, method: 'monitor_cancel', params: [this.#remote.id] }),
        );
        this.connected(nowMs);
    }
  }

  #onUpdate(params: JsonArray, nowMs: number): void {
    if (this.#state !== 'monitoring') return;
    const three = this.#version === 3;
    const [txnId, updates] = three ? [params[1], params[2]] : [UUID_ZERO, params[1]];
    const problem = this.#take(updates, false, txnId, nowMs);
    if (problem === null) return;
    // What is here is not what is there: the whole of it again.
    this.#lastTxnId = UUID_ZERO;
    this.#reconnect(String(problem), nowMs);
  }

  #request(state: RelayState, method: string, params: JsonArray): void {
    this.#lastId += 1;
    this.#requestId = this.#lastId;
    this.#state = state;
    this.#send(serialize({ id: this.#requestId, method, params }));
  }

  #send(text: string): void {
    this.#effects.push({ kind: 'send', text });
  }

  #reconnect(reason: string, nowMs: number): void {
    this.disconnected(nowMs);
    this.#effects.push({ kind: 'reconnect', reason });
  }
}

function filled(
  database: Database,
  updates: Json,
  options: Parameters<typeof draftOfUpdates>[2],
): Database | OvsdbError {
  const draft = draftOfUpdates(database, updates, options);
  const changes = isError(draft) ? draft : precommit(draft);
  if (isError(changes)) return changes;
  if (changes !== null) database.apply(changes);
  return database;
}
