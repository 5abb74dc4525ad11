/**
 * Transactions of one database whose "wait" is not satisfied. A change of a table makes those that
 * look at it due, and so does the time that they have.
 */
import { assert } from '../../stdx/index.ts';
import type { ChangeSet } from '../store/change-set.ts';
import type { Task } from './task.ts';

export class Waits {
  readonly #all: Set<Task> = new Set();
  readonly #byTable: Map<string, Set<Task>> = new Map();
  /** Those that any change makes due. */
  readonly #anyTable: Set<Task> = new Set();
  /** Those with a deadline, the earliest first. */
  readonly #byDeadline: Task[] = [];
  readonly #due: Set<Task> = new Set();

  get size(): number {
    return this.#all.size;
  }

  get anyDue(): boolean {
    return this.#due.size > 0;
  }

  /** `null`: none has a deadline. */
  get deadlineMs(): number | null {
    return this.#byDeadline[0]?.deadlineMs ?? null;
  }

  /** Its `tables` and `deadlineMs` must not change until it is taken out again. */
  add(task: Task): void {
    assert(!this.#all.has(task), 'Waits.add: waits already');
    this.#all.add(task);
    if (task.tables === null) this.#anyTable.add(task);
    for (const name of task.tables ?? []) {
      const tasks = this.#byTable.get(name) ?? new Set();
      this.#byTable.set(name, tasks.add(task));
    }
    if (task.deadlineMs === null) return;
    this.#byDeadline.splice(this.#placeOf(task.deadlineMs), 0, task);
  }

  remove(task: Task): void {
    if (!this.#all.delete(task)) return;
    this.#due.delete(task);
    this.#anyTable.delete(task);
    for (const name of task.tables ?? []) {
      const tasks = this.#byTable.get(name);
      tasks?.delete(task);
      if (tasks?.size === 0) this.#byTable.delete(name);
    }
    if (task.deadlineMs === null) return;
    let at = this.#placeOf(task.deadlineMs) - 1;
    while (this.#byDeadline[at] !== task) at -= 1;
    assert(at >= 0, 'Waits.remove: not among the deadlines');
    this.#byDeadline.splice(at, 1);
  }

  /** The change set was made or taken back. */
  touched(changes: ChangeSet): void {
    if (this.#all.size === 0) return;
    for (const { table, rows } of changes.tables) {
      if (rows.length === 0) continue;
      for (const task of this.#byTable.get(table.schema.name) ?? []) this.#due.add(task);
    }
    for (const task of this.#anyTable) this.#due.add(task);
  }

  /** Takes out some of those that a change has made due. */
  takeDue(max: number): Task[] {
    const due: Task[] = [];
    for (const task of this.#due) {
      if (due.length === max) break;
      due.push(task);
      this.remove(task);
    }
    return due;
  }

  /** Takes out those whose time is over. */
  takeExpired(nowMs: number): Task[] {
    const expired = this.#byDeadline.slice(0, this.#placeOf(nowMs));
    for (const task of expired) this.remove(task);
    return expired;
  }

  takeAll(): Task[] {
    const all = [...this.#all];
    for (const task of all) this.remove(task);
    return all;
  }

  /** How many have their deadline then or before. */
  #placeOf(timeMs: number): number {
    let low = 0;
    let high = this.#byDeadline.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#byDeadline[middle].deadlineMs ?? 0) <= timeMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
