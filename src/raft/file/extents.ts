/**
 * Which extents of a file are in use: by the generation that the head names, and by the one that is
 * to replace it. What nobody uses is free, the lowest first, so that a file stays short. Nothing of
 * this is on disk: a file that opens is told what its generation uses.
 */
import { assert } from '../../stdx/index.ts';
import { EXTENTS_MAX } from './layout.ts';

export class Extents {
  readonly #used: boolean[] = [];
  /** All below are in use. */
  #lowest: number = 0;
  #count: number = 0;

  /** Extents in use. */
  get count(): number {
    return this.#count;
  }

  isUsed(extent: number): boolean {
    return this.#used[extent] ?? false;
  }

  /** The lowest free one, in use from now on. */
  allocate(): number {
    while (this.isUsed(this.#lowest)) this.#lowest++;
    const extent = this.#lowest;
    this.use(extent);
    return extent;
  }

  /** Marks one that is known to be in use. */
  use(extent: number): void {
    assert(extent >= 0 && extent < EXTENTS_MAX, 'Extents: the file is full');
    assert(!this.isUsed(extent), 'Extents: used twice');
    while (this.#used.length < extent) this.#used.push(false);
    this.#used[extent] = true;
    this.#count++;
  }

  free(extent: number): void {
    assert(this.isUsed(extent), 'Extents: freed twice');
    this.#used[extent] = false;
    this.#count--;
    this.#lowest = Math.min(this.#lowest, extent);
  }
}
