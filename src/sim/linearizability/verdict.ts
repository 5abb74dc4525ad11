/**
 * What the checker says of a history, for programs and for readers.
 */
import type { Operation, OperationHistory, ReturnedOperation } from './operation.ts';

export type Verdict<S, I, O> =
  | {
      readonly kind: 'linearizable';
      /** For each part an order in which its operations may have taken effect, one by one. */
      readonly orders: readonly OperationHistory<I, O>[];
      readonly steps: number;
    }
  | {
      readonly kind: 'not-linearizable';
      readonly offence: Offence<S, I, O>;
      readonly steps: number;
    }
  | {
      /** The budget was used up before there was a result. */
      readonly kind: 'unknown';
      readonly reason: 'steps' | 'memory';
      readonly steps: number;
    };

/** Why a history is not linearizable. */
export interface Offence<S, I, O> {
  /** The part that has no order. */
  readonly part: OperationHistory<I, O>;
  /**
   * The beginning of it that has none either: all operations called up to the return of `blocked`,
   * in the order of their calls. What returns later counts as of unknown outcome.
   */
  readonly prefix: OperationHistory<I, O>;
  /** Up to one return less, there is an order. False when the budget did not allow to find out. */
  readonly isShortest: boolean;
  /**
   * The longest order found of what comes before that return: nothing explains `blocked` after it.
   * It may hold `blocked` itself, where others need it to have had another outcome than it had.
   */
  readonly order: OperationHistory<I, O>;
  /** The state after `order`. */
  readonly state: S;
  /** The operation whose return ends the prefix. */
  readonly blocked: ReturnedOperation<I, O>;
}

/** Operations of an order that are shown, from its end. */
const SHOWN_MAX = 16;

/** A verdict as text of several lines, for a person who has to find out what went wrong. */
export function describeVerdict<S, I, O>(verdict: Verdict<S, I, O>): string {
  switch (verdict.kind) {
    case 'linearizable':
      return `linearizable: ${verdict.orders.length} parts, ${verdict.steps} steps`;
    case 'unknown':
      return `unknown: no ${verdict.reason} left after ${verdict.steps} steps`;
    case 'not-linearizable':
      return describeOffence(verdict.offence);
  }
}

function describeOffence<S, I, O>(offence: Offence<S, I, O>): string {
  const { part, prefix, isShortest, order, state, blocked } = offence;
  const counts = `${prefix.length} of ${part.length} operations`;
  const lines = [
    `not linearizable: ${counts}${isShortest ? '' : ' (perhaps fewer would do)'}`,
    `nothing explains  ${describeOperation(blocked)}`,
    `in state          ${show(state)}`,
  ];
  const shown = order.slice(-SHOWN_MAX);
  const hidden = order.length - shown.length;
  lines.push(hidden > 0 ? `after ${hidden} operations and` : 'after');
  for (const operation of shown) lines.push(`  ${describeOperation(operation)}`);
  const placed = new Set(order);
  const open = prefix.filter((operation) => operation !== blocked && !placed.has(operation));
  if (open.length > 0) lines.push('beside');
  for (const operation of open.slice(0, SHOWN_MAX)) lines.push(`  ${describeOperation(operation)}`);
  if (open.length > SHOWN_MAX) lines.push(`  and ${open.length - SHOWN_MAX} more`);
  return lines.join('\n');
}

function describeOperation<I, O>(operation: Operation<I, O>): string {
  const { process, input, call } = operation;
  const end = operation.return === null ? 'unknown' : show(operation.output);
  const time = `${call} … ${operation.return ?? '∞'}`;
  return `process ${process}: ${show(input)} → ${end}  [${time}]`;
}

/** Short, and never fails: values that JSON cannot hold are shown as JavaScript does. */
function show(value: unknown): string {
  if (typeof value === 'bigint' || value === undefined) return String(value);
  const text = JSON.stringify(value, (_, inner: unknown) => {
    if (typeof inner === 'bigint') return String(inner);
    if (inner instanceof Map || inner instanceof Set) return [...inner];
    return inner;
  });
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
