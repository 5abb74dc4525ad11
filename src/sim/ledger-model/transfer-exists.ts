/**
 * A transfer whose id is in use already: the first field in which it differs from the stored one
 * decides the status; if none does, it is the same transfer sent again. Fields that a post or void
 * may leave out are compared with what they stood for.
 */
import { assert } from '../../stdx/index.ts';
import { TransferStatus as Status, TransferFlag, U128_MAX } from './codes.ts';
import type { LedgerState } from './state.ts';
import type { Transfer } from './structs.ts';

export function compareWithStored(state: LedgerState, event: Transfer, stored: Transfer): number {
  if (event.flags !== stored.flags) return Status.existsWithDifferentFlags;
  if (event.pendingId !== stored.pendingId) return Status.existsWithDifferentPendingId;
  if (event.timeout !== stored.timeout) return Status.existsWithDifferentTimeout;
  const { postPendingTransfer, voidPendingTransfer } = TransferFlag;
  if ((event.flags & (postPendingTransfer | voidPendingTransfer)) === 0) {
    return compareOrdinary(event, stored);
  }
  const pending = state.transferById.get(stored.pendingId);
  assert(pending !== undefined, 'a stored post or void has its pending transfer');
  return comparePostOrVoid(event, stored, pending);
}

function compareOrdinary(event: Transfer, stored: Transfer): number {
  if (event.debitAccountId !== stored.debitAccountId) {
    return Status.existsWithDifferentDebitAccountId;
  }
  if (event.creditAccountId !== stored.creditAccountId) {
    return Status.existsWithDifferentCreditAccountId;
  }
  // What a balancing transfer asked for is not stored; it was at least what it got.
  const isBalancing =
    (event.flags & (TransferFlag.balancingDebit | TransferFlag.balancingCredit)) !== 0;
  const amountDiffers = isBalancing ? event.amount < stored.amount : event.amount !== stored.amount;
  if (amountDiffers) return Status.existsWithDifferentAmount;
  if (event.userData128 !== stored.userData128) return Status.existsWithDifferentUserData128;
  if (event.userData64 !== stored.userData64) return Status.existsWithDifferentUserData64;
  if (event.userData32 !== stored.userData32) return Status.existsWithDifferentUserData32;
  if (event.ledger !== stored.ledger) return Status.existsWithDifferentLedger;
  if (event.code !== stored.code) return Status.existsWithDifferentCode;
  return Status.exists;
}

function comparePostOrVoid(event: Transfer, stored: Transfer, pending: Transfer): number {
  const { debitAccountId, creditAccountId, ledger, code } = event;
  if (debitAccountId !== 0n && debitAccountId !== stored.debitAccountId) {
    return Status.existsWithDifferentDebitAccountId;
  }
  if (creditAccountId !== 0n && creditAccountId !== stored.creditAccountId) {
    return Status.existsWithDifferentCreditAccountId;
  }
  if (amountMeant(event, pending) !== stored.amount) return Status.existsWithDifferentAmount;
  if ((event.userData128 || pending.userData128) !== stored.userData128) {
    return Status.existsWithDifferentUserData128;
  }
  if ((event.userData64 || pending.userData64) !== stored.userData64) {
    return Status.existsWithDifferentUserData64;
  }
  if ((event.userData32 || pending.userData32) !== stored.userData32) {
    return Status.existsWithDifferentUserData32;
  }
  if (ledger !== 0 && ledger !== stored.ledger) return Status.existsWithDifferentLedger;
  if (code !== 0 && code !== stored.code) return Status.existsWithDifferentCode;
  return Status.exists;
}

/** To void with zero, or to post with the maximum, means all that is pending. */
export function amountMeant(event: Transfer, pending: Transfer): bigint {
  const isVoid = (event.flags & TransferFlag.voidPendingTransfer) !== 0;
  return event.amount === (isVoid ? 0n : U128_MAX) ? pending.amount : event.amount;
}
