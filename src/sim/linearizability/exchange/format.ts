/**
 * How the operations of a model are spelled in events. Events are those of Jepsen's histories: a
 * process invokes a function with a value, and the invocation ends with `ok` and a value, with
 * `fail` (it surely did not happen), or with `info` (nobody knows).
 */
import { HistoryError } from '../history-error.ts';
import { isList, type Value } from './value.ts';

export interface Invocation {
  /** The function's name. */
  readonly f: string;
  readonly value: Value;
}

export type Completion =
  | { readonly type: 'ok'; readonly value: Value }
  /**
   * It happened and said no, such as a compare-and-set of something else. Others, who take `fail`
   * as "did not happen", are not misled: it changed nothing. The error tells it from that here.
   */
  | { readonly type: 'fail'; readonly value: Value; readonly error: Value };

/** The two directions undo each other. What is read from outside may throw a `HistoryError`. */
export interface HistoryFormat<I, O> {
  invocation(input: I): Invocation;
  completion(input: I, output: O): Completion;
  input(invocation: Invocation): I;
  /** `undefined`: it did not happen. */
  output(input: I, completion: { type: 'ok' | 'fail'; value: Value; error: Value }): O | undefined;
}

/** What a format says when it knows no function of this name. */
export function unknownFunction(f: string, known: readonly string[]): HistoryError {
  return new HistoryError('function', `unknown function "${f}": one of ${known.join(', ')} wanted`);
}

export function wrongValue(f: string, value: Value, wanted: string): HistoryError {
  const text = JSON.stringify(value);
  const shown = text.length > 80 ? `${text.slice(0, 80)}…` : text;
  return new HistoryError('value', `value ${shown} of "${f}": ${wanted} wanted`);
}

/** Two values in a vector. */
export function pairOf(f: string, value: Value, wanted: string): readonly [Value, Value] {
  if (!isList(value) || value.length !== 2) throw wrongValue(f, value, wanted);
  return [value[0]!, value[1]!];
}

export function scalarOf(f: string, value: Value): Scalar {
  if (typeof value === 'object' && value !== null) {
    throw wrongValue(f, value, 'null, a boolean, a number or a string');
  }
  return value;
}

export function integerOf(f: string, value: Value): number {
  if (!Number.isSafeInteger(value)) throw wrongValue(f, value, 'a safe integer');
  return value as number;
}

/** Values that are compared with `===`. */
export type Scalar = null | boolean | number | string;
