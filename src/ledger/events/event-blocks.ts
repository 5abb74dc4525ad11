/**
 * Account events as blocks of a checkpoint: links and snapshots, which only ever grow, and the
 * heads of the accounts' chains, which change with every event.
 *
 * A cut has to show all of it as of one moment while events go on. What only grows is cut by its
 * length, and complete leaves of it need not wait for a cut. A page of heads is copied when its
 * turn comes, and each head that has moved on since is taken back along its own chain: nothing has
 * to be copied on write. The sooner after the cut that is, the shorter the way back.
 */
import type { Block } from '../../engine/index.ts';
import { assert } from '../../stdx/index.ts';
import type { Rows } from '../rows.ts';
import {
  type AccountEvents,
  EXPIRY_BIT,
  HEADS_EPOCH,
  HEADS_PER_PAGE,
  referenceRow,
} from './account-events.ts';

/** Kinds of the blocks that this file writes. */
export const EventBlockKind = {
  transferLinks: 16,
  expiryLinks: 17,
  snapshots: 18,
  snapshotBalances: 19,
  heads: 20,
} as const;

const HEAD_BYTES = 8;

/** Hands out the new leaves of rows that are never changed once they are cut. */
class GrowingRowsBlocks {
  readonly #kind: number;
  /** Rows that earlier blocks hold. */
  #storedRows: number = 0;
  /** Rows at the last cut. */
  cutRows: number = 0;

  constructor(kind: number) {
    this.#kind = kind;
  }

