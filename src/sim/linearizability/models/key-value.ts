/**
 * A register for each key. Keys have nothing to do with each other, so each is a part of its own,
 * and the state is that of one key.
 */
import { type HistoryFormat, pairOf, type Scalar, scalarOf } from '../exchange/format.ts';
import { type Model, partitionBy } from '../model.ts';
import {
  REGISTER,
  type RegisterInput,
  type RegisterOutput,
  type RegisterState,
  registerFormat,
} from './register.ts';

/** A key without a value has the value `null`; writing that deletes it. */
export type KeyValueInput = RegisterInput & { readonly key: Scalar };

export function keyValueModel(): Model<RegisterState, KeyValueInput, RegisterOutput> {
  return {
    name: 'key-value',
    init: () => ({ value: null }),
    ...REGISTER,
    partition: (history) => partitionBy(history, ({ key }) => key),
  };
}

const PAIR = 'a vector of the key and its value';

/** As for a register, each value in a vector behind its key: `[key value]`. */
export const keyValueFormat: HistoryFormat<KeyValueInput, RegisterOutput> = {
  invocation: (input) => {
    const { f, value } = registerFormat.invocation(input);
    return { f, value: [input.key, value] };
  },
  completion: (input, output) => {
    const completion = registerFormat.completion(input, output);
    return { ...completion, value: [input.key, completion.value] };
  },
  input: ({ f, value }) => {
    const [key, inner] = pairOf(f, value, PAIR);
    return { ...registerFormat.input({ f, value: inner }), key: scalarOf(f, key) };
  },
  output: (input, completion) => {
    // Some say no more of what did not happen.
    if (completion.type === 'fail') return registerFormat.output(input, completion);
    const [, value] = pairOf(input.f, completion.value, PAIR);
    return registerFormat.output(input, { ...completion, value });
  },
};
