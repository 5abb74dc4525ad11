/** Single scenarios that once went wrong elsewhere, and segments and limits of the real size. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readU32 } from '../stdx/index.ts';
import { Operation, TransferFlags } from './format/constants.ts';
import { answer, encodeQuery, type Query, resultsMax } from './query-test-helper.ts';
import { LedgerReads } from './reads.ts';
import {
  encodeAccount,
  encodeTransfer,
  FakeTables,
  Record,
  type Transfer,
} from './reads-test-helper.ts';

const everything: Query = {
  operation: Operation.queryTransfers,
  accountId: 1n,
  userData: [0n, 0n, 0n],
  ledger: 0,
  code: 0,
  timestampMin: 0n,
  timestampMax: 0n,
  limit: 0xffff_ffff,
  flags: 0,
};

/** Two accounts whose balances are set by hand. */
class Pair {
  readonly tables: FakeTables = new FakeTables();
  readonly reads: LedgerReads = new LedgerReads(this.tables);
  readonly accounts = [1n, 2n].map((id) => ({
    id,
    userData: [0n, 0n, 0n] as const,
    ledger: 1,
    code: 1,
    flags: id === 1n ? 8 : 0,
    timestamp: id,
    row: Number(id) - 1,
    balances: [0n, 0n, 0n, 0n] as readonly bigint[],
  }));

  constructor() {
    for (const account of this.accounts) {
      this.tables.append(this.tables.accounts, encodeAccount(account));
    }
    this.reads.settle();
  }

  /** A transfer of the first account to the second, after which these are their balances. */
  transfer(fields: Partial<Transfer>, pending: bigint, posted: bigint): void {
    const [debit, credit] = this.accounts as [Transfer['debit'], Transfer['credit']];
    debit.balances = [pending, posted, 0n, 0n];
    credit.balances = [0n, 0n, pending, posted];
    const count = this.tables.transfers.count;
    this.tables.append(
      this.tables.transfers,
      encodeTransfer({
        id: BigInt(100 + count),
        debit,
        credit,
        amount: 0n,
        pendingId: 0n,
        userData: [0n, 0n, 0n],
        timeout: 0,
        ledger: 1,
        code: 1,
        flags: 0,
        timestamp: BigInt(10 + count),
        ...fields,
      }),
    );
    this.tables.statuses.push(0);
    this.#event();
  }

  expire(timestamp: bigint, pendingTimestamp: bigint, pending: bigint, posted: bigint): void {
    const [debit, credit] = this.accounts as [Transfer['debit'], Transfer['credit']];
    debit.balances = [pending, posted, 0n, 0n];
    credit.balances = [0n, 0n, pending, posted];
    const record = new Record(32).u64(0, timestamp).u64(8, pendingTimestamp);
    record.u64(16, BigInt(this.reads.eventCount));
    this.tables.append(this.tables.expiries, record.bytes);
    this.#event();
  }

  #event(): void {
    for (const account of this.accounts) {
      this.tables.write(this.tables.accounts, account.row, encodeAccount(account));
    }
    this.reads.appendEvent(0, 1);
    this.reads.settle();
  }
}

test('posting and voiding add rows of balances to an account with history', () => {
  const pair = new Pair();
  pair.transfer({ amount: 10n, flags: TransferFlags.pending }, 10n, 0n);
  pair.transfer(
    { amount: 6n, flags: TransferFlags.post_pending_transfer, pendingId: 100n },
    0n,
    6n,
  );
  pair.transfer({ amount: 5n, flags: TransferFlags.pending }, 5n, 6n);
  pair.transfer(
    { amount: 5n, flags: TransferFlags.void_pending_transfer, pendingId: 102n },
    0n,
    6n,
  );
  const balances = (accountId: bigint): readonly (readonly number[])[] => {
    const query = { ...everything, operation: Operation.getAccountBalances, accountId, flags: 3 };
    return answer(pair.reads, query.operation, encodeQuery(query)).map((row) =>
      [0, 16, 32, 48, 64].map((offset) => readU32(row, offset)),
    );
  };
  assert.deepEqual(balances(1n), [
    [10, 0, 0, 0, 10],
    [0, 6, 0, 0, 11],
    [5, 6, 0, 0, 12],
    [0, 6, 0, 0, 13],
  ]);
  assert.deepEqual(balances(2n), [], 'no history flag');
});

