/**
 * A number that is added to, and that whoever adds may be told.
 */
import { type HistoryFormat, integerOf, unknownFunction } from '../exchange/format.ts';
import type { Model } from '../model.ts';

export type CounterInput =
  | { readonly f: 'read' }
  /** A safe integer, also below 0. */
  | { readonly f: 'add'; readonly amount: number };

/** The total, after an addition the new one; `null`: who added was not told. */
export type CounterOutput = number | null;

/** The state is the total. */
export function counterModel(initial: number = 0): Model<number, CounterInput, CounterOutput> {
  return {
    name: 'counter',
    init: () => initial,
    step: (state, input, output) => {
      const total = input.f === 'add' ? state + input.amount : state;
      const isTold = output !== undefined && (output !== null || input.f === 'read');
      return isTold && output !== total ? null : total;
    },
    isLook: ({ f }) => f === 'read',
  };
}

/** `read` nil → total, `add` amount → total or nil. */
export const counterFormat: HistoryFormat<CounterInput, CounterOutput> = {
  invocation: (input) => {
    return { f: input.f, value: input.f === 'add' ? input.amount : null };
  },
  completion: (_, output) => ({ type: 'ok', value: output }),
  input: ({ f, value }) => {
    if (f === 'read') return { f };
    if (f === 'add') return { f, amount: integerOf(f, value) };
    throw unknownFunction(f, ['read', 'add']);
  },
  output: ({ f }, { type, value }) => {
    if (type === 'fail') return undefined;
    return f === 'add' && value === null ? null : integerOf(f, value);
  },
};
