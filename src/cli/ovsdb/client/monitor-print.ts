/** Updates of a monitor as tables, a row of the table for each row that changed. */
import {
  isArray,
  isObject,
  type Json,
  type JsonArray,
  type JsonObject,
  memberOf,
} from '../../../ovsdb/json/value.ts';
import type { Column } from '../../../ovsdb/schema/column.ts';
import type { TableSchema } from '../../../ovsdb/schema/table-schema.ts';
import type { ClientContext } from './context.ts';
import { PROGRAM } from './fatal.ts';
import { hashOrder } from './format/hash-order.ts';
import type { Cell, TablePrinter } from './format/table.ts';
import { timestampText } from './format/timestamp.ts';

export interface Monitored {
  readonly table: TableSchema;
  readonly columns: readonly Column[];
}

/** Of the updates that arrive: with old and new, with differences, and with ids of transactions. */
export type MonitorVersion = 1 | 2 | 3;

export class MonitorPrinter {
  readonly #context: ClientContext;
  readonly #tables: TablePrinter;
  readonly #monitored: readonly Monitored[];
  readonly #version: MonitorVersion;

  constructor(
    context: ClientContext,
    tables: TablePrinter,
    monitored: readonly Monitored[],
    version: MonitorVersion,
  ) {
    this.#context = context;
    this.#tables = tables;
    this.#monitored = monitored;
    this.#version = version;
  }

  /** The result of the request. */
  initial(result: Json): void {
    if (this.#version < 3) {
      this.#updates(result, true);
      return;
    }
    if (!isArray(result)) this.#complain('<result> is not array');
    const [found, lastId, updates] = result as JsonArray;
    const count = (result as JsonArray).length;
    if (count !== 3) this.#complain(`<result> should have 3 elements, but has ${count}.`);
    this.#context.output.print(`found: ${found === true}, last_id: ${lastId}\n`);
    this.#updates(updates as Json, true);
  }

  /** Anything that is not an update of this monitor is passed over. */
  notification(method: string, params: JsonArray): void {
    const wanted = this.#version === 1 ? 'update' : `update${this.#version}`;
    const isV1 = method === 'update';
    if (method !== wanted && !isV1) return;
    const withId = method === 'update3';
    if (params.length !== (withId ? 3 : 2) || params[0] !== null) return;
    if (withId) this.#context.output.print(`\nlast_id: ${params[1]}`);
    const updates = params[params.length - 1] as Json;
    if (isV1) this.#updates(updates, false, 1);
    else this.#updates(updates, false);
  }

  #complain(text: string): void {
    this.#context.output.complain(`${PROGRAM}: ${text}`);
  }

  #updates(updates: Json, initial: boolean, version: MonitorVersion = this.#version): void {
    if (!isObject(updates)) {
      this.#complain(`<table-updates${version === 1 ? '' : '2'}> is not object`);
      return;
    }
    for (const one of this.#monitored) {
      const update = memberOf(updates, one.table.name);
      if (update !== undefined) this.#table(update, one, initial, version);
    }
  }

  #table(update: Json, { table, columns }: Monitored, initial: boolean, version: number): void {
    if (!isObject(update)) {
      this.#complain(`<table-update> for table ${table.name} is not object`);
      return;
    }
    const rows: Cell[][] = [];
    for (const uuid of hashOrder(Object.keys(update))) {
      const row = update[uuid] as Json;
      if (!isObject(row)) this.#complain(`<row-update${version === 1 ? '' : '2'}> is not object`);
      else if (version === 1) this.#row(rows, uuid, row, columns, initial);
      else this.#row2(rows, uuid, row, columns);
    }
    this.#tables.print({
      ...(this.#monitored.length > 1 ? { caption: table.name } : {}),
      ...(this.#context.timestamp ? { timestamp: timestampText(Date.now()) } : {}),
      headings: ['row', 'action', ...columns.map(({ name }) => name)],
      rows,
    });
  }

  #row(
    rows: Cell[][],
    uuid: string,
    update: JsonObject,
    columns: readonly Column[],
    initial: boolean,
  ): void {
    const old = memberOf(update, 'old');
    const fresh = memberOf(update, 'new');
    const add = (row: Json | undefined, action: string, name: string): void =>
      this.#add(rows, row, action, name, columns);
    if (initial) add(fresh, 'initial', uuid);
    else if (old === undefined) add(fresh, 'insert', uuid);
    else if (fresh === undefined) add(old, 'delete', uuid);
    else {
      add(old, 'old', uuid);
      add(fresh, 'new', '');
    }
  }

  #row2(rows: Cell[][], uuid: string, update: JsonObject, columns: readonly Column[]): void {
    for (const action of ['delete', 'initial', 'modify', 'insert']) {
      const row = memberOf(update, action);
      if (row === undefined) continue;
      if (action !== 'delete') this.#add(rows, row, action, uuid, columns);
      else if (row !== null) this.#complain('delete method does not expect <row>');
      else rows.push([{ text: uuid }, { text: action }]);
      return;
    }
  }

  #add(
    rows: Cell[][],
    row: Json | undefined,
    action: string,
    uuid: string,
    columns: readonly Column[],
  ): void {
    if (row === undefined) {
      this.#complain(`missing ${action} row`);
      return;
    }
    if (!isObject(row)) {
      this.#complain('<row> is not object');
      return;
    }
    const cells = columns.map(({ name, type }): Cell => {
      const json = memberOf(row, name);
      return json === undefined ? {} : { json, type };
    });
    rows.push([{ text: uuid }, { text: action }, ...cells]);
  }
}