test('change events from timestamp 0 on tell of expiries', () => {
  const pair = new Pair();
  pair.transfer({ amount: 10n, flags: TransferFlags.pending, timeout: 1 }, 10n, 0n);
  pair.expire(50n, 10n, 0n, 0n);
  pair.transfer({ amount: 3n, timestamp: 60n }, 0n, 3n);
  const query = { ...everything, operation: Operation.getChangeEvents };
  const events = answer(pair.reads, query.operation, encodeQuery(query));
  // Type, amount, event timestamp, transfer timestamp, debits pending and posted.
  const fields = [88, 16, 352, 360, 144, 160];
  assert.deepEqual(
    events.map((event) => fields.map((offset) => readU32(event, offset))),
    [
      [1, 10, 10, 10, 10, 0],
      [4, 10, 50, 10, 0, 0],
      [0, 3, 60, 60, 0, 3],
    ],
  );
});

test('limits and segments of the real size', () => {
  const pair = new Pair();
  const count = 150_000;
  const kept: { readonly timestamp: number; readonly code: number; readonly key: bigint }[] = [];
  for (let row = 0; row < count; ) {
    const end = Math.min(count, row + 8189);
    for (; row < end; row++) {
      const timestamp = 10 + 2 * row;
      const key = BigInt(row % 20_011) + 1n;
      const code = row % 1000 === 0 ? 2 : 1;
      kept.push({ timestamp, code, key });
      const record = new Record(128).u128(0, BigInt(row) + 1n);
      record.u128(16, row % 3 === 0 ? 2n : 1n).u128(32, row % 3 === 0 ? 1n : 2n);
      record
        .u128(80, key << 64n)
        .u64(96, key << 20n)
        .u32(104, key)
        .u32(112, 1)
        .u16(116, code);
      record.u64(120, BigInt(timestamp));
      pair.tables.transfers.append();
      pair.tables.write(pair.tables.transfers, row, record.bytes);
      pair.reads.appendEvent(row % 3 === 0 ? 1 : 0, row % 3 === 0 ? 0 : 1);
    }
    pair.reads.settle();
  }
  const ask = (query: Partial<Query>, limit?: number): number[] => {
    const whole = { ...everything, ...query };
    const rows = answer(pair.reads, whole.operation, encodeQuery(whole), limit);
    const at = whole.operation === Operation.getChangeEvents ? 352 : 120;
    return rows.map((row) => readU32(row, at));
  };
  const all = kept.map(({ timestamp }) => timestamp);
  assert.deepEqual(ask({}), all.slice(0, resultsMax));
  assert.deepEqual(ask({ flags: 1 }), all.toReversed().slice(0, resultsMax));
  assert.deepEqual(ask({ limit: 8190 }, 5), all.slice(0, 5), 'what fits decides');
  assert.deepEqual(ask({}, 0), []);
  assert.deepEqual(ask({ operation: Operation.getChangeEvents }), all.slice(0, 2730));
  const rare = kept.filter(({ code }) => code === 2).map(({ timestamp }) => timestamp);
  assert.deepEqual(ask({ code: 2 }), rare);
  assert.deepEqual(ask({ code: 2, flags: 1 }), rare.toReversed());
  for (const key of [1n, 77n, 20_011n]) {
    const wanted = kept.filter((row) => row.key === key).map(({ timestamp }) => timestamp);
    assert.ok(wanted.length >= 7);
    assert.deepEqual(ask({ userData: [key << 64n, 0n, 0n] }), wanted);
    assert.deepEqual(ask({ userData: [0n, key << 20n, key] }), wanted);
    assert.deepEqual(
      ask({ userData: [0n, 0n, key], code: 1, ledger: 1, flags: 1 }, 3),
      wanted.toReversed().slice(0, 3),
    );
    assert.deepEqual(ask({ userData: [key << 64n, key << 20n, key + 1n] }), []);
  }
  // Around the end of a segment, by timestamp; accounts on either side.
  const operation = Operation.getAccountTransfers;
  const range = {
    timestampMin: BigInt(10 + 2 * 65_530 + 1),
    timestampMax: BigInt(10 + 2 * 65_540),
  };
  const inRange = all.slice(65_531, 65_541);
  assert.deepEqual(ask({ operation, accountId: 1n, flags: 3, ...range }), inRange);
  assert.deepEqual(ask({ operation, accountId: 2n, flags: 7, ...range }), inRange.toReversed());
  const debits = inRange.filter((timestamp) => ((timestamp - 10) / 2) % 3 === 0);
  assert.deepEqual(ask({ operation, accountId: 2n, flags: 1, ...range }), debits);
});
