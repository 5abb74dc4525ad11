/**
 * The search for an order of one part's operations that its model agrees to: depth first, without
 * recursion, each attempt undone when it leads nowhere (Wing and Gong 1993), nothing tried twice
 * (Lowe 2017).
 *
 * At any moment some operations have their places, and the next one must be among those that were
 * called before the first return of all others. That return is the one in the way. So what only
 * looks is placed as soon as it fits, which is never wrong; then the operation in the way, if it
 * fits; then what makes it fit; then everything else.
 *
 * Operations of unknown outcome may be placed or not, and each doubles what may have happened. They
 * come after others each time, and not at all where they change nothing, for they may as well never
 * have happened. And there are several passes: at first only one of them may be placed after
 * another operation, then two in a row, and so on. A pass that has left nothing out and finds
 * nothing proves that there is nothing.
 */
import { assert } from '../../stdx/index.ts';
import type { Model } from './model.ts';
import type { OperationHistory } from './operation.ts';
import { States } from './states.ts';
import { HEAD, Timeline } from './timeline.ts';
import { Visited } from './visited.ts';

export interface SearchLimits {
  readonly stepsMax: number;
  readonly memoryBytesMax: number;
}

/** `steps` and `memory`: the search ended before it came to a result. */
export type SearchResult = 'found' | 'none' | 'steps' | 'memory';

/** How far the search has come. */
export interface Furthest<S> {
  /** Places in the history, in the order that the model agrees to. */
  readonly order: readonly number[];
  /** The state after them. */
  readonly state: S;
  /** The operation whose return is never passed; `null`: there is none. */
  readonly blocked: number | null;
}

/** What is tried in a situation, one after another. */
const Phase = {
  /** Called operations that change nothing. */
  looks: 0,
  /** The operation in the way. */
  urgent: 1,
  /** Called ones after which that one fits; then such of unknown outcome. */
  helpers: 2,
  unknownHelpers: 3,
  others: 4,
  unknownOthers: 5,
  end: 6,
} as const;

/** A pass may take so many steps for each operation before one with longer rows takes over. */
const STEPS_OF_FIRST_PASS = 256;

export class Search<S, I, O> {
  readonly #model: Model<S, I, O>;
  readonly #limits: SearchLimits;
  readonly #timeline: Timeline<I, O>;
  /** By operation: it changes nothing, whatever the state. */
  readonly #isLook: Uint8Array;
  #states: States<S>;
  #visited: Visited;
  /** By depth: what is placed, and the situation before it. */
  readonly #placed: Int32Array;
  readonly #before: Int32Array;
  #depth: number = 0;
  #state: number = 0;
  /** Operations of unknown outcome that were placed last, one after another. */
  #row: number = 0;
  #rowMax: number = 1;
  #phase: number = Phase.looks;
  /** Within the phase: an entry, or an operation of unknown outcome. */
  #cursor: number = 0;
  /** The first return of all that is not placed. */
  #first: number = 0;
  /** Something was left out because the row would have become too long. */
  #isCut: boolean = false;
  #steps: number = 0;
  #isFull: boolean = false;
  #isFound: boolean = false;
  /** The last return that was in the way in a dead end. */
  #furthestEntry: number = 0;
  #furthestPlaced: Int32Array = new Int32Array(0);
  #furthestState: S;

