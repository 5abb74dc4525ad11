/**
 * The updates of single rows as text, for one monitored table: <row-update> of RFC 7047 §4.1.6,
 * and <row-update2> of the original's monitor_cond, which leaves default values out and sends
 * differences.
 */
import { datumsEqual, diffDatums } from '../data/datum.ts';
import { datumToJson } from '../data/datum-json.ts';
import type { Json } from '../json/value.ts';
import type { Column } from '../schema/column.ts';
import type { Row } from '../store/row.ts';
import { objectWriter, type RowObject } from '../store/row-text.ts';
import { Select, type UpdateKind } from './select.ts';

export interface MonitoredColumn {
  readonly column: Column;
  /** Bits of {@link Select}. */
  readonly select: number;
}

/** 1: of "monitor"; 2: of the others. */
export type Format = 1 | 2;

export class RowUpdates {
  readonly #select: number;
  readonly #columns: readonly Column[];
  /** For each kind those columns that want to hear of it. */
  readonly #selected: { readonly [kind in UpdateKind]: readonly Column[] };
  readonly #write: (object: RowObject) => string;

  constructor(select: number, columns: readonly MonitoredColumn[]) {
    const wanting = (kind: UpdateKind): Column[] =>
      columns.filter((c) => (c.select & Select[kind]) !== 0).map((c) => c.column);
    this.#select = select;
    this.#columns = columns.map(({ column }) => column);
    this.#selected = {
      initial: wanting('initial'),
      insert: wanting('insert'),
      delete: wanting('delete'),
      modify: wanting('modify'),
    };
    this.#write = objectWriter(this.#columns);
  }

  /** `null`: nothing to tell. A row that is deleted needs no `after`, a new one no `before`. */
  text(format: Format, kind: UpdateKind, before: Row | null, after: Row | null): string | null {
    if ((this.#select & Select[kind]) === 0) return null;
    switch (kind) {
      case 'initial':
      case 'insert':
        return format === 1 ? this.#new1(kind, after as Row) : this.#new2(kind, after as Row);
      case 'delete':
        return format === 1 ? this.#deleted1(before as Row) : '{"delete":null}';
      case 'modify':
        return this.#modified(format, before as Row, after as Row);
    }
  }

  #new1(kind: 'initial' | 'insert', row: Row): string {
    return `{"new":${this.#values(row, this.#selected[kind])}}`;
  }

  #new2(kind: 'initial' | 'insert', row: Row): string {
    const json: { [column: string]: Json } = {};
    for (const { name, index, type, initial } of this.#selected[kind]) {
      const datum = row.datum(index);
      if (!datumsEqual(datum, initial)) json[name] = datumToJson(datum, type);
    }
    return `{"${kind}":${this.#write(json)}}`;
  }

  #deleted1(row: Row): string {
    return `{"old":${this.#values(row, this.#selected.delete)}}`;
  }

  /**
   * A change in a column that does not want to hear of it is told all the same, without its value:
   * so does the original.
   */
  #modified(format: Format, before: Row, after: Row): string | null {
    if (!this.#columns.some((column) => differs(before, after, column))) return null;
    const changed = this.#selected.modify.filter((column) => differs(before, after, column));
    if (format === 1) {
      const now = this.#values(after, this.#selected.modify);
      return `{"old":${this.#values(before, changed)},"new":${now}}`;
    }
    const json: { [column: string]: Json } = {};
    for (const { name, index, type } of changed) {
      json[name] = datumToJson(diffDatums(before.datum(index), after.datum(index), type), type);
    }
    return `{"modify":${this.#write(json)}}`;
  }

  #values(row: Row, columns: readonly Column[]): string {
    const json: { [column: string]: Json } = {};
    for (const { name, index, type } of columns) json[name] = datumToJson(row.datum(index), type);
    return this.#write(json);
  }
}

function differs(before: Row, after: Row, { index }: Column): boolean {
  return !datumsEqual(before.datum(index), after.datum(index));
}
