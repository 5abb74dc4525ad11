/**
 * Tables of cells as the original prints them, to the byte: as a table, a list, HTML, CSV or JSON.
 * Widths are counted in bytes, so tables are made of bytes: one character each until they leave.
 */
import type { ColumnType } from '../../../../ovsdb/data/column-type.ts';
import { encodeUtf8 } from '../../../../ovsdb/json/utf8.ts';
import type { Json } from '../../../../ovsdb/json/value.ts';
import { bytesAsText } from './bytes.ts';
import { type JsonStyle, jsonText } from './json-text.ts';
import { type CellFormat, cellText } from './table-cell.ts';
import { htmlTable } from './table-html.ts';

export type TableFormat = 'table' | 'list' | 'html' | 'csv' | 'json';

export interface TableStyle {
  format: TableFormat;
  cells: CellFormat;
  headings: boolean;
  json: JsonStyle;
  /** Bytes; 0: no limit. Of the format "table" only. */
  columnWidthMax: number;
}

export interface Cell {
  /** Fixed text, whatever the style. */
  readonly text?: string;
  readonly json?: Json;
  /** Of `json`, when it is a column's value. */
  readonly type?: ColumnType;
}

export interface Table {
  readonly caption?: string;
  /** Printed above the rows. */
  readonly timestamp?: string;
  readonly headings: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

/** Prints tables one after the other; between them is an empty line, in most formats. */
export class TablePrinter {
  readonly #style: TableStyle;
  readonly #print: (bytes: Uint8Array) => void;
  #first: boolean = true;

  constructor(style: TableStyle, print: (bytes: Uint8Array) => void) {
    this.#style = style;
    this.#print = print;
  }

  print(table: Table): void {
    const { format } = this.#style;
    const separated = format === 'table' || format === 'list' || format === 'csv';
    const gap = separated && !this.#first ? '\n' : '';
    if (separated) this.#first = false;
    this.#print(Buffer.from(gap + formatTable(table, this.#style), 'latin1'));
  }
}

/** The bytes of a table, a character each. */
export function formatTable(table: Table, style: TableStyle): string {
  if (style.format === 'json') return bytesAsText(encodeUtf8(`${jsonOf(table, style)}\n`));
  const headings = table.headings.map(asBytes);
  const rows = table.rows.map((row) =>
    headings.map((_, x) => asBytes(cellText(row[x] ?? {}, style.cells))),
  );
  const caption = table.caption === undefined ? null : asBytes(table.caption);
  const timestamp = table.timestamp === undefined ? '' : `${table.timestamp}\n`;
  if (style.format === 'html') {
    return timestamp + htmlTable(caption, style.headings ? headings : null, headings, rows);
  }
  const top = timestamp + (caption === null ? '' : `${caption}\n`);
  if (style.format === 'csv') return top + csv(style.headings ? [headings, ...rows] : rows);
  return top + (style.format === 'list' ? list : grid)(headings, rows, style);
}

function asBytes(text: string): string {
  return bytesAsText(encodeUtf8(text));
}

type Rows = readonly (readonly string[])[];

function grid(headings: readonly string[], rows: Rows, style: TableStyle): string {
  const widths = headings.map((heading, x) => {
    let width = rows.reduce((widest, row) => Math.max(widest, (row[x] as string).length), 0);
    if (style.columnWidthMax > 0) width = Math.min(width, style.columnWidthMax);
    return style.headings ? Math.max(width, heading.length) : width;
  });
  const lines = rows.map((row) => row.map((text, x) => text.slice(0, widths[x])));
  if (style.headings) {
    lines.unshift(
      [...headings],
      widths.map((width) => '-'.repeat(width)),
    );
  }
  return lines
    .map((line) => line.map((text, x) => text.padEnd(widths[x] as number)).join(' '))
    .map((line) => `${line.replace(/ +$/, '')}\n`)
    .join('');
}

const HEADING_WIDTH_MIN = 20;

function list(headings: readonly string[], rows: Rows, style: TableStyle): string {
  const before = headings.map((heading) =>
    style.headings ? `${heading.padEnd(HEADING_WIDTH_MIN)}: ` : '',
  );
  return rows.map((row) => row.map((text, x) => `${before[x]}${text}\n`).join('')).join('\n');
}

function csv(rows: Rows): string {
  const cell = (text: string): string =>
    /[\n",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  return rows.map((row) => `${row.map(cell).join(',')}\n`).join('');
}

function jsonOf(table: Table, style: TableStyle): string {
  const object: { [member: string]: Json } = {};
  if (table.caption !== undefined) object['caption'] = table.caption;
  if (table.timestamp !== undefined) object['time'] = table.timestamp;
  object['headings'] = table.headings;
  object['data'] = table.rows.map((row) =>
    table.headings.map((_, x) => row[x]?.text ?? row[x]?.json ?? null),
  );
  return jsonText(object, style.json);
}
