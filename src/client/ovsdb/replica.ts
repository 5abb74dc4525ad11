/**
 * A live copy of some columns of some tables: updates of the three kinds go in, changes of rows
 * come out. A complete content (after a reconnect at which the server no longer knew where we were)
 * is compared with what is here, so what comes out of it are the same changes.
 */
import { type Column, isObject, type Json, memberOf, type Uuid } from '../../ovsdb/index.ts';
import { OvsdbClientError, OvsdbErrorCode } from './errors.ts';
import { type AnyRow, changeRow, readRow, rowsEqual } from './row-values.ts';

export interface WatchedTable {
  readonly name: string;
  readonly columns: readonly Column[];
}

export interface RowChange {
  readonly table: string;
  readonly uuid: Uuid;
  readonly kind: 'insert' | 'modify' | 'delete';
  /** `null`: there was none. */
  readonly before: AnyRow | null;
  /** `null`: there is none any more. */
  readonly after: AnyRow | null;
}

/** 1: old and new; 2: differences. */
export type UpdateVersion = 1 | 2;

export class Replica {
  #watched: ReadonlyMap<string, WatchedTable> = new Map();
  readonly #tables: Map<string, Map<Uuid, AnyRow>> = new Map();

  constructor(watched: readonly WatchedTable[]) {
    this.watch(watched);
  }

  /** The same tables with perhaps other columns; rows are brought up by the next content. */
  watch(watched: readonly WatchedTable[]): void {
    this.#watched = new Map(watched.map((table) => [table.name, table]));
    for (const { name } of watched) if (!this.#tables.has(name)) this.#tables.set(name, new Map());
  }

  columns(table: string): readonly Column[] {
    return this.#watched.get(table)?.columns ?? [];
  }

  rows(table: string): ReadonlyMap<Uuid, AnyRow> | undefined {
    return this.#tables.get(table);
  }

  /** Every row, as inserts. */
  content(): RowChange[] {
    return [...this.#tables].flatMap(([table, rows]) =>
      [...rows].map(([uuid, after]): RowChange => {
        return { table, uuid, kind: 'insert', before: null, after };
      }),
    );
  }

  /** Takes an update: <table-updates> of either kind. */
  update(updates: Json, version: UpdateVersion): RowChange[] {
    const changes: RowChange[] = [];
    for (const [table, uuid, update] of rowUpdates(updates, this.#watched)) {
      const before = this.#rowsOf(table.name).get(uuid) ?? null;
      const after =
        version === 1 ? afterV1(update, uuid, table) : afterV2(update, uuid, table, before);
      this.#set(changes, table, uuid, before, after);
    }
    return changes;
  }

  /** Takes the whole content: rows that are not in it are gone. */
  replace(updates: Json, version: UpdateVersion): RowChange[] {
    const changes: RowChange[] = [];
    const kept = new Map([...this.#tables.keys()].map((name) => [name, new Set<Uuid>()]));
    for (const [table, uuid, update] of rowUpdates(updates, this.#watched)) {
      const before = this.#rowsOf(table.name).get(uuid) ?? null;
      const after =
        version === 1 ? afterV1(update, uuid, table) : afterV2(update, uuid, table, null);
      if (after !== null) kept.get(table.name)?.add(uuid);
      const same = before !== null && after !== null && rowsEqual(before, after, table.columns);
      if (!same) this.#set(changes, table, uuid, before, after);
    }
    for (const [name, rows] of this.#tables) {
      const table = this.#watched.get(name) as WatchedTable;
      for (const [uuid, before] of [...rows]) {
        if (!kept.get(name)?.has(uuid)) this.#set(changes, table, uuid, before, null);
      }
    }
    return changes;
  }

  #rowsOf(table: string): Map<Uuid, AnyRow> {
    return this.#tables.get(table) as Map<Uuid, AnyRow>;
  }

  #set(
    changes: RowChange[],
    table: WatchedTable,
    uuid: Uuid,
    before: AnyRow | null,
    after: AnyRow | null,
  ): void {
    const rows = this.#rowsOf(table.name);
    if (after === null) rows.delete(uuid);
    else rows.set(uuid, after);
    if (before === null && after === null) return;
    const kind = before === null ? 'insert' : after === null ? 'delete' : 'modify';
    changes.push({ table: table.name, uuid, kind, before, after });
  }
}

function* rowUpdates(
  updates: Json,
  watched: ReadonlyMap<string, WatchedTable>,
): Generator<[WatchedTable, Uuid, Json]> {
  for (const [name, rows] of membersOf(updates)) {
    const table = watched.get(name);
    if (table === undefined) continue;
    for (const [uuid, update] of membersOf(rows)) yield [table, uuid, update];
  }
}

function membersOf(json: Json): [string, Json][] {
  if (!isObject(json)) throw protocolError('an update is not an object');
  return Object.entries(json);
}

function afterV1(update: Json, uuid: Uuid, { columns }: WatchedTable): AnyRow | null {
  if (!isObject(update)) throw protocolError('an update of a row is not an object');
  const after = memberOf(update, 'new');
  return after === undefined ? null : readRow(uuid, after, columns);
}

function afterV2(
  update: Json,
  uuid: Uuid,
  { columns }: WatchedTable,
  before: AnyRow | null,
): AnyRow | null {
  if (!isObject(update)) throw protocolError('an update of a row is not an object');
  const whole = memberOf(update, 'initial') ?? memberOf(update, 'insert');
  if (whole !== undefined) return readRow(uuid, whole, columns);
  const difference = memberOf(update, 'modify');
  if (difference === undefined) return null;
  if (before === null) throw protocolError(`row ${uuid} changed, and was never there`);
  return changeRow(before, difference, columns);
}

function protocolError(message: string): OvsdbClientError {
  return new OvsdbClientError(OvsdbErrorCode.protocol, message);
}
