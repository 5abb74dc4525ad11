/**
 * First in, first out. Who dequeues from an empty queue is told so.
 */
import { type HistoryFormat, type Scalar, scalarOf, unknownFunction } from '../exchange/format.ts';
import { hashPrimitive, type Model } from '../model.ts';

export type QueueInput =
  /** Not `null`. */
  { readonly f: 'enqueue'; readonly value: Scalar } | { readonly f: 'dequeue' };

/** Of a dequeue the value, `null` when there was none; of an enqueue `null`. */
export type QueueOutput = Scalar;

/** The state is what is in the queue, the first to leave first. */
export function queueModel(): Model<readonly Scalar[], QueueInput, QueueOutput> {
  return {
    name: 'queue',
    init: () => [],
    step: (state, input, output) => {
      if (input.f === 'enqueue') return [...state, input.value];
      const first = state[0] ?? null;
      if (output !== undefined && output !== first) return null;
      return first === null ? state : state.slice(1);
    },
    isLook: ({ f }, output) => f === 'dequeue' && output === null,
    equal: (a, b) => a.length === b.length && a.every((value, i) => value === b[i]),
    hash: (state) => {
      let hash = state.length;
      for (const value of state) hash = (Math.imul(hash, 31) + hashPrimitive(value)) | 0;
      return hash;
    },
    size: (state) => 64 + 8 * state.length,
  };
}

/** `enqueue` value, `dequeue` nil → value or nil. */
export const queueFormat: HistoryFormat<QueueInput, QueueOutput> = {
  invocation: (input) => {
    return { f: input.f, value: input.f === 'enqueue' ? input.value : null };
  },
  completion: (input, output) => {
    return { type: 'ok', value: input.f === 'enqueue' ? input.value : output };
  },
  input: ({ f, value }) => {
    if (f === 'dequeue') return { f };
    if (f === 'enqueue') return { f, value: scalarOf(f, value) };
    throw unknownFunction(f, ['enqueue', 'dequeue']);
  },
  output: (input, { type, value }) => {
    if (type === 'fail') return undefined;
    return input.f === 'enqueue' ? null : scalarOf(input.f, value);
  },
};
