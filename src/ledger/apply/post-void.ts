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

/** Constants of this module, which V8 knows; see `plain-transfers`. */
const DEBITS_POSTED = AccountWord.debitsPosted;
const CREDITS_POSTED = AccountWord.creditsPosted;
const DEBIT_ACCOUNT_ID = Word.debitAccountId;
const CREDIT_ACCOUNT_ID = Word.creditAccountId;
const AMOUNT = Word.amount;
const PENDING_ID = Word.pendingId;
const TIMEOUT = Word.timeout;
const LEDGER = Word.ledger;
const CODE_FLAGS = Word.codeFlags;
const TIMESTAMP = Word.timestamp;
const USER_DATA_128 = Word.userData128;
const USER_DATA_64 = Word.userData64;
const USER_DATA_32 = Word.userData32;
/** −1: a small integer for V8, and 2^32 − 1 again in a reply. */
const CREATED = Status.created | 0;

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
    if (status !== CREATED) return status;
    this.#row = state.transferRow(words, offset + PENDING_ID);
    if (this.#row < 0) return Status.pending_transfer_not_found;
    this.#pending = state.transfers.chunkOf(this.#row);
    this.#from = state.transfers.baseOf(this.#row);
    status = this.#checkPending(words, offset);
    if (status !== CREATED) return status;
    status = this.#checkStatus(now);
    if (status !== CREATED) return status;
    const flags = words[offset + CODE_FLAGS] >>> 16;
    const imported = (flags & TransferFlags.imported) !== 0;
    if (imported) {
      if (state.hasReached(state.transfers, time) || state.hasTimestamp(state.accounts, time)) {
        return Status.imported_event_timestamp_must_not_regress;
      }
    }
    const debitRow = state.accountRow(this.#pending, this.#from + DEBIT_ACCOUNT_ID);
    const creditRow = state.accountRow(this.#pending, this.#from + CREDIT_ACCOUNT_ID);
    assert(debitRow >= 0 && creditRow >= 0, 'PostVoid: account of a pending transfer is gone');
    const isPost = (flags & TransferFlags.post_pending_transfer) !== 0;
    if (isPost && this.#isClosed(debitRow)) return Status.debit_account_already_closed;
    if (isPost && this.#isClosed(creditRow)) return Status.credit_account_already_closed;
    this.#moveBalances(debitRow, creditRow, isPost);
    this.#append(hash, words, offset, time);
    const hasTimeout = this.#pending[this.#from + TIMEOUT] !== 0;
    const outcome = isPost ? PendingStatus.posted : PendingStatus.voided;
    state.settlePending(this.#row, outcome, hasTimeout);
    state.events.appendEvent(debitRow, creditRow);
    return CREATED;
  }

  /** What can be said without the pending transfer. */
  #checkFields(words: Uint32Array, offset: number): number {
    const flags = words[offset + CODE_FLAGS] >>> 16;
    const both = TransferFlags.post_pending_transfer | TransferFlags.void_pending_transfer;
    if ((flags & both) === both) return Status.flags_are_mutually_exclusive;
    if ((flags & EXCLUSIVE) !== 0) return Status.flags_are_mutually_exclusive;
    if (isZero(words, offset + PENDING_ID)) return Status.pending_id_must_not_be_zero;
    if (isMax(words, offset + PENDING_ID)) return Status.pending_id_must_not_be_int_max;
    if (isEqual(words, offset + PENDING_ID, words, offset)) {
      return Status.pending_id_must_be_different;
    }
    if (words[offset + TIMEOUT] !== 0) return Status.timeout_reserved_for_pending_transfer;
    return CREATED;
  }

  /** Whether the event fits the pending transfer; leaves the amount to be posted or voided. */
  #checkPending(words: Uint32Array, offset: number): number {
    const pending = this.#pending;
    const from = this.#from;
    if (((pending[from + CODE_FLAGS] >>> 16) & TransferFlags.pending) === 0) {
      return Status.pending_transfer_not_pending;
    }
    const debitId = offset + DEBIT_ACCOUNT_ID;
    if (!isZero(words, debitId) && !isEqual(words, debitId, pending, from + DEBIT_ACCOUNT_ID)) {
      return Status.pending_transfer_has_different_debit_account_id;
    }
    const creditId = offset + CREDIT_ACCOUNT_ID;
    if (!isZero(words, creditId) && !isEqual(words, creditId, pending, from + CREDIT_ACCOUNT_ID)) {
      return Status.pending_transfer_has_different_credit_account_id;
    }
    const ledger = words[offset + LEDGER];
    if (ledger !== 0 && ledger !== pending[from + LEDGER]) {
      return Status.pending_transfer_has_different_ledger;
    }
    const code = words[offset + CODE_FLAGS] & 0xffff;
    if (code !== 0 && code !== (pending[from + CODE_FLAGS] & 0xffff)) {
      return Status.pending_transfer_has_different_code;
    }
    const flags = words[offset + CODE_FLAGS] >>> 16;
    const isVoid = (flags & TransferFlags.void_pending_transfer) !== 0;
    const whole = isVoid ? isZero(words, offset + AMOUNT) : isMax(words, offset + AMOUNT);
    if (whole) copy(this.#amount, 0, pending, from + AMOUNT);
    else copy(this.#amount, 0, words, offset + AMOUNT);
    if (isLess(pending, from + AMOUNT, this.#amount, 0)) {
      return Status.exceeds_pending_transfer_amount;
    }
    if (isVoid && isLess(this.#amount, 0, pending, from + AMOUNT)) {
      return Status.pending_transfer_has_different_amount;
    }
    return CREATED;
  }

  /** Whether the pending transfer is still pending; by time it expires before the pulse runs. */
  #checkStatus(now: Uint32Array): number {
    const status = this.#state.pending.get(this.#row);
    if (status === PendingStatus.posted) return Status.pending_transfer_already_posted;
    if (status === PendingStatus.voided) return Status.pending_transfer_already_voided;
    if (status === PendingStatus.expired) return Status.pending_transfer_expired;
    assert(status === PendingStatus.pending, 'PostVoid: pending transfer without a status');
    const timeout = this.#pending[this.#from + TIMEOUT];
    if (timeout === 0) return CREATED;
    const valid = addSeconds64(this.#expiresAt, this.#pending, this.#from + TIMESTAMP, timeout);
    assert(valid, 'PostVoid: expiry time was not checked');
    return isBefore64(now, 0, this.#expiresAt) ? CREATED : Status.pending_transfer_expired;
  }

  #isClosed(accountRow: number): boolean {
    const { accounts } = this.#state;
    const words = accounts.chunkOf(accountRow);
    return (words[accounts.baseOf(accountRow) + CODE_FLAGS] & CLOSED) !== 0;
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
    const debitCarry = add(debit, debitBase + DEBITS_POSTED, this.#amount, 0);
    const creditCarry = add(credit, creditBase + CREDITS_POSTED, this.#amount, 0);
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
    copy(record, at + DEBIT_ACCOUNT_ID, pending, from + DEBIT_ACCOUNT_ID);
    copy(record, at + CREDIT_ACCOUNT_ID, pending, from + CREDIT_ACCOUNT_ID);
    copy(record, at + AMOUNT, this.#amount, 0);
    if (isZero(record, at + USER_DATA_128)) {
      copy(record, at + USER_DATA_128, pending, from + USER_DATA_128);
    }
    if (isZero64(record, at + USER_DATA_64)) {
      record[at + USER_DATA_64] = pending[from + USER_DATA_64];
      record[at + USER_DATA_64 + 1] = pending[from + USER_DATA_64 + 1];
    }
    if (record[at + USER_DATA_32] === 0) {
      record[at + USER_DATA_32] = pending[from + USER_DATA_32];
    }
    record[at + LEDGER] = pending[from + LEDGER];
    const flags = record[at + CODE_FLAGS] & 0xffff_0000;
    record[at + CODE_FLAGS] = flags | (pending[from + CODE_FLAGS] & 0xffff);
  }
}
