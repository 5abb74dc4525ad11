/**
 * A monitor that keeps a copy of every row it has told of, and compares it with all rows when it is
 * asked: what the clever one must say, to the letter. Beside it a client that knows only what it is
 * told.
 */
import assert from 'node:assert/strict';
import { applyDiff, type Datum, datumsEqual, diffDatums } from '../data/datum.ts';
import { datumToJson, parseDatum, parseTransientDatum } from '../data/datum-json.ts';
import { isError } from '../data/error.ts';
import type { Uuid } from '../data/uuid.ts';
import { compareText, serializeSorted } from '../json/serialize.ts';
import type { Json, JsonArray, JsonObject } from '../json/value.ts';
import type { Column } from '../schema/column.ts';
import type { TableSchema } from '../schema/table-schema.ts';
import type { Database } from '../store/database.ts';
import type { Row } from '../store/row.ts';
import { type Condition, matchesAny, parseCondition } from '../transact/condition.ts';

/** All rows of a database at one moment, by table and UUID. */
export type State = ReadonlyMap<string, ReadonlyMap<Uuid, Row>>;

export function stateOf(database: Database): State {
  const rowsOf = (name: string): Map<Uuid, Row> =>
    new Map([...database.table(name).rows()].map((row) => [row.uuid, row]));
  return new Map([...database.tables.keys()].map((name) => [name, rowsOf(name)]));
}

export interface NaiveTable {
  readonly schema: TableSchema;
  /** With what each column wants to hear of. */
  readonly columns: ReadonlyMap<Column, readonly string[]>;
  condition: Condition;
}

/** One request for each table, whose columns are told of the same kinds of changes. */
export type NaiveRequest = {
  readonly [table: string]: {
    readonly columns: readonly string[];
    readonly select?: { readonly [kind: string]: boolean };
    readonly where?: JsonArray;
  };
};

export class NaiveMonitor {
  readonly #version: number;
  readonly tables: Map<string, NaiveTable> = new Map();
  #told: State = new Map();

  constructor(version: number, database: Database, request: NaiveRequest) {
    this.#version = version;
    for (const [name, { columns, select, where }] of Object.entries(request)) {
      const { schema } = database.table(name);
      const kinds = ['initial', 'insert', 'delete', 'modify'].filter((k) => select?.[k] !== false);
      this.tables.set(name, {
        schema,
        columns: new Map(columns.map((c) => [schema.byName.get(c) as Column, kinds])),
        condition: conditionOf(schema, where),
      });
    }
  }

  /** Everything, as if nothing had been told. */
  initial(now: State): Json {
    this.#told = now;
    return this.#updates(new Map(), now, true, (table) => table.condition);
  }

  /** What has changed. `conditions`: new ones. */
  update(now: State, conditions: ReadonlyMap<string, JsonArray> = new Map()): Json {
    const before = this.#told;
    const old = new Map([...this.tables].map(([name, { condition }]) => [name, condition]));
    for (const [name, where] of conditions) {
      const table = this.tables.get(name) as NaiveTable;
      table.condition = conditionOf(table.schema, where);
    }
    this.#told = now;
    return this.#updates(before, now, false, ({ schema }) => old.get(schema.name) as Condition);
  }

  /** It was told everything until then. */
  resume(state: State): void {
    this.#told = state;
  }

  #updates(
    before: State,
    now: State,
    initial: boolean,
    oldCondition: (table: NaiveTable) => Condition,
  ): Json {
    const updates: { [table: string]: Json } = {};
    for (const [name, table] of this.tables) {
      const rows: { [uuid: string]: Json } = {};
      const [old, is] = [before.get(name), now.get(name)];
      for (const uuid of new Set([...(old?.keys() ?? []), ...(is?.keys() ?? [])])) {
        const shown = (row: Row | undefined, condition: Condition): Row | null =>
          row !== undefined && (condition.length === 0 || matchesAny(row, condition)) ? row : null;
        const was = shown(old?.get(uuid), oldCondition(table));
        const update = this.#row(table, was, shown(is?.get(uuid), table.condition), initial);
        if (update !== null) rows[uuid] = update;
      }
      if (Object.keys(rows).length > 0) updates[name] = rows;
    }
    return updates;
  }

  #row(table: NaiveTable, was: Row | null, is: Row | null, initial: boolean): Json | null {
    if (was === null && is === null) return null;
    const kind = initial ? 'initial' : was === null ? 'insert' : is === null ? 'delete' : 'modify';
    const wanted = [...table.columns].filter(([, kinds]) => kinds.includes(kind)).map(([c]) => c);
    if (wanted.length === 0) return null;
    const differs = (c: Column): boolean =>
      was !== null && is !== null && !datumsEqual(was.datum(c.index), is.datum(c.index));
    if (kind === 'modify' && ![...table.columns.keys()].some(differs)) return null;
    const values = (row: Row, columns: Column[]): JsonObject =>
      Object.fromEntries(columns.map((c) => [c.name, datumToJson(row.datum(c.index), c.type)]));
    if (this.#version === 1) {
      if (was === null) return { new: values(is as Row, wanted) };
      if (is === null) return { old: values(was, wanted) };
      return { old: values(was, wanted.filter(differs)), new: values(is, wanted) };
    }
    if (is === null) return { delete: null };
    if (was === null) {
      const special = wanted.filter((c) => !datumsEqual(is.datum(c.index), c.initial));
      return { [kind]: values(is, special) };
    }
    const diffs = wanted.filter(differs).map((c): [string, Json] => {
      const diff = diffDatums(was.datum(c.index), is.datum(c.index), c.type);
      return [c.name, datumToJson(diff, c.type)];
    });
    return { modify: Object.fromEntries(diffs) };
  }
}

