/**
 * create_transfers: the checks of one transfer, in the order of the protocol, and in front of them
 * a fast path for what nearly all transfers are.
 *
 * A batch is walked twice. The first walk hashes all ids, touches their slots in the index and
 * finds all accounts: its loads from memory do not depend on each other, so they overlap. No
 * transfer creates an account, so what it finds stays true for the whole batch.
 *
 * The fast path only ever says "yes": it proves that a transfer without flags passes every check,
 * in any order, and executes it. Whatever it cannot prove goes the long way, where the order of the
 * checks decides which status the client sees.
 */
import { assert } from '../../stdx/index.ts';
import {
  AccountFlags,
  AccountWord,
  TransferFlags as Flags,
  RECORD_WORDS,
  TRANSFER_FLAGS_RESERVED,
  TransferWord as Word,
} from '../format/constants.ts';
import { isTransient, CreateTransferStatus as Status } from '../format/status.ts';
import { hashId } from '../store/id-index.ts';
import type { LedgerState } from '../store/state.ts';
import { add64, addSeconds64, copy64, isBefore64, time64 } from '../store/u64.ts';
import { add, copy, isEqual, isMax, isZero } from '../store/u128.ts';
import { PendingStatus } from '../tables.ts';
import { balanceCredit, balanceDebit, exceedsCredits, exceedsDebits, overflow } from './amount.ts';
import { EventBatch } from './event-batch.ts';
import { isPlain } from './plain-transfer.ts';
import { PostVoid } from './post-void.ts';
import { compareCommon, comparePostVoid, compareTransfer } from './transfer-exists.ts';

const POST_OR_VOID = Flags.post_pending_transfer | Flags.void_pending_transfer;
const CLOSING = Flags.closing_debit | Flags.closing_credit;
const CLOSED = AccountFlags.closed << 16;
const LIMITS =
  (AccountFlags.debits_must_not_exceed_credits | AccountFlags.credits_must_not_exceed_debits) << 16;

/** Events of one batch for which there is room from the start. */
const BATCH_EVENTS = 8192;

export class TransferBatch extends EventBatch {
  readonly #postVoid: PostVoid;
  /** What the first walk finds, by event. */
  #hashes: Int32Array = new Int32Array(BATCH_EVENTS);
  #debitRows: Int32Array = new Int32Array(BATCH_EVENTS);
  #creditRows: Int32Array = new Int32Array(BATCH_EVENTS);
  /** Keeps the loads of the first walk from being optimised away. */
  #touched: number = 0;
  readonly #amount: Uint32Array = new Uint32Array(4);
  readonly #expiresAt: Uint32Array = time64();

  constructor(state: LedgerState) {
    super(state, { importedFlag: Flags.imported, importedStatus: Status.imported_event_expected });
    this.#postVoid = new PostVoid(state);
  }

  protected override executeEvents(): void {
    this.#lookAhead();
    const { batchOffset, count, words } = this;
    for (let index = 0; index < count; index++) {
      const offset = batchOffset + index * RECORD_WORDS;
      // Flags are the high half: without any, and outside of chains, an event stands alone.
      const plain = words[offset + Word.codeFlags] <= 0xffff && this.chainStart < 0;
      if (plain && !this.imported && this.#createPlain(index, offset)) continue;
      this.step(index);
    }
  }

  /** The first walk. */
  #lookAhead(): void {
    const { batchOffset, count, words } = this;
    const { accountIndex, transferIndex } = this.state;
    if (count > this.#hashes.length) {
      this.#hashes = new Int32Array(count);
      this.#debitRows = new Int32Array(count);
      this.#creditRows = new Int32Array(count);
    }
    let touched = 0;
    for (let index = 0; index < count; index++) {
      const offset = batchOffset + index * RECORD_WORDS;
      const hash = hashId(words, offset);
      this.#hashes[index] = hash;
      touched ^= transferIndex.touch(hash);
      const debitId = offset + Word.debitAccountId;
      this.#debitRows[index] = accountIndex.find(hashId(words, debitId), words, debitId);
      const creditId = offset + Word.creditAccountId;
      this.#creditRows[index] = accountIndex.find(hashId(words, creditId), words, creditId);
    }
    this.#touched ^= touched;
  }

