/**
 * Transfers that mean something: ordinary, pending, balancing and closing ones, posts and voids,
 * and transfers sent again. Most are valid in the model's present state. Each base returns null
 * when the state has nothing to build it from.
 */
import {
  type Account,
  AccountFlag,
  NANOSECONDS_PER_SECOND,
  TIMESTAMP_MAX,
  type Transfer,
  TransferFlag,
  U128_MAX,
} from '../ledger-model/index.ts';
import type { AccountPair, Picker } from './picker.ts';

/** What a base may look at besides the state. */
export interface Surroundings {
  readonly picker: Picker;
  /** Events before this one in the same batch. */
  readonly earlier: readonly Transfer[];
  /** A timestamp close to the one the event will have. */
  readonly now: bigint;
  /** Whether a chain depends on the event: no account that may refuse it. */
  readonly careful: boolean;
  /** Whether the event will be linked or imported: a transfer sent again should be alike. */
  readonly flagsPlanned: number;
}

export type Base = (surroundings: Surroundings) => Transfer | null;

/** Between two accounts of one ledger. */
export function between(picker: Picker, pair: AccountPair, flags: number): Transfer {
  return {
    id: picker.freshId(),
    debitAccountId: pair.debit.id,
    creditAccountId: pair.credit.id,
    amount: picker.amount(),
    pendingId: 0n,
    userData128: picker.userData(128),
    userData64: picker.userData(64),
    userData32: Number(picker.userData(32)),
    timeout: 0,
    ledger: pair.debit.ledger,
    code: picker.code(),
    flags,
    timestamp: 0n,
  };
}

function ordinary({ picker, careful }: Surroundings): Transfer | null {
  const pair = careful ? picker.patientPair() : picker.pair();
  return pair === null ? null : between(picker, pair, 0);
}

function pending({ picker, careful, now }: Surroundings): Transfer | null {
  const pair = careful ? picker.patientPair() : picker.pair();
  if (pair === null) return null;
  return { ...between(picker, pair, TransferFlag.pending), timeout: timeout(picker, now) };
}

/** Seconds: short ones that expire soon, none, and around the one that reaches the end of time. */
function timeout(picker: Picker, now: bigint): number {
  const last = (TIMESTAMP_MAX - now) / NANOSECONDS_PER_SECOND;
  const isNear = last < 0xffff_0000n;
  const choice = picker.prng.below(20);
  if (choice < 5) return 0;
  if (choice < (isNear ? 9 : 14)) return picker.prng.between(1, 3);
  if (choice < (isNear ? 10 : 16)) return picker.prng.between(4, 100);
  if (isNear) return Math.max(1, Number(last) + picker.prng.between(0, 2) - 1);
  return picker.percent(50) ? 0xffff_ffff : picker.prng.u32();
}

function balancing({ picker }: Surroundings): Transfer | null {
  const { balancingDebit, balancingCredit } = TransferFlag;
  const flags = picker.prng.pick([
    balancingDebit,
    balancingCredit,
    balancingDebit | balancingCredit,
  ]);
  const pair =
    picker.pairWith(({ debit, credit }) => hasRoom(debit, credit, flags)) ?? picker.pair();
  if (pair === null) return null;
  const transfer = between(picker, pair, flags);
  if (picker.percent(40)) transfer.amount = U128_MAX;
  if (picker.percent(25)) transfer.flags |= TransferFlag.pending;
  return transfer;
}

function hasRoom(debit: Account, credit: Account, flags: number): boolean {
  const debitRoom = debit.creditsPosted > debit.debitsPosted + debit.debitsPending;
  const creditRoom = credit.debitsPosted > credit.creditsPosted + credit.creditsPending;
  return (flags & TransferFlag.balancingDebit) !== 0 ? debitRoom : creditRoom;
}

function closing({ picker, now }: Surroundings): Transfer | null {
  const pair = picker.pair();
  if (pair === null) return null;
  const { closingDebit, closingCredit } = TransferFlag;
  const closes = picker.prng.pick([closingDebit, closingCredit, closingDebit | closingCredit]);
  const transfer = between(picker, pair, TransferFlag.pending | closes);
  // Most accounts should open again soon.
  transfer.timeout = picker.percent(80) ? 1 : timeout(picker, now);
  if (picker.percent(50)) transfer.amount = 0n;
  return transfer;
}

function post(surroundings: Surroundings): Transfer | null {
  const { picker } = surroundings;
  const target = pendingTarget(surroundings);
  if (target === null) return null;
  const amount = picker.prng.pick([
    U128_MAX,
    target.amount,
    target.amount / 2n,
    0n,
    target.amount - (target.amount > 0n ? 1n : 0n),
  ]);
  return completion(picker, target, TransferFlag.postPendingTransfer, amount);
}

function voiding(surroundings: Surroundings): Transfer | null {
  const { picker } = surroundings;
  const target = pendingTarget(surroundings);
  if (target === null) return null;
  const amount = picker.percent(60) ? 0n : target.amount;
  return completion(picker, target, TransferFlag.voidPendingTransfer, amount);
}

/** Mostly still pending, often from the same batch, now and then already ended. */
function pendingTarget({ picker, earlier, now }: Surroundings): Transfer | null {
  if (earlier.length > 0 && picker.percent(20)) {
    const candidate = picker.prng.pick(earlier);
    if ((candidate.flags & TransferFlag.pending) !== 0) return candidate;
  }
  if (picker.percent(10)) {
    const next = picker.nextToExpire(now);
    if (next !== null) return next;
  }
  const status = picker.percent(75)
    ? 'pending'
    : picker.prng.pick(['posted', 'voided', 'expired'] as const);
  const isClosing = picker.percent(30);
  const closes = TransferFlag.closingDebit | TransferFlag.closingCredit;
  return (
    picker.transferWith(
      ({ id, flags }) =>
        picker.state.pendingStatus.get(id) === status && ((flags & closes) !== 0) === isClosing,
    ) ?? picker.pendingWith('pending')
  );
}

