/**
 * The operations that change no rows (RFC 7047 §5.2.2, §5.2.6–5.2.10): select, wait, commit, abort,
 * comment, assert.
 */
import { assert } from '../../stdx/index.ts';
import { isError, OvsdbError, syntaxError } from '../data/error.ts';
import { UUID_ZERO } from '../data/uuid.ts';
import { type Json, RawJson } from '../json/value.ts';
import type { Column } from '../schema/column.ts';
import { parseColumnSet, UUID_COLUMN } from '../schema/table-schema.ts';
import { compareRows, createRow, type Row, rowKey } from '../store/row.ts';
import { rowWriter } from '../store/row-text.ts';
import type { Table } from '../store/table.ts';
import { parseCondition } from './condition.ts';
import { type Execution, NOT_SATISFIED, type Operation, parseTable } from './execution.ts';
import { query } from './query.ts';
import { byIndex, parseRow } from './row-json.ts';

export const select: Operation = (x, parser) => {
  const table = parseTable(x, parser);
  const where = parser.array('where');
  const columnsJson = parser.optionalArray('columns');
  const sortJson = parser.optionalArray('sort');
  if (parser.error !== null) return parser.error;
  assert(table !== undefined && where !== undefined, 'select: incomplete');
  const condition = parseCondition(where, table.schema, x.symbols);
  if (isError(condition)) return condition;
  const columns = parseColumnSet(columnsJson, table.schema);
  if (isError(columns)) return columns;
  const sort = sortJson === undefined ? [] : parseColumnSet(sortJson, table.schema);
  if (isError(sort)) return sort;
  const rows = distinct(query(x.draft, table, condition), columns);
  if (sort.length > 0) rows.sort((a, b) => compareRows(a, b, sort));
  const write = rowWriter(columns);
  return { rows: rows.map((row) => new RawJson(write(row))) };
};

/** One row of each combination of values. */
function distinct(rows: Row[], columns: readonly Column[]): Row[] {
  if (columns.some((column) => column.index === UUID_COLUMN)) return rows;
  return [...new Map(rows.map((row) => [rowKey(row, columns), row])).values()];
}

export const wait: Operation = (x, parser) => {
  const timeoutJson = parser.optionalInteger('timeout');
  const where = parser.array('where');
  const columnsJson = parser.optionalArray('columns');
  const until = parser.string('until');
  const rowsJson = parser.array('rows');
  const table = parseTable(x, parser);
  if (parser.error !== null) return parser.error;
  assert(table !== undefined && where !== undefined && rowsJson !== undefined, 'wait: incomplete');
  const condition = parseCondition(where, table.schema, x.symbols);
  if (isError(condition)) return condition;
  const columns = parseColumnSet(columnsJson, table.schema);
  if (isError(columns)) return columns;
  const timeoutMs = timeoutJson === undefined ? null : Number(timeoutJson);
  if (timeoutMs !== null) {
    if (timeoutMs < 0) return syntaxError(timeoutJson, 'timeout must be nonnegative');
    x.timeoutMs = Math.min(x.timeoutMs ?? timeoutMs, timeoutMs);
  }
  if (until !== '==' && until !== '!=') {
    return syntaxError(until, '"until" must be "==" or "!="');
  }
  const expected = expectedKeys(x, table, columns, rowsJson);
  if (isError(expected)) return expected;
  const actual = new Set(query(x.draft, table, condition).map((row) => rowKey(row, columns)));
  const equal = sameKeys(actual, expected);
  return equal === (until === '==') ? {} : unsatisfied(x, timeoutMs);
};

function expectedKeys(
  x: Execution,
  table: Table,
  columns: readonly Column[],
  rowsJson: readonly Json[],
): Set<string> | OvsdbError {
  const keys = new Set<string>();
  for (const json of rowsJson) {
    const values = parseRow(json, table.schema, x.symbols);
    if (isError(values)) return values;
    const [uuid, version] = table.schema.columns.map((column) => values.get(column)?.[0]);
    const row = createRow(
      table.schema,
      String(uuid ?? UUID_ZERO),
      String(version ?? UUID_ZERO),
      byIndex(values),
    );
    keys.add(rowKey(row, columns));
  }
  return keys;
}

function sameKeys(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  if (a.size !== b.size) return false;
  for (const key of a) if (!b.has(key)) return false;
  return true;
}

function unsatisfied(x: Execution, timeoutMs: number | null): OvsdbError {
  const { elapsedMs } = x.context;
  if (timeoutMs === null || elapsedMs < timeoutMs) {
    return new OvsdbError(NOT_SATISFIED, 'triggers not supported');
  }
  return new OvsdbError(
    'timed out',
    elapsedMs > 0 ? `"wait" timed out after ${elapsedMs} ms` : '"where" clause test failed',
  );
}

export const commit: Operation = (x, parser) => {
  if (parser.boolean('durable') === true) x.durable = true;
  return {};
};

export const abort: Operation = () => new OvsdbError('aborted', 'aborted by request');

export const comment: Operation = (x, parser) => {
  const text = parser.string('comment');
  if (text !== undefined) x.draft.comments.push(text);
  return {};
};

export const assertLock: Operation = (x, parser) => {
  const lock = parser.id('lock');
  if (lock === undefined || x.context.ownsLock(lock)) return {};
  return new OvsdbError('not owner', `Asserted lock ${lock} not held.`);
};
