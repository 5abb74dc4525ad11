/**
 * Where the monitors of one shape stand. A position is a moment after some commit; monitors that
 * were told everything until then share it. Each position keeps the difference to the next one, the
 * last one to now: so a commit is recorded once, however many readers lag behind, and each of them
 * costs what it is behind its neighbour. A position that its last monitor leaves is merged into the
 * one before it.
 */
import { assert } from '../../stdx/index.ts';
import type { Uuid } from '../data/uuid.ts';
import type { Row } from '../store/row.ts';
import { Difference } from './difference.ts';

export class Position<T, M, C> {
  readonly members: Set<M> = new Set();
  difference: Difference<T> = new Difference();
  previous: Position<T, M, C> | null = null;
  next: Position<T, M, C> | null = null;
  /** Everything since, and what has been made of it; forgotten at the next commit. */
  made: C | null = null;
}

/** `T`: tables, `M`: monitors, `C`: what is made of a difference, once for all that need it. */
export class Chain<T, M, C> {
  readonly #make: (difference: Difference<T>) => C;
  #first: Position<T, M, C> | null = null;
  #last: Position<T, M, C> | null = null;
  readonly #made: Set<Position<T, M, C>> = new Set();

  constructor(make: (difference: Difference<T>) => C) {
    this.#make = make;
  }

  /** Rows that are kept for all positions together. */
  get size(): number {
    let size = 0;
    for (let at = this.#first; at !== null; at = at.next) size += at.difference.size;
    return size;
  }

  /** Positions for which something made is kept. */
  get made(): number {
    return this.#made.size;
  }

  record(table: T, uuid: Uuid, before: Row | null, after: Row | null): void {
    if (this.#last === null) return;
    for (const position of this.#made) position.made = null;
    this.#made.clear();
    this.#last.difference.add(table, uuid, before, after);
  }

  /** The position of now, with one more monitor. */
  join(member: M): Position<T, M, C> {
    if (this.#last === null || !this.#last.difference.empty) this.#append();
    const last = this.#last;
    assert(last !== null, 'Chain.join: no position');
    last.members.add(member);
    return last;
  }

  /** To the position of now. */
  move(position: Position<T, M, C>, member: M): Position<T, M, C> {
    if (this.upToDate(position)) return position;
    const now = this.join(member);
    this.leave(position, member);
    return now;
  }

  leave(position: Position<T, M, C>, member: M): void {
    assert(position.members.delete(member), 'Chain.leave: not here');
    if (position.members.size === 0) this.#remove(position);
  }

  /** Nothing happened since. */
  upToDate(position: Position<T, M, C>): boolean {
    return position === this.#last && position.difference.empty;
  }

  /** What is made of everything since; the same object until something happens. */
  since(position: Position<T, M, C>): C {
    if (position.made === null) {
      position.made = this.#make(this.#differenceSince(position));
      this.#made.add(position);
    }
    return position.made;
  }

  /** Monitors with something to be told, perhaps. */
  *behind(): Generator<M> {
    for (let at = this.#first; at !== null; at = at.next) {
      if (!this.upToDate(at)) yield* at.members;
    }
  }

  #differenceSince(position: Position<T, M, C>): Difference<T> {
    let whole = position.difference;
    for (let at = position.next; at !== null; at = at.next) {
      if (at.difference.empty) continue;
      if (whole === position.difference) {
        whole = new Difference();
        whole.addAll(position.difference);
      }
      whole.addAll(at.difference);
    }
    return whole;
  }

  #append(): void {
    const position = new Position<T, M, C>();
    position.previous = this.#last;
    if (this.#last === null) this.#first = position;
    else this.#last.next = position;
    this.#last = position;
  }

  #remove(position: Position<T, M, C>): void {
    const { previous, next } = position;
    if (previous === null) this.#first = next;
    else previous.next = next;
    if (next === null) this.#last = previous;
    else next.previous = previous;
    this.#made.delete(position);
    // What was made of the one before may be its difference itself, which is still as it was told.
    if (previous !== null) {
      this.#forgetMade(previous);
      previous.difference.absorb(position.difference);
    }
  }

  #forgetMade(position: Position<T, M, C>): void {
    position.made = null;
    this.#made.delete(position);
  }
}
