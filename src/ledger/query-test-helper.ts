/**
 * Queries for the tests of the reading half: random filters, their wire form, and what the dumb
 * twin answers to them, as bytes.
 */
import assert from 'node:assert/strict';
import { Operation } from './format/constants.ts';
import type { LedgerReads } from './reads.ts';
import {
  encodeAccount,
  encodeChangeEvent,
  encodeTransfer,
  type History,
  Record,
  type Transfer,
  type Twin,
  userData32,
  userData64,
  userData128,
} from './reads-test-helper.ts';

/** Any of the three filters; fields that an operation does not have are ignored. */
export interface Query {
  readonly operation: number;
  readonly accountId: bigint;
  readonly userData: readonly [bigint, bigint, bigint];
  readonly ledger: number;
  readonly code: number;
  readonly timestampMin: bigint;
  readonly timestampMax: bigint;
  readonly limit: number;
  /** Account filters: 1 debits, 2 credits, 4 reversed. Query filters: 1 reversed. */
  readonly flags: number;
}

export const resultsMax = 8189;

const isAccountFilter = (operation: number): boolean =>
  operation === Operation.getAccountTransfers || operation === Operation.getAccountBalances;

export function encodeQuery(q: Query): Uint8Array {
  if (q.operation === Operation.getChangeEvents) {
    return new Record(64).u64(0, q.timestampMin).u64(8, q.timestampMax).u32(16, q.limit).bytes;
  }
  if (isAccountFilter(q.operation)) {
    return new Record(128)
      .u128(0, q.accountId)
      .userData(16, q.userData)
      .u16(44, q.code)
      .u64(104, q.timestampMin)
      .u64(112, q.timestampMax)
      .u32(120, q.limit)
      .u32(124, q.flags).bytes;
  }
  return new Record(64)
    .userData(0, q.userData)
    .u32(28, q.ledger)
    .u16(32, q.code)
    .u64(40, q.timestampMin)
    .u64(48, q.timestampMax)
    .u32(56, q.limit)
    .u32(60, q.flags).bytes;
}

interface Common {
  readonly userData: readonly [bigint, bigint, bigint];
  readonly ledger: number;
  readonly code: number;
  readonly timestamp: bigint;
}

const inRange = (q: Query, timestamp: bigint): boolean =>
  timestamp >= q.timestampMin && (q.timestampMax === 0n || timestamp <= q.timestampMax);

const matches = (q: Query, object: Common): boolean =>
  q.userData.every((value, i) => value === 0n || value === object.userData[i]) &&
  (q.code === 0 || q.code === object.code) &&
  (isAccountFilter(q.operation) || q.ledger === 0 || q.ledger === object.ledger) &&
  inRange(q, object.timestamp);

function inOrder<T extends { readonly timestamp: bigint }>(q: Query, items: readonly T[]): T[] {
  const reversed = (isAccountFilter(q.operation) ? q.flags & 4 : q.flags & 1) !== 0;
  const sorted = items.toSorted((a, b) => Number(a.timestamp - b.timestamp));
  return (reversed ? sorted.reverse() : sorted).slice(0, q.limit);
}

/** The twin's answer to a valid filter: one entry per result. */
export function twinAnswer(twin: Twin, q: Query): Uint8Array[] {
  if (q.operation === Operation.getChangeEvents) {
    // A stable sort: of equal timestamps, what happened first comes first.
    const events = twin.events
      .filter((e) => inRange(q, e.timestamp))
      .toSorted((a, b) => Number(a.timestamp - b.timestamp));
    return events.slice(0, Math.min(q.limit, 2730)).map(encodeChangeEvent);
  }
  if (q.operation === Operation.queryAccounts) {
    return inOrder(
      q,
      twin.accounts.filter((a) => matches(q, a)),
    ).map(encodeAccount);
  }
  if (q.operation === Operation.queryTransfers) {
    return inOrder(
      q,
      twin.transfers.filter((t) => matches(q, t)),
    ).map(encodeTransfer);
  }
  const account = twin.accounts.find((a) => a.id === q.accountId);
  if (account === undefined) return [];
  const isSide = (t: Transfer): boolean =>
    ((q.flags & 1) !== 0 && t.debit === account) || ((q.flags & 2) !== 0 && t.credit === account);
  const transfers = inOrder(
    q,
    twin.transfers.filter((t) => isSide(t) && matches(q, t)),
  );
  if (q.operation === Operation.getAccountTransfers) return transfers.map(encodeTransfer);
  if ((account.flags & 8) === 0) return [];
  return transfers.map((transfer) => {
    const event = twin.events.find((e) => e.transfer === transfer && e.type !== 4);
    assert(event !== undefined);
    const party = transfer.debit === account ? event.debit : event.credit;
    return new Record(128).balances(0, party.balances).u64(64, transfer.timestamp).bytes;
  });
}

