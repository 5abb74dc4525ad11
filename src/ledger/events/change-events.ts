/**
 * get_change_events: every account event of a timestamp range, oldest first, with both accounts as
 * they were right after it.
 *
 * Transfers and expiries each stand in timestamp order, but an imported transfer may be dated
 * before expiries that happened earlier, so the two are merged by timestamp. Where both have the
 * same one, the expiry is the older event: only an import can be dated back.
 */
import { assert } from '../../stdx/index.ts';
import {
  AccountWord,
  ChangeEventType,
  RECORD_WORDS,
  TransferFlags,
  TransferWord,
} from '../format/constants.ts';
import type { Filter } from '../query/filter.ts';
import { copyWords, ExpiryWord, lowerBound, upperBound } from '../query-timestamps.ts';
import type { LedgerTables } from '../tables.ts';
import { BALANCE_WORDS, eventReference, Side } from './account-events.ts';
import type { BalanceReader } from './balances.ts';
import { expiredTransferRow } from './balances.ts';

/** Words of one change event. */
export const CHANGE_EVENT_WORDS = 96;

/** Fields of a change event, in words. */
const EventWord = {
  transferId: 0,
  transferAmount: 4,
  transferPendingId: 8,
  /** Three fields, ten words with the gap after them left for timeout and code. */
  transferUserData: 12,
  transferTimeout: 19,
  transferCodeFlags: 20,
  ledger: 21,
  type: 22,
  reserved: 23,
  debitAccount: 32,
  creditAccount: 60,
  timestamp: 88,
  transferTimestamp: 90,
  debitAccountTimestamp: 92,
  creditAccountTimestamp: 94,
} as const;

/** Fields of an account within a change event, in words from its start. */
const PartyWord = { id: 0, balances: 4, userData: 20, codeFlags: 27 } as const;

/** Words of user_data_128, user_data_64 and user_data_32 together. */
const USER_DATA_WORDS = 7;

export class ChangeEvents {
  readonly #tables: LedgerTables;
  readonly #balances: BalanceReader;

  constructor(tables: LedgerTables, balances: BalanceReader) {
    this.#tables = tables;
    this.#balances = balances;
  }

  /** Writes at most `limit` events of the filter's range to `reply[at]`; returns their number. */
  execute(filter: Filter, limit: number, reply: Uint32Array, at: number): number {
    assert(limit >= 1, 'ChangeEvents: limit');
    const { transfers, expiries } = this.#tables;
    const { timestampMinHi, timestampMinLo, timestampMaxHi, timestampMaxLo } = filter;
    const word = TransferWord.timestamp;
    let transfer = lowerBound(transfers, word, timestampMinHi, timestampMinLo);
    const transferEnd = upperBound(transfers, word, timestampMaxHi, timestampMaxLo);
    let expiry = lowerBound(expiries, ExpiryWord.timestamp, timestampMinHi, timestampMinLo);
    const expiryEnd = upperBound(expiries, ExpiryWord.timestamp, timestampMaxHi, timestampMaxLo);
    let count = 0;
    for (; count < limit; count++) {
      const to = at + count * CHANGE_EVENT_WORDS;
      const expiryLeft = expiry < expiryEnd;
      if (expiryLeft && (transfer >= transferEnd || this.#expiryIsOlder(expiry, transfer))) {
        this.#writeExpiry(expiry, reply, to);
        expiry += 1;
      } else if (transfer < transferEnd) {
        this.#writeTransfer(transfer, reply, to);
        transfer += 1;
      } else {
        break;
      }
    }
    assert(at + count * CHANGE_EVENT_WORDS <= reply.length, 'ChangeEvents: reply too short');
    return count;
  }

  #expiryIsOlder(expiry: number, transfer: number): boolean {
    const { transfers, expiries } = this.#tables;
    const a = expiries.chunkOf(expiry);
    const aAt = expiries.baseOf(expiry) + ExpiryWord.timestamp;
    const b = transfers.chunkOf(transfer);
    const bAt = transfers.baseOf(transfer) + TransferWord.timestamp;
    return a[aAt + 1] !== b[bAt + 1] ? a[aAt + 1] < b[bAt + 1] : a[aAt] <= b[bAt];
  }

