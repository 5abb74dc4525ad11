/** Arithmetic of majorities, apart from any state. */
import { assert } from '../../stdx/index.ts';

/** Servers that make a majority of `n`. */
export function majority(n: number): number {
  return Math.floor(n / 2) + 1;
}

/** Largest index that a majority has, given what each server has. */
export function quorumIndex(matches: readonly number[]): number {
  assert(matches.length > 0, 'quorum: nobody votes');
  const descending = [...matches].sort((a, b) => b - a);
  return descending[majority(matches.length) - 1];
}

/**
 * Answers from other servers that a leader of `n` needs to hear within one election timer to go on
 * believing in its office. One fewer than a strict majority of the others where `n` is even would
 * still overlap with any quorum only together with itself, which is what it is.
 */
export function contactsNeeded(n: number): number {
  return Math.floor(n / 2);
}
