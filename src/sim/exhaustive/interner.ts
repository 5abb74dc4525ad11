/** Things by number: equal texts are one thing, numbered from 0 in the order of their coming. */
import { assert } from '../../stdx/index.ts';

export class Interner<T> {
  readonly #ids: Map<string, number> = new Map();
  readonly #things: T[] = [];

  get count(): number {
    return this.#things.length;
  }

  /** The number of this text; `make` is called when it is new. */
  add(text: string, make: (id: number) => T): number {
    const known = this.#ids.get(text);
    if (known !== undefined) return known;
    const id = this.#things.length;
    this.#ids.set(text, id);
    this.#things.push(make(id));
    return id;
  }

  at(id: number): T {
    assert(id >= 0 && id < this.#things.length, 'Interner: no such thing');
    return this.#things[id];
  }
}
