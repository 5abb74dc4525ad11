/**
 * The proof behind the fast path: a transfer that is nothing but an amount from one open account to
 * another of the same ledger passes all checks that do not need an index. One conjunction, in any
 * order; `false` means "not proven", not "refused".
 */
import { AccountFlags, AccountWord, TransferWord as Word } from '../format/constants.ts';

const CLOSED = AccountFlags.closed << 16;

/** Balances and amounts below 2^126: the sum of any three of them does not overflow. */
const LIMB_SAFE_BITS = 30;

/**
 * The event at `words[offset]` has no flags. Its two accounts exist and differ, which also says
 * that their ids are neither zero nor 2^128 − 1.
 */
export function isPlain(
  words: Uint32Array,
  offset: number,
  debit: Uint32Array,
  debitBase: number,
  credit: Uint32Array,
  creditBase: number,
): boolean {
  // No account has ledger 0, so neither has the transfer if it is the same.
  const ledger = words[offset + Word.ledger];
  if (debit[debitBase + AccountWord.ledger] !== ledger) return false;
  if (credit[creditBase + AccountWord.ledger] !== ledger) return false;
  if (words[offset + Word.codeFlags] === 0) return false;
  const codeFlags =
    debit[debitBase + AccountWord.codeFlags] | credit[creditBase + AccountWord.codeFlags];
  if ((codeFlags & CLOSED) !== 0) return false;
  const pendingId = offset + Word.pendingId;
  const unused =
    words[pendingId] |
    words[pendingId + 1] |
    words[pendingId + 2] |
    words[pendingId + 3] |
    words[offset + Word.timeout] |
    words[offset + Word.timestamp] |
    words[offset + Word.timestamp + 1];
  if (unused !== 0) return false;
  const a = words[offset];
  const b = words[offset + 1];
  const c = words[offset + 2];
  const d = words[offset + 3];
  if ((a | b | c | d) === 0 || (a & b & c & d) === -1) return false;
  const high =
    words[offset + Word.amount + 3] |
    debit[debitBase + AccountWord.debitsPending + 3] |
    debit[debitBase + AccountWord.debitsPosted + 3] |
    credit[creditBase + AccountWord.creditsPending + 3] |
    credit[creditBase + AccountWord.creditsPosted + 3];
  return high >>> LIMB_SAFE_BITS === 0;
}
