/**
 * Checkpoints: every I operations the state goes to disk, so that the log may forget. (First stub:
 * none is ever made.)
 */
import { type Geometry, prepareMax } from './file/geometry.ts';
import type { SuperblockStore } from './superblock.ts';

export interface CheckpointsOptions {
  readonly geometry: Geometry;
  readonly superblock: SuperblockStore;
}

export class Checkpoints {
  readonly #options: CheckpointsOptions;

  constructor(options: CheckpointsOptions) {
    this.#options = options;
  }

  /** While this holds nothing is executed. */
  get isBusy(): boolean {
    return false;
  }

  /** Highest op that may be prepared. */
  get prepareMax(): number {
    return prepareMax(this.#options.geometry, this.#options.superblock.current.checkpoint.op);
  }

  /** The checkpoint that a prepare at `op` names. */
  idFor(_op: number): Uint8Array {
    return this.#options.superblock.current.checkpoint.id;
  }

  onCommit(): void {}
}
