/**
 * How the ledger leaves memory and comes back: the leaves of its five sections, then what the
 * reading half finds worth keeping. Kinds 1 … 5 are logical content and make up the root; all other
 * kinds are derived and may differ between replicas.
 */
import type { Block } from '../../engine/index.ts';
import { assert, writeSafeU64 } from '../../stdx/index.ts';
import type { Checksum } from '../../wire/index.ts';
import { TransferWord } from '../format/constants.ts';
import { PendingStatus } from '../tables.ts';
import type { LedgerState } from './state.ts';
import { addSeconds64, time64 } from './u64.ts';

/** The derived half of a checkpoint; see LedgerReads. */
export interface DerivedBlocks {
  cut(): void;
  slice(): Block | null;
  restore(block: Block): void;
  restored(): void;
}

/** Kinds up to this number are sections. */
const SECTION_KIND_MAX = 5;
/** Of each section: number of records, hash. */
const ROOT_ENTRY_SIZE = 24;

export class Checkpoint {
  readonly #state: LedgerState;
  readonly #derived: DerivedBlocks;
  readonly #checksum: Checksum;
  /** Section whose leaves are being handed out; after the last one come derived blocks. */
  #slicing: number = SECTION_KIND_MAX;

  constructor(state: LedgerState, derived: DerivedBlocks, checksum: Checksum) {
    assert(state.sections.length === SECTION_KIND_MAX, 'Checkpoint: sections');
    this.#state = state;
    this.#derived = derived;
    this.#checksum = checksum;
  }

  cut(): void {
    for (const section of this.#state.sections) section.cut();
    this.#derived.cut();
    this.#slicing = 0;
  }

  slice(): Block | null {
    while (this.#slicing < SECTION_KIND_MAX) {
      const block = this.#state.sections[this.#slicing].slice();
      if (block !== null) return block;
      this.#slicing++;
    }
    return this.#derived.slice();
  }

  restore(block: Block): void {
    assert(block.kind > 0, 'Checkpoint: no such kind');
    if (block.kind > SECTION_KIND_MAX) this.#derived.restore(block);
    else this.#state.sections[block.kind - 1].table.restoreLeaf(block.index, block.bytes);
  }

  restored(): void {
    const state = this.#state;
    assert(state.pending.count === state.transfers.count, 'Checkpoint: statuses of transfers');
    state.accountIndex.rebuild();
    state.transferIndex.rebuild();
    state.burnedIndex.rebuild();
    for (const section of state.sections) section.restored();
    queueExpiries(state);
    this.#derived.restored();
  }

  /** 16 bytes over all logical content; see the encoding in docs. Reads changed leaves only. */
  root(): Uint8Array {
    const entries = new Uint8Array(SECTION_KIND_MAX * ROOT_ENTRY_SIZE);
    for (const [index, section] of this.#state.sections.entries()) {
      const at = index * ROOT_ENTRY_SIZE;
      writeSafeU64(entries, at, section.table.count);
      section.hash(this.#checksum, entries, at + 8);
    }
    const root = new Uint8Array(16);
    this.#checksum.digest(entries, 0, entries.length, root, 0);
    return root;
  }
}

/** Fills the expiry queue from the transfers that are pending. */
function queueExpiries(state: LedgerState): void {
  const time = time64();
  const { pending, transfers } = state;
  for (let row = 0; row < pending.count; row++) {
    if (pending.get(row) !== PendingStatus.pending) continue;
    const words = transfers.chunkOf(row);
    const base = transfers.baseOf(row);
    const timeout = words[base + TransferWord.timeout];
    if (timeout === 0) continue;
    const valid = addSeconds64(time, words, base + TransferWord.timestamp, timeout);
    assert(valid, 'Checkpoint: expiry time out of range');
    state.expiryQueue.stage(time, row);
  }
  state.expiryQueue.settle();
}
