/**
 * The second phase: posting or voiding a pending transfer. Its amount leaves the pending balances
 * of both accounts, a post moves all or part of it to the posted ones, and a record of the post or
 * void is created. The pending transfer itself never changes, only its status.
 */
import { assert } from '../../stdx/index.ts';
import {
  AccountFlags,
  AccountWord,
  TransferFlags,
  TransferWord as Word,
} from '../format/constants.ts';
import { CreateTransferStatus as Status } from '../format/status.ts';
import type { LedgerState } from '../store/state.ts';
import { addSeconds64, isBefore64, isZero64, time64 } from '../store/u64.ts';
import { add, copy, isEqual, isLess, isMax, isZero } from '../store/u128.ts';
import { PendingStatus } from '../tables.ts';
import { release, reopen } from './release.ts';

/** Flags that make no sense beside post or void. */
const EXCLUSIVE =
  TransferFlags.pending |
  TransferFlags.balancing_debit |
  TransferFlags.balancing_credit |
  TransferFlags.closing_debit |
  TransferFlags.closing_credit;
const CLOSED = AccountFlags.closed << 16;

export class PostVoid {
  readonly #state: LedgerState;
  readonly #expiresAt: Uint32Array = time64();
  /** The pending transfer. */
  #row: number = 0;
  #pending: Uint32Array = new Uint32Array(0);
  #from: number = 0;
  readonly #amount: Uint32Array = new Uint32Array(4);

  constructor(state: LedgerState) {
    this.#state = state;
  }

