/**
 * How what the clients of the small machines see is judged: requests and replies read by hand, as a
 * client would, and a model that knows neither machine nor twin.
 */
import {
  COUNTER_ADD,
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

function fingerprint(value: Uint8Array): string {
  const hash = new EventHash();
  hash.bytes(value);
  return hash.digest();
}
