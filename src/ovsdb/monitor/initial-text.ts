/**
 * All rows of a shape's tables as the initial reply shows them, without conditions. When a server
 * loses its clients, all of them ask for this at about the same time, so it is written once, and
 * what commits in between change is written anew, not the rest: a large table's text is kept in
 * parts, a row being in the part that its UUID begins with.
 */
import type { Uuid } from '../data/uuid.ts';
import type { ConfirmedView } from './confirmed-view.ts';
import { INITIAL_CUT_ROWS, INITIAL_IDLE_COMMITS, INITIAL_PARTS } from './limits.ts';
import type { Format } from './row-updates.ts';
import { Select } from './select.ts';
import type { ShapeTable } from './shape-table.ts';
import { UpdatesText } from './updates-text.ts';

export class InitialText {
  readonly #format: Format;
  readonly #tables: readonly ShapeTable[];
  #whole: string | null = null;
  /** Kept from the second reading on: most texts are asked for once. */
  #parts: Map<ShapeTable, TableParts> | null = null;
  #readings: number = 0;
  #idleCommits: number = 0;

  constructor(format: Format, tables: readonly ShapeTable[]) {
    this.#format = format;
    this.#tables = tables.filter(({ select }) => (select & Select.initial) !== 0);
  }

  get kept(): boolean {
    return this.#whole !== null || this.#parts !== null;
  }

  /** The same object until a row changes. */
  read(view: ConfirmedView): string {
    this.#idleCommits = 0;
    this.#readings += 1;
    this.#whole ??= this.#readings === 1 ? this.#write(view) : this.#assemble(view);
    return this.#whole;
  }

  /** A row changes. */
  touch(table: ShapeTable, uuid: Uuid): void {
    this.#whole = null;
    this.#parts?.get(table)?.touch(uuid);
  }

  /** After the rows of a commit were touched. */
  committed(): void {
    this.#idleCommits += 1;
    if (this.#idleCommits < INITIAL_IDLE_COMMITS) return;
    this.#parts = null;
    this.#readings = 0;
  }

  #write(view: ConfirmedView): string {
    const text = new UpdatesText();
    for (const table of this.#tables) {
      for (const row of view.rows(table.table)) {
        text.row(row.uuid, table.updates.text(this.#format, 'initial', null, row));
      }
      text.table(table.name);
    }
    return text.finish() ?? '{}';
  }

  #assemble(view: ConfirmedView): string {
    this.#parts ??= new Map(this.#tables.map((table) => [table, new TableParts()]));
    const text = new UpdatesText();
    for (const [table, parts] of this.#parts) {
      for (const part of parts.read(table, this.#format, view)) text.rows(part);
      text.table(table.name);
    }
    return text.finish() ?? '{}';
  }
}

class TableParts {
  /** `null`: to be written; empty: no row. */
  #parts: (string | null)[] = [null];

  touch(uuid: Uuid): void {
    this.#parts[this.#partOf(uuid)] = null;
  }

  /** Members of rows, separated by commas. */
  read(table: ShapeTable, format: Format, view: ConfirmedView): string[] {
    if (this.#parts.length === 1 && table.table.size >= INITIAL_CUT_ROWS) {
      this.#parts = Array.from({ length: INITIAL_PARTS }, () => null);
    }
    if (this.#parts.includes(null)) this.#fill(table, format, view);
    return this.#parts.filter((part) => part !== null && part !== '') as string[];
  }

  #fill(table: ShapeTable, format: Format, view: ConfirmedView): void {
    const rows = this.#parts.map((part): string[] | null => (part === null ? [] : null));
    for (const row of view.rows(table.table)) {
      const part = rows[this.#partOf(row.uuid)];
      if (part === null) continue;
      part.push(`"${row.uuid}":${table.updates.text(format, 'initial', null, row)}`);
    }
    for (const [i, part] of rows.entries()) if (part !== null) this.#parts[i] = part.join(',');
  }

  #partOf(uuid: Uuid): number {
    return this.#parts.length === 1 ? 0 : Number.parseInt(uuid.slice(0, 2), 16);
  }
}