  /**
   * Executes the post or void at `words[offset]`, whose id is new and has this hash. `time` is the
   * timestamp to be stored, `now` the one that the cluster assigned.
   */
  create(
    hash: number,
    words: Uint32Array,
    offset: number,
    time: Uint32Array,
    now: Uint32Array,
  ): number {
    const state = this.#state;
    let status = this.#checkFields(words, offset);
    if (status !== Status.created) return status;
    this.#row = state.transferRow(words, offset + Word.pendingId);
    if (this.#row < 0) return Status.pending_transfer_not_found;
    this.#pending = state.transfers.chunkOf(this.#row);
    this.#from = state.transfers.baseOf(this.#row);
    status = this.#checkPending(words, offset);
    if (status !== Status.created) return status;
    status = this.#checkStatus(now);
    if (status !== Status.created) return status;
    const flags = words[offset + Word.codeFlags] >>> 16;
    const imported = (flags & TransferFlags.imported) !== 0;
    if (imported) {
      if (state.hasReached(state.transfers, time) || state.hasTimestamp(state.accounts, time)) {
        return Status.imported_event_timestamp_must_not_regress;
      }
    }
    const debitRow = state.accountRow(this.#pending, this.#from + Word.debitAccountId);
    const creditRow = state.accountRow(this.#pending, this.#from + Word.creditAccountId);
    assert(debitRow >= 0 && creditRow >= 0, 'PostVoid: account of a pending transfer is gone');
    const isPost = (flags & TransferFlags.post_pending_transfer) !== 0;
    if (isPost && this.#isClosed(debitRow)) return Status.debit_account_already_closed;
    if (isPost && this.#isClosed(creditRow)) return Status.credit_account_already_closed;
    this.#moveBalances(debitRow, creditRow, isPost);
    this.#append(hash, words, offset, time);
    const hasTimeout = this.#pending[this.#from + Word.timeout] !== 0;
    const outcome = isPost ? PendingStatus.posted : PendingStatus.voided;
    state.settlePending(this.#row, outcome, hasTimeout);
    state.events.appendEvent(debitRow, creditRow);
    return Status.created;
  }

  /** What can be said without the pending transfer. */
  #checkFields(words: Uint32Array, offset: number): number {
    const flags = words[offset + Word.codeFlags] >>> 16;
    const both = TransferFlags.post_pending_transfer | TransferFlags.void_pending_transfer;
    if ((flags & both) === both) return Status.flags_are_mutually_exclusive;
    if ((flags & EXCLUSIVE) !== 0) return Status.flags_are_mutually_exclusive;
    if (isZero(words, offset + Word.pendingId)) return Status.pending_id_must_not_be_zero;
    if (isMax(words, offset + Word.pendingId)) return Status.pending_id_must_not_be_int_max;
    if (isEqual(words, offset + Word.pendingId, words, offset)) {
      return Status.pending_id_must_be_different;
    }
    if (words[offset + Word.timeout] !== 0) return Status.timeout_reserved_for_pending_transfer;
    return Status.created;
  }

  /** Whether the event fits the pending transfer; leaves the amount to be posted or voided. */
  #checkPending(words: Uint32Array, offset: number): number {
    const pending = this.#pending;
    const from = this.#from;
    if (((pending[from + Word.codeFlags] >>> 16) & TransferFlags.pending) === 0) {
      return Status.pending_transfer_not_pending;
    }
    const debitId = offset + Word.debitAccountId;
    if (!isZero(words, debitId) && !isEqual(words, debitId, pending, from + Word.debitAccountId)) {
      return Status.pending_transfer_has_different_debit_account_id;
    }
    const creditId = offset + Word.creditAccountId;
    if (
      !isZero(words, creditId) &&
      !isEqual(words, creditId, pending, from + Word.creditAccountId)
    ) {
      return Status.pending_transfer_has_different_credit_account_id;
    }
    const ledger = words[offset + Word.ledger];
    if (ledger !== 0 && ledger !== pending[from + Word.ledger]) {
      return Status.pending_transfer_has_different_ledger;
    }
    const code = words[offset + Word.codeFlags] & 0xffff;
    if (code !== 0 && code !== (pending[from + Word.codeFlags] & 0xffff)) {
      return Status.pending_transfer_has_different_code;
    }
    const flags = words[offset + Word.codeFlags] >>> 16;
    const isVoid = (flags & TransferFlags.void_pending_transfer) !== 0;
    const whole = isVoid ? isZero(words, offset + Word.amount) : isMax(words, offset + Word.amount);
    if (whole) copy(this.#amount, 0, pending, from + Word.amount);
    else copy(this.#amount, 0, words, offset + Word.amount);
    if (isLess(pending, from + Word.amount, this.#amount, 0)) {
      return Status.exceeds_pending_transfer_amount;
    }
    if (isVoid && isLess(this.#amount, 0, pending, from + Word.amount)) {
      return Status.pending_transfer_has_different_amount;
    }
    return Status.created;
  }

  /** Whether the pending transfer is still pending; by time it expires before the pulse runs. */
  #checkStatus(now: Uint32Array): number {
    const status = this.#state.pending.get(this.#row);
    if (status === PendingStatus.posted) return Status.pending_transfer_already_posted;
    if (status === PendingStatus.voided) return Status.pending_transfer_already_voided;
    if (status === PendingStatus.expired) return Status.pending_transfer_expired;
    assert(status === PendingStatus.pending, 'PostVoid: pending transfer without a status');
    const timeout = this.#pending[this.#from + Word.timeout];
    if (timeout === 0) return Status.created;
    const valid = addSeconds64(
      this.#expiresAt,
      this.#pending,
      this.#from + Word.timestamp,
      timeout,
    );
    assert(valid, 'PostVoid: expiry time was not checked');
    return isBefore64(now, 0, this.#expiresAt) ? Status.created : Status.pending_transfer_expired;
  }

  #isClosed(accountRow: number): boolean {
    const { accounts } = this.#state;
    const words = accounts.chunkOf(accountRow);
    return (words[accounts.baseOf(accountRow) + AccountWord.codeFlags] & CLOSED) !== 0;
  }

  #moveBalances(debitRow: number, creditRow: number, isPost: boolean): void {
    const state = this.#state;
    const debit = state.accountForWrite(debitRow);
    const credit = state.accountForWrite(creditRow);
    const debitBase = state.accounts.baseOf(debitRow);
    const creditBase = state.accounts.baseOf(creditRow);
    release(this.#pending, this.#from, debit, debitBase, credit, creditBase);
    if (!isPost) {
      reopen(this.#pending, this.#from, debit, debitBase, credit, creditBase);
      return;
    }
    const debitCarry = add(debit, debitBase + AccountWord.debitsPosted, this.#amount, 0);
    const creditCarry = add(credit, creditBase + AccountWord.creditsPosted, this.#amount, 0);
    assert(!debitCarry && !creditCarry, 'PostVoid: posted balance overflows');
  }

  /** Creates the record: what the event leaves out comes from the pending transfer. */
  #append(hash: number, words: Uint32Array, offset: number, time: Uint32Array): void {
    const { transfers } = this.#state;
    const row = this.#state.appendTransfer(hash, words, offset, time, PendingStatus.none);
    const record = transfers.chunkOf(row);
    const at = transfers.baseOf(row);
    const pending = this.#pending;
    const from = this.#from;
    copy(record, at + Word.debitAccountId, pending, from + Word.debitAccountId);
    copy(record, at + Word.creditAccountId, pending, from + Word.creditAccountId);
    copy(record, at + Word.amount, this.#amount, 0);
    if (isZero(record, at + Word.userData128)) {
      copy(record, at + Word.userData128, pending, from + Word.userData128);
    }
    if (isZero64(record, at + Word.userData64)) {
      record[at + Word.userData64] = pending[from + Word.userData64];
      record[at + Word.userData64 + 1] = pending[from + Word.userData64 + 1];
    }
    if (record[at + Word.userData32] === 0) {
      record[at + Word.userData32] = pending[from + Word.userData32];
    }
    record[at + Word.ledger] = pending[from + Word.ledger];
    const flags = record[at + Word.codeFlags] & 0xffff_0000;
    record[at + Word.codeFlags] = flags | (pending[from + Word.codeFlags] & 0xffff);
  }
}
