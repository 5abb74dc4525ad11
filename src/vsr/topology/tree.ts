/**
 * One way for a prepare to spread: who hands it to whom, with every answer computed in advance for
 * every primary, so that asking allocates nothing.
 */
import { assert } from '../../stdx/index.ts';

const NOBODY: readonly number[] = [];

export class Tree {
  readonly #replicaCount: number;
  /** By primary × R + self. */
  readonly #next: (readonly number[])[] = [];
  readonly #path: (readonly number[])[] = [];
  readonly #announce: (readonly number[])[] = [];

  /**
   * `children[i]` are those to whom replica i hands over, all counted from the primary (0). Every
   * other replica must be reached exactly once.
   */
  constructor(children: readonly (readonly number[])[]) {
    const replicaCount = children.length;
    this.#replicaCount = replicaCount;
    const paths = pathsOf(children);
    const indirect = [...paths.keys()].filter((relative) => paths[relative].length > 0);
    for (let primary = 0; primary < replicaCount; primary++) {
      const absolute = (relative: number): number => (relative + primary) % replicaCount;
      for (let self = 0; self < replicaCount; self++) {
        const relative = (self + replicaCount - primary) % replicaCount;
        this.#next.push(children[relative].map(absolute));
        this.#path.push(paths[relative].map(absolute));
        this.#announce.push(relative === 0 ? indirect.map(absolute) : NOBODY);
      }
    }
  }

  next(primary: number, self: number): readonly number[] {
    return this.#next[this.#index(primary, self)];
  }

  path(primary: number, self: number): readonly number[] {
    return this.#path[this.#index(primary, self)];
  }

  /** Those that the primary does not reach directly; empty when `self` is not the primary. */
  announce(primary: number, self: number): readonly number[] {
    return this.#announce[this.#index(primary, self)];
  }

  #index(primary: number, self: number): number {
    assert(self >= 0 && self < this.#replicaCount, 'Tree: no such replica');
    return primary * this.#replicaCount + self;
  }
}

/** Replicas between 0 and each other one. */
function pathsOf(children: readonly (readonly number[])[]): (readonly number[])[] {
  const paths: (readonly number[])[] = new Array(children.length);
  paths[0] = NOBODY;
  const reached = [0];
  for (const parent of reached) {
    for (const child of children[parent]) {
      assert(child > 0 && child < children.length, 'Tree: not a backup');
      assert(paths[child] === undefined, 'Tree: reached twice');
      paths[child] = parent === 0 ? NOBODY : [...paths[parent], parent];
      reached.push(child);
    }
  }
  assert(reached.length === children.length, 'Tree: not all are reached');
  return paths;
}
