/**
 * Who refers weakly to the rows of one table: what makes the deletion of a row cost as much as the
 * references to it, not a scan. Kept up from the changes of each commit; holds nothing of rows that
 * nobody refers to.
 */
import { assert } from '../../stdx/index.ts';
import type { Uuid } from '../data/uuid.ts';

export class WeakReferrers<Source> {
  /** By source table, then by the row referred to: referring row → number of places. */
  readonly #bySource: Map<Source, Map<Uuid, Map<Uuid, number>>> = new Map();

  add(source: Source, from: Uuid, to: Uuid): void {
    let targets = this.#bySource.get(source);
    if (targets === undefined) {
      targets = new Map();
      this.#bySource.set(source, targets);
    }
    let referrers = targets.get(to);
    if (referrers === undefined) {
      referrers = new Map();
      targets.set(to, referrers);
    }
    referrers.set(from, (referrers.get(from) ?? 0) + 1);
  }

  remove(source: Source, from: Uuid, to: Uuid): void {
    const targets = this.#bySource.get(source);
    const referrers = targets?.get(to);
    const places = referrers?.get(from);
    assert(
      targets !== undefined && referrers !== undefined && places !== undefined,
      'WeakReferrers: an unknown reference goes',
    );
    if (places > 1) referrers.set(from, places - 1);
    else referrers.delete(from);
    if (referrers.size === 0) targets.delete(to);
  }

  /** Calls for every row that refers to `to`, once. */
  forEach(to: Uuid, visit: (source: Source, from: Uuid) => void): void {
    for (const [source, targets] of this.#bySource) {
      for (const from of targets.get(to)?.keys() ?? []) visit(source, from);
    }
  }

  /** References, each pair of rows once. */
  get size(): number {
    let size = 0;
    for (const targets of this.#bySource.values()) {
      for (const referrers of targets.values()) size += referrers.size;
    }
    return size;
  }
}