function conditionOf(schema: TableSchema, where: JsonArray | undefined): Condition {
  const condition = parseCondition(where ?? [], schema, null);
  assert.ok(!isError(condition), String(condition));
  return condition;
}

/** What a client has in memory who believes what it is told. */
export class Replica {
  readonly #tables: ReadonlyMap<string, NaiveTable>;
  #rows: Map<string, Map<Column, Datum>> = new Map();

  constructor(tables: ReadonlyMap<string, NaiveTable>) {
    this.#tables = tables;
  }

  clear(): void {
    this.#rows = new Map();
  }

  apply(updates: Json): void {
    for (const [name, rows] of Object.entries(updates as JsonObject)) {
      const table = this.#tables.get(name);
      assert.ok(table !== undefined, `table ${name} was not asked for`);
      for (const [uuid, update] of Object.entries(rows as JsonObject)) {
        this.#applyRow(table, `${name} ${uuid}`, update as JsonObject);
      }
    }
  }

  #applyRow(table: NaiveTable, key: string, update: JsonObject): void {
    const row = this.#rows.get(key);
    const fresh = update['initial'] ?? update['insert'];
    const isNew =
      fresh !== undefined || (update['new'] !== undefined && update['old'] === undefined);
    assert.equal(row === undefined, isNew, `${key} ${serializeSorted(update)}`);
    const next = new Map<Column, Datum>(row);
    if (fresh !== undefined || update['new'] !== undefined) {
      const json = (fresh ?? update['new']) as JsonObject;
      for (const column of table.columns.keys()) {
        const value = json[column.name];
        if (value === undefined) assert.ok(fresh !== undefined, `${key} lacks ${column.name}`);
        next.set(column, value === undefined ? column.initial : datumOf(value, column));
      }
    } else if (update['modify'] !== undefined) {
      for (const [name, value] of Object.entries(update['modify'] as JsonObject)) {
        const column = table.schema.byName.get(name) as Column;
        const diff = parseTransientDatum(value, column.type);
        assert.ok(!isError(diff));
        next.set(column, applyDiff(row?.get(column) as Datum, diff, column.type));
      }
    } else {
      this.#rows.delete(key);
      return;
    }
    this.#rows.set(key, next);
  }

  /** The rows, one a line. */
  text(): string {
    return linesOf(this.#rows);
  }

  /** What a client of such a monitor should have. */
  expected(now: State): string {
    const rows = new Map<string, Map<Column, Datum>>();
    for (const [name, { columns, condition }] of this.#tables) {
      for (const [uuid, row] of now.get(name) ?? []) {
        if (condition.length > 0 && !matchesAny(row, condition)) continue;
        const values = [...columns.keys()].map((c): [Column, Datum] => [c, row.datum(c.index)]);
        rows.set(`${name} ${uuid}`, new Map(values));
      }
    }
    return linesOf(rows);
  }
}

function linesOf(rows: ReadonlyMap<string, ReadonlyMap<Column, Datum>>): string {
  const lines = [...rows].map(([key, values]) => {
    const json = [...values].map(([c, datum]) => [c.name, datumToJson(datum, c.type)]);
    return `${key} ${serializeSorted(Object.fromEntries(json))}`;
  });
  return lines.sort(compareText).join('\n');
}

function datumOf(json: Json, { type }: Column): Datum {
  const datum = parseDatum(json, type, null);
  assert.ok(!isError(datum), String(datum));
  return datum;
}
