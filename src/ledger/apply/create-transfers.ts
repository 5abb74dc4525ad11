/**
 * create_transfers, the long way: the checks of one transfer in the order of the protocol. The fast
 * path, which runs first for events without flags, is in `plain-transfers`.
 */
import { assert } from '../../stdx/index.ts';
import {
  AccountFlags,
  AccountWord,
  TransferFlags as Flags,
  RECORD_WORDS as RECORD,
  TRANSFER_FLAGS_RESERVED,
  TransferWord as Word,
} from '../format/constants.ts';
import { isTransient, CreateTransferStatus as Status } from '../format/status.ts';
import type { LedgerState } from '../store/state.ts';
import { add64, addSeconds64, copy64, isBefore64, time64 } from '../store/u64.ts';
import { add, copy, isEqual, isMax, isZero } from '../store/u128.ts';
import { PendingStatus } from '../tables.ts';
import { balanceCredit, balanceDebit, exceedsCredits, exceedsDebits, overflow } from './amount.ts';
import { EventBatch } from './event-batch.ts';
import { PlainTransfers, WINDOW_EVENTS } from './plain-transfers.ts';
import { PostVoid } from './post-void.ts';
import { compareCommon, comparePostVoid, compareTransfer } from './transfer-exists.ts';

/** Constants of this module, which V8 knows; see `plain-transfers`. */
const DEBITS_PENDING = AccountWord.debitsPending;
const DEBITS_POSTED = AccountWord.debitsPosted;
const CREDITS_PENDING = AccountWord.creditsPending;
const CREDITS_POSTED = AccountWord.creditsPosted;
const DEBIT_ACCOUNT_ID = Word.debitAccountId;
const CREDIT_ACCOUNT_ID = Word.creditAccountId;
const AMOUNT = Word.amount;
const PENDING_ID = Word.pendingId;
const TIMEOUT = Word.timeout;
const LEDGER = Word.ledger;
const CODE_FLAGS = Word.codeFlags;
const TIMESTAMP = Word.timestamp;
/** −1: a small integer for V8, and 2^32 − 1 again in a reply. */
const CREATED = Status.created | 0;
const PENDING = Flags.pending;
const CLOSING_DEBIT = Flags.closing_debit;
const CLOSING_CREDIT = Flags.closing_credit;
const BALANCING_DEBIT = Flags.balancing_debit;
const BALANCING_CREDIT = Flags.balancing_credit;

const POST_OR_VOID = Flags.post_pending_transfer | Flags.void_pending_transfer;
const CLOSING = CLOSING_DEBIT | CLOSING_CREDIT;
const CLOSED = AccountFlags.closed << 16;
const RECORD_WORDS = RECORD;

export class TransferBatch extends EventBatch {
  readonly #plain: PlainTransfers;
  readonly #postVoid: PostVoid;
  readonly #amount: Uint32Array = new Uint32Array(4);
  readonly #expiresAt: Uint32Array = time64();

  constructor(state: LedgerState) {
    super(state, { importedFlag: Flags.imported, importedStatus: Status.imported_event_expected });
    this.#plain = new PlainTransfers(state);
    this.#postVoid = new PostVoid(state);
  }

  protected override executeEvents(): void {
    for (let start = 0; start < this.count; start += WINDOW_EVENTS) {
      const end = Math.min(start + WINDOW_EVENTS, this.count);
      const offset = this.batchOffset + start * RECORD_WORDS;
      this.#plain.lookAhead(this.words, offset, end - start);
      this.state.copyAhead(this.words, offset, end - start);
      this.#executeWindow(start, end);
      this.state.endAhead();
    }
  }