/** A post or void that leaves out some of what it may leave out. */
function completion(picker: Picker, target: Transfer, flags: number, amount: bigint): Transfer {
  const keep = (): boolean => picker.percent(50);
  return {
    id: picker.freshId(),
    debitAccountId: keep() ? target.debitAccountId : 0n,
    creditAccountId: keep() ? target.creditAccountId : 0n,
    amount,
    pendingId: target.id,
    userData128: picker.userData(128),
    userData64: picker.userData(64),
    userData32: Number(picker.userData(32)),
    timeout: 0,
    ledger: keep() ? target.ledger : 0,
    code: keep() ? target.code : 0,
    flags,
    timestamp: 0n,
  };
}

/** A stored transfer once more, or one from this batch, the way a client would send it. */
function again({ picker, earlier, flagsPlanned }: Surroundings): Transfer | null {
  const { linked, imported } = TransferFlag;
  const alike = ({ flags }: Transfer): boolean => (flags & (linked | imported)) === flagsPlanned;
  const stored =
    earlier.length > 0 && picker.percent(20)
      ? picker.prng.pick(earlier)
      : (picker.transferWith(alike) ?? picker.transferWith(() => true));
  if (stored === null) return null;
  const event = { ...stored, timestamp: 0n };
  const isBalancing =
    (stored.flags & (TransferFlag.balancingDebit | TransferFlag.balancingCredit)) !== 0;
  if (isBalancing && picker.percent(50)) event.amount = picker.amount();
  const isCompletion =
    (stored.flags & (TransferFlag.postPendingTransfer | TransferFlag.voidPendingTransfer)) !== 0;
  if (isCompletion) leaveOut(picker, event);
  if (picker.percent(30)) differ(picker, event);
  return event;
}

/**
 * Changes some of the fields that are compared, from a random one on, in the order of comparison.
 */
function differ(picker: Picker, event: Transfer): void {
  const { prng } = picker;
  const changes: readonly (() => void)[] = [
    () => (event.flags ^= prng.pick([2, 16, 32, 6, 12, 64])),
    () => (event.pendingId = picker.recentTransferId()),
    () => (event.timeout = (event.timeout + 1) % 2 ** 32),
    () => (event.debitAccountId = picker.account()?.id ?? 0n),
    () => (event.creditAccountId = picker.account()?.id ?? 0n),
    () => (event.amount += picker.percent(50) ? 1n : -1n),
    () => (event.userData128 = picker.userData(128)),
    () => (event.userData64 = picker.userData(64)),
    () => (event.userData32 = Number(picker.userData(32))),
    () => (event.ledger = (event.ledger + 1) % 2 ** 32),
    () => (event.code = (event.code % 0xffff) + 1),
  ];
  for (const change of changes.slice(prng.below(changes.length))) {
    if (picker.percent(60)) change();
  }
}

/** Sets fields of a post or void to the value that means "as the pending transfer has it". */
function leaveOut(picker: Picker, event: Transfer): void {
  const pendingAmount = picker.state.transferById.get(event.pendingId)?.amount;
  const isVoid = (event.flags & TransferFlag.voidPendingTransfer) !== 0;
  if (picker.percent(30)) event.debitAccountId = 0n;
  if (picker.percent(30)) event.creditAccountId = 0n;
  if (picker.percent(30)) event.ledger = 0;
  if (picker.percent(30)) event.code = 0;
  if (picker.percent(20)) event.userData128 = 0n;
  if (picker.percent(20)) event.userData64 = 0n;
  if (picker.percent(20)) event.userData32 = 0;
  if (event.amount === pendingAmount && picker.percent(50)) event.amount = isVoid ? 0n : U128_MAX;
}

/** An id that can never be used again. */
function burned(surroundings: Surroundings): Transfer | null {
  const id = surroundings.picker.burnedId();
  const transfer = ordinary(surroundings);
  return id === null || transfer === null ? null : { ...transfer, id };
}

/** An account that must not exceed, asked for just as much as it has, or one more. */
function atLimit({ picker }: Surroundings): Transfer | null {
  const pair = picker.pairWith(
    ({ debit, credit }) =>
      (debit.flags & AccountFlag.debitsMustNotExceedCredits) !== 0 ||
      (credit.flags & AccountFlag.creditsMustNotExceedDebits) !== 0,
  );
  if (pair === null) return null;
  const { debit, credit } = pair;
  const isDebit = (debit.flags & AccountFlag.debitsMustNotExceedCredits) !== 0;
  const room = isDebit
    ? debit.creditsPosted - debit.debitsPosted - debit.debitsPending
    : credit.debitsPosted - credit.creditsPosted - credit.creditsPending;
  const flags = picker.percent(30) ? TransferFlag.pending : 0;
  const amount = room + BigInt(picker.prng.below(2));
  return { ...between(picker, pair, flags), amount: amount < 0n ? 0n : amount };
}

/** Bases for chains that should stand. */
export const carefulBases: readonly (readonly [number, Base])[] = [
  [50, ordinary],
  [30, pending],
  [8, post],
  [6, voiding],
  [6, balancing],
];

/** Bases with how often each is chosen, out of the sum. */
export const bases: readonly (readonly [number, Base])[] = [
  [22, ordinary],
  [16, pending],
  [9, balancing],
  [4, closing],
  [14, post],
  [9, voiding],
  [12, again],
  [3, burned],
  [6, atLimit],
];
