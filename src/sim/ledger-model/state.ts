/**
 * Everything a ledger remembers, in plain collections, and the few ways in which it changes. Each
 * change made while a chain of linked events is open leaves behind the function that takes it
 * back; rolling back is calling these in reverse order. Burned ids are the exception: they stay.
 *
 * Balances and the closed flag live in the account objects. Transfers never change once stored.
 */
import { assert } from '../../stdx/index.ts';
import { AccountFlag, NANOSECONDS_PER_SECOND } from './codes.ts';
import type { Account, Transfer } from './structs.ts';

export type PendingStatus = 'pending' | 'posted' | 'voided' | 'expired';

export interface Balances {
  debitsPending: bigint;
  debitsPosted: bigint;
  creditsPending: bigint;
  creditsPosted: bigint;
}

/** One account as it was right after an account event. */
export interface AccountSnapshot extends Balances {
  readonly accountId: bigint;
  readonly flags: number;
}

export type EventKind = 'single-phase' | 'pending' | 'posted' | 'voided' | 'expired';

/** One entry of the history that balances over time and change events are read from. */
export interface AccountEvent {
  readonly kind: EventKind;
  readonly timestamp: bigint;
  /** The transfer created, or for an expiry the pending transfer that expired. */
  readonly transfer: Transfer;
  readonly debit: AccountSnapshot;
  readonly credit: AccountSnapshot;
}

export class LedgerState {
  /** In the order of their creation, which is the order of their timestamps. */
  readonly accounts: Account[] = [];
  readonly accountById: Map<bigint, Account> = new Map();
  readonly accountTimestamps: Set<bigint> = new Set();
  /** In the order of their creation, which is the order of their timestamps. */
  readonly transfers: Transfer[] = [];
  readonly transferById: Map<bigint, Transfer> = new Map();
  readonly transferByTimestamp: Map<bigint, Transfer> = new Map();
  /** Status by the id of the pending transfer; other transfers are not in here. */
  readonly pendingStatus: Map<bigint, PendingStatus> = new Map();
  /** When each still pending transfer with a timeout expires, by its id. */
  readonly expiresAt: Map<bigint, bigint> = new Map();
  /** In the order in which they happened. */
  readonly events: AccountEvent[] = [];
  /** Ids that failed transiently; a Set keeps the order of insertion. */
  readonly burnedIds: Set<bigint> = new Set();

  /** How to take back each change since the chain was opened; null when none is open. */
  #undo: (() => void)[] | null = null;
  /** Smallest value of `expiresAt`; null when it must be looked for again. */
  #expiryMin: bigint | null = null;

  beginChain(): void {
    assert(this.#undo === null, 'beginChain: a chain is open');
    this.#undo = [];
  }

  keepChain(): void {
    assert(this.#undo !== null, 'keepChain: no chain is open');
    this.#undo = null;
  }

  rollbackChain(): void {
    assert(this.#undo !== null, 'rollbackChain: no chain is open');
    for (const undo of this.#undo.reverse()) undo();
    this.#undo = null;
    this.#expiryMin = null;
  }

  insertAccount(account: Account): void {
    assert(!this.accountById.has(account.id), 'insertAccount: id in use');
    assert(account.timestamp > this.accountTimestampMax(), 'insertAccount: out of order');
    this.accounts.push(account);
    this.accountById.set(account.id, account);
    this.accountTimestamps.add(account.timestamp);
    this.#undo?.push(() => {
      this.accounts.pop();
      this.accountById.delete(account.id);
      this.accountTimestamps.delete(account.timestamp);
    });
  }

  insertTransfer(transfer: Transfer): void {
    assert(!this.transferById.has(transfer.id), 'insertTransfer: id in use');
    assert(transfer.timestamp > this.transferTimestampMax(), 'insertTransfer: out of order');
    this.transfers.push(transfer);
    this.transferById.set(transfer.id, transfer);
    this.transferByTimestamp.set(transfer.timestamp, transfer);
    this.#undo?.push(() => {
      this.transfers.pop();
      this.transferById.delete(transfer.id);
      this.transferByTimestamp.delete(transfer.timestamp);
    });
  }

  setPendingStatus(transfer: Transfer, status: PendingStatus): void {
    const before = this.pendingStatus.get(transfer.id);
    assert(before === (status === 'pending' ? undefined : 'pending'), 'pending only once');
    this.#writePendingStatus(transfer, status);
    this.#undo?.push(() => this.#writePendingStatus(transfer, before));
  }