  #executeWindow(start: number, end: number): void {
    const { time, words } = this;
    let offset = this.batchOffset + start * RECORD_WORDS;
    for (let index = start; index < end; index++) {
      // Flags are the high half: without any, and outside of chains, an event stands alone.
      const alone = words[offset + CODE_FLAGS] <= 0xffff && this.chainStart < 0;
      if (alone && !this.imported) {
        add64(time, this.firstTime, index);
        if (this.#plain.create(words, offset, index - start, time)) {
          this.writeResult(index, time, CREATED);
          offset += RECORD_WORDS;
          continue;
        }
      }
      this.step(index);
      offset += RECORD_WORDS;
    }
  }

  /** The long way. */
  protected override create(index: number): number {
    const { words, offset, state } = this;
    const flags = words[offset + CODE_FLAGS] >>> 16;
    if ((flags & TRANSFER_FLAGS_RESERVED) !== 0) return Status.reserved_flag;
    if (isZero(words, offset)) return Status.id_must_not_be_zero;
    if (isMax(words, offset)) return Status.id_must_not_be_int_max;
    const hash = this.#plain.hashes[index % WINDOW_EVENTS];
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
      const pending = this.state.transferRow(stored, at + PENDING_ID);
      assert(pending >= 0, 'TransferBatch: post or void of nothing');
      const words2 = transfers.chunkOf(pending);
      status = comparePostVoid(words, offset, stored, at, words2, transfers.baseOf(pending));
    }
    if (status === Status.exists) copy64(this.resultTime, stored, at + TIMESTAMP);
    return status;
  }

  /** A transfer of the first phase: single or pending. */
  #transfer(index: number, flags: number): number {
    const { state } = this;
    let status = this.#checkFields(flags);
    if (status !== CREATED) return status;
    const debitRow = this.#plain.debitRows[index % WINDOW_EVENTS];
    const creditRow = this.#plain.creditRows[index % WINDOW_EVENTS];
    if (debitRow < 0) return Status.debit_account_not_found;
    if (creditRow < 0) return Status.credit_account_not_found;
    const { accounts } = state;
    const debit = accounts.chunkOf(debitRow);
    const debitBase = accounts.baseOf(debitRow);
    const credit = accounts.chunkOf(creditRow);
    const creditBase = accounts.baseOf(creditRow);
    status = this.#checkAccounts(debit, debitBase, credit, creditBase);
    if (status !== CREATED) return status;
    const amount = this.#amount;
    copy(amount, 0, this.words, this.offset + AMOUNT);
    if ((flags & BALANCING_DEBIT) !== 0) balanceDebit(amount, debit, debitBase);
    if ((flags & BALANCING_CREDIT) !== 0) balanceCredit(amount, credit, creditBase);
    const pending = (flags & PENDING) !== 0;
    status = overflow(amount, pending, debit, debitBase, credit, creditBase);
    if (status !== CREATED) return status;
    const timeout = this.words[this.offset + TIMEOUT];
    if (timeout !== 0 && !addSeconds64(this.#expiresAt, this.time, 0, timeout)) {
      return Status.overflows_timeout;
    }
    if (exceedsCredits(amount, debit, debitBase)) return Status.exceeds_credits;
    if (exceedsDebits(amount, credit, creditBase)) return Status.exceeds_debits;
    this.#execute(index, flags);
    return CREATED;
  }

  /** What can be said about the event alone. */
  #checkFields(flags: number): number {
    const { words, offset } = this;
    const debitId = offset + DEBIT_ACCOUNT_ID;
    const creditId = offset + CREDIT_ACCOUNT_ID;
    if (isZero(words, debitId)) return Status.debit_account_id_must_not_be_zero;
    if (isMax(words, debitId)) return Status.debit_account_id_must_not_be_int_max;
    if (isZero(words, creditId)) return Status.credit_account_id_must_not_be_zero;
    if (isMax(words, creditId)) return Status.credit_account_id_must_not_be_int_max;
    if (isEqual(words, debitId, words, creditId)) return Status.accounts_must_be_different;
    if (!isZero(words, offset + PENDING_ID)) return Status.pending_id_must_be_zero;
    if ((flags & PENDING) === 0) {
      if (words[offset + TIMEOUT] !== 0) return Status.timeout_reserved_for_pending_transfer;
      if ((flags & CLOSING) !== 0) return Status.closing_transfer_must_be_pending;
    }
    if (words[offset + LEDGER] === 0) return Status.ledger_must_not_be_zero;
    if ((words[offset + CODE_FLAGS] & 0xffff) === 0) return Status.code_must_not_be_zero;
    return CREATED;
  }

  /** Ledgers, import rules and closed accounts. */
  #checkAccounts(
    debit: Uint32Array,
    debitBase: number,
    credit: Uint32Array,
    creditBase: number,
  ): number {
    const ledger = this.words[this.offset + LEDGER];
    const debitLedger = debit[debitBase + LEDGER];
    if (debitLedger !== credit[creditBase + LEDGER]) {
      return Status.accounts_must_have_the_same_ledger;
    }
    if (ledger !== debitLedger) return Status.transfer_must_have_the_same_ledger_as_accounts;
    if (this.imported) {
      const { state, time } = this;
      if (state.hasReached(state.transfers, time) || state.hasTimestamp(state.accounts, time)) {
        return Status.imported_event_timestamp_must_not_regress;
      }
      if (!isBefore64(debit, debitBase + TIMESTAMP, time)) {
        return Status.imported_event_timestamp_must_postdate_debit_account;
      }
      if (!isBefore64(credit, creditBase + TIMESTAMP, time)) {
        return Status.imported_event_timestamp_must_postdate_credit_account;
      }
      if (this.words[this.offset + TIMEOUT] !== 0) {
        return Status.imported_event_timeout_must_be_zero;
      }
    }
    if ((debit[debitBase + CODE_FLAGS] & CLOSED) !== 0) {
      return Status.debit_account_already_closed;
    }
    if ((credit[creditBase + CODE_FLAGS] & CLOSED) !== 0) {
      return Status.credit_account_already_closed;
    }
    return CREATED;
  }

  /** All checks have passed: moves `#amount`. */
  #execute(index: number, flags: number): void {
    const { state } = this;
    const { accounts, transfers } = state;
    const debitRow = this.#plain.debitRows[index % WINDOW_EVENTS];
    const creditRow = this.#plain.creditRows[index % WINDOW_EVENTS];
    const debit = state.accountForWrite(debitRow);
    const credit = state.accountForWrite(creditRow);
    const debitBase = accounts.baseOf(debitRow);
    const creditBase = accounts.baseOf(creditRow);
    const pending = (flags & PENDING) !== 0;
    const debits = pending ? DEBITS_PENDING : DEBITS_POSTED;
    const credits = pending ? CREDITS_PENDING : CREDITS_POSTED;
    const debitCarry = add(debit, debitBase + debits, this.#amount, 0);
    const creditCarry = add(credit, creditBase + credits, this.#amount, 0);
    assert(!debitCarry && !creditCarry, 'TransferBatch: overflow was not checked');
    if ((flags & CLOSING_DEBIT) !== 0) debit[debitBase + CODE_FLAGS] |= CLOSED;
    if ((flags & CLOSING_CREDIT) !== 0) credit[creditBase + CODE_FLAGS] |= CLOSED;
    const status = pending ? PendingStatus.pending : PendingStatus.none;
    const hash = this.#plain.hashes[index % WINDOW_EVENTS];
    const row = state.appendTransfer(hash, this.words, this.offset, this.time, status);
    copy(transfers.chunkOf(row), transfers.baseOf(row) + AMOUNT, this.#amount, 0);
    if (this.words[this.offset + TIMEOUT] !== 0) {
      state.expiryQueue.stage(this.#expiresAt, row);
    }
    state.events.appendEvent(debitRow, creditRow);
  }
}
