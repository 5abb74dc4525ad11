/**
 * What a history is held against: a sequential description of the thing that was used. A model is
 * a few pure functions over immutable states; yours is as good as the ones in `models/`.
 */
import { assert } from '../../stdx/index.ts';
import { STATES_AT_ONCE_MAX } from './limits.ts';
import type { OperationHistory } from './operation.ts';

interface ModelBase<S, I, O> {
  /** For messages. */
  readonly name: string;
  /** The state of each part before anything has happened. */
  init(): S;
  /**
   * Whether two states are the same: whatever comes after, both answer alike. Default: `===`, which
   * is right for primitives and slow, not wrong, for everything else.
   */
  equal?(a: S, b: S): boolean;
  /** Any integer; equal states have equal ones. Needed beside `equal`, where there is one. */
  hash?(state: S): number;
  /** Bytes that a state takes, roughly, where states grow. Default: a small constant. */
  size?(state: S): number;
  /**
   * Whether an operation that had this output changes no state that allows it, such as a read.
   * `output` is `undefined` when it is not known. Default: never. Only speed depends on it, a lot.
   */
  isLook?(input: I, output: O | undefined): boolean;
  /**
   * Parts that have nothing to do with each other, each of which is checked alone, from `init`:
   * mostly one per key, see {@link partitionBy}. An object made of independent ones is linearizable
   * when each of them is (Herlihy and Wing 1990), and small parts are checked much faster.
   * Default: one part.
   */
  partition?(history: OperationHistory<I, O>): readonly OperationHistory<I, O>[];
}

/** A model in which state and input decide everything, or in which the output tells the rest. */
export interface Model<S, I, O> extends ModelBase<S, I, O> {
  /**
   * The state after an operation; `null`: in this state the operation cannot have had this output.
   * `output` is `undefined` when the outcome is unknown: any output will do then. (A model that
   * agrees to less than that may be shown longer offences than there are.) Pure; must not change
   * `state`, and may return it.
   */
  step(state: S, input: I, output: O | undefined): S | null;
}

/** A model in which an operation may lead to several states that its output does not tell apart. */
export interface NondeterministicModel<S, I, O> extends ModelBase<S, I, O> {
  /** All states that are possible afterwards; none: it cannot have had this output. */
  steps(state: S, input: I, output: O | undefined): readonly S[];
}

/**
 * The model whose states are the sets of states in which the given one may be (the power set
 * construction), so that the search need not know. At most {@link STATES_AT_ONCE_MAX} at once.
 */
export function deterministic<S, I, O>(
  model: NondeterministicModel<S, I, O>,
): Model<readonly S[], I, O> {
  const equal = equalOf(model);
  const hash = hashOf(model);
  const { size } = model;
  const { partition } = model;
  return {
    name: model.name,
    init: () => [model.init()],
    step: (states, input, output) => {
      const next: S[] = [];
      for (const state of states) {
        for (const after of model.steps(state, input, output)) {
          if (!next.some((other) => equal(other, after))) next.push(after);
        }
      }
      assert(next.length <= STATES_AT_ONCE_MAX, 'deterministic: too many states at once');
      return next.length === 0 ? null : next;
    },
    equal: (a, b) => {
      return a.length === b.length && a.every((state) => b.some((other) => equal(state, other)));
    },
    // Whatever the order.
    hash: (states) => states.reduce((sum, state) => (sum + mix(hash(state))) | 0, states.length),
    size: (states) => states.reduce((sum, state) => sum + (size?.(state) ?? 64), 64),
    ...(partition === undefined ? {} : { partition: (history) => partition(history) }),
  };
}

/** Parts by a key, in the order in which the keys come up. Keys are compared as a `Map` does. */
export function partitionBy<I, O>(
  history: OperationHistory<I, O>,
  keyOf: (input: I) => unknown,
): readonly OperationHistory<I, O>[] {
  const parts = new Map<unknown, OperationHistory<I, O>[number][]>();
  for (const operation of history) {
    const key = keyOf(operation.input);
    const part = parts.get(key);
    if (part === undefined) parts.set(key, [operation]);
    else part.push(operation);
  }
  return [...parts.values()];
}

export function equalOf<S>(model: { equal?(a: S, b: S): boolean }): (a: S, b: S) => boolean {
  const { equal } = model;
  return equal === undefined ? (a, b) => a === b : (a, b) => equal.call(model, a, b);
}

export function hashOf<S>(model: { hash?(state: S): number }): (state: S) => number {
  const { hash } = model;
  return hash === undefined ? hashPrimitive : (state) => hash.call(model, state);
}

/** Equal primitives have equal ones; all objects have the same. */
export function hashPrimitive(value: unknown): number {
  switch (typeof value) {
    case 'number':
      return (
        Math.imul(value, 0x9e3779b1) ^ Math.imul(Math.floor(value / 0x1_0000_0000), 0x85ebca6b)
      );
    case 'string':
      return hashText(value);
    case 'boolean':
      return value ? 2 : 1;
    default:
      return 0;
  }
}

/** Every bit of a word into every other. */
export function mix(value: number): number {
  value = Math.imul(value ^ (value >>> 16), 0x7feb352d);
  value = Math.imul(value ^ (value >>> 15), 0x846ca68b);
  return value ^ (value >>> 16);
}

function hashText(text: string): number {
  let hash = text.length;
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0;
  return hash;
}
