/**
 * The requests "monitor", "monitor_cond", "monitor_cond_since" and "monitor_cond_change", read and
 * checked. Nothing is done yet: a request that is wrong anywhere has no effect.
 */
import { assert } from '../../stdx/index.ts';
import { isError, type OvsdbError, syntaxError } from '../data/error.ts';
import { MemberParser } from '../data/member-parser.ts';
import { parseUuid, UUID_ZERO, type Uuid } from '../data/uuid.ts';
import { isArray, isObject, type Json, type JsonArray, type JsonObject } from '../json/value.ts';
import type { Column } from '../schema/column.ts';
import { UUID_COLUMN } from '../schema/table-schema.ts';
import type { Database } from '../store/database.ts';
import type { Table } from '../store/table.ts';
import { parseCondition } from '../transact/condition.ts';
import { EVERY_ROW, MonitorCondition } from './monitor-condition.ts';
import { SELECT_ALL, Select, type UpdateKind } from './select.ts';
import { ShapeTable } from './shape-table.ts';

export const monitorVersions = { monitor: 1, monitor_cond: 2, monitor_cond_since: 3 } as const;

export type MonitorMethod = keyof typeof monitorVersions;

/** Whether the session has a monitor of that id already. */
export type IdTaken = (id: Json) => boolean;

export interface MonitorRequest {
  readonly version: 1 | 2 | 3;
  readonly id: Json;
  /** In the order of their names. */
  readonly tables: readonly ShapeTable[];
  readonly conditions: ReadonlyMap<Table, MonitorCondition>;
  /** Zero: the client knows none. */
  readonly lastTxnId: Uuid;
}

/** `params`: [database, id, requests, last transaction]. */
export function parseMonitorRequest(
  method: MonitorMethod,
  params: JsonArray,
  database: Database,
  idTaken: IdTaken,
): MonitorRequest | OvsdbError {
  const version = monitorVersions[method];
  const countRight = version === 1 ? params.length >= 3 : params.length === version + 1;
  if (!countRight) return syntaxError(params, 'invalid parameters');
  const [, id, requests, lastJson] = params;
  if (!isObject(requests)) return syntaxError(requests, 'monitor-requests must be object');
  if (idTaken(id)) return syntaxError(id, 'duplicate monitor ID');
  const tables: ShapeTable[] = [];
  const conditions = new Map<Table, MonitorCondition>();
  for (const [name, json] of Object.entries(requests)) {
    const table = database.tables.get(name);
    if (table === undefined) return syntaxError(undefined, `no table named ${name}`);
    const reader = new TableRequests(table, version);
    const problem = reader.readAll(json);
    if (problem !== null) return problem;
    tables.push(reader.shapeTable());
    conditions.set(table, reader.condition ?? EVERY_ROW);
  }
  const lastTxnId = version === 3 ? parseLastTxnId(lastJson) : UUID_ZERO;
  if (isError(lastTxnId)) return lastTxnId;
  tables.sort((a, b) => (a.key < b.key ? -1 : 1));
  return { version, id, tables, conditions, lastTxnId };
}

function parseLastTxnId(json: Json): Uuid | OvsdbError {
  if (typeof json !== 'string') return syntaxError(json, 'last-txn-id must be string');
  return parseUuid(json) ?? syntaxError(json, 'last-txn-id must be UUID format.');
}

/** The requests of one table: one, or an array with different columns. */
class TableRequests {
  readonly #table: Table;
  readonly #version: 1 | 2 | 3;
  readonly #selects: Map<Column, number> = new Map();
  #select: number = 0;
  /** The first request's; `null`: none yet. */
  condition: MonitorCondition | null = null;

  constructor(table: Table, version: 1 | 2 | 3) {
    this.#table = table;
    this.#version = version;
  }

  readAll(json: Json): OvsdbError | null {
    if (!isArray(json)) return this.#read(json);
    for (const element of json) {
      const problem = this.#read(element);
      if (problem !== null) return problem;
    }
    return null;
  }

