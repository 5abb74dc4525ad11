/**
 * The public face: a history and a model in, a verdict out. Pure and bounded: the same history gets
 * the same verdict on every machine, after as many steps.
 */
import { assert } from '../../stdx/index.ts';
import { MEMORY_BYTES_MAX_DEFAULT, STEPS_MAX_DEFAULT } from './limits.ts';
import type { Model } from './model.ts';
import { findOffence } from './offence.ts';
import { type OperationHistory, validateHistory } from './operation.ts';
import { Search, type SearchResult } from './search.ts';
import type { Verdict } from './verdict.ts';

export interface CheckOptions {
  /**
   * Attempts to put an operation next, for all parts together. Each calls the model once.
   * Default: 20,000,000, some seconds with a simple model.
   */
  readonly stepsMax?: number;
  /** Memory for what has been tried, of one part at a time, bytes. Default: 256 MiB. */
  readonly memoryBytesMax?: number;
}

/**
 * Whether there is an order of all operations, each taking effect at one moment between its call
 * and its return, in which the model gives the outputs that were seen (Herlihy and Wing 1990).
 *
 * Operations of unknown outcome may be part of the order or not. Deciding this takes exponential
 * time at worst, hence the budget; mostly it takes about as many steps as there are operations.
 *
 * ```ts
 * const history: OperationHistory<RegisterInput, RegisterOutput> = [
 *   { process: 1, input: { f: 'write', value: 1 }, call: 0, return: 1, output: null },
 *   { process: 2, input: { f: 'read' }, call: 2, return: 3, output: null },
 * ];
 * checkLinearizable(history, registerModel()).kind; // 'not-linearizable': the read is stale
 * ```
 *
 * Throws a `HistoryError` (`time`, `limit`) when the history makes no sense.
 */
export function checkLinearizable<S, I, O>(
  history: OperationHistory<I, O>,
  model: Model<S, I, O>,
  options: CheckOptions = {},
): Verdict<S, I, O> {
  const { stepsMax = STEPS_MAX_DEFAULT, memoryBytesMax = MEMORY_BYTES_MAX_DEFAULT } = options;
  assert(Number.isSafeInteger(stepsMax) && stepsMax > 0, 'checkLinearizable: bad stepsMax');
  assert(memoryBytesMax > 0 && memoryBytesMax <= 2 ** 33, 'checkLinearizable: bad memoryBytesMax');
  validateHistory(history);
  const parts = model.partition?.(history) ?? [history];
  // Small parts leave what they do not need to large ones.
  const queue = parts.map((_, index) => index);
  queue.sort((a, b) => parts[a]!.length - parts[b]!.length || a - b);
  const orders: OperationHistory<I, O>[] = [];
  let stepsLeft = stepsMax;
  let steps = 0;
  let reason: Exclude<SearchResult, 'found' | 'none'> | null = null;
  for (const [done, index] of queue.entries()) {
    const part = parts[index]!;
    const share = Math.max(1, Math.floor(stepsLeft / (queue.length - done)));
    const search = new Search(part, model, { stepsMax: share, memoryBytesMax });
    const result = search.run();
    stepsLeft -= search.steps;
    steps += search.steps;
    if (result === 'none') {
      const limits = { stepsMax: stepsLeft, memoryBytesMax };
      const found = findOffence(part, model, search.furthest(), limits);
      return { kind: 'not-linearizable', offence: found.offence, steps: steps + found.steps };
    }
    if (result === 'found') orders[index] = search.furthest().order.map((at) => part[at]!);
    else reason = result;
  }
  if (reason !== null) return { kind: 'unknown', reason, steps };
  return { kind: 'linearizable', orders, steps };
}
