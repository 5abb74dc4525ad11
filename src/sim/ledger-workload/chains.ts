/** Which events of a batch are linked to their successor: chains of all shapes. */
import type { Prng } from '../../stdx/index.ts';

/** What is planned for one event before its contents are made. */
export interface LinkPlan {
  readonly linked: boolean;
  /** Part of a chain that is meant to stand: nothing should be wrong with the event. */
  readonly careful: boolean;
}

export function planLinks(prng: Prng, count: number): LinkPlan[] {
  const linked = linkedFlags(prng, count);
  const plans: LinkPlan[] = [];
  let careful = false;
  for (let i = 0; i < count; i++) {
    const startsChain = linked[i] === true && (i === 0 || linked[i - 1] === false);
    if (startsChain) careful = prng.chance(2, 3);
    const inChain = linked[i] === true || (i > 0 && linked[i - 1] === true);
    plans.push({ linked: linked[i] === true, careful: inChain && careful });
  }
  return plans;
}

function linkedFlags(prng: Prng, count: number): boolean[] {
  const flags: boolean[] = new Array(count).fill(false);
  const shape = prng.below(20);
  if (shape < 8) return flags;
  // One chain over everything, properly ended; every other event at random; short runs.
  if (shape < 9) return flags.map((_, i) => i < count - 1);
  if (shape < 11) return flags.map(() => prng.chance(1, 2));
  for (let i = 0; i < count; ) {
    i += prng.below(4);
    const length = prng.between(1, 5);
    for (let k = 0; k < length && i + k < count - 1; k++) flags[i + k] = true;
    i += length + 1;
  }
  // A chain that the end of the batch cuts off.
  if (shape === 19 && count > 0) flags[count - 1] = true;
  return flags;
}