  shapeTable(): ShapeTable {
    const columns = [...this.#selects].map(([column, select]) => ({ column, select }));
    columns.sort((a, b) => a.column.index - b.column.index);
    return new ShapeTable(this.#table, this.#select, columns);
  }

  #read(json: Json): OvsdbError | null {
    const { name } = this.#table.schema;
    const parser = new MemberParser(json, `table ${name}`);
    const where = this.#version === 1 ? undefined : parser.optionalArray('where');
    const columns = parser.optionalArray('columns');
    const selectJson = parser.optionalObject('select');
    const problem = parser.finish();
    if (problem !== null) return problem;
    const select = parseSelect(selectJson, name);
    if (isError(select)) return select;
    this.#select |= select;
    return this.#readColumns(columns, select) ?? this.#readWhere(where);
  }

  #readColumns(json: JsonArray | undefined, select: number): OvsdbError | null {
    const { schema } = this.#table;
    const names = json ?? schema.columns.filter((c) => c.index !== UUID_COLUMN).map((c) => c.name);
    for (const name of names) {
      if (typeof name !== 'string') return syntaxError(json, 'array of column names expected');
      const column = schema.byName.get(name);
      if (column === undefined) return syntaxError(json, `${name} is not a valid column name`);
      if (this.#selects.has(column)) {
        return syntaxError(json, `column ${name} mentioned more than once`);
      }
      this.#selects.set(column, select);
    }
    return null;
  }

  #readWhere(where: JsonArray | undefined): OvsdbError | null {
    const condition = parseWhere(where, this.#table);
    if (isError(condition)) return condition;
    this.condition ??= condition;
    return null;
  }
}

function parseSelect(json: JsonObject | undefined, table: string): number | OvsdbError {
  if (json === undefined) return SELECT_ALL;
  const parser = new MemberParser(json, `table ${table} select`);
  let select = 0;
  for (const kind of Object.keys(Select) as UpdateKind[]) {
    if (parser.optionalBoolean(kind) ?? true) select |= Select[kind];
  }
  return parser.finish() ?? select;
}

function parseWhere(where: JsonArray | undefined, table: Table): MonitorCondition | OvsdbError {
  if (where === undefined) return EVERY_ROW;
  const condition = parseCondition(where, table.schema, null);
  return isError(condition) ? condition : new MonitorCondition(condition);
}

/** `params`: [old id, new id, requests]. `tables`: of the monitor. */
export function parseChangeRequest(
  params: JsonArray,
  database: Database,
  tables: ReadonlyMap<Table, ShapeTable>,
): ReadonlyMap<Table, MonitorCondition> | OvsdbError {
  assert(params.length === 3, 'parseChangeRequest: the id was looked at already');
  const requests = params[2];
  if (!isObject(requests)) {
    return syntaxError(undefined, 'monitor-cond-change-requests must be object');
  }
  const conditions = new Map<Table, MonitorCondition>();
  for (const [name, json] of Object.entries(requests)) {
    const table = database.tables.get(name);
    if (table === undefined) return syntaxError(undefined, `no table named ${name}`);
    if (!tables.has(table)) {
      return syntaxError(undefined, `no table named ${name} in monitor session`);
    }
    if (!isArray(json)) {
      return syntaxError(undefined, `table ${name} no monitor-cond-change JSON array`);
    }
    for (const element of json) {
      const condition = parseOneChange(element, table);
      if (isError(condition)) return condition;
      conditions.set(table, condition);
    }
  }
  return conditions;
}

function parseOneChange(json: Json, table: Table): MonitorCondition | OvsdbError {
  const parser = new MemberParser(json, `table ${table.schema.name}`);
  const columns = parser.optionalArray('columns');
  const where = parser.optionalArray('where');
  const problem = parser.finish();
  if (problem !== null) return problem;
  if (columns !== undefined) return syntaxError(json, 'changing columns is unsupported');
  return parseWhere(where, table);
}
