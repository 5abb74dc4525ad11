/**
 * Conditions (RFC 7047 §5.1, <condition>): clauses over the columns of one table. A transaction's
 * "where" wants every clause to hold; a monitor's, any of them. Besides the RFC's, a clause may be
 * `true` or `false`.
 *
 * Clauses are kept in the order in which the original expects them to leave fewest rows, then by
 * column and argument: equal conditions become equal lists.
 */
import { compareAtoms } from '../data/atom.ts';
import { UNLIMITED } from '../data/base-type.ts';
import { type ColumnType, isOptionalScalar, isScalar, typeInEnglish } from '../data/column-type.ts';
import { compareDatums, type Datum, datumsEqual, excludesAll, includesAll } from '../data/datum.ts';
import { datumToJson, parseDatum } from '../data/datum-json.ts';
import { isError, OvsdbError, syntaxError, unknownColumn } from '../data/error.ts';
import type { Symbols } from '../data/symbols.ts';
import { compareText } from '../json/serialize.ts';
import { isArray, type Json } from '../json/value.ts';
import type { Column } from '../schema/column.ts';
import { STANDARD_COLUMNS, type TableSchema } from '../schema/table-schema.ts';
import type { Row } from '../store/row.ts';

/** From the one expected to leave fewest rows to the one expected to leave most. */
const functions = ['==', 'includes', '<=', '<', '>=', '>', 'excludes', '!='] as const;
export type ConditionFunction = (typeof functions)[number];

export interface ColumnClause {
  readonly kind: 'column';
  readonly column: Column;
  readonly function: ConditionFunction;
  readonly argument: Datum;
}

export interface ConstantClause {
  readonly kind: 'constant';
  readonly value: boolean;
}

export type Clause = ColumnClause | ConstantClause;
export type Condition = readonly Clause[];

export function parseCondition(
  json: readonly Json[],
  schema: TableSchema,
  symbols: Symbols | null,
): Condition | OvsdbError {
  const clauses: Clause[] = [];
  for (const element of json) {
    const clause = parseClause(element, schema, symbols);
    if (isError(clause)) return clause;
    clauses.push(clause);
  }
  return clauses.length > 1 ? clauses.sort(compareClauses) : clauses;
}

function parseClause(
  json: Json,
  schema: TableSchema,
  symbols: Symbols | null,
): Clause | OvsdbError {
  if (typeof json === 'boolean') return { kind: 'constant', value: json };
  if (!isArray(json) || json.length !== 3) return syntaxError(json, 'Parse error in condition.');
  const [columnName, functionName, argumentJson] = json;
  if (typeof columnName !== 'string' || typeof functionName !== 'string') {
    return syntaxError(json, 'Parse error in condition.');
  }
  const column = schema.byName.get(columnName);
  if (column === undefined) return unknownColumn(json, columnName, schema.name);
  const found = functions.find((name) => name === functionName);
  if (found === undefined) {
    return new OvsdbError('unknown function', `No function named ${functionName}.`);
  }
  const type = argumentType(column.type, found);
  if (type === null) {
    const english = typeInEnglish(column.type);
    const details = `"${found}" operator may not be applied to column ${columnName} of type ${english}.`;
    return syntaxError(json, `Type mismatch: ${details}`);
  }
  const argument = parseDatum(argumentJson, type, symbols);
  return isError(argument) ? argument : { kind: 'column', column, function: found, argument };
}

/** What the function takes for a column of this type; `null`: nothing. */
function argumentType(type: ColumnType, name: ConditionFunction): ColumnType | null {
  switch (name) {
    case '<':
    case '<=':
    case '>':
    case '>=': {
      const numeric = type.key.type === 'integer' || type.key.type === 'real';
      const single = isScalar(type) || isOptionalScalar(type);
      return numeric && single ? { ...type, min: 1 } : null;
    }
    case '==':
    case '!=':
      return type;
    case 'includes':
      return isScalar(type) ? type : { ...type, min: 0 };
    case 'excludes':
      return isScalar(type) ? type : { ...type, min: 0, max: UNLIMITED };
  }
}

export function compareClauses(a: Clause, b: Clause): number {
  if (a.kind === 'constant' || b.kind === 'constant') return rankOf(a) - rankOf(b);
  const byFunction = functions.indexOf(a.function) - functions.indexOf(b.function);
  if (byFunction !== 0) return byFunction;
  if (a.column !== b.column) return compareColumns(a.column, b.column);
  return compareDatums(a.argument, b.argument, a.column.type);
}

function rankOf(clause: Clause): number {
  return clause.kind === 'column' ? 2 : clause.value ? 1 : 0;
}

/** Built-in columns first, since there is an index for one of them. */
function compareColumns(a: Column, b: Column): number {
  const builtIn = a.index < STANDARD_COLUMNS || b.index < STANDARD_COLUMNS;
  return builtIn ? a.index - b.index : compareText(a.name, b.name);
}

export function conditionToJson(condition: Condition): Json {
  return condition.map((clause) => {
    if (clause.kind === 'constant') return clause.value;
    const { column, argument } = clause;
    return [column.name, clause.function, datumToJson(argument, column.type)];
  });
}

export function matchesEvery(row: Row, condition: Condition): boolean {
  for (const clause of condition) if (!matches(row, clause)) return false;
  return true;
}

export function matchesAny(row: Row, condition: Condition): boolean {
  for (const clause of condition) if (matches(row, clause)) return true;
  return false;
}

export function matches(row: Row, clause: Clause): boolean {
  if (clause.kind === 'constant') return clause.value;
  return holds(row.datum(clause.column.index), clause);
}

function holds(
  datum: Datum,
  { function: name, argument, column: { type } }: ColumnClause,
): boolean {
  switch (name) {
    case '==':
      return datumsEqual(datum, argument);
    case '!=':
      return !datumsEqual(datum, argument);
    case 'includes':
      return includesAll(argument, datum, type);
    case 'excludes':
      return excludesAll(argument, datum, type);
    case '<':
      return order(datum, argument) < 0;
    case '<=':
      return order(datum, argument) <= 0;
    case '>':
      return order(datum, argument) > 0;
    case '>=':
      return order(datum, argument) >= 0;
  }
}

/** What has no value is neither less nor greater than anything, as NaN is. */
function order(datum: Datum, argument: Datum): number {
  return datum.length === 0 ? Number.NaN : compareAtoms(datum[0], argument[0]);
}
