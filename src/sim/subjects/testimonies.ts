/**
 * How what the clients of the small machines see is judged: requests and replies read by hand, as a
 * client would, and a model that knows neither machine nor twin.
 */
import {
  COUNTER_ADD,
  KEY_VALUE_CAS,
  KEY_VALUE_DELETE,
  KEY_VALUE_GET,
  KEY_VALUE_PUT,
  KeyValueStatus,
} from '../../engine/index.ts';
import { readSafeU64, readU16, readU32 } from '../../stdx/index.ts';
import { ClientTestimony, type Testimony } from '../checks/testimony.ts';
import {
  type CounterInput,
  counterModel,
  hashPrimitive,
  type Model,
  partitionBy,
} from '../linearizability/index.ts';
import { EventHash } from '../world/event-hash.ts';

/** Additions and reads are answered with the total. */
export function counterTestimony(): Testimony {
  return new ClientTestimony({
    model: counterModel(),
    input: (operation, body): CounterInput => {
      return operation === COUNTER_ADD ? { f: 'add', amount: readU32(body, 0) } : { f: 'read' };
    },
    output: (_, reply) => readSafeU64(reply, 0),
  });
}

/** What a key holds: a fingerprint of the value, or `null`. */
interface Held {
  readonly value: string | null;
  /** It may be gone at any time. */
  readonly isMortal: boolean;
}

interface StoreInput {
  readonly f: 'get' | 'put' | 'delete';
  readonly key: string;
  /** Of `put`. */
  readonly value: string | null;
  readonly isMortal: boolean;
}

interface StoreOutput {
  readonly status: number;
  /** Of a `get` that found something. */
  readonly value: string | null;
}

const NOTHING: Held = { value: null, isMortal: false };

/**
 * A key-value store whose entries may have a lifetime. When exactly one ends is for clocks to say,
 * which clients do not see; they do see that what is gone does not come back.
 */
export const STORE: Model<Held, StoreInput, StoreOutput> = {
  name: 'key-value with lifetimes',
  init: () => NOTHING,
  step: (state, input, output) => {
    const { ok, missing } = KeyValueStatus;
    if (input.f === 'put') {
      if (output !== undefined && output.status !== ok) return null;
      return { value: input.value, isMortal: input.isMortal };
    }
    if (output === undefined) return input.f === 'delete' ? NOTHING : state;
    if (output.status === missing) {
      return state.value === null || state.isMortal ? NOTHING : null;
    }
    if (output.status !== ok || state.value === null) return null;
    if (input.f === 'delete') return NOTHING;
    return output.value === state.value ? state : null;
  },
  isLook: ({ f }, output) => f === 'get' && output?.status === KeyValueStatus.ok,
  equal: (a, b) => a.value === b.value && a.isMortal === b.isMortal,
  hash: ({ value, isMortal }) => hashPrimitive(value) ^ (isMortal ? 1 : 0),
  partition: (history) => partitionBy(history, ({ key }) => key),
};

const FUNCTIONS: { readonly [operation: number]: StoreInput['f'] } = {
  [KEY_VALUE_GET]: 'get',
  [KEY_VALUE_PUT]: 'put',
  [KEY_VALUE_DELETE]: 'delete',
};

/** Bytes of a request before its key. */
const HEAD_SIZE = 8;

export function keyValueTestimony(): Testimony {
  return new ClientTestimony({
    model: STORE,
    input: (operation, body): StoreInput => {
      const keyEnd = HEAD_SIZE + readU16(body, 0);
      const key = String.fromCharCode(...body.subarray(HEAD_SIZE, keyEnd));
      const f = FUNCTIONS[operation] ?? 'get';
      const value = f === 'put' ? fingerprint(body.subarray(keyEnd)) : null;
      return { f, key, value, isMortal: readU32(body, 4) !== 0 };
    },
    output: (operation, reply): StoreOutput => {
      const isFound = operation === KEY_VALUE_GET && reply[0] === KeyValueStatus.ok;
      return { status: reply[0]!, value: isFound ? fingerprint(reply.subarray(1)) : null };
    },
  });
}

interface CasInput {
  readonly f: 'get' | 'put' | 'delete' | 'cas';
  readonly key: string;
  /** What is put; {@link ABSENT} for the others. */
  readonly value: string;
  /** What a `cas` expects. */
  readonly expected: string;
}

interface CasOutput {
  readonly status: number;
  /** What the key holds, where the answer says so. */
  readonly value: string;
}

/** In place of a fingerprint: the key is not there. */
const ABSENT = '';

/** A key-value store without lifetimes: what a key holds is what was put there last. */
export const CAS_STORE: Model<string, CasInput, CasOutput> = {
  name: 'key-value with compare-and-set',
  init: () => ABSENT,
  step: (state, input, output) => {
    const { ok, missing, unequal } = KeyValueStatus;
    const isThere = state !== ABSENT;
    const may = (status: number, value: string): boolean =>
      output === undefined || (output.status === status && output.value === value);
    switch (input.f) {
      case 'get':
        return may(isThere ? ok : missing, state) ? state : null;
      case 'put':
        return may(ok, ABSENT) ? input.value : null;
      case 'delete':
        return may(isThere ? ok : missing, ABSENT) ? ABSENT : null;
      case 'cas': {
        if (state === input.expected) return may(ok, ABSENT) ? input.value : null;
        return may(isThere ? unequal : missing, state) ? state : null;
      }
    }
  },
  isLook: ({ f }, output) => {
    const isRefused = output !== undefined && output.status !== KeyValueStatus.ok;
    return f === 'get' || (f === 'cas' && isRefused);
  },
  partition: (history) => partitionBy(history, ({ key }) => key),
};

export function casTestimony(): Testimony {
  return new ClientTestimony({
    model: CAS_STORE,
    input: (operation, body): CasInput => {
      const keyEnd = HEAD_SIZE + readU16(body, 0);
      const valueEnd = keyEnd + readU16(body, 2);
      const key = String.fromCharCode(...body.subarray(HEAD_SIZE, keyEnd));
      const f = operation === KEY_VALUE_CAS ? 'cas' : (FUNCTIONS[operation] ?? 'get');
      const isChange = f === 'put' || f === 'cas';
      const value = isChange ? fingerprint(body.subarray(keyEnd, valueEnd)) : ABSENT;
      const expectsValue = f === 'cas' && body[valueEnd] === 1;
      const expected = expectsValue ? fingerprint(body.subarray(valueEnd + 1)) : ABSENT;
      return { f, key, value, expected };
    },
    output: (operation, reply): CasOutput => {
      const status = reply[0]!;
      const isGet = operation === KEY_VALUE_GET && status === KeyValueStatus.ok;
      const isShown = isGet || status === KeyValueStatus.unequal;
      return { status, value: isShown ? fingerprint(reply.subarray(1)) : ABSENT };
    },
  });
}

function fingerprint(value: Uint8Array): string {
  const hash = new EventHash();
  hash.bytes(value);
  return hash.digest();
}
