/**
 * Account events: the history of every account as a chain through the tables.
 *
 * Each created transfer and each expiry is one event of two accounts. What an event did can be read
 * from the rows, so all that is kept of it is a way back: per side, a link to the previous event of
 * that account (eight bytes an event). Every 32nd event of an account also gets a snapshot of the
 * account's balances (4.5 bytes an event), so that `balances` never has to walk further than that.
 * Full balances of every event would take 128 bytes, and most are never asked for.
 *
 * A link is a 32-bit word. 0: there is no previous event. Top bit set: *this* event has a snapshot
 * on this side, whose number the other bits give, and the link proper stands in the snapshot.
 * Otherwise a reference: {@link EXPIRY_BIT}, then twice the row (of transfers or of expiries) plus
 * the side on which the account stood there, plus one.
 */
import { assert } from '../../stdx/index.ts';
import { AccountWord } from '../format/constants.ts';
import { copyWords } from '../query-timestamps.ts';
import { Rows } from '../rows.ts';

/** Set in a reference to an expiry, clear in one to a transfer. */
export const EXPIRY_BIT = 0x4000_0000;
/** Rows of transfers or expiries that a reference can name. */
export const EVENT_ROWS_MAX: number = EXPIRY_BIT / 2 - 1;

export const Side = { debit: 0, credit: 1 } as const;

/** What a snapshot has besides balances, in words. */
export const SnapshotWord = { link: 0, flags: 1 } as const;

/** Words of the balances of an account: four amounts of 128 bits. */
export const BALANCE_WORDS = 16;

/** Events of an account between two snapshots of it. */
export const SNAPSHOT_EVENTS = 32;

/** Accounts of one page of heads; a page is one block of a checkpoint. */
export const HEADS_PER_PAGE = 32_768;
const HEADS_SHIFT = 15;
/** Where the epoch of a page stands, in words. */
export const HEADS_EPOCH: number = HEADS_PER_PAGE * 2;

const LINK_BYTES = 8;
const BALANCES_BYTES = 64;
const SNAPSHOT_BYTES = 8;

/** The reference to the event at `row` (of transfers or expiries), seen from one side. */
export function eventReference(row: number, side: number, expiry: boolean): number {
  return (expiry ? EXPIRY_BIT : 0) | (row * 2 + side + 1);
}

/** The row, of transfers or expiries, that a reference names. */
export function referenceRow(reference: number): number {
  return ((reference & (EXPIRY_BIT - 1)) - 1) >>> 1;
}

export function referenceSide(reference: number): number {
  return ((reference & (EXPIRY_BIT - 1)) - 1) & 1;
}

export class AccountEvents {
  /** Two links per transfer: the debit account's, the credit account's. */
  transferLinks: Rows = new Rows(LINK_BYTES);
  /** The same per expiry. */
  expiryLinks: Rows = new Rows(LINK_BYTES);
  /** Two tables, row for row: the rest of a snapshot would not fit a power of two. */
  snapshots: Rows = new Rows(SNAPSHOT_BYTES);
  snapshotBalances: Rows = new Rows(BALANCES_BYTES);
  /**
   * Per account two words: reference to its latest event or 0, and how many it has. Behind those
   * of a page stands {@link epoch} at its last change, 0 for never: beside the word that changes,
   * because another array would cost as much again.
   */
  readonly headPages: Uint32Array[] = [];
  /** Counts checkpoints; whoever cuts one raises it. */
  epoch: number = 1;

  get count(): number {
    return this.transferLinks.count + this.expiryLinks.count;
  }

  /** `accounts` holds what both accounts look like after the event. */
  appendTransfer(accounts: Rows, debitRow: number, creditRow: number): void {
    this.#append(this.transferLinks, 0, accounts, debitRow, creditRow);
  }

  appendExpiry(accounts: Rows, debitRow: number, creditRow: number): void {
    this.#append(this.expiryLinks, EXPIRY_BIT, accounts, debitRow, creditRow);
  }

  /** Takes back the latest event, which was a transfer between these two. */
  removeTransfer(debitRow: number, creditRow: number): void {
    const row = this.transferLinks.count - 1;
    assert(row >= 0, 'AccountEvents: nothing to remove');
    const words = this.transferLinks.chunkOf(row);
    const base = this.transferLinks.baseOf(row);
    this.#unlink(creditRow, words[base + Side.credit]);
    this.#unlink(debitRow, words[base + Side.debit]);
    this.transferLinks.truncate(row);
  }

  /** The link of the event that `reference` names, on the side that it names. */
  linkOf(reference: number): number {
    const rows = (reference & EXPIRY_BIT) === 0 ? this.transferLinks : this.expiryLinks;
    const at = (reference & (EXPIRY_BIT - 1)) - 1;
    const row = at >>> 1;
    return rows.chunks[row >>> rows.rowShift][(row & rows.rowMask) * 2 + (at & 1)];
  }

  /** A word of the snapshot that a link with its top bit set names; see {@link SnapshotWord}. */
  snapshotWord(link: number, word: number): number {
    const snapshot = link & 0x7fff_ffff;
    return this.snapshots.chunkOf(snapshot)[this.snapshots.baseOf(snapshot) + word];
  }

