/**
 * Transfers that would make a balance overflow. The amount is chosen from the balances so that
 * exactly one of the sums goes beyond 128 bits; it need not be a rich account for that.
 */
import { type Transfer, TransferFlag, U128_MAX } from '../ledger-model/index.ts';
import type { AccountPair } from './picker.ts';
import { between, type Surroundings } from './transfer-bases.ts';

/** One sum that can overflow: whether for pending transfers, and what is in it besides. */
interface Sum {
  readonly pendingOnly: boolean;
  readonly size: (pair: AccountPair) => bigint;
}

/** In the order in which they are checked. */
const sums: readonly Sum[] = [
  { pendingOnly: true, size: ({ debit }) => debit.debitsPending },
  { pendingOnly: true, size: ({ credit }) => credit.creditsPending },
  { pendingOnly: false, size: ({ debit }) => debit.debitsPosted },
  { pendingOnly: false, size: ({ credit }) => credit.creditsPosted },
  { pendingOnly: false, size: ({ debit }) => debit.debitsPending + debit.debitsPosted },
  { pendingOnly: false, size: ({ credit }) => credit.creditsPending + credit.creditsPosted },
];

export function overflowing({ picker }: Surroundings): Transfer | null {
  const target = picker.prng.pick(sums);
  const isPending = target.pendingOnly || picker.percent(30);
  const before = sums
    .slice(0, sums.indexOf(target))
    .filter(({ pendingOnly }) => isPending || !pendingOnly);
  // The sum must be larger than all that are checked before it.
  const pair = picker.pairWith((candidate) =>
    before.every(({ size }) => size(candidate) < target.size(candidate)),
  );
  if (pair === null || target.size(pair) === 0n) return null;
  const amount = U128_MAX - target.size(pair) + BigInt(picker.prng.below(2));
  return { ...between(picker, pair, isPending ? TransferFlag.pending : 0), amount };
}
