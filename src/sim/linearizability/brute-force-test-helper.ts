/**
 * The dumb twin of the checker: every order of every choice of operations, one after another, as
 * the definition has it. Good for a handful of operations.
 */
import type { Model } from './model.ts';
import type { Operation, OperationHistory } from './operation.ts';

/** Whether some order of the whole history, not split into parts, is lawful. */
export function bruteForce<S, I, O>(
  history: OperationHistory<I, O>,
  model: Model<S, I, O>,
): boolean {
  for (const chosen of choices(history)) {
    for (const order of permutations(chosen)) if (isLawful(order, model)) return true;
  }
  return false;
}

/** Real time is kept, and the model agrees to every step. */
export function isLawful<S, I, O>(order: OperationHistory<I, O>, model: Model<S, I, O>): boolean {
  for (const [i, later] of order.entries()) {
    // Whatever stands behind it must not have ended before it began.
    for (const after of order.slice(i + 1)) {
      if (after.return !== null && after.return < later.call) return false;
    }
  }
  let state = model.init();
  for (const operation of order) {
    const output = operation.return === null ? undefined : operation.output;
    const next = model.step(state, operation.input, output);
    if (next === null) return false;
    state = next;
  }
  return true;
}

/** Everything that returned, and any of the rest. */
function choices<I, O>(history: OperationHistory<I, O>): Operation<I, O>[][] {
  let made: Operation<I, O>[][] = [[]];
  for (const operation of history) {
    const withIt = made.map((chosen) => [...chosen, operation]);
    made = operation.return === null ? [...made, ...withIt] : withIt;
  }
  return made;
}

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item, i) => {
    return permutations(items.toSpliced(i, 1)).map((rest) => [item, ...rest]);
  });
}

/**
 * The beginning of a history up to its `count`-th return: what is called later is not there, what
 * returns later is of unknown outcome.
 */
export function beginning<I, O>(
  history: OperationHistory<I, O>,
  count: number,
): OperationHistory<I, O> {
  const byCall = history.toSorted((a, b) => a.call - b.call);
  const returned = byCall.filter((operation) => operation.return !== null);
  returned.sort((a, b) => Number(a.return) - Number(b.return));
  const done = new Set<Operation<I, O>>(returned.slice(0, count));
  const end = Number(returned[count - 1]?.return);
  return byCall
    .filter(({ call }) => call <= end)
    .map((operation) => {
      const { process, input, call } = operation;
      return done.has(operation) ? operation : { process, input, call, return: null };
    });
}
