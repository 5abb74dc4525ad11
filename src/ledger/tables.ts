/**
 * What the reading half of the ledger (events, indexes, queries) may know of the writing half: the
 * tables themselves and three look-ups. The writing half implements it.
 */
import type { Rows } from './rows.ts';

/** Values of the pending status column, one byte per transfer. */
export const PendingStatus = {
  none: 0,
  pending: 1,
  posted: 2,
  voided: 3,
  expired: 4,
} as const;

export interface LedgerTables {
  /** 128-byte records, wire layout, current balances and flags; creation = timestamp order. */
  readonly accounts: Rows;
  /** 128-byte records, wire layout, as stored (actual amount); creation = timestamp order. */
  readonly transfers: Rows;
  /**
   * 32-byte records, one per expiry in order: u64 event timestamp, u64 timestamp of the pending
   * transfer, u64 number of account events before this one, u64 zero.
   */
  readonly expiries: Rows;
  /** Row of the account whose id stands at words[offset … offset + 4), or −1. */
  accountRow(words: Uint32Array, offset: number): number;
  /** Row of the transfer with that id, or −1. */
  transferRow(words: Uint32Array, offset: number): number;
  /** A {@link PendingStatus}. */
  pendingStatus(transferRow: number): number;
}
