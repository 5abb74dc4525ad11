/**
 * The pipeline against a storage that refuses at random: a model that takes one stored record after
 * another must agree with what clients are told, answers, reads and monitors alike.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng } from '../../stdx/index.ts';
import { isError, OvsdbError } from '../data/error.ts';
import { uuidsFromPrng } from '../data/uuid.ts';
import { compareText, serialize, serializeSorted } from '../json/serialize.ts';
import type { Json, JsonObject } from '../json/value.ts';
import { draftOfRecord } from '../record/read.ts';
import { databaseToRecord } from '../record/write.ts';
import { Database } from '../store/database.ts';
import { checkInvariants } from '../store/invariants-test-helper.ts';
import { precommit } from '../transact/precommit.ts';
import { jsonOf, tablesOf } from '../transact/transact-test-helper.ts';
import { OvsdbCore } from './index.ts';

const schema = tablesOf(
  '{"T":{"columns":{"name":{"type":"string"},"n":{"type":"integer"},' +
    '"u":{"type":{"key":{"type":"uuid","refTable":"U"},"min":0,"max":"unlimited"}}},' +
    '"indexes":[["name"]],"isRoot":true},"U":{"columns":{"k":{"type":"integer"}}}}',
);

/** What was stored, and the rows that a monitoring client believes in. */
type Rows = Map<string, JsonObject>;

interface Asked {
  readonly session: number;
  readonly operations: readonly JsonObject[];
}

class Run {
  readonly #prng: Prng;
  readonly #core: OvsdbCore;
  readonly #stored: Database = new Database(schema);
  readonly #uuids;
  readonly #sessions: number[] = [];
  /** Sent to the storage, which has not said anything yet. */
  #pending: { number: number; record: JsonObject }[] = [];
  readonly #asked: Map<number, Asked> = new Map();
  /** Names of rows that nobody deletes: whether whoever inserted them was told that they are. */
  readonly #inserted: Map<string, boolean> = new Map();
  readonly #replicas: Map<number, Rows> = new Map();
  #nextId: number = 0;
  #nowMs: number = 0;
  answers: number = 0;
  refusals: number = 0;
  reads: number = 0;

  constructor(seed: number) {
    this.#prng = new Prng(seed);
    this.#uuids = uuidsFromPrng(new Prng(seed + 1));
    const serverId = 'd0000000-0000-4000-8000-000000000001';
    this.#core = new OvsdbCore({ uuids: this.#uuids, serverId });
    const database = new Database(schema);
    this.#core.addDatabase({ name: 'D', database, model: 'standalone' }, 0);
    for (let i = 0; i < 4; i++) this.#connect();
  }

  #connect(): void {
    const id = this.#core.openSession({ readOnly: false, role: '', clientId: null, label: '' });
    this.#sessions.push(id);
    if (this.#prng.below(2) === 0) return;
    this.#replicas.set(id, new Map());
    const params = ['D', 'm', { T: { columns: ['name', 'n'] } }];
    this.#core.receive(id, { id: 'monitor', method: 'monitor', params });
    this.#settle();
  }