const resultWords = (operation: number): number =>
  operation === Operation.getChangeEvents ? 96 : 32;

const reply = new Uint32Array((resultsMax + 3) * 32);

/** The reading half's answer to the bytes of a filter. The reply starts out as garbage. */
export function answer(
  reads: LedgerReads,
  operation: number,
  filter: Uint8Array,
  limit: number = operation === Operation.getChangeEvents ? 2730 : resultsMax,
): Uint8Array[] {
  const words = resultWords(operation);
  const filterWords = new Uint32Array(filter.length / 4 + 4);
  filterWords.set(new Uint32Array(filter.buffer), 4);
  reply.fill(0xaaaa_aaaa, 0, Math.min(reply.length, 32 + 200 * words));
  const count = reads.execute(operation, filterWords, 4, reply, 32, limit);
  return Array.from({ length: count }, (_, i) => {
    const at = 32 + i * words;
    return new Uint8Array(reply.slice(at, at + words).buffer);
  });
}

export function randomQuery(history: History): Query {
  const { prng, twin } = history;
  const some = <T>(items: readonly T[], nothing: T): T =>
    prng.chance(1, 3) && items.length > 0 ? prng.pick(items) : nothing;
  const timestamps = prng.chance(1, 2) ? twin.transfers : twin.events;
  const bound = (): bigint => {
    if (!prng.chance(1, 4) || timestamps.length === 0) return 0n;
    return (
      prng.pick<{ readonly timestamp: bigint }>(timestamps).timestamp +
      BigInt(prng.between(0, 2)) -
      1n
    );
  };
  const [a, b] = [bound(), bound()];
  const operation = prng.pick([
    Operation.getChangeEvents,
    Operation.getAccountTransfers,
    Operation.getAccountTransfers,
    Operation.getAccountBalances,
    Operation.getAccountBalances,
    Operation.queryAccounts,
    Operation.queryTransfers,
    Operation.queryTransfers,
  ]);
  return {
    operation,
    accountId: prng.chance(1, 50) ? 1n << 100n : prng.pick(twin.accounts).id,
    userData: [some(userData128, 0n), some(userData64, 0n), some(userData32, 0n)],
    ledger: some([1, 2, 3], 0),
    code: some([1, 2, 3, 4], 0),
    timestampMin: b !== 0n && a > b ? b : a,
    timestampMax: b !== 0n && a > b ? a : b,
    limit: prng.pick([1, 2, 7, 40, 8189, 0xffff_ffff]),
    flags: isAccountFilter(operation) ? prng.between(1, 3) + 4 * prng.below(2) : prng.below(2),
  };
}

const hex = (records: readonly Uint8Array[]): string[] =>
  records.map((bytes) => new Uint32Array(bytes.buffer).join(' '));

/** Asks both and compares; returns the number of results. */
export function check(history: History, query: Query): number {
  const got = answer(history.reads, query.operation, encodeQuery(query));
  const wanted = twinAnswer(history.twin, query);
  if (
    got.length === wanted.length &&
    got.every((bytes, i) => equal(bytes, wanted[i] as Uint8Array))
  ) {
    return got.length;
  }
  assert.deepEqual({ query, results: hex(got) }, { query, results: hex(wanted) });
  throw new Error('not reached');
}

function equal(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
