/**
 * The end of a pending transfer, whichever way it ends: its amount leaves the pending balances; if
 * it comes to nothing, the accounts that it closed are open again. `pending[from]` is the transfer;
 * accounts are named by chunk and word offset.
 */
import { assert } from '../../stdx/index.ts';
import { AccountFlags, AccountWord, TransferFlags, TransferWord } from '../format/constants.ts';
import { subtract } from '../store/u128.ts';

const CLOSED = AccountFlags.closed << 16;

/** Takes the whole pending amount back, however much of it is posted then. */
export function release(
  pending: Uint32Array,
  from: number,
  debit: Uint32Array,
  debitBase: number,
  credit: Uint32Array,
  creditBase: number,
): void {
  const amount = from + TransferWord.amount;
  const debitBorrow = subtract(debit, debitBase + AccountWord.debitsPending, pending, amount);
  const creditBorrow = subtract(credit, creditBase + AccountWord.creditsPending, pending, amount);
  assert(!debitBorrow && !creditBorrow, 'release: more than is pending');
}

/** Void and expiry: clears the closed flags that the pending transfer had set. */
export function reopen(
  pending: Uint32Array,
  from: number,
  debit: Uint32Array,
  debitBase: number,
  credit: Uint32Array,
  creditBase: number,
): void {
  const flags = pending[from + TransferWord.codeFlags] >>> 16;
  if ((flags & TransferFlags.closing_debit) !== 0) {
    assert((debit[debitBase + AccountWord.codeFlags] & CLOSED) !== 0, 'reopen: debit not closed');
    debit[debitBase + AccountWord.codeFlags] &= ~CLOSED;
  }
  if ((flags & TransferFlags.closing_credit) !== 0) {
    assert(
      (credit[creditBase + AccountWord.codeFlags] & CLOSED) !== 0,
      'reopen: credit not closed',
    );
    credit[creditBase + AccountWord.codeFlags] &= ~CLOSED;
  }
}
