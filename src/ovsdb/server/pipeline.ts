/**
 * Tasks of one database that were executed one on top of the other, ahead of the storage. What is
 * at the head is confirmed first; when an append is refused, everything from it on is undone,
 * the latest first, as if it had never been executed.
 */
import { assert } from '../../stdx/index.ts';
import type { Content } from './served-database.ts';
import type { Entry } from './task.ts';

export class Pipeline {
  #entries: Entry[] = [];

  get size(): number {
    return this.#entries.length;
  }

  /** Its changes, if any, are in the tables. */
  push(entry: Entry): void {
    this.#entries.push(entry);
  }

  /** Takes what is confirmed when appends up to `number` are: in order, what needed none, too. */
  confirm(number: number): Entry[] {
    let count = 0;
    for (const entry of this.#entries) {
      if (entry.number > number) break;
      count += 1;
    }
    return this.#entries.splice(0, count);
  }

  /** Takes the append of this number and all that came after it, and undoes their changes. */
  refuse(number: number, { database, monitors }: Content): Entry[] {
    const first = this.#entries.findIndex((entry) => entry.number >= number);
    if (first === -1) return [];
    const undone = this.#entries.splice(first);
    for (const { changes } of undone.toReversed()) {
      if (changes === null) continue;
      database.revert(changes);
      monitors.reverted(changes);
    }
    assert(undone[0].number > 0, 'Pipeline.refuse: the first one had no append');
    return undone;
  }

  takeAll(): Entry[] {
    return this.#entries.splice(0);
  }
}
