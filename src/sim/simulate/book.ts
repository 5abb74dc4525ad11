/**
 * Everything that was applied in a run, as the first replica applied it: what came out, and the
 * root of the state afterwards. All others are held against it, at every single operation.
 */
import type { ApplyContext } from '../../engine/index.ts';
import type { Place } from './machine-failure.ts';

export interface Entry {
  readonly context: ApplyContext;
  readonly operation: number;
  /** Copies. */
  readonly body: Uint8Array;
  readonly reply: Uint8Array;
  /** Hexadecimal. */
  readonly root: string;
  readonly place: Place;
  /** Op of the checkpoint with which the life began that did this; `null`: with nothing. */
  readonly restoredAt: number | null;
}

export class Book {
  readonly #entries: Map<number, Entry> = new Map();
  /** Ascending. */
  readonly #ops: number[] = [];
  readonly #cuts: Set<number> = new Set();

  at(op: number): Entry | null {
    return this.#entries.get(op) ?? null;
  }

  add(entry: Entry): void {
    this.#entries.set(entry.context.op, entry);
    this.#ops.push(entry.context.op);
  }

  /** A checkpoint of the state after `op` was begun somewhere. */
  addCut(op: number): void {
    this.#cuts.add(op);
  }

  hasCut(op: number): boolean {
    return this.#cuts.has(op);
  }

  /** Ascending, up to and including `op`. */
  upTo(op: number): readonly Entry[] {
    return this.#ops.filter((one) => one <= op).map((one) => this.#entries.get(one) as Entry);
  }

  /** The last one before `op`. */
  before(op: number): Entry | null {
    let last = this.#ops.length - 1;
    while (last >= 0 && (this.#ops[last] as number) >= op) last--;
    return this.at(this.#ops[last] ?? -1);
  }

  get last(): Entry | null {
    return this.at(this.#ops.at(-1) ?? -1);
  }
}