  step(): void {
    const what = this.#prng.below(20);
    if (what < 11) this.#ask();
    else if (what < 16) this.#confirm();
    else if (what < 17) this.#refuse();
    else if (what < 18) this.#tick(this.#prng.below(50));
    else if (what === 18) this.#toggleBacklog();
    else if (this.#prng.below(8) === 0) this.#leave();
    this.#settle();
    this.#compareReplicas();
  }

  end(): void {
    for (const session of this.#sessions) this.#core.drained(session);
    this.#settle();
    this.#tick(10_000);
    while (this.#pending.length > 0) {
      this.#confirm();
      this.#tick(10_000);
    }
    this.#compareReplicas();
    assert.deepEqual([...this.#asked.keys()], [], 'everything was answered');
    const database = this.#core.database('D') as Database;
    checkInvariants(database);
    const text = (of: Database): string => serializeSorted(databaseToRecord(of));
    assert.equal(text(database), text(this.#stored), 'the tables are what was stored');
    const names = new Set([...this.#stored.table('T').rows()].map((row) => row.datum(2)[0]));
    for (const [name, is] of this.#inserted) assert.equal(names.has(name), is, name);
  }

  #operations(): JsonObject[] {
    const name = `r${this.#prng.below(12)}`;
    const where: Json = [['name', '==', name]];
    switch (this.#prng.below(9)) {
      case 0:
      case 1: {
        const unique = `unique${this.#nextId}`;
        return [
          { op: 'insert', table: 'U', row: { k: this.#nextId }, 'uuid-name': 'k' },
          { op: 'insert', table: 'T', row: { name: unique, u: ['named-uuid', 'k'] } },
        ];
      }
      case 2:
        return [{ op: 'insert', table: 'T', row: { name } }];
      case 3:
        return [{ op: 'delete', table: 'T', where }];
      case 4:
      case 5:
        return [{ op: 'mutate', table: 'T', where: [], mutations: [['n', '+=', 1]] }];
      case 6: {
        const rows = [{ name }];
        const columns = ['name'];
        const wait = { op: 'wait', table: 'T', where, columns, until: '==', rows };
        return [
          { ...wait, timeout: this.#prng.below(100) },
          { op: 'delete', table: 'T', where },
        ];
      }
      default:
        return [{ op: 'select', table: 'T', where: [], columns: ['name', 'n'], sort: ['name'] }];
    }
  }

  #ask(): void {
    const session = this.#anySession();
    const operations = this.#operations();
    const id = this.#nextId++;
    this.#asked.set(id, { session, operations });
    this.#core.receive(session, { id, method: 'transact', params: ['D', ...operations] });
  }

  #anySession(): number {
    return this.#sessions[this.#prng.below(this.#sessions.length)];
  }

  #confirm(): void {
    const next = this.#pending.shift();
    if (next === undefined) return;
    const draft = draftOfRecord(this.#stored, next.record, {
      uuids: this.#uuids,
      converting: false,
    });
    assert.ok(!isError(draft), String(draft));
    const changes = precommit(draft);
    assert.ok(changes !== null && !isError(changes), 'a stored record can be applied');
    this.#stored.apply(changes);
    this.#core.appended('D', next.number, this.#nowMs);
    this.#takeEffects();
  }

  #refuse(): void {
    if (this.#pending.length === 0) return;
    const first = this.#prng.below(this.#pending.length);
    const refused = this.#pending.splice(first);
    const error = new OvsdbError('I/O error', 'no space');
    const last = refused[this.#prng.below(refused.length)].number;
    this.refusals += 1;
    this.#core.appendFailed('D', refused[0].number, error, this.#nowMs, last);
  }

  #tick(ms: number): void {
    this.#nowMs += ms;
    this.#core.tick(this.#nowMs);
    this.#settle();
  }

  #toggleBacklog(): void {
    const session = this.#anySession();
    if (this.#core.wantsInput(session)) this.#core.backlogged(session);
    else this.#core.drained(session);
  }

  #leave(): void {
    const session = this.#sessions.splice(this.#prng.below(this.#sessions.length), 1)[0];
    this.#core.closeSession(session);
    this.#takeEffects();
    this.#replicas.delete(session);
    for (const [id, asked] of this.#asked) if (asked.session === session) this.#asked.delete(id);
    this.#connect();
  }

  #settle(): void {
    for (;;) {
      this.#takeEffects();
      const deadline = this.#core.deadlineMs();
      if (deadline === null || deadline > this.#nowMs) return;
      this.#core.tick(this.#nowMs);
    }
  }

  #takeEffects(): void {
    for (const effect of this.#core.takeEffects()) {
      if (effect.kind === 'append') {
        const last = this.#pending.at(-1)?.number ?? 0;
        assert.ok(effect.number > last, 'numbers grow');
        this.#pending.push({ number: effect.number, record: effect.record as JsonObject });
      } else if (effect.kind === 'send') {
        this.#received(effect.session, jsonOf(effect.text) as JsonObject);
      } else assert.fail(serialize({ kind: effect.kind }));
    }
  }

  #received(session: number, message: JsonObject): void {
    if (message['method'] === 'update') {
      const [, updates] = message['params'] as [string, JsonObject];
      this.#update(session, updates);
    } else if (message['id'] === 'monitor') {
      this.#update(session, message['result'] as JsonObject);
    } else this.#answered(session, Number(message['id']), message['result'] as Json[]);
  }

  #answered(session: number, id: number, result: readonly Json[]): void {
    const asked = this.#asked.get(id);
    assert.ok(asked !== undefined, `${id} was answered twice, or never asked`);
    assert.equal(asked.session, session);
    this.#asked.delete(id);
    this.answers += 1;
    const failed = result.some((element) => Object.hasOwn(Object(element), 'error'));
    for (const [i, { op, row }] of asked.operations.entries()) {
      if (op === 'select') this.#checkRead((result[i] as JsonObject)['rows'] as JsonObject[]);
      const name = String((row as JsonObject | undefined)?.['name']);
      if (name.startsWith('unique')) this.#inserted.set(name, !failed);
    }
  }

  /** One append is confirmed at a time, so what is read must be exactly what is stored. */
  #checkRead(rows: readonly JsonObject[]): void {
    this.reads += 1;
    const told = rows.map(({ name, n }) => `${name} ${n}`);
    assert.deepEqual(told, [...this.#storedRows().values()].sort(compareText));
  }

  #storedRows(): Map<string, string> {
    const rows = [...this.#stored.table('T').rows()];
    return new Map(rows.map((row) => [row.uuid, `${row.datum(2)[0]} ${row.datum(3)[0]}`]));
  }

  #update(session: number, { T = {} }: { T?: JsonObject }): void {
    const replica = this.#replicas.get(session);
    assert.ok(replica !== undefined, 'an update for who did not ask');
    for (const [uuid, update] of Object.entries(T)) {
      const { new: now } = update as { new?: JsonObject };
      if (now === undefined) assert.ok(replica.delete(uuid), 'what goes was there');
      else replica.set(uuid, now);
    }
  }

  #compareReplicas(): void {
    for (const [session, replica] of this.#replicas) {
      if (!this.#core.wantsInput(session)) continue;
      const told = [...replica].map(([uuid, { name, n }]) => [uuid, `${name} ${n}`] as const);
      const stored = [...this.#storedRows()];
      assert.deepEqual(new Map(told), new Map(stored), 'only what is stored is told');
    }
  }
}

test('whatever the storage refuses, clients are told what was stored and nothing else', () => {
  let answers = 0;
  let refusals = 0;
  let reads = 0;
  for (let seed = 1; seed <= 60; seed++) {
    const run = new Run(seed);
    for (let i = 0; i < 250; i++) run.step();
    run.end();
    answers += run.answers;
    refusals += run.refusals;
    reads += run.reads;
  }
  assert.ok(answers > 5000 && refusals > 300 && reads > 500, `${answers} ${refusals} ${reads}`);
});