  #writeTransfer(row: number, reply: Uint32Array, to: number): void {
    const { transfers } = this.#tables;
    const words = transfers.chunkOf(row);
    const base = transfers.baseOf(row);
    const type = transferType(words[base + TransferWord.codeFlags] >>> 16);
    copyWords(words, base + TransferWord.timestamp, reply, to + EventWord.timestamp, 2);
    this.#writeEvent(words, base, type, eventReference(row, Side.debit, false), reply, to);
  }

  #writeExpiry(row: number, reply: Uint32Array, to: number): void {
    const { expiries, transfers } = this.#tables;
    const expiry = expiries.chunkOf(row);
    const expiryAt = expiries.baseOf(row) + ExpiryWord.timestamp;
    copyWords(expiry, expiryAt, reply, to + EventWord.timestamp, 2);
    const pending = expiredTransferRow(this.#tables, row);
    const words = transfers.chunkOf(pending);
    const base = transfers.baseOf(pending);
    const type = ChangeEventType.two_phase_expired;
    this.#writeEvent(words, base, type, eventReference(row, Side.debit, true), reply, to);
  }

  /** Everything but the event's own timestamp. The transfer stands at words[base]. */
  #writeEvent(
    words: Uint32Array,
    base: number,
    type: number,
    debitReference: number,
    reply: Uint32Array,
    to: number,
  ): void {
    copyWords(words, base + TransferWord.id, reply, to + EventWord.transferId, 4);
    copyWords(words, base + TransferWord.amount, reply, to + EventWord.transferAmount, 4);
    copyWords(words, base + TransferWord.pendingId, reply, to + EventWord.transferPendingId, 4);
    const userDataTo = to + EventWord.transferUserData;
    copyWords(words, base + TransferWord.userData128, reply, userDataTo, USER_DATA_WORDS);
    reply[to + EventWord.transferTimeout] = words[base + TransferWord.timeout];
    reply[to + EventWord.transferCodeFlags] = words[base + TransferWord.codeFlags];
    reply[to + EventWord.ledger] = words[base + TransferWord.ledger];
    reply[to + EventWord.type] = type;
    reply.fill(0, to + EventWord.reserved, to + EventWord.debitAccount);
    copyWords(words, base + TransferWord.timestamp, reply, to + EventWord.transferTimestamp, 2);

    const debitRow = this.#tables.accountRow(words, base + TransferWord.debitAccountId);
    const debitTo = to + EventWord.debitAccount;
    this.#writeParty(debitRow, debitReference, reply, debitTo);
    this.#writeTimestamp(debitRow, reply, to + EventWord.debitAccountTimestamp);
    const creditRow = this.#tables.accountRow(words, base + TransferWord.creditAccountId);
    const creditTo = to + EventWord.creditAccount;
    this.#writeParty(creditRow, debitReference + Side.credit, reply, creditTo);
    this.#writeTimestamp(creditRow, reply, to + EventWord.creditAccountTimestamp);
  }

  /** One account as it was after the event; user data and code never change. */
  #writeParty(accountRow: number, reference: number, reply: Uint32Array, to: number): void {
    assert(accountRow >= 0, 'ChangeEvents: account is missing');
    const { accounts } = this.#tables;
    const words = accounts.chunkOf(accountRow);
    const base = accounts.baseOf(accountRow);
    copyWords(words, base + AccountWord.id, reply, to + PartyWord.id, 4);
    const flags = this.#balances.read(accountRow, reference, reply, to + PartyWord.balances);
    const userDataTo = to + PartyWord.userData;
    copyWords(words, base + AccountWord.userData128, reply, userDataTo, USER_DATA_WORDS);
    const code = words[base + AccountWord.codeFlags] & 0xffff;
    reply[to + PartyWord.codeFlags] = code | (flags << 16);
  }

  #writeTimestamp(accountRow: number, reply: Uint32Array, to: number): void {
    const { accounts } = this.#tables;
    const from = accounts.baseOf(accountRow) + AccountWord.timestamp;
    copyWords(accounts.chunkOf(accountRow), from, reply, to, 2);
  }
}

function transferType(flags: number): number {
  if ((flags & TransferFlags.pending) !== 0) return ChangeEventType.two_phase_pending;
  if ((flags & TransferFlags.post_pending_transfer) !== 0) return ChangeEventType.two_phase_posted;
  if ((flags & TransferFlags.void_pending_transfer) !== 0) return ChangeEventType.two_phase_voided;
  return ChangeEventType.single_phase;
}

assert(EventWord.creditAccount - EventWord.debitAccount === PartyWord.codeFlags + 1);
assert(PartyWord.userData === PartyWord.balances + BALANCE_WORDS);
assert(EventWord.creditAccountTimestamp + 2 === CHANGE_EVENT_WORDS);
assert(AccountWord.userData64 === AccountWord.userData128 + 4 && RECORD_WORDS === 32);
