/**
 * A lock that gives a fencing token to whoever gets it, larger than all before, and a resource
 * behind it that refuses who comes with an older token than it has seen.
 *
 * Who was never told its token holds the lock until somebody else ends that (`expire`); nobody can
 * ever use or release that token.
 */
import { type HistoryFormat, integerOf, unknownFunction, wrongValue } from '../exchange/format.ts';
import { type Model, mix } from '../model.ts';

export type FencedLockInput =
  | { readonly f: 'acquire' }
  /** The holder gives it back. */
  | { readonly f: 'release'; readonly token: number }
  /** Whoever holds it loses it. */
  | { readonly f: 'expire' }
  /** Uses what the lock protects. */
  | { readonly f: 'use'; readonly token: number };

/**
 * Of `acquire` the token, `null`: it is held; of `release` whether it was held under this token; of
 * `expire` whether it was held; of `use` whether the token was good.
 */
export type FencedLockOutput = number | boolean | null;

export interface FencedLockState {
  /** At least as large as every token given out. */
  readonly last: number;
  /** Token of the holder; 0: it is free; −1: of somebody who does not know the token. */
  readonly holder: number;
  /** The largest token that the resource has seen. */
  readonly fence: number;
}

export function fencedLockModel(): Model<FencedLockState, FencedLockInput, FencedLockOutput> {
  return {
    name: 'fenced-lock',
    init: () => ({ last: 0, holder: 0, fence: 0 }),
    step: stepLock,
    isLook: (_, output) => output === null || output === false,
    equal: (a, b) => a.last === b.last && a.holder === b.holder && a.fence === b.fence,
    hash: ({ last, holder, fence }) => mix(mix(mix(last) + holder) + fence),
  };
}

function stepLock(
  state: FencedLockState,
  input: FencedLockInput,
  output: FencedLockOutput | undefined,
): FencedLockState | null {
  const { last, holder, fence } = state;
  switch (input.f) {
    case 'acquire': {
      if (holder !== 0) return output === undefined || output === null ? state : null;
      // Nobody will ever name that token, so the smallest there may be leaves most room.
      if (output === undefined) return { last: last + 1, holder: -1, fence };
      const isToken = typeof output === 'number' && output > last;
      return isToken ? { last: output, holder: output, fence } : null;
    }
    case 'release': {
      const isHeld = holder === input.token;
      if (output !== undefined && output !== isHeld) return null;
      return isHeld ? { last, holder: 0, fence } : state;
    }
    case 'expire': {
      const isHeld = holder !== 0;
      if (output !== undefined && output !== isHeld) return null;
      return isHeld ? { last, holder: 0, fence } : state;
    }
    case 'use': {
      const isGood = input.token >= fence && input.token > 0 && input.token <= last;
      if (output !== undefined && output !== isGood) return null;
      return isGood && input.token > fence ? { last, holder, fence: input.token } : state;
    }
  }
}

/** `acquire` nil → token or nil, `release` token → boolean, `expire` nil, `use` token. */
export const fencedLockFormat: HistoryFormat<FencedLockInput, FencedLockOutput> = {
  invocation: (input) => ({ f: input.f, value: 'token' in input ? input.token : null }),
  completion: (_, output) => ({ type: 'ok', value: output }),
  input: ({ f, value }) => {
    if (f === 'acquire' || f === 'expire') return { f };
    if (f === 'release' || f === 'use') return { f, token: integerOf(f, value) };
    throw unknownFunction(f, ['acquire', 'release', 'expire', 'use']);
  },
  output: ({ f }, { type, value }) => {
    if (type === 'fail') return undefined;
    if (f === 'acquire') return value === null ? null : integerOf(f, value);
    if (typeof value !== 'boolean') throw wrongValue(f, value, 'a boolean');
    return value;
  },
};
