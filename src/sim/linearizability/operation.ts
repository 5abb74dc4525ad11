/**
 * Operations as their callers saw them: what was asked and when, what came back and when. That is
 * all the checker is told; what happened in between is what it has to find out.
 */
import { HistoryError } from './history-error.ts';
import { OPERATIONS_MAX } from './limits.ts';

/** An operation whose caller knows the outcome. */
export interface ReturnedOperation<I, O> {
  /** Who asked. Only messages and exported histories name it. */
  readonly process: number;
  readonly input: I;
  /** Any unit, any beginning, as long as all times of a history come from one clock. */
  readonly call: number;
  /** Not before `call`. What begins at the time at which something else ends overlaps with it. */
  readonly return: number;
  readonly output: O;
}

/**
 * An operation whose caller gave up, died, or was told that nobody knows: it may take effect at any
 * time after its call, or never.
 */
export interface UnknownOperation<I> {
  readonly process: number;
  readonly input: I;
  readonly call: number;
  readonly return: null;
}

export type Operation<I, O> = ReturnedOperation<I, O> | UnknownOperation<I>;

/** In any order. Operations that are known not to have happened are left out. */
export type OperationHistory<I, O> = readonly Operation<I, O>[];

/** Throws a `HistoryError` when times make no sense or there are too many operations. */
export function validateHistory<I, O>(history: OperationHistory<I, O>): void {
  if (history.length > OPERATIONS_MAX) {
    const text = `cannot check ${history.length} operations: at most ${OPERATIONS_MAX}`;
    throw new HistoryError('limit', text);
  }
  for (let index = 0; index < history.length; index++) {
    const { call, return: end } = history[index]!;
    if (!Number.isSafeInteger(call) || (end !== null && !Number.isSafeInteger(end))) {
      const text = `times must be safe integers, not ${call} and ${end}`;
      throw new HistoryError('time', text, { index });
    }
    if (end !== null && end < call) {
      throw new HistoryError('time', `returns at ${end}, before its call at ${call}`, { index });
    }
  }
}
