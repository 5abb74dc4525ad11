/**
 * What the tests of the reading half need instead of the real ledger: tables that do what they are
 * told, a random history of accounts, transfers and expiries, and a dumb twin that remembers every
 * event with its balances and answers filters by filtering and sorting arrays.
 *
 * Nothing here checks the rules of the ledger; the history just avoids breaking the few that the
 * reading half relies on (closed accounts take no transfers, pending transfers are settled once).
 */
import assert from 'node:assert/strict';
import { Prng } from '../stdx/index.ts';
import { foldedKey32, foldedKey64, foldedKey128 } from './indexes/index-keys.ts';
import { LedgerReads } from './reads.ts';
import { Rows } from './rows.ts';
import { type LedgerTables, PendingStatus } from './tables.ts';

export interface Account {
  readonly id: bigint;
  readonly userData: readonly [bigint, bigint, bigint];
  readonly ledger: number;
  readonly code: number;
  readonly timestamp: bigint;
  readonly row: number;
  flags: number;
  /** Debits pending, debits posted, credits pending, credits posted. */
  balances: readonly bigint[];
}

export interface Transfer {
  readonly id: bigint;
  readonly debit: Account;
  readonly credit: Account;
  readonly amount: bigint;
  readonly pendingId: bigint;
  readonly userData: readonly [bigint, bigint, bigint];
  readonly timeout: number;
  readonly ledger: number;
  readonly code: number;
  readonly flags: number;
  readonly timestamp: bigint;
}

/** An account as it was right after an event. */
interface Party {
  readonly account: Account;
  readonly balances: readonly bigint[];
  readonly flags: number;
}

export interface TwinEvent {
  readonly timestamp: bigint;
  readonly type: number;
  readonly transfer: Transfer;
  readonly debit: Party;
  readonly credit: Party;
}

/** A record under construction: little-endian fields at byte offsets. */
export class Record {
  readonly bytes: Uint8Array;
  readonly #view: DataView;

  constructor(size: number) {
    this.bytes = new Uint8Array(size);
    this.#view = new DataView(this.bytes.buffer);
  }

  u16(offset: number, value: number): this {
    this.#view.setUint16(offset, value, true);
    return this;
  }

  u32(offset: number, value: number | bigint): this {
    this.#view.setUint32(offset, Number(value), true);
    return this;
  }

  u64(offset: number, value: bigint): this {
    this.#view.setBigUint64(offset, value, true);
    return this;
  }

  u128(offset: number, value: bigint): this {
    return this.u64(offset, value & 0xffff_ffff_ffff_ffffn).u64(offset + 8, value >> 64n);
  }

  userData(offset: number, [a, b, c]: readonly [bigint, bigint, bigint]): this {
    return this.u128(offset, a)
      .u64(offset + 16, b)
      .u32(offset + 24, c);
  }

  balances(offset: number, balances: readonly bigint[]): this {
    balances.forEach((balance, i) => void this.u128(offset + 16 * i, balance));
    return this;
  }
}

export function encodeAccount(a: Account): Uint8Array {
  return new Record(128)
    .u128(0, a.id)
    .balances(16, a.balances)
    .userData(80, a.userData)
    .u32(112, a.ledger)
    .u16(116, a.code)
    .u16(118, a.flags)
    .u64(120, a.timestamp).bytes;
}

export function encodeTransfer(t: Transfer): Uint8Array {
  return new Record(128)
    .u128(0, t.id)
    .u128(16, t.debit.id)
    .u128(32, t.credit.id)
    .u128(48, t.amount)
    .u128(64, t.pendingId)
    .userData(80, t.userData)
    .u32(108, t.timeout)
    .u32(112, t.ledger)
    .u16(116, t.code)
    .u16(118, t.flags)
    .u64(120, t.timestamp).bytes;
}

export function encodeChangeEvent(e: TwinEvent): Uint8Array {
  const record = new Record(384)
    .u128(0, e.transfer.id)
    .u128(16, e.transfer.amount)
    .u128(32, e.transfer.pendingId)
    .userData(48, e.transfer.userData)
    .u32(76, e.transfer.timeout)
    .u16(80, e.transfer.code)
    .u16(82, e.transfer.flags)
    .u32(84, e.transfer.ledger)
    .u16(88, e.type)
    .u64(352, e.timestamp)
    .u64(360, e.transfer.timestamp)
    .u64(368, e.debit.account.timestamp)
    .u64(376, e.credit.account.timestamp);
  for (const [offset, party] of [[128, e.debit] as const, [240, e.credit] as const]) {
    record
      .u128(offset, party.account.id)
      .balances(offset + 16, party.balances)
      .userData(offset + 80, party.account.userData)
      .u16(offset + 108, party.account.code)
      .u16(offset + 110, party.flags);
  }
  return record.bytes;
}

