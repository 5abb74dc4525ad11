/**
 * Rows: immutable, of a shape fixed by their table's schema. A change makes a new row that shares
 * every datum it did not change, so whoever holds a row (a monitor's history, a transaction under
 * way, a snapshot being written) holds that state.
 */
import { assert } from '../../stdx/index.ts';
import { compareDatums, type Datum, strideOf } from '../data/datum.ts';
import { datumToJson } from '../data/datum-json.ts';
import type { Uuid } from '../data/uuid.ts';
import type { Json, JsonObject } from '../json/value.ts';
import type { Column } from '../schema/column.ts';
import { STANDARD_COLUMNS, type TableSchema, UUID_COLUMN } from '../schema/table-schema.ts';

export class Row {
  readonly uuid: Uuid;
  /** Changes with every change of the row's content, references to it not counting. */
  readonly version: Uuid;
  /** Of declared columns, in their order; built-in ones are not here. */
  readonly #declared: readonly Datum[];
  /** Strong references from other rows, each place counting. */
  readonly references: number;

  constructor(uuid: Uuid, version: Uuid, declared: readonly Datum[], references: number) {
    this.uuid = uuid;
    this.version = version;
    this.#declared = declared;
    this.references = references;
  }

  /** The value of the column with this index. */
  datum(index: number): Datum {
    if (index >= STANDARD_COLUMNS) return this.#declared[index - STANDARD_COLUMNS];
    return [index === UUID_COLUMN ? this.uuid : this.version];
  }

  /** The row with some declared columns changed, by index. */
  with(changes: ReadonlyMap<number, Datum>): Row {
    const declared = [...this.#declared];
    for (const [index, datum] of changes) {
      assert(index >= STANDARD_COLUMNS, 'Row.with: a built-in column does not change');
      declared[index - STANDARD_COLUMNS] = datum;
    }
    return new Row(this.uuid, this.version, declared, this.references);
  }

  /** The same content under another version and with another count. */
  finished(version: Uuid, references: number): Row {
    if (version === this.version && references === this.references) return this;
    return new Row(this.uuid, version, this.#declared, references);
  }
}

/** A row of default values but for `values`, by index; built-in columns among them are ignored. */
export function createRow(
  schema: TableSchema,
  uuid: Uuid,
  version: Uuid,
  values: ReadonlyMap<number, Datum>,
): Row {
  const declared: Datum[] = [];
  for (let i = STANDARD_COLUMNS; i < schema.columns.length; i++) {
    declared.push(values.get(i) ?? schema.columns[i].initial);
  }
  return new Row(uuid, version, declared, 0);
}

/** Atoms in the row, built-in columns included: the measure of history and database size. */
export function atomCount(row: Row, schema: TableSchema): number {
  let count = STANDARD_COLUMNS;
  for (let i = STANDARD_COLUMNS; i < schema.columns.length; i++) count += row.datum(i).length;
  return count;
}

/** Orders rows by some columns, the first weighing most. */
export function compareRows(a: Row, b: Row, columns: readonly Column[]): number {
  for (const { index, type } of columns) {
    const order = compareDatums(a.datum(index), b.datum(index), type);
    if (order !== 0) return order;
  }
  return 0;
}

/**
 * Text that is the same for two rows exactly when they agree in these columns. Atoms are separated
 * by U+0000, which no string holds.
 */
export function rowKey(row: Row, columns: readonly Column[]): string {
  if (columns.length === 1) return columnKey(row, columns[0]);
  return columns.map((column) => columnKey(row, column)).join('\0');
}

function columnKey(row: Row, { index, type }: Column): string {
  const datum = row.datum(index);
  if (type.min === 1 && type.max === 1 && strideOf(type) === 1) return String(datum[0]);
  return datum.length === 0 ? '0' : `${datum.length}\0${datum.join('\0')}`;
}

export function rowToJson(row: Row, columns: readonly Column[]): JsonObject {
  const json: { [column: string]: Json } = {};
  for (const { name, index, type } of columns) json[name] = datumToJson(row.datum(index), type);
  return json;
}
