/**
 * Recovery: from a data file to a replica that serves. (First stub: a fresh file only.)
 */
import { assert } from '../stdx/index.ts';
import type { Journal } from './journal.ts';
import { type Outbox, Part } from './outbox.ts';
import type { ReplicatedState } from './state.ts';
import type { SuperblockStore } from './superblock.ts';

export interface Harness {
  readonly keepView: boolean;
  readonly nextOp: number;
  readonly hasPulses: boolean;
}

export interface RecoveryOptions {
  readonly outbox: Outbox;
  readonly superblock: SuperblockStore;
  readonly state: ReplicatedState;
  readonly journal: Journal;
  readonly harness: Harness | null;
}

export class Recovery {
  readonly #options: RecoveryOptions;
  #phase: 'closed' | 'flushing' | 'view' | 'done' = 'closed';

  constructor(options: RecoveryOptions) {
    this.#options = options;
  }

  get isDone(): boolean {
    return this.#phase === 'done';
  }

  onOpen(): void {
    assert(this.#phase === 'closed', 'Recovery: opened twice');
    this.#phase = 'flushing';
    this.#options.outbox.flush(Part.recovery);
  }

  onFlushed(): void {
    const { superblock, state, journal, harness } = this.#options;
    state.restore(superblock.current.checkpoint);
    if (harness !== null) state.skipTo(harness.nextOp - 1);
    journal.open(state.commitMin);
    if (harness?.keepView === true) {
      this.#phase = 'done';
      return;
    }
    this.#phase = 'view';
    const view = superblock.current.view + 1;
    superblock.update({ view, logView: view });
  }

  onSuperblock(): void {
    assert(this.#phase === 'view', 'Recovery: nobody waits for the superblock');
    this.#phase = 'done';
  }
}
