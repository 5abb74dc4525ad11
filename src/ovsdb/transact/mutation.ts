/**
 * Mutations (RFC 7047 §5.1, <mutation>): arithmetic on every number of a column, elements put into
 * or taken out of sets and maps.
 */
import type { Atom } from '../data/atom.ts';
import { checkAtom, plainBaseType, UNLIMITED } from '../data/base-type.ts';
import { type ColumnType, isMap, isScalar, isSet, typeInEnglish } from '../data/column-type.ts';
import { countOf, type Datum, sortElements, subtract, union } from '../data/datum.ts';
import { parseDatum } from '../data/datum-json.ts';
import {
  constraintViolation,
  isError,
  OvsdbError,
  syntaxError,
  unknownColumn,
} from '../data/error.ts';
import type { Symbols } from '../data/symbols.ts';
import { type Integer, isArray, type Json } from '../json/value.ts';
import type { Column } from '../schema/column.ts';
import type { TableSchema } from '../schema/table-schema.ts';
import {
  type ArithmeticMutator,
  type ArithmeticProblem,
  mutateInteger,
  mutateReal,
} from './arithmetic.ts';

const mutators = ['+=', '-=', '*=', '/=', '%=', 'insert', 'delete'] as const;
export type Mutator = (typeof mutators)[number];

export interface Mutation {
  readonly column: Column;
  readonly mutator: Mutator;
  readonly argument: Datum;
  /** A delete from a map that names keys only. */
  readonly keysOnly: boolean;
}

export function parseMutations(
  json: readonly Json[],
  schema: TableSchema,
  symbols: Symbols | null,
): readonly Mutation[] | OvsdbError {
  const mutations: Mutation[] = [];
  for (const element of json) {
    const mutation = parseMutation(element, schema, symbols);
    if (isError(mutation)) return mutation;
    mutations.push(mutation);
  }
  return mutations;
}

function parseMutation(
  json: Json,
  schema: TableSchema,
  symbols: Symbols | null,
): Mutation | OvsdbError {
  if (!isArray(json) || json.length !== 3) return syntaxError(json, 'Parse error in mutation.');
  const [columnName, mutatorName, argumentJson] = json;
  if (typeof columnName !== 'string' || typeof mutatorName !== 'string') {
    return syntaxError(json, 'Parse error in mutation.');
  }
  const column = schema.byName.get(columnName);
  if (column === undefined) return unknownColumn(json, columnName, schema.name);
  if (!column.mutable) {
    const details = `Cannot mutate immutable column ${columnName} in table ${schema.name}.`;
    return constraintViolation(details, json);
  }
  const mutator = mutators.find((name) => name === mutatorName);
  if (mutator === undefined) {
    return new OvsdbError('unknown mutator', `No mutator named ${mutatorName}.`);
  }
  if (!applies(mutator, column.type)) {
    const english = typeInEnglish(column.type);
    const details = `"${mutator}" operator may not be applied to column ${columnName} of type ${english}.`;
    return syntaxError(json, `Type mismatch: ${details}`);
  }
  return parseArgument(argumentJson, column, mutator, symbols);
}

function applies(mutator: Mutator, type: ColumnType): boolean {
  if (mutator === 'insert' || mutator === 'delete') return isSet(type) || isMap(type);
  if (!isScalar(type) && !isSet(type)) return false;
  return type.key.type === 'integer' || (type.key.type === 'real' && mutator !== '%=');
}

function parseArgument(
  json: Json,
  column: Column,
  mutator: Mutator,
  symbols: Symbols | null,
): Mutation | OvsdbError {
  const type = argumentType(column.type, mutator);
  const argument = parseDatum(json, type, symbols);
  if (!isError(argument)) return { column, mutator, argument, keysOnly: false };
  if (mutator !== 'delete' || !isMap(type)) return argument;
  const keys = parseDatum(json, { ...type, value: null }, symbols);
  return isError(keys) ? keys : { column, mutator, argument: keys, keysOnly: true };
}

function argumentType(type: ColumnType, mutator: Mutator): ColumnType {
  if (mutator === 'insert') return { ...type, min: 0 };
  if (mutator === 'delete') return { ...type, min: 0, max: UNLIMITED };
  return { key: plainBaseType(type.key.type), value: null, min: 1, max: 1 };
}

/** The column's new value, or why it may not have it. */
export function mutate(datum: Datum, mutation: Mutation): Datum | OvsdbError {
  const { column, mutator, argument, keysOnly } = mutation;
  const { type } = column;
  switch (mutator) {
    case 'insert':
      return checkCount(union(datum, argument, type), type);
    case 'delete':
      return checkCount(subtract(datum, argument, type, keysOnly), type);
    default:
      return mutateNumbers(datum, type, mutator, argument[0] as Integer);
  }
}

function checkCount(datum: Datum, type: ColumnType): Datum | OvsdbError {
  const count = countOf(datum, type);
  if (count >= type.min && count <= type.max) return datum;
  return constraintViolation(`Attempted to store ${count} elements in ${typeInEnglish(type)}.`);
}

function mutateNumbers(
  datum: Datum,
  type: ColumnType,
  mutator: ArithmeticMutator,
  operand: Integer,
): Datum | OvsdbError {
  const results: Atom[] = [];
  for (const atom of datum as readonly Integer[]) {
    const result =
      type.key.type === 'integer'
        ? mutateInteger(atom, mutator, operand)
        : mutateReal(
            atom as number,
            mutator as Exclude<ArithmeticMutator, '%='>,
            operand as number,
          );
    if (typeof result === 'string') return arithmeticError(result, mutator);
    results.push(result);
  }
  for (const atom of results) {
    const problem = checkAtom(atom, type.key);
    if (problem !== null) return problem;
  }
  const duplicates = `Result of "${mutator}" operation contains duplicates.`;
  return sortElements(results, 1) ?? constraintViolation(duplicates);
}

function arithmeticError(problem: ArithmeticProblem, mutator: Mutator): OvsdbError {
  return problem === 'domain'
    ? new OvsdbError('domain error', 'Division by zero.')
    : new OvsdbError('range error', `Result of "${mutator}" operation is out of range.`);
}
