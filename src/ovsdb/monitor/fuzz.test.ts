/**
 * Random transactions, some taken back again, under monitors of every kind that are flushed when
 * chance has it, change their conditions, go away and come back: each message must say exactly what
 * a naive monitor says, and a client that believes it must have the rows.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isError } from '../data/error.ts';
import { UUID_ZERO, type Uuid } from '../data/uuid.ts';
import { serialize, serializeSorted } from '../json/serialize.ts';
import type { Json, JsonArray, JsonObject } from '../json/value.ts';
import type { ChangeSet } from '../store/change-set.ts';
import { jsonOf, schemaOf, TestDatabase } from '../transact/transact-test-helper.ts';
import { Workload, workloadSchema } from '../transact/workload-test-helper.ts';
import { DatabaseMonitors } from './database-monitors.ts';
import type { MonitorMethod } from './monitor-request.ts';
import {
  NaiveMonitor,
  type NaiveRequest,
  Replica,
  type State,
  stateOf,
} from './naive-monitor-test-helper.ts';
import type { Monitor } from './shape.ts';

const HISTORY = 6;

interface Client {
  readonly method: MonitorMethod;
  readonly naive: NaiveMonitor;
  readonly replica: Replica;
  readonly request: NaiveRequest;
  /** Selects everything, so that the replica is complete. */
  readonly whole: boolean;
  readonly id: Json;
  wheres: { [table: string]: JsonArray };
  lastTxnId: Uuid;
  monitor: Monitor | null;
}

class Fuzz {
  readonly workload: Workload;
  readonly db: TestDatabase;
  readonly monitors: DatabaseMonitors;
  readonly clients: Client[] = [];
  /** Applied, not confirmed; with what the database looked like after each. */
  readonly ahead: { changes: ChangeSet; state: State }[] = [];
  /** What confirmed transactions left behind. */
  readonly states: Map<Uuid, State> = new Map();
  /** Transactions that a client may come back from. */
  readonly history: { id: Uuid; atoms: number }[] = [];
  commits: number = 0;
  now: State;
  messages: number = 0;
  resumed: number = 0;
  forgotten: number = 0;
  taken: number = 0;

  constructor(seed: number) {
    this.workload = new Workload(seed);
    this.db = new TestDatabase(schemaOf(workloadSchema), seed);
    this.monitors = new DatabaseMonitors(this.db.database, { historyMax: HISTORY });
    this.now = stateOf(this.db.database);
  }

  step(): void {
    const { workload } = this;
    const dice = workload.prng.below(20);
    if (dice < 9) this.transact();
    else if (dice < 12) this.confirm();
    else if (dice < 13) this.takeBack();
    else if (dice < 14 && this.clients.length < 12) this.connect();
    else if (this.clients.length > 0) this.#clientStep(dice);
  }