/** Tables without rules: rows and three look-ups. */
export class FakeTables implements LedgerTables {
  readonly accounts: Rows = new Rows(128);
  readonly transfers: Rows = new Rows(128);
  readonly expiries: Rows = new Rows(32);
  readonly statuses: number[] = [];
  #accountRows = new Map<string, number>();
  #transferRows = new Map<string, number>();

  accountRow(words: Uint32Array, offset: number): number {
    return this.#accountRows.get(words.subarray(offset, offset + 4).join()) ?? -1;
  }

  transferRow(words: Uint32Array, offset: number): number {
    return this.#transferRows.get(words.subarray(offset, offset + 4).join()) ?? -1;
  }

  pendingStatus(transferRow: number): number {
    return this.statuses[transferRow] as number;
  }

  append(rows: Rows, bytes: Uint8Array): number {
    const row = rows.append();
    this.write(rows, row, bytes);
    const id = new Uint32Array(bytes.buffer, 0, 4).join();
    if (rows === this.accounts) this.#accountRows.set(id, row);
    if (rows === this.transfers) this.#transferRows.set(id, row);
    return row;
  }

  write(rows: Rows, row: number, bytes: Uint8Array): void {
    rows.chunkOf(row).set(new Uint32Array(bytes.buffer), rows.baseOf(row));
  }

  truncateTransfers(count: number): void {
    for (const [id, row] of this.#transferRows) if (row >= count) this.#transferRows.delete(id);
    this.transfers.truncate(count);
    this.statuses.length = count;
  }

  /** A copy as a restored replica would have it. */
  clone(): FakeTables {
    const copy = new FakeTables();
    for (const table of ['accounts', 'transfers', 'expiries'] as const) {
      const rows = this[table];
      for (let leaf = 0; leaf < rows.leafCount(); leaf++) {
        copy[table].restoreLeaf(leaf, rows.leaf(leaf));
      }
    }
    copy.statuses.push(...this.statuses);
    copy.#accountRows = new Map(this.#accountRows);
    copy.#transferRows = new Map(this.#transferRows);
    return copy;
  }
}

/** Answers by brute force. */
export class Twin {
  readonly accounts: Account[] = [];
  readonly transfers: Transfer[] = [];
  /** In the order in which they happened. */
  readonly events: TwinEvent[] = [];

  /** Latest state after a rollback. */
  truncate(transferCount: number, eventCount: number, accounts: readonly Account[]): void {
    this.transfers.length = transferCount;
    this.events.length = eventCount;
    for (const account of accounts) {
      const last = this.events.findLast(
        (e) => e.debit.account === account || e.credit.account === account,
      );
      const party = last && (last.debit.account === account ? last.debit : last.credit);
      account.balances = party?.balances ?? [0n, 0n, 0n, 0n];
      account.flags = party?.flags ?? account.flags & ~32;
    }
  }
}

/** Two different values, not small ones, that fold to the same key. */
function colliding(words: number, fold: (words: Uint32Array) => number): [bigint, bigint] {
  const prng = new Prng(1, words);
  const seen = new Map<number, bigint>();
  for (;;) {
    const limbs = Uint32Array.from({ length: words }, () => prng.u32());
    const value = limbs.reduceRight((sum, limb) => (sum << 32n) | BigInt(limb), 0n);
    const key = fold(limbs);
    const other = seen.get(key);
    if (other !== undefined && other !== value) return [value, other];
    seen.set(key, value);
  }
}

/** Small sets of values, so that filters hit; zero, small, large and colliding ones. */
export const userData128: readonly bigint[] = [
  0n,
  1n,
  (7n << 96n) | 3n,
  ...colliding(4, (words) => foldedKey128(words, 0)),
];
export const userData64: readonly bigint[] = [
  0n,
  9n,
  (1n << 63n) | 1n,
  ...colliding(2, (words) => foldedKey64(words, 0)),
];
export const userData32: readonly bigint[] = [
  0n,
  1n,
  0xffff_ffffn,
  ...colliding(1, ([word]) => foldedKey32(word as number)),
];

export interface HistoryOptions {
  readonly seed: number;
  readonly segmentRows: number;
  /** Accounts at the start. */
  readonly accounts: number;
  /** No more are created later: few accounts make long chains. */
  readonly accountsFixed?: boolean;
}

/** A random history, applied to tables, reading half and twin alike. */
export class History {
  readonly prng: Prng;
  readonly twin: Twin = new Twin();
  readonly segmentRows: number;
  tables: FakeTables = new FakeTables();
  reads: LedgerReads;
  now: bigint = 1_000n;
  readonly #accountsFixed: boolean;
  #idNext: bigint = 1n;
  #pending: Transfer[] = [];