  /** The reference to the event before the one that has this link, or 0. */
  previousOf(link: number): number {
    if ((link | 0) >= 0) return link;
    return this.snapshotWord(link, SnapshotWord.link);
  }

  #append(
    links: Rows,
    expiryBit: number,
    accounts: Rows,
    debitRow: number,
    creditRow: number,
  ): void {
    assert(debitRow !== creditRow, 'AccountEvents: an event of one account');
    // Rows.append without the call: this is done for every transfer.
    const row = links.count;
    assert(row < EVENT_ROWS_MAX, 'AccountEvents: too many events');
    if ((row & links.rowMask) === 0) links.chunkOf(row);
    links.count = row + 1;
    const reference = expiryBit | (row * 2 + 1);
    const words = links.chunks[row >>> links.rowShift];
    const base = (row & links.rowMask) * 2;
    words[base] = this.#link(accounts, debitRow, reference);
    words[base + 1] = this.#link(accounts, creditRow, reference + Side.credit);
  }

  /** Makes `reference` the account's latest event and returns the link that it gets. */
  #link(accounts: Rows, accountRow: number, reference: number): number {
    const page = accountRow >>> HEADS_SHIFT;
    if (page >= this.headPages.length) this.growHeads(page);
    const heads = this.headPages[page];
    const at = (accountRow & (HEADS_PER_PAGE - 1)) * 2;
    const previous = heads[at];
    const count = heads[at + 1] + 1;
    heads[at] = reference;
    heads[at + 1] = count;
    heads[HEADS_EPOCH] = this.epoch;
    if ((count & (SNAPSHOT_EVENTS - 1)) !== 0) return previous;
    return this.#snapshot(accounts, accountRow, previous);
  }

  #snapshot(accounts: Rows, accountRow: number, previous: number): number {
    assert(accountRow < accounts.count, 'AccountEvents: no such account');
    const account = accounts.chunkOf(accountRow);
    const accountBase = accounts.baseOf(accountRow);
    const snapshot = this.snapshots.append();
    const words = this.snapshots.chunkOf(snapshot);
    const base = this.snapshots.baseOf(snapshot);
    words[base + SnapshotWord.link] = previous;
    words[base + SnapshotWord.flags] = account[accountBase + AccountWord.codeFlags] >>> 16;
    const row = this.snapshotBalances.append();
    assert(row === snapshot, 'AccountEvents: snapshots out of step');
    const balances = this.snapshotBalances.chunkOf(row);
    const to = this.snapshotBalances.baseOf(row);
    copyWords(account, accountBase + AccountWord.debitsPending, balances, to, BALANCE_WORDS);
    return (0x8000_0000 | snapshot) >>> 0;
  }

  #unlink(accountRow: number, link: number): void {
    const page = accountRow >>> HEADS_SHIFT;
    const heads = this.headPages[page];
    const at = (accountRow & (HEADS_PER_PAGE - 1)) * 2;
    assert(heads[at + 1] > 0, 'AccountEvents: account without events');
    heads[at] = this.previousOf(link);
    heads[at + 1] -= 1;
    heads[HEADS_EPOCH] = this.epoch;
    if ((link | 0) >= 0) return;
    assert((link & 0x7fff_ffff) === this.snapshots.count - 1, 'AccountEvents: not the last one');
    this.snapshots.truncate(link & 0x7fff_ffff);
    this.snapshotBalances.truncate(link & 0x7fff_ffff);
  }

  /** Makes pages of heads up to `page` exist. */
  growHeads(page: number): void {
    while (this.headPages.length <= page) {
      this.headPages.push(new Uint32Array(HEADS_EPOCH + 1));
    }
  }

  /** Forgets everything, to be filled anew. */
  clear(): void {
    this.transferLinks = new Rows(LINK_BYTES);
    this.expiryLinks = new Rows(LINK_BYTES);
    this.snapshots = new Rows(SNAPSHOT_BYTES);
    this.snapshotBalances = new Rows(BALANCES_BYTES);
    this.headPages.length = 0;
  }

  /** Whether heads, links and snapshots tell of the same events: true unless some are missing. */
  isComplete(transferCount: number, expiryCount: number): boolean {
    if (this.transferLinks.count !== transferCount) return false;
    if (this.expiryLinks.count !== expiryCount) return false;
    if (this.snapshots.count !== this.snapshotBalances.count) return false;
    let linkCount = 0;
    let snapshotCount = 0;
    for (const heads of this.headPages) {
      for (let at = 1; at < HEADS_EPOCH; at += 2) {
        linkCount += heads[at];
        snapshotCount += Math.floor(heads[at] / SNAPSHOT_EVENTS);
      }
    }
    return linkCount === 2 * this.count && snapshotCount === this.snapshots.count;
  }
}

assert((SNAPSHOT_EVENTS & (SNAPSHOT_EVENTS - 1)) === 0);
assert(HEADS_PER_PAGE === 1 << HEADS_SHIFT);