  constructor(history: OperationHistory<I, O>, model: Model<S, I, O>, limits: SearchLimits) {
    this.#model = model;
    this.#limits = limits;
    this.#timeline = new Timeline(history);
    const { inputs, outputs } = this.#timeline;
    this.#isLook = Uint8Array.from(inputs, (input, operation) => {
      return model.isLook?.(input, outputs[operation]) === true ? 1 : 0;
    });
    this.#states = new States(model);
    this.#visited = this.#newVisited();
    this.#placed = new Int32Array(history.length);
    this.#before = new Int32Array(SITUATION * history.length);
    this.#furthestState = model.init();
  }

  /** Attempts made so far: calls of the model. */
  get steps(): number {
    return this.#steps;
  }

  run(): SearchResult {
    const { returned, unknown } = this.#timeline;
    let passMax = STEPS_OF_FIRST_PASS * (returned + unknown);
    for (this.#rowMax = 1; ; this.#rowMax *= 2) {
      const isLast = this.#rowMax >= unknown;
      const stepsMax = this.#limits.stepsMax;
      const end = isLast ? stepsMax : Math.min(stepsMax, this.#steps + passMax);
      this.#begin();
      const result = this.#pass(end);
      if (result === 'found') return result;
      if (result === 'none' && !this.#isCut) return result;
      if (isLast || this.#steps >= stepsMax) return result;
      passMax *= 2;
    }
  }

  /** The longest order found, of all operations that had to have a place when it has succeeded. */
  furthest(): Furthest<S> {
    const { indices, entries } = this.#timeline;
    const placed = this.#isFound ? this.#placed.subarray(0, this.#depth) : this.#furthestPlaced;
    const order = Array.from(placed, (operation) => indices[operation]!);
    const state = this.#isFound ? this.#states.at(this.#state) : this.#furthestState;
    const hasReturn = !this.#isFound && this.#furthestEntry > 0;
    const blocked = hasReturn ? indices[~entries[this.#furthestEntry]!]! : null;
    return { order, state, blocked };
  }

  #begin(): void {
    while (this.#depth > 0) this.#takeBack();
    this.#visited = this.#newVisited();
    this.#states = new States(this.#model);
    this.#state = this.#states.numberOf(this.#model.init());
    this.#row = 0;
    this.#isCut = false;
    this.#isFull = false;
    this.#arrive();
  }

  #pass(stepsMax: number): SearchResult {
    let left = this.#timeline.returned;
    while (left > 0) {
      if (this.#steps >= stepsMax) return 'steps';
      if (this.#isFull) return 'memory';
      if (this.#placeNext()) {
        if (this.#placed[this.#depth - 1]! < this.#timeline.returned) left--;
        this.#arrive();
        continue;
      }
      this.#noteDeadEnd();
      // Looking at once was never wrong, so nothing else is tried instead.
      do {
        if (this.#depth === 0) return 'none';
        if (this.#takeBack() < this.#timeline.returned) left++;
      } while (this.#phase === Phase.looks);
    }
    this.#isFound = true;
    return 'found';
  }

  /** A new situation. */
  #arrive(): void {
    this.#phase = Phase.looks;
    this.#cursor = this.#timeline.next[HEAD]!;
  }

  /** Places the next operation that may be tried here; false: there is none left. */
  #placeNext(): boolean {
    const { next } = this.#timeline;
    for (; this.#phase < Phase.end; this.#phase++) {
      switch (this.#phase) {
        case Phase.looks:
          if (this.#placeLook()) return true;
          break;
        case Phase.urgent:
          this.#cursor = next[HEAD]!;
          if (this.#place(this.#urgent, this.#after(this.#urgent))) return true;
          break;
        case Phase.helpers:
        case Phase.others:
          if (this.#placeCalled(this.#phase === Phase.helpers)) return true;
          this.#cursor = 0;
          break;
        default:
          if (this.#placeUnknown(this.#phase === Phase.unknownHelpers)) return true;
          this.#cursor = next[HEAD]!;
          break;
      }
    }
    return false;
  }

  /** The operation in the way. */
  get #urgent(): number {
    return ~this.#timeline.entries[this.#first]!;
  }

  #placeLook(): boolean {
    const { entries, next } = this.#timeline;
    for (; entries[this.#cursor]! >= 0; this.#cursor = next[this.#cursor]!) {
      const operation = entries[this.#cursor]!;
      if (this.#isLook[operation] === 0) continue;
      const after = this.#after(operation);
      if (after === null) continue;
      if (this.#place(operation, after)) return true;
      // It fits and has led nowhere, so nothing else will.
      this.#findFirst();
      this.#phase = Phase.end;
      return false;
    }
    this.#first = this.#cursor;
    return false;
  }

  #findFirst(): void {
    const { entries, next } = this.#timeline;
    while (entries[this.#cursor]! >= 0) this.#cursor = next[this.#cursor]!;
    this.#first = this.#cursor;
  }

  #placeCalled(areHelpers: boolean): boolean {
    const { entries, next } = this.#timeline;
    while (this.#cursor !== this.#first) {
      const operation = entries[this.#cursor]!;
      this.#cursor = next[this.#cursor]!;
      if (this.#isLook[operation] === 1 || operation === this.#urgent) continue;
      if (this.#placeBeforeUrgent(operation, areHelpers)) return true;
    }
    return false;
  }

  #placeUnknown(areHelpers: boolean): boolean {
    const { returned, unknown, unknownFrom } = this.#timeline;
    while (this.#cursor < unknown && unknownFrom[this.#cursor]! <= this.#first) {
      const operation = returned + this.#cursor++;
      if (this.#isLook[operation] === 1 || this.#visited.has(operation)) continue;
      if (this.#row >= this.#rowMax) {
        this.#isCut = true;
        return false;
      }
      if (this.#placeBeforeUrgent(operation, areHelpers)) return true;
    }
    return false;
  }

  #placeBeforeUrgent(operation: number, isHelper: boolean): boolean {
    const after = this.#after(operation);
    if (after === null || this.#helps(after) !== isHelper) return false;
    return this.#place(operation, after);
  }

  #helps(after: S): boolean {
    const { inputs, outputs } = this.#timeline;
    const urgent = this.#urgent;
    this.#steps++;
    return this.#model.step(after, inputs[urgent]!, outputs[urgent]) !== null;
  }

  #after(operation: number): S | null {
    const { inputs, outputs } = this.#timeline;
    const state = this.#states.at(this.#state);
    this.#steps++;
    return this.#model.step(state, inputs[operation]!, outputs[operation]);
  }

  /** Places an operation that leads to `after` unless that has been tried. */
  #place(operation: number, after: S | null): boolean {
    if (after === null) return false;
    const state = this.#states.numberOf(after);
    const isReturned = operation < this.#timeline.returned;
    // It may as well never have happened, and then it may still happen.
    if (!isReturned && state === this.#state) return false;
    assert(state === this.#state || this.#isLook[operation] === 0, 'Search: a look that changed');
    this.#visited.place(operation);
    const outcome = this.#visited.add(state, this.#states.bytes);
    if (outcome !== 'new') {
      this.#visited.takeBack(operation);
      this.#isFull = outcome === 'full';
      return false;
    }
    const situation = [this.#state, this.#row, this.#phase, this.#cursor, this.#first];
    this.#before.set(situation, SITUATION * this.#depth);
    this.#placed[this.#depth++] = operation;
    this.#state = state;
    this.#row = isReturned ? 0 : this.#row + 1;
    if (isReturned) this.#timeline.lift(operation);
    return true;
  }

  /** Undoes the last placement; the situation is what it was, but for what was tried. */
  #takeBack(): number {
    const operation = this.#placed[--this.#depth]!;
    const at = SITUATION * this.#depth;
    this.#state = this.#before[at]!;
    this.#row = this.#before[at + 1]!;
    this.#phase = this.#before[at + 2]!;
    this.#cursor = this.#before[at + 3]!;
    this.#first = this.#before[at + 4]!;
    // Only once.
    if (this.#phase === Phase.urgent) this.#phase = Phase.helpers;
    this.#visited.takeBack(operation);
    if (operation < this.#timeline.returned) this.#timeline.unlift(operation);
    return operation;
  }

  #noteDeadEnd(): void {
    const isFurther = this.#first > this.#furthestEntry;
    const isLonger = this.#first === this.#furthestEntry;
    if (!isFurther && !(isLonger && this.#depth > this.#furthestPlaced.length)) return;
    this.#furthestEntry = this.#first;
    this.#furthestPlaced = this.#placed.slice(0, this.#depth);
    this.#furthestState = this.#states.at(this.#state);
  }

  #newVisited(): Visited {
    const { returned, unknown } = this.#timeline;
    return new Visited(returned, unknown, this.#limits.memoryBytesMax);
  }
}

/** Numbers that make up a situation: state, row, phase, cursor, first return. */
const SITUATION = 5;