  /** Adds to balances; parts that are not named stay. */
  addToBalances(account: Account, change: Partial<Balances>): void {
    const add = (sign: bigint): void => {
      account.debitsPending += sign * (change.debitsPending ?? 0n);
      account.debitsPosted += sign * (change.debitsPosted ?? 0n);
      account.creditsPending += sign * (change.creditsPending ?? 0n);
      account.creditsPosted += sign * (change.creditsPosted ?? 0n);
    };
    add(1n);
    assert(account.debitsPending >= 0n && account.creditsPending >= 0n, 'negative balance');
    this.#undo?.push(() => add(-1n));
  }

  setClosed(account: Account, closed: boolean): void {
    const before = account.flags;
    account.flags = closed ? before | AccountFlag.closed : before & ~AccountFlag.closed;
    this.#undo?.push(() => {
      account.flags = before;
    });
  }

  /** Appends an account event; both accounts already are as the event left them. */
  recordEvent(kind: EventKind, timestamp: bigint, transfer: Transfer): void {
    const debit = this.snapshot(transfer.debitAccountId);
    const credit = this.snapshot(transfer.creditAccountId);
    this.events.push({ kind, timestamp, transfer, debit, credit });
    this.#undo?.push(() => this.events.pop());
  }

  burn(id: bigint): void {
    assert(!this.transferById.has(id), 'burn: id in use');
    this.burnedIds.add(id);
  }

  account(id: bigint): Account {
    const account = this.accountById.get(id);
    assert(account !== undefined, 'account: not found');
    return account;
  }

  snapshot(accountId: bigint): AccountSnapshot {
    const { debitsPending, debitsPosted, creditsPending, creditsPosted, flags } =
      this.account(accountId);
    return { accountId, debitsPending, debitsPosted, creditsPending, creditsPosted, flags };
  }

  accountTimestampMax(): bigint {
    return this.accounts.at(-1)?.timestamp ?? 0n;
  }

  transferTimestampMax(): bigint {
    return this.transfers.at(-1)?.timestamp ?? 0n;
  }

  /** An imported account must be newer than all others and not share a transfer's timestamp. */
  accountRegresses(timestamp: bigint): boolean {
    return timestamp <= this.accountTimestampMax() || this.transferByTimestamp.has(timestamp);
  }

  /** An imported transfer must be newer than all others and not share an account's timestamp. */
  transferRegresses(timestamp: bigint): boolean {
    return timestamp <= this.transferTimestampMax() || this.accountTimestamps.has(timestamp);
  }

  /** When the next pending transfer expires; null when none has a timeout. */
  expiryMin(): bigint | null {
    if (this.#expiryMin === null) {
      for (const at of this.expiresAt.values()) {
        if (this.#expiryMin === null || at < this.#expiryMin) this.#expiryMin = at;
      }
    }
    return this.#expiryMin;
  }

  /** An independent copy, sharing only what never changes. Not while a chain is open. */
  clone(): LedgerState {
    assert(this.#undo === null, 'clone: a chain is open');
    const copy = new LedgerState();
    for (const account of this.accounts) copy.insertAccount({ ...account });
    for (const transfer of this.transfers) copy.insertTransfer(transfer);
    for (const [id, status] of this.pendingStatus) copy.pendingStatus.set(id, status);
    for (const [id, at] of this.expiresAt) copy.expiresAt.set(id, at);
    for (const event of this.events) copy.events.push(event);
    for (const id of this.burnedIds) copy.burnedIds.add(id);
    return copy;
  }

  #writePendingStatus(transfer: Transfer, status: PendingStatus | undefined): void {
    if (status === undefined) this.pendingStatus.delete(transfer.id);
    else this.pendingStatus.set(transfer.id, status);
    if (transfer.timeout === 0) return;
    if (status === 'pending') {
      const at = expiryOf(transfer);
      this.expiresAt.set(transfer.id, at);
      if (this.#expiryMin !== null && at < this.#expiryMin) this.#expiryMin = at;
    } else {
      this.expiresAt.delete(transfer.id);
      this.#expiryMin = null;
    }
  }
}

/** When a pending transfer with a timeout expires. */
export function expiryOf(pending: Transfer): bigint {
  assert(pending.timeout > 0, 'expiryOf: no timeout');
  return pending.timestamp + BigInt(pending.timeout) * NANOSECONDS_PER_SECOND;
}
