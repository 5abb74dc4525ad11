/**
 * What has become of rows between two moments, however many commits lie between: each row as it was
 * and as it is. A row that came and went is not in it; one that went and came again has changed.
 * Rows are immutable and shared with the tables, so an entry costs little.
 */
import { assert } from '../../stdx/index.ts';
import type { Uuid } from '../data/uuid.ts';
import type { Row } from '../store/row.ts';

export interface DifferentRow {
  /** `null`: there was none. Not both. */
  before: Row | null;
  /** `null`: there is none. */
  after: Row | null;
}

export type DifferentRows = ReadonlyMap<Uuid, DifferentRow>;

/** `T` stands for tables. */
export class Difference<T> {
  readonly #tables: Map<T, Map<Uuid, DifferentRow>> = new Map();

  /** By table; none is empty. */
  get tables(): ReadonlyMap<T, DifferentRows> {
    return this.#tables;
  }

  get empty(): boolean {
    return this.#tables.size === 0;
  }

  /** Rows in all. */
  get size(): number {
    let size = 0;
    for (const rows of this.#tables.values()) size += rows.size;
    return size;
  }

  rowsOf(table: T): DifferentRows | undefined {
    return this.#tables.get(table);
  }

  /** One row changes once more. Changes that nobody cares for may have been left out. */
  add(table: T, uuid: Uuid, before: Row | null, after: Row | null): void {
    assert(before !== null || after !== null, 'Difference: no row at all');
    let rows = this.#tables.get(table);
    if (rows === undefined) {
      rows = new Map();
      this.#tables.set(table, rows);
    }
    const row = rows.get(uuid);
    if (row === undefined) {
      rows.set(uuid, { before, after });
      return;
    }
    assert((row.after === null) === (before === null), 'Difference: a row came or went unseen');
    row.after = after;
    if (row.before === null && after === null) this.#forget(table, rows, uuid);
  }

  addAll(later: Difference<T>): void {
    for (const [table, rows] of later.#tables) {
      for (const [uuid, { before, after }] of rows) this.add(table, uuid, before, after);
    }
  }

  /** The same as {@link addAll}, at the cost of the smaller of the two; `later` is used up. */
  absorb(later: Difference<T>): void {
    for (const [table, rows] of later.#tables) {
      const own = this.#tables.get(table);
      if (own === undefined) this.#tables.set(table, rows);
      else if (own.size >= rows.size) {
        for (const [uuid, { before, after }] of rows) this.add(table, uuid, before, after);
      } else {
        this.#precede(table, own, rows);
      }
    }
  }

  /** Puts what was before into the rows of a later difference, which become this one's. */
  #precede(table: T, earlier: Map<Uuid, DifferentRow>, rows: Map<Uuid, DifferentRow>): void {
    this.#tables.set(table, rows);
    for (const [uuid, row] of earlier) {
      const later = rows.get(uuid);
      if (later === undefined) {
        rows.set(uuid, row);
        continue;
      }
      assert((row.after === null) === (later.before === null), 'Difference: came or went unseen');
      later.before = row.before;
      if (later.before === null && later.after === null) this.#forget(table, rows, uuid);
    }
  }

  #forget(table: T, rows: Map<Uuid, DifferentRow>, uuid: Uuid): void {
    rows.delete(uuid);
    if (rows.size === 0) this.#tables.delete(table);
  }
}
