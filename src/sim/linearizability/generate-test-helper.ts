/**
 * Histories of clients that share something: each operation takes effect at a moment of its own
 * between call and return, in which the model says what comes out. So they are linearizable, until
 * an output is changed.
 */
import type { Prng } from '../../stdx/index.ts';
import type { Operation, OperationHistory } from './operation.ts';

export interface GenerateOptions<I, O> {
  readonly prng: Prng;
  readonly operations: number;
  readonly clients: number;
  /** In 1,000: the outcome is not known, and it may not have happened. */
  readonly unknowns: number;
  readonly input: (prng: Prng) => I;
  /** Takes effect now. */
  readonly apply: (input: I) => O;
}

interface Begun<I, O> {
  readonly process: number;
  readonly input: I;
  readonly call: number;
  output: O | undefined;
}

/** Times are places in the order of everything that happens. */
export function generate<I, O>(options: GenerateOptions<I, O>): OperationHistory<I, O> {
  const { prng, operations, clients, unknowns, input, apply } = options;
  const history: Operation<I, O>[] = [];
  const open: (Begun<I, O> | null)[] = new Array(clients).fill(null);
  /** Given up, and perhaps still on their way. */
  const adrift: I[] = [];
  let begun = 0;
  for (let time = 0; history.length < operations; time++) {
    if (adrift.length > 0 && prng.chance(1, 20)) {
      apply(adrift.splice(prng.below(adrift.length), 1)[0]!);
    }
    const client = prng.below(clients);
    const now = open[client];
    if (now === null || now === undefined) {
      if (begun === operations) continue;
      begun++;
      open[client] = { process: client, input: input(prng), call: time, output: undefined };
      continue;
    }
    const { process, call } = now;
    if (now.output === undefined && prng.chance(unknowns, 1000)) {
      if (prng.chance(2, 3)) adrift.push(now.input);
      history.push({ process, input: now.input, call, return: null });
      open[client] = null;
    } else if (now.output === undefined) {
      now.output = apply(now.input);
    } else {
      history.push({ process, input: now.input, call, return: time, output: now.output });
      open[client] = null;
    }
  }
  return history;
}
