/**
 * Monitors that are alike: the same tables, columns and kinds of changes. They share what is kept
 * for them and what is written for them, whatever their conditions and protocol versions are.
 */
import type { Uuid } from '../data/uuid.ts';
import type { Json } from '../json/value.ts';
import type { ChangeSet, RowChange } from '../store/change-set.ts';
import type { Row } from '../store/row.ts';
import type { Table } from '../store/table.ts';
import { Chain, type Position } from './chain.ts';
import { type Conditions, kindOf } from './conditions.ts';
import type { ConfirmedView } from './confirmed-view.ts';
import { Difference } from './difference.ts';
import { InitialText } from './initial-text.ts';
import { CONDITIONAL_INITIALS_MAX, RESUMED_MAX } from './limits.ts';
import type { Address } from './notification.ts';
import { Body, Rendering } from './rendering.ts';
import type { Format } from './row-updates.ts';
import { Select } from './select.ts';
import type { ShapeTable } from './shape-table.ts';
import { UpdatesText } from './updates-text.ts';

/** One monitor of one session. Only `owner` is for others to write. */
export interface Monitor extends Address {
  readonly version: 1 | 2 | 3;
  id: Json;
  idText: string;
  readonly shape: Shape;
  conditions: Conditions;
  /** `null`: closed. */
  position: Position<ShapeTable, Monitor, Rendering> | null;
  /** Its updates are longer than a message may be: the session must be given up. */
  overflowed: boolean;
  /** Whoever opened it. */
  owner: unknown;
}

/** A row that may have to be told about. */
interface Candidate {
  readonly uuid: Uuid;
  readonly before: Row | null;
  readonly after: Row | null;
}

export class Shape {
  readonly key: string;
  readonly tables: ReadonlyMap<Table, ShapeTable>;
  readonly chain: Chain<ShapeTable, Monitor, Rendering>;
  monitors: number = 0;
  readonly #view: ConfirmedView;
  readonly #initials: Map<Format, InitialText> = new Map();
  /** Until the next change. */
  readonly #conditionalInitials: Map<string, string> = new Map();
  /** Of clients that came back, by the transaction that they knew. Until the next change. */
  readonly #resumed: Map<Uuid, Rendering> = new Map();

  constructor(key: string, tables: readonly ShapeTable[], view: ConfirmedView) {
    this.key = key;
    this.tables = new Map(tables.map((table) => [table.table, table]));
    this.chain = new Chain((difference) => new Rendering(difference));
    this.#view = view;
  }

