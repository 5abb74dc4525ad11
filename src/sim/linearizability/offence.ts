/**
 * From "there is no order" to a reason that a person can follow: the shortest beginning of the
 * history that has none, and how far the best attempt gets in it.
 *
 * If a beginning has no order, no longer one has, so the shortest is found by halving. It cannot
 * end before the furthest return that stopped the search in the whole history, and mostly ends
 * there; it ends later when an operation that was open then turns out to have been impossible.
 */
import { assert } from '../../stdx/index.ts';
import type { Model } from './model.ts';
import type { Operation, OperationHistory, ReturnedOperation } from './operation.ts';
import { type Furthest, Search, type SearchLimits, type SearchResult } from './search.ts';
import type { Offence } from './verdict.ts';

interface Prefix<I, O> {
  /** Operations called up to its end; those that return later are of unknown outcome. */
  readonly history: OperationHistory<I, O>;
  /** The same operations, as they were given. */
  readonly originals: OperationHistory<I, O>;
}

/** A search up to a return. */
interface Attempt<S, I, O> {
  readonly end: number;
  readonly originals: OperationHistory<I, O>;
  readonly result: SearchResult;
  readonly furthest: Furthest<S>;
}

/** `part` has no order, `whole` is how far the search came in it. */
export function findOffence<S, I, O>(
  part: OperationHistory<I, O>,
  model: Model<S, I, O>,
  whole: Furthest<S>,
  limits: SearchLimits,
): { offence: Offence<S, I, O>; steps: number } {
  assert(whole.blocked !== null, 'findOffence: nothing is in the way');
  const finder = new Finder(part, model, limits);
  const offence = finder.find(whole, whole.blocked);
  return { offence, steps: finder.steps };
}

class Finder<S, I, O> {
  steps: number = 0;
  readonly #part: OperationHistory<I, O>;
  readonly #model: Model<S, I, O>;
  readonly #limits: SearchLimits;
  readonly #returns: readonly ReturnedOperation<I, O>[];

  constructor(part: OperationHistory<I, O>, model: Model<S, I, O>, limits: SearchLimits) {
    this.#part = part;
    this.#model = model;
    this.#limits = limits;
    this.#returns = inOrderOfReturn(part);
  }

  find(whole: Furthest<S>, blocked: number): Offence<S, I, O> {
    let low = this.#returns.indexOf(this.#part[blocked] as ReturnedOperation<I, O>);
    let high = this.#returns.length - 1;
    let best: Attempt<S, I, O> | null = null;
    // Mostly the first one is it.
    for (let end = low; low < high || best?.end !== low; end = (low + high) >>> 1) {
      const attempt = this.#try(end);
      if (attempt.result === 'found') {
        low = end + 1;
      } else if (attempt.result === 'none') {
        best = attempt;
        high = end;
      } else {
        const order = whole.order.map((at) => this.#part[at]!);
        const { state } = whole;
        const first = this.#part[blocked] as ReturnedOperation<I, O>;
        const prefix = inOrderOfCall(this.#part);
        return { part: this.#part, prefix, isShortest: false, order, state, blocked: first };
      }
      assert(low <= high, 'findOffence: the whole has an order after all');
    }
    return this.#explain(best);
  }

  /** Why this beginning has no order, while that up to the return before it has. */
  #explain({ end, originals, furthest }: Attempt<S, I, O>): Offence<S, I, O> {
    const blocked = this.#returns[end]!;
    const isLast = furthest.blocked !== null && originals[furthest.blocked] === blocked;
    // Else its output makes others impossible: they fit as long as it is not known.
    const fit = isLast ? { originals, furthest } : this.#try(end - 1);
    const order = fit.furthest.order.map((at) => fit.originals[at]!);
    const { state } = fit.furthest;
    return { part: this.#part, prefix: originals, isShortest: true, order, state, blocked };
  }

  #try(end: number): Attempt<S, I, O> {
    const { history, originals } = this.#prefixOf(end);
    const stepsMax = Math.max(1, this.#limits.stepsMax - this.steps);
    const search = new Search(history, this.#model, { ...this.#limits, stepsMax });
    const result = search.run();
    this.steps += search.steps;
    return { end, originals, result, furthest: search.furthest() };
  }

  /** Up to this return, all returns before it included; −1: before all of them. */
  #prefixOf(end: number): Prefix<I, O> {
    const done = new Set<Operation<I, O>>(this.#returns.slice(0, end + 1));
    const endTime = this.#returns[Math.max(0, end)]!.return;
    const originals = inOrderOfCall(this.#part).filter(({ call }) => call <= endTime);
    const history = originals.map((operation): Operation<I, O> => {
      if (done.has(operation)) return operation;
      const { process, input, call } = operation;
      return { process, input, call, return: null };
    });
    return { history, originals };
  }
}

function inOrderOfCall<I, O>(part: OperationHistory<I, O>): Operation<I, O>[] {
  return part.toSorted((a, b) => a.call - b.call);
}

/** At the same time, in the order of their calls. */
function inOrderOfReturn<I, O>(part: OperationHistory<I, O>): ReturnedOperation<I, O>[] {
  const returned = inOrderOfCall(part).filter((operation) => operation.return !== null);
  return returned.toSorted((a, b) => a.return - b.return);
}
