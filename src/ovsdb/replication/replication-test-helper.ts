/** Two servers' cores with a wire between them that can be held, cut and joined. */
import assert from 'node:assert/strict';
import { Prng } from '../../stdx/index.ts';
import { OvsdbError } from '../data/error.ts';
import { uuidsFromPrng } from '../data/uuid.ts';
import { parseJson } from '../json/parse.ts';
import { serialize, serializeSorted } from '../json/serialize.ts';
import type { Json, JsonArray, JsonObject } from '../json/value.ts';
import { databaseToRecord } from '../record/write.ts';
import type { Schema } from '../schema/schema.ts';
import { type CoreEffect, OvsdbCore, type ServedOptions } from '../server/index.ts';
import { Database } from '../store/database.ts';
import { jsonOf, schemaOf } from '../transact/transact-test-helper.ts';
import type { SourceEffect } from './effects.ts';

export const schemaText: string =
  '{"name":"D","version":"1.0.0","tables":{"T":{"columns":{"name":{"type":"string"},' +
  '"n":{"type":{"key":"integer","min":0}},"s":{"type":{"key":"string","min":0,"max":9}}},' +
  '"indexes":[["name"]],"isRoot":true},"U":{"columns":{"u":{"type":"integer"}},"isRoot":true}}}';

export class Server {
  readonly core: OvsdbCore;
  readonly #client: number;
  #lastId: number = 0;
  readonly replies: Map<Json, JsonObject> = new Map();
  /** What other sessions are sent. */
  onEffect: (effect: CoreEffect) => void = () => {};
  /** The storage refuses everything. */
  full: boolean = false;
  nowMs: number = 0;
  /** Transaction ids, when this server has them. */
  txnIds: (() => string) | null = null;

  constructor(seed: number) {
    const uuids = uuidsFromPrng(new Prng(seed));
    this.core = new OvsdbCore({ uuids, serverId: uuids() });
    const options = { readOnly: false, role: '', clientId: null, label: 'test' };
    this.#client = this.core.openSession(options);
    this.core.receive(this.#client, { id: 0, method: 'set_db_change_aware', params: [true] });
    this.settle();
  }

  add(options: Partial<ServedOptions> = {}, text: string = schemaText): this {
    const schema: Schema = schemaOf(text);
    const database = new Database(schema);
    const { name } = schema;
    this.core.addDatabase({ name, database, model: 'standalone', ...options }, this.nowMs);
    return this;
  }

  settle(): void {
    for (;;) {
      const effects = this.core.takeEffects();
      for (const effect of effects) this.#execute(effect);
      if (effects.length > 0) continue;
      const deadline = this.core.deadlineMs();
      if (deadline === null || deadline > this.nowMs) return;
      this.core.tick(this.nowMs);
    }
  }

  #execute(effect: CoreEffect): void {
    if (effect.kind === 'append') {
      const { database, number } = effect;
      if (this.full) {
        this.core.appendFailed(database, number, new OvsdbError('I/O error', 'full'), this.nowMs);
      } else this.core.appended(database, number, this.nowMs, this.txnIds?.());
    } else if (effect.kind === 'send' && effect.session === this.#client) {
      const message = jsonOf(effect.text) as JsonObject;
      this.replies.set(message['id'], message);
    } else this.onEffect(effect);
  }

  /** Asks and does not wait; the reply is found under the id. */
  ask(method: string, params: JsonArray): number {
    this.#lastId += 1;
    this.core.receive(this.#client, { id: this.#lastId, method, params });
    this.settle();
    return this.#lastId;
  }

  transact(...operations: JsonObject[]): Json {
    const id = this.ask('transact', ['D', ...operations]);
    return this.replies.get(id)?.['result'] ?? null;
  }

  insert(table: string, ...rows: JsonObject[]): void {
    const results = this.transact(...rows.map((row) => ({ op: 'insert', table, row })));
    assert.doesNotMatch(serialize(results), /error/);
  }

  /** The whole content as text. */
  get content(): string {
    const database = this.core.database('D');
    return database === null ? 'nothing' : serializeSorted(databaseToRecord(database));
  }
}

/** Whatever follows another server: a backup or a relay. */
export interface Follower {
  connected(nowMs: number): void;
  disconnected(nowMs: number): void;
  receive(json: Json, nowMs: number): void;
  takeEffects(): SourceEffect[];
}

export class Wire {
  readonly #from: Server;
  readonly #to: Server;
  readonly #follower: Follower;
  #session: number | null = null;
  /** Holds what the source says, when it matches. */
  hold: ((message: JsonObject) => boolean) | null = null;
  readonly held: JsonObject[] = [];
  readonly notes: string[] = [];

  constructor(from: Server, to: Server, follower: Follower) {
    this.#from = from;
    this.#to = to;
    this.#follower = follower;
    from.onEffect = (effect) => this.#fromSource(effect);
  }

  join(): void {
    const options = { readOnly: false, role: '', clientId: null, label: 'follower' };
    this.#session = this.#from.core.openSession(options);
    this.#follower.connected(this.#to.nowMs);
    this.run();
  }

  cut(): void {
    if (this.#session !== null) this.#from.core.closeSession(this.#session);
    this.#session = null;
    this.#follower.disconnected(this.#to.nowMs);
    this.run();
  }

  get joined(): boolean {
    return this.#session !== null;
  }

  release(): void {
    this.hold = null;
    for (const message of this.held.splice(0)) this.#follower.receive(message, this.#to.nowMs);
    this.run();
  }

  /** Until nothing moves. */
  run(): void {
    for (let quiet = 0; quiet < 3; quiet++) {
      this.#from.settle();
      this.#to.settle();
      for (const effect of this.#follower.takeEffects()) {
        quiet = 0;
        if (effect.kind === 'send') this.#toSource(effect.text);
        else if (effect.kind === 'log') this.notes.push(`${effect.level} ${effect.text}`);
        else {
          this.notes.push(`${effect.kind}: ${effect.reason}`);
          if (this.#session !== null) this.#from.core.closeSession(this.#session);
          this.#session = null;
        }
      }
    }
  }

  #toSource(text: string): void {
    const json = parseJson(text);
    assert.ok(json.ok, text);
    if (this.#session !== null) this.#from.core.receive(this.#session, json.value);
  }

  #fromSource(effect: CoreEffect): void {
    if (effect.kind === 'drop' && effect.session === this.#session) {
      this.#session = null;
      this.#follower.disconnected(this.#to.nowMs);
    }
    if (effect.kind !== 'send' || effect.session !== this.#session) return;
    const message = jsonOf(effect.text) as JsonObject;
    if (this.hold?.(message) === true || this.held.length > 0) this.held.push(message);
    else this.#follower.receive(message, this.#to.nowMs);
  }
}
