/**
 * How much a transfer moves, and whether its accounts can take it: balancing, overflow of 128 bits,
 * and the limits of accounts. Accounts are named by their chunk and word offset, the amount is a
 * `Uint32Array` of four limbs.
 *
 * The sum of an account's pending and posted balance on one side never overflows: every transfer
 * checks that before it is created, and posting moves from one to the other at most what was there.
 */
import { assert } from '../../stdx/index.ts';
import { AccountFlags, AccountWord } from '../format/constants.ts';
import { CreateTransferStatus as Status } from '../format/status.ts';
import { add, clear, copy, isLess, subtract } from '../store/u128.ts';

/** Constants of this module, which V8 knows; see `plain-transfers`. */
const DEBITS_PENDING = AccountWord.debitsPending;
const DEBITS_POSTED = AccountWord.debitsPosted;
const CREDITS_PENDING = AccountWord.creditsPending;
const CREDITS_POSTED = AccountWord.creditsPosted;
const CODE_FLAGS = AccountWord.codeFlags;
/** −1: a small integer for V8, and 2^32 − 1 again in a reply. */
const CREATED = Status.created | 0;

/** Working space; nothing is kept in it between calls. */
const sum = new Uint32Array(4);
const rest = new Uint32Array(4);

/** Lowers the amount to what the debit account has: credits posted less all of its debits. */
export function balanceDebit(amount: Uint32Array, debit: Uint32Array, base: number): void {
  lowerTo(amount, debit, base + CREDITS_POSTED, base + DEBITS_POSTED, base + DEBITS_PENDING);
}

/** Lowers the amount to what the credit account owes: debits posted less all of its credits. */
export function balanceCredit(amount: Uint32Array, credit: Uint32Array, base: number): void {
  lowerTo(amount, credit, base + DEBITS_POSTED, base + CREDITS_POSTED, base + CREDITS_PENDING);
}

/** amount = min(amount, max(0, words[plus] − (words[minus] + words[minusPending])) */
function lowerTo(
  amount: Uint32Array,
  words: Uint32Array,
  plus: number,
  minus: number,
  minusPending: number,
): void {
  copy(sum, 0, words, minus);
  const overflow = add(sum, 0, words, minusPending);
  assert(!overflow, 'amount: posted and pending overflow');
  copy(rest, 0, words, plus);
  if (subtract(rest, 0, sum, 0)) clear(rest, 0);
  if (isLess(rest, 0, amount, 0)) copy(amount, 0, rest, 0);
}

/** Which balance would overflow, in the order of the protocol; `created` if none. */
export function overflow(
  amount: Uint32Array,
  pending: boolean,
  debit: Uint32Array,
  debitBase: number,
  credit: Uint32Array,
  creditBase: number,
): number {
  const debitsPending = debitBase + DEBITS_PENDING;
  const debitsPosted = debitBase + DEBITS_POSTED;
  const creditsPending = creditBase + CREDITS_PENDING;
  const creditsPosted = creditBase + CREDITS_POSTED;
  if (pending) {
    if (overflows(amount, debit, debitsPending)) return Status.overflows_debits_pending;
    if (overflows(amount, credit, creditsPending)) return Status.overflows_credits_pending;
  }
  if (overflows(amount, debit, debitsPosted)) return Status.overflows_debits_posted;
  if (overflows(amount, credit, creditsPosted)) return Status.overflows_credits_posted;
  if (overflows(amount, debit, debitsPending) || add(sum, 0, debit, debitsPosted)) {
    return Status.overflows_debits;
  }
  if (overflows(amount, credit, creditsPending) || add(sum, 0, credit, creditsPosted)) {
    return Status.overflows_credits;
  }
  return CREATED;
}

/** Leaves amount + words[offset] in `sum`. */
function overflows(amount: Uint32Array, words: Uint32Array, offset: number): boolean {
  copy(sum, 0, amount, 0);
  return add(sum, 0, words, offset);
}

/** Whether the debit account would owe more than it may. The sums must not overflow. */
export function exceedsCredits(amount: Uint32Array, debit: Uint32Array, base: number): boolean {
  const flags = debit[base + CODE_FLAGS] >>> 16;
  if ((flags & AccountFlags.debits_must_not_exceed_credits) === 0) return false;
  copy(sum, 0, amount, 0);
  const first = add(sum, 0, debit, base + DEBITS_PENDING);
  const second = add(sum, 0, debit, base + DEBITS_POSTED);
  assert(!first && !second, 'amount: limit checked before overflow');
  return isLess(debit, base + CREDITS_POSTED, sum, 0);
}

/** Whether the credit account would hold more than it may. The sums must not overflow. */
export function exceedsDebits(amount: Uint32Array, credit: Uint32Array, base: number): boolean {
  const flags = credit[base + CODE_FLAGS] >>> 16;
  if ((flags & AccountFlags.credits_must_not_exceed_debits) === 0) return false;
  copy(sum, 0, amount, 0);
  const first = add(sum, 0, credit, base + CREDITS_PENDING);
  const second = add(sum, 0, credit, base + CREDITS_POSTED);
  assert(!first && !second, 'amount: limit checked before overflow');
  return isLess(credit, base + DEBITS_POSTED, sum, 0);
}
