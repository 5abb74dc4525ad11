/**
 * Account events from the tables alone, for a replica whose checkpoint came without them: the
 * whole history is replayed on balances that start at zero. Slower than reading blocks (it looks
 * up both accounts of every transfer), and needed only then.
 */
import { assert } from '../../stdx/index.ts';
import { ACCOUNT_SIZE, AccountFlags, AccountWord, TransferWord } from '../format/constants.ts';
import { Rows } from '../rows.ts';
import type { LedgerTables } from '../tables.ts';
import { type AccountEvents, eventReference, Side } from './account-events.ts';
import { applyEvent, Closing, expiredTransferRow } from './balances.ts';

/** Word of an expiry record: how many events came before it. */
const EVENTS_BEFORE_WORD = 4;

/** Fills `events`, which must be empty. The id indexes of `tables` must work. */
export function rebuildEvents(tables: LedgerTables, events: AccountEvents): void {
  assert(events.count === 0, 'rebuildEvents: not empty');
  const accounts = openingAccounts(tables.accounts);
  const { transfers, expiries } = tables;
  for (let expiry = 0, transfer = 0; transfer < transfers.count || expiry < expiries.count; ) {
    if (expiry < expiries.count && eventsBefore(expiries, expiry) === transfer + expiry) {
      replay(tables, events, accounts, expiry, true);
      expiry += 1;
    } else {
      assert(transfer < transfers.count, 'rebuildEvents: expiry out of place');
      replay(tables, events, accounts, transfer, false);
      transfer += 1;
    }
  }
  assert(events.count === transfers.count + expiries.count, 'rebuildEvents: events missing');
}

function eventsBefore(expiries: Rows, row: number): number {
  const words = expiries.chunkOf(row);
  const at = expiries.baseOf(row) + EVENTS_BEFORE_WORD;
  assert(words[at + 1] === 0, 'eventsBefore: too many events');
  return words[at];
}

/** The accounts before their first event. One that was created closed has none and may stay. */
function openingAccounts(accounts: Rows): Rows {
  const copy = new Rows(ACCOUNT_SIZE);
  for (let row = 0; row < accounts.count; row++) {
    copy.append();
    const words = copy.chunkOf(row);
    const base = copy.baseOf(row);
    const codeFlags = accounts.chunkOf(row)[accounts.baseOf(row) + AccountWord.codeFlags];
    words[base + AccountWord.codeFlags] = codeFlags & ~(AccountFlags.closed << 16);
  }
  return copy;
}

function replay(
  tables: LedgerTables,
  events: AccountEvents,
  accounts: Rows,
  row: number,
  isExpiry: boolean,
): void {
  const { transfers } = tables;
  const transferRow = isExpiry ? expiredTransferRow(tables, row) : row;
  const words = transfers.chunkOf(transferRow);
  const base = transfers.baseOf(transferRow);
  const debitRow = tables.accountRow(words, base + TransferWord.debitAccountId);
  const creditRow = tables.accountRow(words, base + TransferWord.creditAccountId);
  assert(debitRow >= 0 && creditRow >= 0, 'replay: account is missing');
  replaySide(tables, accounts, debitRow, eventReference(row, Side.debit, isExpiry));
  replaySide(tables, accounts, creditRow, eventReference(row, Side.credit, isExpiry));
  if (isExpiry) events.appendExpiry(accounts, debitRow, creditRow);
  else events.appendTransfer(accounts, debitRow, creditRow);
}

function replaySide(tables: LedgerTables, accounts: Rows, row: number, reference: number): void {
  const words = accounts.chunkOf(row);
  const base = accounts.baseOf(row);
  const closing = applyEvent(tables, reference, words, base + AccountWord.debitsPending);
  if (closing === Closing.unchanged) return;
  const flag = AccountFlags.closed << 16;
  if (closing === Closing.closed) words[base + AccountWord.codeFlags] |= flag;
  else words[base + AccountWord.codeFlags] &= ~flag;
}
