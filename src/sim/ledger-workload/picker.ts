/**
 * Chance with an eye on the model's state: ids, amounts and objects that are likely to meet
 * something. Hot are the newest accounts and transfers; ids come in shapes that share limbs, so
 * that a hash of too few bits or a comparison of too few limbs is found out.
 */
import { assert, type Prng } from '../../stdx/index.ts';
import {
  type Account,
  AccountFlag,
  type LedgerState,
  type PendingStatus,
  type Transfer,
  U128_MAX,
} from '../ledger-model/index.ts';

/** How many of the newest objects are picked much more often than the rest. */
const HOT_COUNT = 40;
/** Ids that the workload has used lately, whatever became of them. */
const RECENT_IDS = 256;

export interface AccountPair {
  readonly debit: Account;
  readonly credit: Account;
}

export class Picker {
  readonly prng: Prng;
  readonly state: LedgerState;
  readonly #recentTransferIds: bigint[] = [];
  #freshCount: number = 0;

  constructor(prng: Prng, state: LedgerState) {
    this.prng = prng;
    this.state = state;
  }

  /** True in `percent` of 100 cases. */
  percent(percent: number): boolean {
    return this.prng.chance(percent, 100);
  }

  u64(): bigint {
    return (BigInt(this.prng.u32()) << 32n) | BigInt(this.prng.u32());
  }

  u128(): bigint {
    return (this.u64() << 64n) | this.u64();
  }

  /** An id that is new, unless by accident. */
  freshId(): bigint {
    this.#freshCount += 1;
    const n = BigInt(this.#freshCount);
    switch (this.prng.below(8)) {
      case 0:
        return n << 32n;
      case 1:
        return n << 64n;
      case 2:
        return (n << 96n) | 7n;
      case 3:
        return U128_MAX - n;
      case 4:
        return this.u128() | 1n;
      default:
        return (1n << 20n) + n;
    }
  }

  /** An account id that nothing has. */
  unknownAccountId(): bigint {
    const id = this.percent(50) ? this.freshId() : BigInt(this.prng.below(1000)) + (1n << 100n);
    return this.state.accountById.has(id) || id === 0n || id === U128_MAX ? (1n << 99n) + 1n : id;
  }

  account(): Account | null {
    return this.#one(this.state.accounts);
  }

  /** An account that fulfils `accept`, if a few tries find one. */
  accountWith(accept: (account: Account) => boolean): Account | null {
    return this.#try(() => this.account(), accept);
  }

  /** Two accounts of one ledger, mostly open. */
  pair(): AccountPair | null {
    const pair = this.pairWith(({ debit, credit }) => isOpen(debit) && isOpen(credit));
    return pair ?? this.#sameLedgerPair();
  }

  /** Two open accounts without limits. */
  patientPair(): AccountPair | null {
    const limits = AccountFlag.debitsMustNotExceedCredits | AccountFlag.creditsMustNotExceedDebits;
    const patient = (account: Account): boolean =>
      isOpen(account) && (account.flags & limits) === 0;
    return this.pairWith(({ debit, credit }) => patient(debit) && patient(credit)) ?? this.pair();
  }

  pairWith(accept: (pair: AccountPair) => boolean): AccountPair | null {
    return this.#try(() => this.#sameLedgerPair(), accept);
  }

  transferWith(accept: (transfer: Transfer) => boolean): Transfer | null {
    return this.#try(() => this.#one(this.state.transfers), accept);
  }

  pendingWith(status: PendingStatus): Transfer | null {
    return this.transferWith(({ id }) => this.state.pendingStatus.get(id) === status);
  }

  /** The pending transfer that expires next, if that is within nanoseconds of `now`. */
  nextToExpire(now: bigint): Transfer | null {
    const at = this.state.expiryMin();
    if (at === null || at > now + 1000n || at < now - 1000n) return null;
    for (const [id, expiry] of this.state.expiresAt) {
      if (expiry === at) return this.state.transferById.get(id) ?? null;
    }
    return null;
  }

  /** Remembers that an event with this id was made. */
  noteTransferId(id: bigint): void {
    if (this.#recentTransferIds.length < RECENT_IDS) this.#recentTransferIds.push(id);
    else this.#recentTransferIds[this.prng.below(RECENT_IDS)] = id;
  }

  /** Any id of late: of a transfer, burned, failed or rolled back. */
  recentTransferId(): bigint {
    if (this.#recentTransferIds.length === 0) return this.freshId();
    return this.prng.pick(this.#recentTransferIds);
  }

  burnedId(): bigint | null {
    const burned = this.#try(
      () => this.recentTransferId(),
      (id) => this.state.burnedIds.has(id),
    );
    if (burned !== null || this.state.burnedIds.size === 0) return burned;
    const [first] = this.state.burnedIds;
    assert(first !== undefined, 'a set of positive size has a first element');
    return first;
  }

  amount(): bigint {
    const choice = this.prng.below(100);
    if (choice < 70) return BigInt(this.prng.below(100));
    if (choice < 85) return BigInt(this.prng.below(1_000_000)) * 1_000_000_007n;
    if (choice < 94) {
      // At the edges of limbs, where carries are.
      const edge = 1n << BigInt(this.prng.pick([31, 32, 53, 63, 64, 95, 96]));
      return edge + BigInt(this.prng.between(0, 2)) - 1n;
    }
    if (choice < 97) return this.u128() >> BigInt(this.prng.below(128));
    return this.percent(30) ? U128_MAX : (1n << 127n) - BigInt(this.prng.below(3));
  }

  /** Few values, so that filters select several objects; zero often. */
  userData(bits: 32 | 64 | 128): bigint {
    const choice = this.prng.below(10);
    if (choice < 4) return 0n;
    if (choice < 8) return BigInt(choice);
    return choice === 8 ? (1n << BigInt(bits)) - 1n : 1n << BigInt(bits - 1);
  }

  ledger(): number {
    return this.percent(85) ? 1 : this.prng.pick([2, 3, 0xffff_ffff]);
  }

  code(): number {
    return this.percent(95) ? this.prng.between(1, 4) : 0xffff;
  }

  #sameLedgerPair(): AccountPair | null {
    const debit = this.account();
    if (debit === null) return null;
    const credit = this.accountWith(
      (other) => other.id !== debit.id && other.ledger === debit.ledger,
    );
    return credit === null ? null : { debit, credit };
  }

  #one<T>(items: readonly T[]): T | null {
    if (items.length === 0) return null;
    const range = this.percent(65) ? Math.min(items.length, HOT_COUNT) : items.length;
    return items[items.length - 1 - this.prng.below(range)] as T;
  }

  #try<T>(pick: () => T | null, accept: (item: T) => boolean): T | null {
    for (let i = 0; i < 12; i++) {
      const item = pick();
      if (item !== null && accept(item)) return item;
    }
    return null;
  }
}

export function isOpen(account: Account): boolean {
  return (account.flags & AccountFlag.closed) === 0;
}
