/**
 * Remembers where a combination of conditions was looked for and not found. Each of two conditions
 * may hold for half of the rows and both together for none; finding that out takes time for every
 * row, and a request can hold thousands of such filters, with other ranges or limits each. A sealed
 * segment never changes, so what it does not hold, it will never hold: it is searched once.
 *
 * This is a cache of this process: nothing depends on what it holds but time.
 */
import { assert } from '../../stdx/index.ts';
import { FOLDED_KEYS } from '../indexes/index-keys.ts';
import type { IndexTable } from '../indexes/index-table.ts';
import type { Filter } from './filter.ts';

/** Combinations remembered; the oldest makes room. */
const COMBINATIONS_MAX = 1_024;

export class EmptySegments {
  /** Per table and combination: one byte per segment, 1 where nothing is. */
  readonly #tables: Map<IndexTable, Map<string, Uint8Array>> = new Map();

  /** Whether it is known that the segment holds no row of this combination. */
  has(table: IndexTable, combination: string, segment: number): boolean {
    const segments = this.#tables.get(table)?.get(combination);
    return segments !== undefined && segments[segment] === 1;
  }

  /** A sealed segment was searched as a whole, and nothing was found. */
  add(table: IndexTable, combination: string, segment: number): void {
    assert(segment < table.sealedSegments, 'EmptySegments: not sealed');
    let combinations = this.#tables.get(table);
    if (combinations === undefined) {
      combinations = new Map();
      this.#tables.set(table, combinations);
    }
    let segments = combinations.get(combination);
    if (segments === undefined || segment >= segments.length) {
      const larger = new Uint8Array(2 * table.sealedSegments);
      if (segments !== undefined) larger.set(segments);
      segments = larger;
      combinations.set(combination, segments);
      if (combinations.size > COMBINATIONS_MAX) {
        const [oldest] = combinations.keys();
        combinations.delete(oldest);
      }
    }
    segments[segment] = 1;
  }
}

/**
 * The filter's conditions, without range, limit and direction, as a key; `null` when there is at
 * most one and its run answers exactly, so that there is nothing to remember.
 */
export function combinationOf(filter: Filter, eitherAccount: number): string | null {
  let isFolded = false;
  let key = `${eitherAccount}`;
  for (let i = 0; i < filter.conditionCount; i++) {
    if (filter.keys[i] < FOLDED_KEYS) isFolded = true;
    key += `,${filter.keys[i]}:${filter.values[i]}`;
  }
  if (!isFolded && filter.conditionCount + (eitherAccount < 0 ? 0 : 1) < 2) return null;
  if (!isFolded) return key;
  return `${key},${filter.userData128.join(':')},${filter.userData64.join(':')},${filter.userData32}`;
}
