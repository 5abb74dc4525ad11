/** The replica and its readers beside a plain map, through thousands of random updates. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  applyDiff,
  type Column,
  type Datum,
  datumToJson,
  diffDatums,
  isError,
  type Json,
  parseDatum,
  parseJson,
  parseSchema,
  type Schema,
} from '../../ovsdb/index.ts';
import { Prng } from '../../stdx/index.ts';
import { ChangeQueue, QUEUE_CHANGES_MAX } from './change-queue.ts';
import { Replica, type RowChange } from './replica.ts';
import { type AnyRow, datumOf, rowsEqual } from './row-values.ts';
import { SCHEMA_TEXT } from './scripted-server-test-helper.ts';

function schemaOf(text: string): Schema {
  const json = parseJson(text);
  assert.ok(json.ok);
  const schema = parseSchema(json.value);
  assert.ok(!isError(schema));
  return schema;
}

const columns = (schemaOf(SCHEMA_TEXT).tables.get('T')?.columns ?? []).slice(2);

type TwinRow = Map<string, Datum>;

/** The database that the replica follows. */
class Twin {
  readonly rows: Map<string, TwinRow> = new Map();
  readonly #prng: Prng;

  constructor(prng: Prng) {
    this.#prng = prng;
  }

  randomValue({ name, type }: Column): Datum {
    const { min, max, value } = type;
    const few = (): string[] => ['a', 'b', 'c', 'd'].filter(() => this.#prng.below(2) === 0);
    let json: Json =
      name === 'n' ? (this.#prng.below(2) === 0 ? ['set', []] : this.#prng.below(4)) : 'x';
    if (value !== null) json = ['map', few().map((key) => [key, String(this.#prng.below(3))])];
    else if (max > 1) json = ['set', few()];
    else if (min === 1) json = String(this.#prng.below(3));
    const datum = parseDatum(json, type, null);
    assert.ok(!isError(datum), String(datum));
    return datum;
  }

  randomRow(): TwinRow {
    return new Map(columns.map((column) => [column.name, this.randomValue(column)]));
  }

  /** A random change as <table-updates> of both kinds. */
  step(): { v1: Json; v2: Json } {
    const uuid = `a0000000-0000-4000-8000-00000000000${this.#prng.below(6)}`;
    const before = this.rows.get(uuid);
    if (before === undefined) {
      const row = this.randomRow();
      this.rows.set(uuid, row);
      return both(uuid, { new: whole(row) }, { insert: whole(row, true) });
    }
    if (this.#prng.below(4) === 0) {
      this.rows.delete(uuid);
      return both(uuid, { old: whole(before) }, { delete: null });
    }
    const after = this.randomRow();
    this.rows.set(uuid, after);
    const diff = columns.flatMap(({ name, type }): [string, Json][] => {
      const [old, fresh] = [before.get(name) as Datum, after.get(name) as Datum];
      const same = old.length === fresh.length && old.every((atom, i) => atom === fresh[i]);
      return same ? [] : [[name, datumToJson(diffDatums(old, fresh, type), type)]];
    });
    return both(
      uuid,
      { old: Object.fromEntries(diff), new: whole(after) },
      { modify: Object.fromEntries(diff) },
    );
  }

  content(): Json {
    return {
      T: Object.fromEntries(
        [...this.rows].map(([uuid, row]) => [uuid, { initial: whole(row, true) }]),
      ),
    };
  }
}

function both(uuid: string, v1: Json, v2: Json): { v1: Json; v2: Json } {
  return { v1: { T: { [uuid]: v1 } }, v2: { T: { [uuid]: v2 } } };
}

/** `sparse`: default values are left out. */
function whole(row: TwinRow, sparse: boolean = false): Json {
  return Object.fromEntries(
    columns.flatMap(({ name, type, initial }) => {
      const datum = row.get(name) as Datum;
      const isDefault =
        datum.length === initial.length && datum.every((one, i) => one === initial[i]);
      return sparse && isDefault ? [] : [[name, datumToJson(datum, type)]];
    }),
  );
}

function assertSame(rows: ReadonlyMap<string, AnyRow>, twin: Twin, what: string): void {
  assert.deepEqual(new Set(rows.keys()), new Set(twin.rows.keys()), what);
  for (const [uuid, row] of rows) {
    for (const { name } of columns) {
      assert.deepEqual([...datumOf(row[name])], [...(twin.rows.get(uuid)?.get(name) ?? [])], what);
    }
  }
}

/** Applies changes as a reader does, and checks that each fits what is there. */
function follow(mirror: Map<string, AnyRow>, rows: readonly RowChange[]): void {
  for (const { uuid, kind, before, after } of rows) {
    assert.equal(mirror.get(uuid) ?? null, before, 'a change begins with what was there');
    assert.equal(kind, before === null ? 'insert' : after === null ? 'delete' : 'modify');
    if (after === null) mirror.delete(uuid);
    else mirror.set(uuid, after);
  }
}

for (const version of [1, 2] as const) {
  test(`updates of kind ${version} and whole contents lead to the same rows`, () => {
    for (let seed = 0; seed < 40; seed++) {
      const prng = new Prng(seed);
      const twin = new Twin(prng);
      const replica = new Replica([{ name: 'T', columns }]);
      const mirror = new Map<string, AnyRow>();
      for (let i = 0; i < 100; i++) {
        const { v1, v2 } = twin.step();
        // Now and then the connection is gone for a while.
        if (prng.below(10) === 0) {
          twin.step();
          twin.step();
          follow(mirror, replica.replace(twin.content(), 2));
          assert.deepEqual(replica.replace(twin.content(), 2), [], 'the same content is no change');
        } else follow(mirror, replica.update(version === 1 ? v1 : v2, version));
        const rows = replica.rows('T') as ReadonlyMap<string, AnyRow>;
        assertSame(rows, twin, `seed ${seed} step ${i}`);
        assert.deepEqual(new Map(rows), mirror);
      }
    }
  });
}

test('a wrong difference would be noticed', () => {
  const twin = new Twin(new Prng(1));
  const replica = new Replica([{ name: 'T', columns }]);
  replica.update(twin.step().v2, 2);
  twin.step();
  assert.throws(() => assertSame(replica.rows('T') as ReadonlyMap<string, AnyRow>, twin, ''));
  const [column] = columns as [Column];
  assert.deepEqual(applyDiff(['a'], ['b'], column.type), ['b']);
});

test('a slow reader gets the same rows in the end, in no more entries than rows', async () => {
  const prng = new Prng(7);
  const twin = new Twin(prng);
  const replica = new Replica([{ name: 'T', columns }]);
  const queue = new ChangeQueue();
  for (let i = 0; i < 3 * QUEUE_CHANGES_MAX; i++) {
    const rows = replica.update(twin.step().v2, 2);
    queue.push({ kind: 'update', rows, lastTransaction: String(i) });
  }
  queue.end(null);
  const mirror = new Map<string, AnyRow>();
  let taken = 0;
  let last = '';
  for (let change = await queue.next(); change !== null; change = await queue.next()) {
    taken += 1;
    last = change.lastTransaction ?? '';
    follow(mirror, change.rows);
    if (taken === QUEUE_CHANGES_MAX) assert.ok(change.rows.length <= 6);
  }
  assert.equal(taken, QUEUE_CHANGES_MAX);
  assert.equal(last, String(3 * QUEUE_CHANGES_MAX - 1));
  const rows = replica.rows('T') as ReadonlyMap<string, AnyRow>;
  assert.deepEqual(mirror, new Map(rows));
  const [one] = [...rows.values()];
  assert.ok(one === undefined || rowsEqual(one, one, columns));
});