  /** Texts that are kept. */
  get cached(): number {
    const initials = [...this.#initials.values()].filter(({ kept }) => kept).length;
    return this.chain.made + initials + this.#conditionalInitials.size + this.#resumed.size;
  }

  /** From now on changes of the columns that the conditions look at count. */
  lookAt(conditions: Conditions): void {
    for (const table of this.tables.values()) {
      // What was gathered of history lacks changes of the column.
      if (table.lookAt(conditions.of(table))) this.#resumed.clear();
    }
  }

  committed(changes: ChangeSet): void {
    let touched = false;
    for (const { table, rows } of changes.tables) {
      const own = this.tables.get(table);
      if (own === undefined) continue;
      for (const change of rows) if (this.#record(own, change)) touched = true;
    }
    if (!touched) return;
    this.#conditionalInitials.clear();
    this.#resumed.clear();
    for (const initial of this.#initials.values()) initial.committed();
  }

  #record(table: ShapeTable, change: RowChange): boolean {
    if (!table.concerns(change)) return false;
    const { uuid, before, after } = change;
    if (table.follows) this.chain.record(table, uuid, before, after);
    for (const initial of this.#initials.values()) initial.touch(table, uuid);
    return true;
  }

  /** The <table-updates> of an initial reply. */
  initial(format: Format, conditions: Conditions): string {
    if (conditions.key === '') return this.#initialText(format).read(this.#view);
    const key = `${format} ${conditions.key}`;
    const kept = this.#conditionalInitials.get(key);
    if (kept !== undefined) return kept;
    const text = this.#writeInitial(format, conditions);
    if (this.#conditionalInitials.size < CONDITIONAL_INITIALS_MAX) {
      this.#conditionalInitials.set(key, text);
    }
    return text;
  }

  #initialText(format: Format): InitialText {
    let initial = this.#initials.get(format);
    if (initial === undefined) {
      initial = new InitialText(format, [...this.tables.values()]);
      this.#initials.set(format, initial);
    }
    return initial;
  }

  #writeInitial(format: Format, conditions: Conditions): string {
    const text = new UpdatesText();
    for (const table of this.tables.values()) {
      if ((table.select & Select.initial) === 0) continue;
      const condition = conditions.of(table);
      for (const row of this.#rows(table, condition.uuids)) {
        if (!condition.matches(row)) continue;
        text.row(row.uuid, table.updates.text(format, 'initial', null, row));
      }
      text.table(table.name);
    }
    return text.finish() ?? '{}';
  }

  /** What became of rows in `history`, all that came after the transaction `txnId`. */
  resumed(txnId: Uuid, history: readonly ChangeSet[]): Rendering {
    const kept = this.#resumed.get(txnId);
    if (kept !== undefined) return kept;
    const difference = new Difference<ShapeTable>();
    for (const { tables } of history) {
      for (const { table, rows } of tables) {
        const own = this.tables.get(table);
        if (own === undefined) continue;
        for (const change of rows) {
          if (!own.concerns(change)) continue;
          difference.add(own, change.uuid, change.before, change.after);
        }
      }
    }
    const rendering = new Rendering(difference);
    if (this.#resumed.size < RESUMED_MAX) this.#resumed.set(txnId, rendering);
    return rendering;
  }

  /**
   * Everything since `behind` for a monitor whose conditions change now: what the old ones showed
   * it then, against what the new ones show it now.
   */
  changeConditions(behind: Rendering, was: Conditions, is: Conditions): Body {
    const text = new UpdatesText();
    for (const table of this.tables.values()) {
      for (const { uuid, before, after } of this.#candidates(table, behind, was, is)) {
        const kind = kindOf(before, after, was.of(table), is.of(table));
        if (kind === null || (kind === 'modify' && before === after)) continue;
        text.row(uuid, table.updates.text(2, kind, before, after));
      }
      text.table(table.name);
    }
    return new Body(text.finish());
  }

  *#candidates(
    table: ShapeTable,
    behind: Rendering,
    was: Conditions,
    is: Conditions,
  ): Generator<Candidate> {
    const changed = behind.difference.rowsOf(table);
    for (const [uuid, { before }] of changed ?? []) {
      // As it is now: what only the new condition looks at may have changed unrecorded.
      yield { uuid, before, after: this.#view.row(table.table, uuid) };
    }
    const [old, now] = [was.of(table), is.of(table)];
    if (old === now) return;
    for (const row of this.#rows(table, eitherOnly(old.uuids, now.uuids))) {
      if (changed?.has(row.uuid) !== true) yield { uuid: row.uuid, before: row, after: row };
    }
  }

  /** Those of these UUIDs; `null`: all. */
  *#rows(table: ShapeTable, uuids: ReadonlySet<Uuid> | null): Generator<Row> {
    if (uuids === null) {
      yield* this.#view.rows(table.table);
      return;
    }
    for (const uuid of uuids) {
      const row = this.#view.row(table.table, uuid);
      if (row !== null) yield row;
    }
  }
}

/** What is in one of the two only, where both are known. */
function eitherOnly(
  a: ReadonlySet<Uuid> | null,
  b: ReadonlySet<Uuid> | null,
): ReadonlySet<Uuid> | null {
  if (a === null || b === null) return null;
  const result = new Set<Uuid>();
  for (const uuid of a) if (!b.has(uuid)) result.add(uuid);
  for (const uuid of b) if (!a.has(uuid)) result.add(uuid);
  return result;
}