  /** Executes the event if it is one that passes every check, else does nothing. */
  #createPlain(index: number, offset: number): boolean {
    const { state, words } = this;
    const debitRow = this.#debitRows[index];
    const creditRow = this.#creditRows[index];
    if ((debitRow | creditRow) < 0 || debitRow === creditRow) return false;
    const { accounts } = state;
    const debit = accounts.chunks[debitRow >>> accounts.rowShift];
    const credit = accounts.chunks[creditRow >>> accounts.rowShift];
    const debitBase = (debitRow & accounts.rowMask) * RECORD_WORDS;
    const creditBase = (creditRow & accounts.rowMask) * RECORD_WORDS;
    if (!isPlain(words, offset, debit, debitBase, credit, creditBase)) return false;
    const restricted =
      debit[debitBase + AccountWord.codeFlags] | credit[creditBase + AccountWord.codeFlags];
    if ((restricted & LIMITS) !== 0) {
      copy(this.#amount, 0, words, offset + Word.amount);
      if (exceedsCredits(this.#amount, debit, debitBase)) return false;
      if (exceedsDebits(this.#amount, credit, creditBase)) return false;
    }
    const hash = this.#hashes[index];
    if (state.transferIndex.find(hash, words, offset) >= 0) return false;
    if (state.burned.count > 0 && state.burnedIndex.find(hash, words, offset) >= 0) return false;

    state.markAccount(debitRow);
    state.markAccount(creditRow);
    add(debit, debitBase + AccountWord.debitsPosted, words, offset + Word.amount);
    add(credit, creditBase + AccountWord.creditsPosted, words, offset + Word.amount);
    add64(this.time, this.firstTime, index);
    state.appendTransfer(hash, words, offset, this.time, PendingStatus.none);
    state.events.appendEvent(debitRow, creditRow);
    this.writeResult(index, this.time, Status.created);
    return true;
  }

  /** The long way. */
  protected override create(index: number): number {
    const { words, offset, state } = this;
    const flags = words[offset + Word.codeFlags] >>> 16;
    if ((flags & TRANSFER_FLAGS_RESERVED) !== 0) return Status.reserved_flag;
    if (isZero(words, offset)) return Status.id_must_not_be_zero;
    if (isMax(words, offset)) return Status.id_must_not_be_int_max;
    const hash = this.#hashes[index];
    const row = state.transferIndex.find(hash, words, offset);
    if (row >= 0) return this.#exists(row, flags);
    if (state.burnedIndex.find(hash, words, offset) >= 0) return Status.id_already_failed;
    const status =
      (flags & POST_OR_VOID) === 0
        ? this.#transfer(index, flags)
        : this.#postVoid.create(hash, words, offset, this.time, this.assignedTime);
    if (isTransient(status)) state.burn(words, offset);
    return status;
  }

  #exists(row: number, flags: number): number {
    const { words, offset } = this;
    const { transfers } = this.state;
    const stored = transfers.chunkOf(row);
    const at = transfers.baseOf(row);
    let status = compareCommon(words, offset, stored, at);
    if (status !== Status.exists) return status;
    if ((flags & POST_OR_VOID) === 0) {
      status = compareTransfer(words, offset, stored, at);
    } else {
      const pending = this.state.transferRow(stored, at + Word.pendingId);
      assert(pending >= 0, 'TransferBatch: post or void of nothing');
      const words2 = transfers.chunkOf(pending);
      status = comparePostVoid(words, offset, stored, at, words2, transfers.baseOf(pending));
    }
    if (status === Status.exists) copy64(this.resultTime, stored, at + Word.timestamp);
    return status;
  }

  /** A transfer of the first phase: single or pending. */
  #transfer(index: number, flags: number): number {
    const { state } = this;
    let status = this.#checkFields(flags);
    if (status !== Status.created) return status;
    const debitRow = this.#debitRows[index];
    const creditRow = this.#creditRows[index];
    if (debitRow < 0) return Status.debit_account_not_found;
    if (creditRow < 0) return Status.credit_account_not_found;
    const { accounts } = state;
    const debit = accounts.chunkOf(debitRow);
    const debitBase = accounts.baseOf(debitRow);
    const credit = accounts.chunkOf(creditRow);
    const creditBase = accounts.baseOf(creditRow);
    status = this.#checkAccounts(debit, debitBase, credit, creditBase);
    if (status !== Status.created) return status;
    const amount = this.#amount;
    copy(amount, 0, this.words, this.offset + Word.amount);
    if ((flags & Flags.balancing_debit) !== 0) balanceDebit(amount, debit, debitBase);
    if ((flags & Flags.balancing_credit) !== 0) balanceCredit(amount, credit, creditBase);
    const pending = (flags & Flags.pending) !== 0;
    status = overflow(amount, pending, debit, debitBase, credit, creditBase);
    if (status !== Status.created) return status;
    const timeout = this.words[this.offset + Word.timeout];
    if (!addSeconds64(this.#expiresAt, this.time, 0, timeout)) return Status.overflows_timeout;
    if (exceedsCredits(amount, debit, debitBase)) return Status.exceeds_credits;
    if (exceedsDebits(amount, credit, creditBase)) return Status.exceeds_debits;
    this.#execute(index, flags);
    return Status.created;
  }

  /** What can be said about the event alone. */
  #checkFields(flags: number): number {
    const { words, offset } = this;
    const debitId = offset + Word.debitAccountId;
    const creditId = offset + Word.creditAccountId;
    if (isZero(words, debitId)) return Status.debit_account_id_must_not_be_zero;
    if (isMax(words, debitId)) return Status.debit_account_id_must_not_be_int_max;
    if (isZero(words, creditId)) return Status.credit_account_id_must_not_be_zero;
    if (isMax(words, creditId)) return Status.credit_account_id_must_not_be_int_max;
    if (isEqual(words, debitId, words, creditId)) return Status.accounts_must_be_different;
    if (!isZero(words, offset + Word.pendingId)) return Status.pending_id_must_be_zero;
    if ((flags & Flags.pending) === 0) {
      if (words[offset + Word.timeout] !== 0) return Status.timeout_reserved_for_pending_transfer;
      if ((flags & CLOSING) !== 0) return Status.closing_transfer_must_be_pending;
    }
    if (words[offset + Word.ledger] === 0) return Status.ledger_must_not_be_zero;
    if ((words[offset + Word.codeFlags] & 0xffff) === 0) return Status.code_must_not_be_zero;
    return Status.created;
  }

  /** Ledgers, import rules and closed accounts. */
  #checkAccounts(
    debit: Uint32Array,
    debitBase: number,
    credit: Uint32Array,
    creditBase: number,
  ): number {
    const ledger = this.words[this.offset + Word.ledger];
    const debitLedger = debit[debitBase + AccountWord.ledger];
    if (debitLedger !== credit[creditBase + AccountWord.ledger]) {
      return Status.accounts_must_have_the_same_ledger;
    }
    if (ledger !== debitLedger) return Status.transfer_must_have_the_same_ledger_as_accounts;
    if (this.imported) {
      const { state, time } = this;
      if (state.hasReached(state.transfers, time) || state.hasTimestamp(state.accounts, time)) {
        return Status.imported_event_timestamp_must_not_regress;
      }
      if (!isBefore64(debit, debitBase + AccountWord.timestamp, time)) {
        return Status.imported_event_timestamp_must_postdate_debit_account;
      }
      if (!isBefore64(credit, creditBase + AccountWord.timestamp, time)) {
        return Status.imported_event_timestamp_must_postdate_credit_account;
      }
      if (this.words[this.offset + Word.timeout] !== 0) {
        return Status.imported_event_timeout_must_be_zero;
      }
    }
    if ((debit[debitBase + AccountWord.codeFlags] & CLOSED) !== 0) {
      return Status.debit_account_already_closed;
    }
    if ((credit[creditBase + AccountWord.codeFlags] & CLOSED) !== 0) {
      return Status.credit_account_already_closed;
    }
    return Status.created;
  }

  /** All checks have passed: moves `#amount`. */
  #execute(index: number, flags: number): void {
    const { state } = this;
    const { accounts, transfers } = state;
    const debitRow = this.#debitRows[index];
    const creditRow = this.#creditRows[index];
    const debit = state.accountForWrite(debitRow);
    const credit = state.accountForWrite(creditRow);
    const debitBase = accounts.baseOf(debitRow);
    const creditBase = accounts.baseOf(creditRow);
    const pending = (flags & Flags.pending) !== 0;
    const debits = pending ? AccountWord.debitsPending : AccountWord.debitsPosted;
    const credits = pending ? AccountWord.creditsPending : AccountWord.creditsPosted;
    const debitCarry = add(debit, debitBase + debits, this.#amount, 0);
    const creditCarry = add(credit, creditBase + credits, this.#amount, 0);
    assert(!debitCarry && !creditCarry, 'TransferBatch: overflow was not checked');
    if ((flags & Flags.closing_debit) !== 0) debit[debitBase + AccountWord.codeFlags] |= CLOSED;
    if ((flags & Flags.closing_credit) !== 0) credit[creditBase + AccountWord.codeFlags] |= CLOSED;
    const status = pending ? PendingStatus.pending : PendingStatus.none;
    const hash = this.#hashes[index];
    const row = state.appendTransfer(hash, this.words, this.offset, this.time, status);
    copy(transfers.chunkOf(row), transfers.baseOf(row) + Word.amount, this.#amount, 0);
    if (this.words[this.offset + Word.timeout] !== 0) {
      state.expiryQueue.stage(this.#expiresAt, row);
    }
    state.events.appendEvent(debitRow, creditRow);
  }
}
