/**
 * A transfer whose id is taken: which field is the first to differ from what is stored, in the
 * order of the protocol. Pure comparisons; `words[offset]` is the event, `stored[at]` the record.
 */
import { TransferFlags, TransferWord as Word } from '../format/constants.ts';
import { CreateTransferStatus as Status } from '../format/status.ts';
import { isEqual, isLess, isMax, isZero } from '../store/u128.ts';

const BALANCING = TransferFlags.balancing_debit | TransferFlags.balancing_credit;

/** Fields that every kind of transfer compares first, and the order of the fields is the same. */
export function compareCommon(
  words: Uint32Array,
  offset: number,
  stored: Uint32Array,
  at: number,
): number {
  const codeFlags = Word.codeFlags;
  if (words[offset + codeFlags] >>> 16 !== stored[at + codeFlags] >>> 16) {
    return Status.exists_with_different_flags;
  }
  if (!isEqual(words, offset + Word.pendingId, stored, at + Word.pendingId)) {
    return Status.exists_with_different_pending_id;
  }
  if (words[offset + Word.timeout] !== stored[at + Word.timeout]) {
    return Status.exists_with_different_timeout;
  }
  return Status.exists;
}

/** An ordinary or pending transfer. */
export function compareTransfer(
  words: Uint32Array,
  offset: number,
  stored: Uint32Array,
  at: number,
): number {
  if (!isEqual(words, offset + Word.debitAccountId, stored, at + Word.debitAccountId)) {
    return Status.exists_with_different_debit_account_id;
  }
  if (!isEqual(words, offset + Word.creditAccountId, stored, at + Word.creditAccountId)) {
    return Status.exists_with_different_credit_account_id;
  }
  // What a balancing transfer asks for is an upper bound of what it moved.
  const balancing = ((words[offset + Word.codeFlags] >>> 16) & BALANCING) !== 0;
  const differs = balancing
    ? isLess(words, offset + Word.amount, stored, at + Word.amount)
    : !isEqual(words, offset + Word.amount, stored, at + Word.amount);
  if (differs) return Status.exists_with_different_amount;
  if (!isEqual(words, offset + Word.userData128, stored, at + Word.userData128)) {
    return Status.exists_with_different_user_data_128;
  }
  if (!isEqual64(words, offset + Word.userData64, stored, at + Word.userData64)) {
    return Status.exists_with_different_user_data_64;
  }
  if (words[offset + Word.userData32] !== stored[at + Word.userData32]) {
    return Status.exists_with_different_user_data_32;
  }
  if (words[offset + Word.ledger] !== stored[at + Word.ledger]) {
    return Status.exists_with_different_ledger;
  }
  if ((words[offset + Word.codeFlags] & 0xffff) !== (stored[at + Word.codeFlags] & 0xffff)) {
    return Status.exists_with_different_code;
  }
  return Status.exists;
}

/**
 * A post or void. What the event leaves out, it takes from the pending transfer, `pending[from]`;
 * so it is compared after the same has been done to it.
 */
export function comparePostVoid(
  words: Uint32Array,
  offset: number,
  stored: Uint32Array,
  at: number,
  pending: Uint32Array,
  from: number,
): number {
  const given = (word: number): boolean => !isZero(words, offset + word);
  const differs128 = (word: number): boolean => !isEqual(words, offset + word, stored, at + word);
  if (given(Word.debitAccountId) && differs128(Word.debitAccountId)) {
    return Status.exists_with_different_debit_account_id;
  }
  if (given(Word.creditAccountId) && differs128(Word.creditAccountId)) {
    return Status.exists_with_different_credit_account_id;
  }
  const isVoid =
    ((words[offset + Word.codeFlags] >>> 16) & TransferFlags.void_pending_transfer) !== 0;
  const whole = isVoid ? !given(Word.amount) : isMax(words, offset + Word.amount);
  const amountDiffers = whole
    ? !isEqual(pending, from + Word.amount, stored, at + Word.amount)
    : differs128(Word.amount);
  if (amountDiffers) return Status.exists_with_different_amount;
  return compareInherited(words, offset, stored, at, pending, from);
}

function compareInherited(
  words: Uint32Array,
  offset: number,
  stored: Uint32Array,
  at: number,
  pending: Uint32Array,
  from: number,
): number {
  const own128 = !isZero(words, offset + Word.userData128);
  const same128 = own128
    ? isEqual(words, offset + Word.userData128, stored, at + Word.userData128)
    : isEqual(pending, from + Word.userData128, stored, at + Word.userData128);
  if (!same128) return Status.exists_with_different_user_data_128;
  const own64 = (words[offset + Word.userData64] | words[offset + Word.userData64 + 1]) !== 0;
  const same64 = own64
    ? isEqual64(words, offset + Word.userData64, stored, at + Word.userData64)
    : isEqual64(pending, from + Word.userData64, stored, at + Word.userData64);
  if (!same64) return Status.exists_with_different_user_data_64;
  const userData32 = words[offset + Word.userData32] || pending[from + Word.userData32];
  if (userData32 !== stored[at + Word.userData32]) {
    return Status.exists_with_different_user_data_32;
  }
  const ledger = words[offset + Word.ledger];
  if (ledger !== 0 && ledger !== stored[at + Word.ledger]) {
    return Status.exists_with_different_ledger;
  }
  const code = words[offset + Word.codeFlags] & 0xffff;
  if (code !== 0 && code !== (stored[at + Word.codeFlags] & 0xffff)) {
    return Status.exists_with_different_code;
  }
  return Status.exists;
}

function isEqual64(a: Uint32Array, aOffset: number, b: Uint32Array, bOffset: number): boolean {
  return a[aOffset] === b[bOffset] && a[aOffset + 1] === b[bOffset + 1];
}
