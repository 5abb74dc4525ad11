/**
 * The operations that change rows (RFC 7047 §5.2.1, §5.2.3–5.2.5): insert, update, mutate, delete.
 */
import { assert } from '../../stdx/index.ts';
import { checkDatum, countOf, type Datum, datumsEqual } from '../data/datum.ts';
import { constraintViolation, isError, OvsdbError, syntaxError } from '../data/error.ts';
import { parseUuid, type Uuid } from '../data/uuid.ts';
import type { JsonObject } from '../json/value.ts';
import type { Column } from '../schema/column.ts';
import { STANDARD_COLUMNS } from '../schema/table-schema.ts';
import { createRow, type Row } from '../store/row.ts';
import type { Table } from '../store/table.ts';
import { parseCondition } from './condition.ts';
import { type Execution, type Operation, parseTable } from './execution.ts';
import { type Mutation, mutate, parseMutations } from './mutation.ts';
import { checkPermission } from './permissions.ts';
import { query } from './query.ts';
import { byIndex, parseRow } from './row-json.ts';

export const insert: Operation = (x, parser) => {
  const table = parseTable(x, parser);
  const uuidText = parser.optionalString('uuid');
  const name = parser.optionalId('uuid-name');
  const rowJson = parser.object('row');
  if (parser.error !== null) return parser.error;
  assert(table !== undefined && rowJson !== undefined, 'insert: incomplete');
  const uuid = uuidOfInsert(x, table, uuidText, name);
  if (isError(uuid)) return uuid;
  const values = parseRow(rowJson, table.schema, x.symbols);
  if (isError(values)) return values;
  const row = createRow(table.schema, uuid, x.context.uuids(), byIndex(values));
  const problem = checkDefaults(row, table);
  if (problem !== null) return problem;
  const { client } = x.context;
  const denied = checkPermission(x.draft, client, 'row insertion into', table, [row], []);
  if (denied !== null) return denied;
  x.draft.insert(table, row);
  return { uuid: ['uuid', uuid] };
};

function uuidOfInsert(
  x: Execution,
  table: Table,
  text: string | undefined,
  name: string | undefined,
): Uuid | OvsdbError {
  let wanted: Uuid | null = null;
  if (text !== undefined) {
    wanted = parseUuid(text);
    if (wanted === null) return syntaxError(text, 'bad uuid');
    if (!x.draft.mayInsert(table, wanted)) {
      const details =
        `This UUID would duplicate a UUID already present within the "${table.schema.name}" ` +
        'table or deleted from this table within the same transaction.';
      return new OvsdbError('duplicate uuid', details, text);
    }
  }
  if (name === undefined) return wanted ?? x.context.uuids();
  const details = 'This "uuid-name" appeared on an earlier "insert" operation.';
  return x.symbols.create(name, wanted) ?? new OvsdbError('duplicate uuid-name', details, name);
}

/** A default may violate its column's constraints; only single elements can be defaults. */
function checkDefaults(row: Row, table: Table): OvsdbError | null {
  for (const { index, type } of table.schema.columns.slice(STANDARD_COLUMNS)) {
    const datum = row.datum(index);
    const problem = countOf(datum, type) === 1 ? checkDatum(datum, type) : null;
    if (problem !== null) return problem;
  }
  return null;
}

export const update: Operation = (x, parser) => {
  const table = parseTable(x, parser);
  const where = parser.array('where');
  const rowJson = parser.object('row');
  if (parser.error !== null) return parser.error;
  assert(table !== undefined && where !== undefined && rowJson !== undefined, 'update: incomplete');
  const values = parseRow(rowJson, table.schema, x.symbols);
  if (isError(values)) return values;
  const fixed = [...values.keys()].find((column) => !column.mutable);
  if (fixed !== undefined) {
    const details = `Cannot update immutable column ${fixed.name} in table ${table.schema.name}.`;
    return constraintViolation(details, parser.json);
  }
  const condition = parseCondition(where, table.schema, x.symbols);
  if (isError(condition)) return condition;
  const rows = query(x.draft, table, condition);
  const { client } = x.context;
  const columns = [...values.keys()];
  const denied = checkPermission(x.draft, client, 'modification of', table, rows, columns);
  if (denied !== null) return denied;
  for (const row of rows) {
    const changes = changesOf(row, values);
    if (changes.size > 0) x.draft.modify(table, row.with(changes));
  }
  return { count: rows.length };
};

function changesOf(row: Row, values: ReadonlyMap<Column, Datum>): Map<number, Datum> {
  const changes = new Map<number, Datum>();
  for (const [{ index }, datum] of values) {
    if (!datumsEqual(row.datum(index), datum)) changes.set(index, datum);
  }
  return changes;
}

export const mutateRows: Operation = (x, parser) => {
  const table = parseTable(x, parser);
  const where = parser.array('where');
  const mutationsJson = parser.array('mutations');
  if (parser.error !== null) return parser.error;
  assert(
    table !== undefined && where !== undefined && mutationsJson !== undefined,
    'mutate: incomplete',
  );
  const mutations = parseMutations(mutationsJson, table.schema, x.symbols);
  if (isError(mutations)) return mutations;
  const condition = parseCondition(where, table.schema, x.symbols);
  if (isError(condition)) return condition;
  if (mutations.length === 0) return countRows(x, table, condition);
  const rows = query(x.draft, table, condition);
  const { client } = x.context;
  const columns = mutations.map(({ column }) => column);
  const denied = checkPermission(x.draft, client, 'mutate operation on', table, rows, columns);
  if (denied !== null) return denied;
  for (const row of rows) {
    const after = mutateRow(row, mutations);
    if (isError(after)) return after;
    x.draft.modify(table, after);
  }
  return { count: rows.length };
};

/** No mutations: a way to count, and of a whole table a cheap one. */
function countRows(x: Execution, table: Table, condition: Parameters<typeof query>[2]): JsonObject {
  if (condition.length === 0) return { count: x.draft.size(table) };
  return { count: query(x.draft, table, condition).length };
}

function mutateRow(row: Row, mutations: readonly Mutation[]): Row | OvsdbError {
  const changes = new Map<number, Datum>();
  for (const mutation of mutations) {
    const { index } = mutation.column;
    const result = mutate(changes.get(index) ?? row.datum(index), mutation);
    if (isError(result)) return result;
    changes.set(index, result);
  }
  return row.with(changes);
}

export const deleteRows: Operation = (x, parser) => {
  const where = parser.array('where');
  const table = parseTable(x, parser);
  if (parser.error !== null) return parser.error;
  assert(table !== undefined && where !== undefined, 'delete: incomplete');
  const condition = parseCondition(where, table.schema, x.symbols);
  if (isError(condition)) return condition;
  const rows = query(x.draft, table, condition);
  const { client } = x.context;
  const denied = checkPermission(x.draft, client, 'row deletion from', table, rows, []);
  if (denied !== null) return denied;
  for (const { uuid } of rows) x.draft.delete(table, uuid);
  return { count: rows.length };
};
