/**
 * How the ledger leaves memory and comes back, and the root of its content.
 *
 * The logical content is five sections, each a sequence of records (little-endian):
 *  1 accounts: 128 bytes as lookup_accounts answers now, in order of creation;
 *  2 transfers: 128 bytes as lookup_transfers answers, in order of creation;
 *  3 pending status: 1 byte per transfer, same order: 0 not a pending transfer, 1 pending,
 *    2 posted, 3 voided, 4 expired;
 *  4 burned ids: 16 bytes, in the order in which they were burned;
 *  5 expiries: 32 bytes in order: u64 timestamp of the expiry, u64 timestamp of the pending
 *    transfer that expired, u64 number of account events (transfers and expiries) before it, u64
 *    zero.
 *
 * The bytes of a section are cut into leaves of 262,144 bytes, the last may be shorter. A leaf is a
 * block of a checkpoint (kind = number of the section, index = number of the leaf). Its hash is the
 * checksum of its bytes; the hash of a section is the checksum of its leaves' hashes, one after the
 * other; the root is the checksum of 120 bytes: for each section u64 number of records, then its
 * hash. Hash tables, runs and file positions are no part of it, so replicas may differ in them.
 *
 * Kinds above 5 belong to the reading half: derived, kept because rebuilding takes longer.
 */
import type { Block } from '../../engine/index.ts';
import { assert, writeSafeU64 } from '../../stdx/index.ts';
import type { Checksum } from '../../wire/index.ts';
import { TransferWord } from '../format/constants.ts';
import { PendingStatus } from '../tables.ts';
import type { Section } from './section.ts';
import type { LedgerState } from './state.ts';
import { addSeconds64, time64 } from './u64.ts';

/** The derived half of a checkpoint; see LedgerReads. */
export interface DerivedBlocks {
  cut(): number;
  slice(target: Uint8Array): Block | null;
  sliceAhead(target: Uint8Array): Block | null;
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
  /** Section whose leaves are being handed out; derived blocks come before the first one. */
  #slicing: number = SECTION_KIND_MAX;

  constructor(state: LedgerState, derived: DerivedBlocks, checksum: Checksum) {
    assert(state.sections.length === SECTION_KIND_MAX, 'Checkpoint: sections');
    this.#state = state;
    this.#derived = derived;
    this.#checksum = checksum;
  }

  /** Derived blocks go first: showing them as of the cut takes longer as the ledger goes on. */
  cut(): number {
    let count = this.#derived.cut();
    for (const section of this.#state.sections) count += section.cut();
    this.#slicing = 0;
    return count;
  }

  slice(target: Uint8Array): Block | null {
    const derived = this.#derived.slice(target);
    if (derived !== null) return derived;
    while (this.#slicing < SECTION_KIND_MAX) {
      const block = this.#state.sections[this.#slicing].slice(target);
      if (block !== null) return block;
      this.#slicing++;
    }
    return null;
  }

  sliceAhead(target: Uint8Array): Block | null {
    for (const section of this.#state.sections) {
      const block = section.sliceAhead(target);
      if (block !== null) return block;
    }
    return this.#derived.sliceAhead(target);
  }

  restore(block: Block): void {
    assert(block.kind > 0, 'Checkpoint: no such kind');
    if (block.kind > SECTION_KIND_MAX) this.#derived.restore(block);
    else this.#state.sections[block.kind - 1].restore(block);
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

  rootOfCut(): Uint8Array {
    return this.#root((section, entries, at) => {
      writeSafeU64(entries, at, section.cutCount);
      section.hashOfCut(entries, at + 8);
    });
  }

  /** The root of what the ledger holds now. */
  root(): Uint8Array {
    return this.#root((section, entries, at) => {
      writeSafeU64(entries, at, section.table.count);
      section.hash(entries, at + 8);
    });
  }

  #root(writeEntry: (section: Section, entries: Uint8Array, at: number) => void): Uint8Array {
    const entries = new Uint8Array(SECTION_KIND_MAX * ROOT_ENTRY_SIZE);
    for (const [index, section] of this.#state.sections.entries()) {
      writeEntry(section, entries, index * ROOT_ENTRY_SIZE);
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