  constructor(options: HistoryOptions) {
    this.prng = new Prng(options.seed);
    this.segmentRows = options.segmentRows;
    this.#accountsFixed = options.accountsFixed ?? false;
    this.reads = new LedgerReads(this.tables, { segmentRows: options.segmentRows });
    this.createAccounts(options.accounts);
  }

  /** One random operation. */
  step(): void {
    const dice = this.prng.below(20);
    this.now += BigInt(this.prng.between(1, 300));
    if (dice === 0) {
      if (!this.#accountsFixed) this.createAccounts(this.prng.between(1, 4));
    } else if (dice <= 3) this.#expire();
    else if (dice <= 5) this.#rolledBackChain();
    else this.#createTransfers(this.prng.between(1, 12), this.prng.chance(1, 3));
    this.reads.settle();
    assert.equal(this.reads.eventCount, this.twin.events.length);
  }

  createAccounts(count: number): void {
    for (let i = 0; i < count; i++) {
      this.now += 1n;
      const isClosed = this.prng.chance(1, 30);
      const account: Account = {
        id: this.#id(),
        userData: this.#userData(),
        ledger: this.prng.between(1, 2),
        code: this.prng.between(1, 3),
        flags: (this.prng.chance(2, 3) ? 8 : 0) | (isClosed ? 32 : 0),
        timestamp: this.now,
        row: this.twin.accounts.length,
        balances: [0n, 0n, 0n, 0n],
      };
      this.twin.accounts.push(account);
      this.tables.append(this.tables.accounts, encodeAccount(account));
    }
    this.reads.settle();
  }

  #createTransfers(count: number, imported: boolean): void {
    // Imports are dated between the last transfer and now: expiries may lie between them.
    let importAt = (this.twin.transfers.at(-1)?.timestamp ?? 0n) + 1n;
    for (let i = 0; i < count; i++) {
      if (imported) importAt += BigInt(this.prng.below(4));
      const timestamp = imported ? importAt++ : ++this.now;
      if (timestamp > this.now) return;
      this.#createTransfer(timestamp, imported ? 256 : 0);
    }
  }

