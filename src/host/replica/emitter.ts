/**
 * Events by name, typed, and nothing else. Listeners are called one after another, in the order in
 * which they came; what one of them throws is told and harms neither the others nor the replica.
 */
export type Listener<T> = (event: T) => void;

/** Listeners that are there from the very beginning. */
export type Listeners<Events> = { readonly [Name in keyof Events]?: Listener<Events[Name]> };

export class Emitter<Events> {
  readonly #lists: Map<keyof Events, Set<Listener<never>>> = new Map();
  readonly #onThrown: (name: keyof Events, error: unknown) => void;

  constructor(onThrown: (name: keyof Events, error: unknown) => void) {
    this.#onThrown = onThrown;
  }

  /** Returns what takes the listener away again. */
  on<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): () => void {
    // A listener of its own each time, so that the same function may be there twice.
    const own: Listener<Events[Name]> = (event) => listener(event);
    const list = this.#lists.get(name) ?? new Set();
    this.#lists.set(name, list);
    list.add(own);
    return () => void list.delete(own);
  }

  has(name: keyof Events): boolean {
    return (this.#lists.get(name)?.size ?? 0) > 0;
  }

  emit<Name extends keyof Events>(name: Name, event: Events[Name]): void {
    const list = this.#lists.get(name) as ReadonlySet<Listener<Events[Name]>> | undefined;
    for (const listener of list ?? []) {
      try {
        listener(event);
      } catch (error) {
        this.#onThrown(name, error);
      }
    }
  }
}
