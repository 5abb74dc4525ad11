/**
 * A history laid out for the search: its calls and returns in the order of time, in a doubly linked
 * list from which an operation is lifted out when it is put in its place and into which it falls
 * back when that was wrong (Wing and Gong 1993). Both take constant time, because an operation that
 * is lifted out keeps its own links.
 *
 * Operations are numbers. Those that returned come first, in the order of their calls, then those
 * of unknown outcome in the order of theirs. Only what returned is in the list: what did not is
 * never in the way of anything, and is looked at only when nothing else fits.
 */
import { assert } from '../../stdx/index.ts';
import type { OperationHistory } from './operation.ts';

/** The list's end and beginning. */
export const HEAD = 0;

export class Timeline<I, O> {
  /** Operations that returned. */
  readonly returned: number;
  /** Operations of unknown outcome. */
  readonly unknown: number;
  /** By operation; outputs of unknown ones are `undefined`. */
  readonly inputs: readonly I[];
  readonly outputs: readonly (O | undefined)[];
  /** By operation: its place in the history that was given. */
  readonly indices: Int32Array;
  /** Of entries 1 …: a call is its operation, a return the complement (`~`) of its operation. */
  readonly entries: Int32Array;
  /** By entry; from {@link HEAD} to the first and from the last to it. */
  readonly next: Int32Array;
  readonly #previous: Int32Array;
  /** By operation that returned: its entries. A larger entry is later. */
  readonly callEntries: Int32Array;
  readonly returnEntries: Int32Array;
  /** By operation of unknown outcome, from 0: all returns from this entry on overlap with it. */
  readonly unknownFrom: Int32Array;

  /** The history is valid. */
  constructor(history: OperationHistory<I, O>) {
    const order = history.map((_, index) => index);
    order.sort((a, b) => history[a]!.call - history[b]!.call || a - b);
    const isReturned = (index: number): boolean => history[index]!.return !== null;
    const returned = order.filter(isReturned);
    const unknown = order.filter((index) => !isReturned(index));
    this.returned = returned.length;
    this.unknown = unknown.length;
    this.indices = Int32Array.from([...returned, ...unknown]);
    this.inputs = Array.from(this.indices, (index) => history[index]!.input);
    this.outputs = Array.from(this.indices, (index) => {
      const operation = history[index]!;
      return operation.return === null ? undefined : operation.output;
    });
    const calls = Float64Array.from(this.indices, (index) => history[index]!.call);
    const returns = Float64Array.from(returned, (index) => history[index]!.return ?? 0);
    this.entries = entriesOf(calls.subarray(0, this.returned), returns);
    const count = this.entries.length;
    this.next = Int32Array.from({ length: count }, (_, entry) => (entry + 1) % count);
    this.#previous = Int32Array.from({ length: count }, (_, entry) => (entry + count - 1) % count);
    this.callEntries = new Int32Array(this.returned);
    this.returnEntries = new Int32Array(this.returned);
    for (let entry = 1; entry < count; entry++) {
      const operation = this.entries[entry]!;
      if (operation >= 0) this.callEntries[operation] = entry;
      else this.returnEntries[~operation] = entry;
    }
    this.unknownFrom = this.#openFrom(calls.subarray(this.returned), returns);
  }

  /** It has its place: neither its call nor its return is in the way of others. */
  lift(operation: number): void {
    this.#unlink(this.callEntries[operation]!);
    this.#unlink(this.returnEntries[operation]!);
  }

  /** Undoes the last lift that is not undone yet. */
  unlift(operation: number): void {
    this.#relink(this.returnEntries[operation]!);
    this.#relink(this.callEntries[operation]!);
  }

  #unlink(entry: number): void {
    const before = this.#previous[entry]!;
    const after = this.next[entry]!;
    this.next[before] = after;
    this.#previous[after] = before;
  }

  #relink(entry: number): void {
    this.next[this.#previous[entry]!] = entry;
    this.#previous[this.next[entry]!] = entry;
  }

  /** The first return that is not before the call, of each; one more than all: there is none. */
  #openFrom(calls: Float64Array, returns: Float64Array): Int32Array {
    const from = new Int32Array(calls.length);
    let entry = 1;
    for (let i = 0; i < calls.length; i++) {
      // Calls ascend, so the place of each is at or after that of the one before.
      for (; entry < this.entries.length; entry++) {
        const operation = this.entries[entry]!;
        if (operation < 0 && returns[~operation]! >= calls[i]!) break;
      }
      from[i] = entry;
    }
    return from;
  }
}

/** Calls and returns by time; at the same time calls come first, so that they overlap. */
function entriesOf(calls: Float64Array, returns: Float64Array): Int32Array {
  const count = calls.length;
  const byReturn = Int32Array.from({ length: count }, (_, operation) => operation);
  byReturn.sort((a, b) => returns[a]! - returns[b]! || a - b);
  const entries = new Int32Array(1 + 2 * count);
  let call = 0;
  let end = 0;
  for (let entry = 1; entry < entries.length; entry++) {
    const isCall = call < count && calls[call]! <= returns[byReturn[end]!]!;
    entries[entry] = isCall ? call++ : ~byReturn[end++]!;
  }
  assert(call === count && end === count, 'Timeline: a call or a return is missing');
  return entries;
}
