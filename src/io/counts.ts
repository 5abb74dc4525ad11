/** Counters by name, for events whose names come from a small closed set, never from a peer. */
export class Counts {
  readonly #values: Map<string, number> = new Map();

  add(name: string): void {
    this.#values.set(name, (this.#values.get(name) ?? 0) + 1);
  }

  get(name: string): number {
    return this.#values.get(name) ?? 0;
  }

  /** A copy, in order of first appearance. */
  values(): { readonly [name: string]: number } {
    return Object.fromEntries(this.#values);
  }
}