  #clientStep(dice: number): void {
    const client = this.workload.pick(this.clients);
    if (client.monitor === null) this.comeBack(client);
    else if (dice < 18) this.flush(client, client.monitor);
    else if (dice < 19) this.changeConditions(client, client.monitor);
    else this.goAway(client, client.monitor);
  }

  transact(): void {
    const count = this.db.history.length;
    this.db.transact(this.workload.transaction());
    const changes = this.db.history.at(-1);
    if (changes === undefined || this.db.history.length === count) return;
    this.ahead.push({ changes, state: stateOf(this.db.database) });
    this.monitors.applied(changes);
  }

  confirm(): void {
    const next = this.ahead.shift();
    if (next === undefined) return;
    const id = this.db.uuids();
    this.now = next.state;
    this.states.set(id, next.state);
    this.commits += 1;
    this.#remember(id, next.changes.atoms);
    this.monitors.committed(next.changes, id);
    assert.equal(this.monitors.lastTxnId, id);
    for (const { monitor } of this.clients) {
      // Chance decides for most; some are prompt.
      if (monitor !== null && monitor.owner === 'prompt') this.flushAllOf(monitor);
    }
  }

  /** As many as may be, but no more atoms than the database has; always the latest. */
  #remember(id: Uuid, atoms: number): void {
    this.history.push({ id, atoms });
    const tooMuch = (): boolean =>
      this.history.reduce((sum, entry) => sum + entry.atoms, 0) > this.db.database.atoms;
    while (this.history.length > 1 && (this.history.length > HISTORY || tooMuch())) {
      this.history.shift();
    }
  }

  takeBack(): void {
    const last = this.ahead.pop();
    if (last === undefined) return;
    this.db.database.revert(last.changes);
    this.monitors.reverted(last.changes);
    this.taken += 1;
  }

  connect(): void {
    const { workload } = this;
    const method = workload.pick<MonitorMethod>(['monitor', 'monitor_cond', 'monitor_cond_since']);
    const version = { monitor: 1, monitor_cond: 2, monitor_cond_since: 3 }[method];
    const whole = !workload.chance(3);
    const request: { [table: string]: NaiveRequest[string] } = {};
    for (const table of ['R', 'N', 'M']) {
      if (workload.chance(3)) continue;
      const { columns } = this.db.database.table(table).schema;
      const names = columns.map(({ name }) => name).filter(() => !workload.chance(3));
      const entry: { columns: string[]; where?: JsonArray; select?: { [kind: string]: boolean } } =
        {
          columns: names,
        };
      if (method !== 'monitor' && !workload.chance(2)) entry.where = this.#where(table);
      if (!whole) entry.select = this.#select();
      // Without columns the original shows no row of the table at all.
      if (names.length > 0) request[table] = entry;
    }
    // A few shapes are shared.
    const twin = this.clients.find((c) => c.method === method);
    const asked = twin !== undefined && workload.chance(2) ? twin.request : request;
    const naive = new NaiveMonitor(version, this.db.database, asked);
    const client: Client = {
      method,
      naive,
      replica: new Replica(naive.tables),
      request: asked,
      whole: Object.values(asked).every(({ select }) => select === undefined),
      id: workload.pick<Json>(['id', ['a', 1], null, 'id']),
      wheres: Object.fromEntries(Object.entries(asked).map(([t, r]) => [t, r.where ?? []])),
      lastTxnId: UUID_ZERO,
      monitor: null,
    };
    this.clients.push(client);
    this.#open(client);
  }

  comeBack(client: Client): void {
    if (this.workload.chance(4)) {
      this.clients.splice(this.clients.indexOf(client), 1);
      return;
    }
    this.#open(client);
  }

  #open(client: Client): void {
    const params: Json[] = ['D', client.id, this.#requestOf(client)];
    if (client.method === 'monitor_cond_since') params.push(client.lastTxnId);
    const opened = this.monitors.open(client.method, params);
    assert.ok(!isError(opened), String(opened));
    client.monitor = opened.monitor;
    client.monitor.owner = this.workload.chance(3) ? 'prompt' : null;
    const reply = jsonOf(serialize(opened.reply));
    let updates = reply;
    if (client.method === 'monitor_cond_since') {
      const [found, last, since] = reply as [boolean, Uuid, Json];
      assert.equal(found, this.#remembers(client.lastTxnId), 'found');
      assert.equal(last, this.monitors.lastTxnId);
      updates = since;
      if (found) {
        this.resumed += 1;
        client.naive.resume(this.states.get(client.lastTxnId) as State);
        this.#check(client, client.naive.update(this.now), updates);
        client.lastTxnId = last;
        return;
      }
      if (client.lastTxnId !== UUID_ZERO) this.forgotten += 1;
      client.lastTxnId = last;
    }
    client.replica.clear();
    this.#check(client, client.naive.initial(this.now), updates);
  }

  #requestOf(client: Client): Json {
    const entries = Object.entries(client.request).map(([table, request]): [string, Json] => {
      const where = client.wheres[table] ?? [];
      const json: { [member: string]: Json } = { columns: request.columns };
      if (request.select !== undefined) json['select'] = request.select;
      if (client.method !== 'monitor') json['where'] = where;
      return [table, this.workload.chance(2) ? json : [json]];
    });
    return Object.fromEntries(entries);
  }

  #remembers(id: Uuid): boolean {
    return this.history.some((entry) => entry.id === id);
  }

  flushAllOf(monitor: Monitor): void {
    const client = this.clients.find((c) => c.monitor === monitor) as Client;
    this.flush(client, monitor);
  }

  flush(client: Client, monitor: Monitor): void {
    const pending = this.monitors.pending().includes(monitor);
    const message = this.monitors.flush(monitor);
    assert.ok(message === null || pending, 'told without being pending');
    assert.ok(!this.monitors.pending().includes(monitor), 'still pending');
    this.#hear(client, message, client.naive.update(this.now));
  }

  changeConditions(client: Client, monitor: Monitor): void {
    const wheres: { [table: string]: JsonArray } = {};
    for (const table of Object.keys(client.request)) {
      if (!this.workload.chance(3)) wheres[table] = this.#where(table);
    }
    const requests = Object.fromEntries(
      Object.entries(wheres).map(([t, where]) => [t, [{ where }]]),
    );
    const changed = this.monitors.change(monitor, [client.id, client.id, requests]);
    assert.ok(!isError(changed), String(changed));
    const conditional = client.method !== 'monitor';
    if (conditional) Object.assign(client.wheres, wheres);
    const conditions = new Map(conditional ? Object.entries(wheres) : []);
    this.#hear(client, changed.update, client.naive.update(this.now, conditions));
    // Without an update it is not told how far it got, but new conditions count from here.
    client.lastTxnId = this.monitors.lastTxnId;
  }

  goAway(client: Client, monitor: Monitor): void {
    this.monitors.close(monitor);
    client.monitor = null;
  }

  #hear(client: Client, message: string | null, expected: Json): void {
    if (message === null) {
      assert.equal(serializeSorted(expected), '{}');
      if (client.whole) assert.equal(client.replica.text(), client.replica.expected(this.now));
      return;
    }
    this.messages += 1;
    const json = jsonOf(message) as JsonObject;
    const params = json['params'] as JsonArray;
    assert.equal(json['id'], null);
    assert.deepEqual(params[0], client.id);
    if (client.method === 'monitor_cond_since') {
      assert.equal(json['method'], 'update3');
      assert.equal(params[1], this.monitors.lastTxnId);
      client.lastTxnId = params[1] as Uuid;
    } else assert.equal(json['method'], client.method === 'monitor' ? 'update' : 'update2');
    this.#check(client, expected, params.at(-1) as Json);
  }

  #check(client: Client, expected: Json, updates: Json): void {
    assert.equal(serializeSorted(updates), serializeSorted(jsonOf(serialize(expected))));
    if (!client.whole) return;
    client.replica.apply(updates);
    assert.equal(client.replica.text(), client.replica.expected(this.now));
  }

  #where(table: string): JsonArray {
    const valid: Json[] = [];
    const count = this.workload.prng.below(4);
    for (let i = 0; valid.length < count && i < 50; i++) {
      const clause = this.workload.clause(table);
      const { database } = this.db;
      const probe = new DatabaseMonitors(database).open('monitor_cond', [
        'D',
        'x',
        { [table]: { columns: [], where: [clause] } },
      ]);
      if (!isError(probe)) valid.push(clause);
    }
    if (valid.length > 0 && this.workload.chance(3)) valid.push(valid[0] as Json);
    return valid;
  }

  #select(): { [kind: string]: boolean } {
    const kinds = ['initial', 'insert', 'delete', 'modify'];
    const chosen = kinds.filter(() => this.workload.chance(2));
    return Object.fromEntries(chosen.map((kind) => [kind, this.workload.chance(4)]));
  }
}

for (const seed of [1, 2, 3, 4]) {
  test(`monitors tell exactly what happened, seed ${seed}`, () => {
    const fuzz = new Fuzz(seed);
    for (let i = 0; i < 6000; i++) fuzz.step();
    assert.ok(fuzz.messages > 300, `only ${fuzz.messages} messages`);
    assert.ok(fuzz.resumed > 5 && fuzz.forgotten > 5, `resumed ${fuzz.resumed} ${fuzz.forgotten}`);
    assert.ok(fuzz.taken > 20 && fuzz.commits > 300);
    for (const client of fuzz.clients)
      if (client.monitor !== null) fuzz.goAway(client, client.monitor);
    assert.equal(fuzz.monitors.pendingRows, 0);
    assert.equal(fuzz.monitors.shapeCount, 0);
    assert.equal(fuzz.monitors.conditionCount, 0);
  });
}
