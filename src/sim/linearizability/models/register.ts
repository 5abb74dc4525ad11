/**
 * One cell that is read, written, and compared and set.
 */
import {
  type HistoryFormat,
  pairOf,
  type Scalar,
  scalarOf,
  unknownFunction,
  wrongValue,
} from '../exchange/format.ts';
import { hashPrimitive, type Model } from '../model.ts';

export type RegisterInput =
  | { readonly f: 'read' }
  | { readonly f: 'write'; readonly value: Scalar }
  /** Writes `to` if the value is `from`. */
  | { readonly f: 'cas'; readonly from: Scalar; readonly to: Scalar };

/** Of a read the value, of a write `null`, of a compare-and-set whether it wrote. */
export type RegisterOutput = Scalar;

export interface RegisterState {
  readonly value: Scalar;
}

export function registerModel(
  initial: Scalar = null,
): Model<RegisterState, RegisterInput, RegisterOutput> {
  return { name: 'register', init: () => ({ value: initial }), ...REGISTER };
}

/** What registers and the values of a key-value store have in common. */
export const REGISTER: Pick<Model<RegisterState, RegisterInput, RegisterOutput>, 'step'> & {
  isLook(input: RegisterInput, output: RegisterOutput | undefined): boolean;
  equal(a: RegisterState, b: RegisterState): boolean;
  hash(state: RegisterState): number;
} = {
  step: (state, input, output) => {
    switch (input.f) {
      case 'read':
        return output === undefined || output === state.value ? state : null;
      case 'write':
        return input.value === state.value ? state : { value: input.value };
      case 'cas': {
        const isEqual = input.from === state.value;
        if (output !== undefined && output !== isEqual) return null;
        return isEqual ? { value: input.to } : state;
      }
    }
  },
  isLook: ({ f }, output) => f === 'read' || (f === 'cas' && output === false),
  equal: (a, b) => a.value === b.value,
  hash: ({ value }) => hashPrimitive(value),
};

const FUNCTIONS = ['read', 'write', 'cas'];
const PAIR = 'a vector of the expected and the new value';
/** What a compare-and-set fails with when the value is another one. */
const UNEQUAL = ':unequal';

/** `read` nil → value, `write` value, `cas` [from to]. */
export const registerFormat: HistoryFormat<RegisterInput, RegisterOutput> = {
  invocation: (input) => {
    switch (input.f) {
      case 'read':
        return { f: 'read', value: null };
      case 'write':
        return { f: 'write', value: input.value };
      case 'cas':
        return { f: 'cas', value: [input.from, input.to] };
    }
  },
  completion: (input, output) => {
    if (input.f === 'read') return { type: 'ok', value: output };
    const { value } = registerFormat.invocation(input);
    const isRefused = input.f === 'cas' && output === false;
    return isRefused ? { type: 'fail', value, error: UNEQUAL } : { type: 'ok', value };
  },
  input: ({ f, value }) => {
    switch (f) {
      case 'read':
        return { f };
      case 'write':
        return { f, value: scalarOf(f, value) };
      case 'cas': {
        const [from, to] = pairOf(f, value, PAIR);
        return { f, from: scalarOf(f, from), to: scalarOf(f, to) };
      }
      default:
        throw unknownFunction(f, FUNCTIONS);
    }
  },
  output: (input, { type, value, error }) => {
    if (type === 'fail') return input.f === 'cas' && error === UNEQUAL ? false : undefined;
    if (input.f === 'read') return scalarOf('read', value);
    const asked = registerFormat.invocation(input).value;
    const isSame = JSON.stringify(value) === JSON.stringify(asked);
    if (!isSame) throw wrongValue(input.f, value, 'the value of the invocation');
    return input.f === 'cas' ? true : null;
  },
};