  #createTransfer(timestamp: bigint, flags: number): void {
    const { prng } = this;
    const settled = prng.chance(1, 3) ? this.#pendingToSettle() : undefined;
    if (settled !== undefined) {
      const isClosing = (settled.flags & 192) !== 0;
      const isPost = !isClosing && prng.chance(1, 2);
      if (isPost && ((settled.debit.flags | settled.credit.flags) & 32) !== 0) return;
      this.#pending = this.#pending.filter((p) => p !== settled);
      this.tables.statuses[this.twin.transfers.indexOf(settled)] = isPost
        ? PendingStatus.posted
        : PendingStatus.voided;
      const amount =
        isPost && prng.chance(1, 2) ? settled.amount / BigInt(prng.between(1, 3)) : settled.amount;
      this.#store({
        ...settled,
        id: this.#id(),
        amount,
        pendingId: settled.id,
        userData: prng.chance(1, 2) ? settled.userData : this.#userData(),
        timeout: 0,
        flags: flags | (isPost ? 4 : 8),
        timestamp,
      });
      return;
    }
    const open = this.twin.accounts.filter((a) => (a.flags & 32) === 0);
    if (open.length < 2) return;
    const debit = prng.pick(open);
    const credit = prng.pick(open.filter((a) => a !== debit));
    const isPending = prng.chance(1, 2);
    if (isPending) flags |= 2;
    if (isPending && prng.chance(1, 10)) flags |= 64 * prng.between(1, 3);
    this.#store({
      id: this.#id(),
      debit,
      credit,
      amount: this.#amount(),
      pendingId: 0n,
      userData: this.#userData(),
      timeout: isPending && prng.chance(1, 2) ? prng.between(1, 9) : 0,
      ledger: debit.ledger,
      code: prng.between(1, 3),
      flags,
      timestamp,
    });
  }

  #pendingToSettle(): Transfer | undefined {
    return this.#pending.length === 0 ? undefined : this.prng.pick(this.#pending);
  }

  #store(transfer: Transfer): void {
    const { flags, amount } = transfer;
    const isPending = (flags & 2) !== 0;
    const settled = this.twin.transfers.find((t) => t.id === transfer.pendingId);
    if (isPending) this.#pending.push(transfer);
    this.twin.transfers.push(transfer);
    this.tables.append(this.tables.transfers, encodeTransfer(transfer));
    this.tables.statuses.push(isPending ? PendingStatus.pending : PendingStatus.none);
    const type = isPending ? 1 : (flags & 4) !== 0 ? 2 : (flags & 8) !== 0 ? 3 : 0;
    const pendingDelta = isPending ? amount : -(settled?.amount ?? 0n);
    const postedDelta = isPending || type === 3 ? 0n : amount;
    const set = isPending ? flags : 0;
    this.#event(
      transfer,
      transfer.timestamp,
      type,
      pendingDelta,
      postedDelta,
      set,
      settled?.flags ?? 0,
    );
  }

  /** Books an event, tells all three parties. */
  #event(
    transfer: Transfer,
    timestamp: bigint,
    type: number,
    pendingDelta: bigint,
    postedDelta: bigint,
    closes: number,
    opens: number,
  ): void {
    const party = (account: Account, first: number, closing: number): Party => {
      const balances = [...account.balances];
      balances[first] = (balances[first] as bigint) + pendingDelta;
      balances[first + 1] = (balances[first + 1] as bigint) + postedDelta;
      account.balances = balances;
      if ((closes & closing) !== 0) account.flags |= 32;
      if ((opens & closing) !== 0) account.flags &= ~32;
      this.tables.write(this.tables.accounts, account.row, encodeAccount(account));
      return { account, balances, flags: account.flags };
    };
    const debit = party(transfer.debit, 0, 64);
    const credit = party(transfer.credit, 2, 128);
    this.twin.events.push({ timestamp, type, transfer, debit, credit });
    this.reads.appendEvent(transfer.debit.row, transfer.credit.row);
  }

  #expire(): void {
    const due = this.#pending.filter((t) => t.timeout > 0).slice(0, this.prng.between(1, 6));
    for (const transfer of due) {
      this.now += 1n;
      this.#pending = this.#pending.filter((p) => p !== transfer);
      this.tables.statuses[this.twin.transfers.indexOf(transfer)] = PendingStatus.expired;
      const record = new Record(32)
        .u64(0, this.now)
        .u64(8, transfer.timestamp)
        .u64(16, BigInt(this.twin.events.length));
      this.tables.append(this.tables.expiries, record.bytes);
      this.#event(transfer, this.now, 4, -transfer.amount, 0n, 0, transfer.flags);
    }
  }

  #rolledBackChain(): void {
    const pending = [...this.#pending];
    const statuses = [...this.tables.statuses];
    const transferCount = this.twin.transfers.length;
    const eventCount = this.twin.events.length;
    this.#createTransfers(this.prng.between(1, 20), false);
    const touched = new Set(
      this.twin.events.slice(eventCount).flatMap((e) => [e.debit.account, e.credit.account]),
    );
    this.#pending = pending;
    const readsFirst = this.prng.chance(1, 2);
    if (readsFirst) this.reads.truncateEvents(eventCount);
    this.tables.truncateTransfers(transferCount);
    this.tables.statuses.splice(0, transferCount, ...statuses);
    if (!readsFirst) this.reads.truncateEvents(eventCount);
    this.twin.truncate(transferCount, eventCount, [...touched]);
    for (const account of touched) {
      this.tables.write(this.tables.accounts, account.row, encodeAccount(account));
    }
    if (this.prng.chance(1, 2)) this.#createTransfers(this.prng.between(1, 5), false);
  }

  #id(): bigint {
    const id = this.#idNext++;
    return this.prng.chance(1, 2) ? id : (id << 64n) | BigInt(this.prng.u32());
  }

  #userData(): [bigint, bigint, bigint] {
    const { prng } = this;
    return [prng.pick(userData128), prng.pick(userData64), prng.pick(userData32)];
  }

  #amount(): bigint {
    const wide = BigInt(this.prng.u32()) << BigInt(this.prng.pick([0, 0, 20, 64, 88]));
    return wide + BigInt(this.prng.u32());
  }
}