  /** Returns the number of leaves of this cut. */
  cut(rows: Rows): number {
    assert(rows.count >= this.#storedRows, 'GrowingRowsBlocks: stored rows are gone');
    this.cutRows = rows.count;
    if (this.#storedRows >= this.cutRows) return 0;
    const { rowsPerLeaf } = rows;
    return Math.ceil(this.cutRows / rowsPerLeaf) - Math.floor(this.#storedRows / rowsPerLeaf);
  }

  next(rows: Rows, target: Uint8Array): Block | null {
    if (this.#storedRows >= this.cutRows) return null;
    return this.#make(rows, this.cutRows, target);
  }

  /** The next leaf if it is complete; while no cut is handed out. */
  nextAhead(rows: Rows, target: Uint8Array): Block | null {
    assert(this.#storedRows >= this.cutRows, 'GrowingRowsBlocks: a cut is being handed out');
    const end = (Math.floor(this.#storedRows / rows.rowsPerLeaf) + 1) * rows.rowsPerLeaf;
    return end > rows.count ? null : this.#make(rows, end, target);
  }

  /** The leaf that holds the first row not stored, of the first `count` rows. */
  #make(rows: Rows, count: number, target: Uint8Array): Block {
    const index = Math.floor(this.#storedRows / rows.rowsPerLeaf);
    const leaf = rows.leaf(index, count);
    target.set(leaf);
    this.#storedRows = Math.min((index + 1) * rows.rowsPerLeaf, count);
    return { kind: this.#kind, index, bytes: target.subarray(0, leaf.length) };
  }

  /** `isStored`: the rows came from blocks, so they need not be written again. */
  restored(rows: Rows, isStored: boolean): void {
    this.#storedRows = isStored ? rows.count : 0;
    this.cutRows = this.#storedRows;
  }
}

export class EventBlocks {
  readonly #events: AccountEvents;
  readonly #transferLinks = new GrowingRowsBlocks(EventBlockKind.transferLinks);
  readonly #expiryLinks = new GrowingRowsBlocks(EventBlockKind.expiryLinks);
  readonly #snapshots = new GrowingRowsBlocks(EventBlockKind.snapshots);
  readonly #snapshotBalances = new GrowingRowsBlocks(EventBlockKind.snapshotBalances);
  /** Per page of heads: the epoch of the cut that was handed out last, 0 for none. */
  readonly #storedEpochs: number[] = [];
  /** Next page to look at; pages and accounts at the cut. */
  #pageNext: number = 0;
  #pageEnd: number = 0;
  #cutAccounts: number = 0;

  constructor(events: AccountEvents) {
    this.#events = events;
  }

  /** Returns about how many blocks this cut has. */
  cut(accountCount: number): number {
    const events = this.#events;
    this.#cutAccounts = accountCount;
    this.#pageNext = 0;
    this.#pageEnd = events.headPages.length;
    events.epoch += 1;
    return (
      this.#pageEnd +
      this.#transferLinks.cut(events.transferLinks) +
      this.#expiryLinks.cut(events.expiryLinks) +
      this.#snapshots.cut(events.snapshots) +
      this.#snapshotBalances.cut(events.snapshotBalances)
    );
  }

  /** The next block of the cut, made in `target`. */
  next(target: Uint8Array): Block | null {
    const events = this.#events;
    return (
      this.#nextHeads(target) ??
      this.#transferLinks.next(events.transferLinks, target) ??
      this.#expiryLinks.next(events.expiryLinks, target) ??
      this.#snapshots.next(events.snapshots, target) ??
      this.#snapshotBalances.next(events.snapshotBalances, target)
    );
  }

  /** A block that is complete; while no cut is handed out. */
  nextAhead(target: Uint8Array): Block | null {
    const events = this.#events;
    return (
      this.#transferLinks.nextAhead(events.transferLinks, target) ??
      this.#expiryLinks.nextAhead(events.expiryLinks, target) ??
      this.#snapshots.nextAhead(events.snapshots, target) ??
      this.#snapshotBalances.nextAhead(events.snapshotBalances, target)
    );
  }

  /** Puts back one block; false when it is not one of these. */
  restore(block: Block): boolean {
    const events = this.#events;
    switch (block.kind) {
      case EventBlockKind.transferLinks:
        events.transferLinks.restoreLeaf(block.index, block.bytes);
        return true;
      case EventBlockKind.expiryLinks:
        events.expiryLinks.restoreLeaf(block.index, block.bytes);
        return true;
      case EventBlockKind.snapshots:
        events.snapshots.restoreLeaf(block.index, block.bytes);
        return true;
      case EventBlockKind.snapshotBalances:
        events.snapshotBalances.restoreLeaf(block.index, block.bytes);
        return true;
      case EventBlockKind.heads:
        events.growHeads(block.index);
        new Uint8Array(events.headPages[block.index].buffer).set(block.bytes);
        return true;
      default:
        return false;
    }
  }

  /** After the last block. `isStored`: events are what the blocks said; otherwise rebuilt. */
  restored(isStored: boolean): void {
    const events = this.#events;
    this.#transferLinks.restored(events.transferLinks, isStored);
    this.#expiryLinks.restored(events.expiryLinks, isStored);
    this.#snapshots.restored(events.snapshots, isStored);
    this.#snapshotBalances.restored(events.snapshotBalances, isStored);
    this.#storedEpochs.length = 0;
  }

  #nextHeads(target: Uint8Array): Block | null {
    const events = this.#events;
    while (this.#pageNext < this.#pageEnd) {
      const index = this.#pageNext;
      this.#pageNext += 1;
      const stored = this.#storedEpochs[index] ?? 0;
      // An epoch's changes are in the cut that ended it, so equal means changed after that cut.
      const changed = events.headPages[index][HEADS_EPOCH];
      if (changed === 0 || changed < stored) continue;
      this.#storedEpochs[index] = events.epoch;
      return { kind: EventBlockKind.heads, index, bytes: this.#pageAtCut(index, target) };
    }
    return null;
  }

  #pageAtCut(index: number, target: Uint8Array): Uint8Array {
    assert(target.byteOffset % 4 === 0, 'EventBlocks: target is not aligned');
    const accounts = Math.min(HEADS_PER_PAGE, this.#cutAccounts - index * HEADS_PER_PAGE);
    assert(accounts > 0, 'EventBlocks: page without accounts');
    const page = new Uint32Array(target.buffer, target.byteOffset, accounts * 2);
    page.set(this.#events.headPages[index].subarray(0, accounts * 2));
    for (let at = 0; at < accounts * 2; at += 2) {
      while (this.#isAfterCut(page[at])) {
        page[at] = this.#events.previousOf(this.#events.linkOf(page[at]));
        page[at + 1] -= 1;
      }
    }
    return target.subarray(0, accounts * HEAD_BYTES);
  }

  #isAfterCut(reference: number): boolean {
    if (reference === 0) return false;
    const isExpiry = (reference & EXPIRY_BIT) !== 0;
    const cutRows = isExpiry ? this.#expiryLinks.cutRows : this.#transferLinks.cutRows;
    return referenceRow(reference) >= cutRows;
  }
}
