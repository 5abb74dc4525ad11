/**
 * What the reading half of the ledger costs: nanoseconds per transfer for account events and for
 * indexes, the longest settle, and microseconds per query at several sizes. The tables are
 * stand-ins without rules, whose id look-ups cost nothing: only the reading half is measured.
 *
 * The machine may be busy: sums are times on the core, and what is timed by the wall clock is the
 * best of several runs.
 *
 * node bench/reads.ts [transfers …]        default: 1000000 5000000
 */
import { BLOCK_SIZE_MAX } from '../src/engine/index.ts';
import { Operation } from '../src/ledger/format/constants.ts';
import { LedgerReads } from '../src/ledger/reads.ts';
import { Rows } from '../src/ledger/rows.ts';
import type { LedgerTables } from '../src/ledger/tables.ts';
import { Prng } from '../src/stdx/index.ts';

const ACCOUNTS = 10_000;
const BATCH = 8189;
/** Transfers between two pairs of accounts that are busier than the rest. */
const HOT_ONE_IN = 100;

/** Ids are row numbers plus one. */
class BenchTables implements LedgerTables {
  readonly accounts: Rows = new Rows(128);
  readonly transfers: Rows = new Rows(128);
  readonly expiries: Rows = new Rows(32);

  accountRow(words: Uint32Array, offset: number): number {
    return words[offset] - 1;
  }

  transferRow(words: Uint32Array, offset: number): number {
    return words[offset] - 1;
  }

  pendingStatus(): number {
    return 0;
  }
}

const now = (): number => performance.now() * 1e6;

/** Time of this thread on a core, nanoseconds: the machine may be busy. Ticks are milliseconds. */
function coreNs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) * 1000;
}

interface Costs {
  appendNs: number;
  settleNs: number;
  /** Of each settle, by the wall clock. */
  settleTimes: number[];
}

function createAccounts(tables: BenchTables, reads: LedgerReads): void {
  for (let i = 0; i < ACCOUNTS; i++) {
    const row = tables.accounts.append();
    const words = tables.accounts.chunkOf(row);
    const base = tables.accounts.baseOf(row);
    words[base] = row + 1;
    words[base + 28] = 1;
    words[base + 29] = 1 | (8 << 16);
    words[base + 30] = row + 1;
  }
  reads.settle();
}

/** Appends transfers in batches. */
function load(tables: BenchTables, reads: LedgerReads, count: number, prng: Prng): Costs {
  const costs: Costs = { appendNs: 0, settleNs: 0, settleTimes: [] };
  const { accounts, transfers } = tables;
  const random = new Uint32Array(BATCH * 6);
  const parties = new Uint32Array(BATCH * 2);
  for (let done = 0; done < count; ) {
    const batch = Math.min(BATCH, count - done);
    for (let i = 0; i < random.length; i++) random[i] = prng.u32();
    for (let i = 0; i < batch; i++) {
      const row = transfers.append();
      const words = transfers.chunks[row >>> transfers.rowShift];
      const base = (row & transfers.rowMask) * 32;
      const at = i * 6;
      const isHot = random[at] % HOT_ONE_IN === 0;
      const debit = isHot ? 0 : random[at + 1] % ACCOUNTS;
      const credit = (debit + 1 + (random[at + 2] % (ACCOUNTS - 1))) % ACCOUNTS;
      words[base] = row + 1;
      words[base + 4] = debit + 1;
      words[base + 8] = credit + 1;
      words[base + 12] = random[at + 3] & 0xffff;
      words[base + 20] = random[at + 4];
      words[base + 21] = random[at + 3];
      words[base + 24] = random[at + 5];
      // Code is 1 or 2; half of the transfers of code 1 have user_data_32 5000.
      const kind = random[at + 5] & 3;
      words[base + 26] = kind === 0 ? 5000 : random[at + 5] % 1000;
      words[base + 28] = 1;
      words[base + 29] = 1 + (random[at + 5] & 1);
      words[base + 30] = ACCOUNTS + 1 + row;
      const d = accounts.chunks[debit >>> accounts.rowShift];
      d[accounts.baseOf(debit) + 8] += words[base + 12];
      const c = accounts.chunks[credit >>> accounts.rowShift];
      c[accounts.baseOf(credit) + 16] += words[base + 12];
      parties[2 * i] = debit;
      parties[2 * i + 1] = credit;
    }
    // Events apart from rows, so that they can be timed apart: rows come into view one by one.
    transfers.count = done;
    const start = coreNs();
    for (let i = 0; i < batch; i++) {
      transfers.count += 1;
      reads.appendEvent(parties[2 * i], parties[2 * i + 1]);
    }
    const middle = coreNs();
    const settleStart = now();
    reads.settle();
    costs.settleTimes.push(now() - settleStart);
    costs.settleNs += coreNs() - middle;
    costs.appendNs += middle - start;
    done += batch;
  }
  return costs;
}

interface Filter {
  readonly name: string;
  readonly operation: number;
  /** Word → value; the rest is zero. */
  readonly words: { readonly [word: number]: number };
}

const accountFilter = (
  account: number,
  limit: number,
  flags: number,
): { [word: number]: number } => ({
  0: account + 1,
  30: limit,
  31: flags,
});

function filters(tables: BenchTables): Filter[] {
  const { transfers } = tables;
  const middle = transfers.count >>> 1;
  const words = transfers.chunkOf(middle);
  const base = transfers.baseOf(middle);
  const { getAccountTransfers, getAccountBalances, queryTransfers, queryAccounts } = Operation;
  const events = Operation.getChangeEvents;
  return [
    {
      name: 'account_transfers, all of a cold account',
      operation: getAccountTransfers,
      words: accountFilter(4242, 8189, 3),
    },
    {
      name: 'account_transfers, newest 10 of it',
      operation: getAccountTransfers,
      words: accountFilter(4242, 10, 7),
    },
    {
      name: 'account_transfers, 8189 of a hot account',
      operation: getAccountTransfers,
      words: accountFilter(0, 8189, 3),
    },
    {
      name: 'account_balances, all of a cold account',
      operation: getAccountBalances,
      words: accountFilter(4242, 8189, 3),
    },
    {
      name: 'account_balances, 8189 of a hot account',
      operation: getAccountBalances,
      words: accountFilter(0, 8189, 7),
    },
    {
      name: 'query_transfers, user_data_128 (1 hit)',
      operation: queryTransfers,
      words: { 0: words[base + 20], 1: words[base + 21], 14: 8189 },
    },
    {
      name: 'query_transfers, user_data_64 (1 hit)',
      operation: queryTransfers,
      words: { 4: words[base + 24], 14: 8189 },
    },
    {
      name: 'query_transfers, user_data_64 (no hit)',
      operation: queryTransfers,
      words: { 4: words[base + 24], 5: 1, 14: 8189 },
    },
    {
      name: 'query_transfers, user_data_32 (1 in 1000)',
      operation: queryTransfers,
      words: { 6: 77, 14: 8189 },
    },
    {
      name: 'query_transfers, ledger and code, 8189 of half',
      operation: queryTransfers,
      words: { 7: 1, 8: 1, 14: 8189 },
    },
    {
      name: 'query_transfers, code and user_data_32, never both',
      operation: queryTransfers,
      words: { 6: 77, 8: 1, 14: 8189 },
    },
    {
      name: 'query_transfers, code (half), user_data_32 (quarter), no hit',
      operation: queryTransfers,
      words: { 6: 5000, 8: 2, 14: 8189 },
    },
    {
      name: 'query_transfers, no condition, newest 8189',
      operation: queryTransfers,
      words: { 14: 8189, 15: 1 },
    },
    { name: 'query_accounts, ledger', operation: queryAccounts, words: { 7: 1, 14: 8189 } },
    { name: 'change_events, first 2730', operation: events, words: { 4: 2730 } },
    {
      name: 'change_events, 2730 in the middle',
      operation: events,
      words: { 0: ACCOUNTS + middle, 4: 2730 },
    },
  ];
}

/** Change events from the first on, page after page, as a consumer of all of them asks. */
function measurePages(reads: LedgerReads): void {
  const reply = new Uint32Array(262_144);
  const words = new Uint32Array(32);
  words[4] = 2730;
  const times: number[] = [];
  for (let page = 0; page < 200; page++) {
    const start = now();
    const results = reads.execute(Operation.getChangeEvents, words, 0, reply, 0, 2730);
    times.push((now() - start) / 1000);
    if (results < 2730) break;
    words[0] = reply[2729 * 96 + 88] + 1;
  }
  console.log(`  change_events, page after page: ${median(times.slice(20)).toFixed(0)} µs`);
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >>> 1] as number;
}

function measureQueries(tables: BenchTables, reads: LedgerReads): void {
  const reply = new Uint32Array(262_144);
  for (const filter of filters(tables)) {
    const words = new Uint32Array(32);
    for (const [word, value] of Object.entries(filter.words)) words[Number(word)] = value;
    const max = filter.operation === Operation.getChangeEvents ? 2730 : 8189;
    const times: number[] = [];
    let results = 0;
    for (let i = 0; i < 21; i++) {
      const start = now();
      results = reads.execute(filter.operation, words, 0, reply, 0, max);
      times.push((now() - start) / 1000);
    }
    const first = (times[0] as number).toFixed(0).padStart(7);
    const best = Math.min(...times)
      .toFixed(0)
      .padStart(6);
    const name = filter.name.padEnd(58);
    console.log(`  ${name} ${best} µs, first ${first} µs, ${results} results`);
  }
}

/** Hands out all derived blocks and puts them into a new reading half. */
function measureRestore(tables: BenchTables, reads: LedgerReads): void {
  let bytes = 0;
  let longest = 0;
  const blocks: { kind: number; index: number; bytes: Uint8Array }[] = [];
  const target = new Uint8Array(BLOCK_SIZE_MAX);
  reads.cut();
  for (;;) {
    const start = now();
    const block = reads.slice(target);
    longest = Math.max(longest, now() - start);
    if (block === null) break;
    bytes += block.bytes.length;
    blocks.push({ ...block, bytes: block.bytes.slice() });
  }
  blocks.sort((a, b) => a.kind - b.kind || a.index - b.index);
  const start = now();
  const copy = new LedgerReads(tables);
  for (const block of blocks) copy.restore(block);
  const middle = now();
  copy.restored();
  const end = now();
  const ms = (ns: number): string => `${(ns / 1e6).toFixed(0)} ms`;
  console.log(
    `  ${blocks.length} blocks, ${(bytes / 1e6).toFixed(0)} MB, longest slice ${ms(longest)};` +
      ` restore ${ms(middle - start)}, restored() ${ms(end - middle)}`,
  );
  const rebuildStart = now();
  new LedgerReads(tables).restored();
  console.log(`  without any block: ${((now() - rebuildStart) / 1e6).toFixed(0)} ms`);
}

/** Each settle of a million transfers at its best of several runs; of these, p50 and worst. */
function measureSettle(): void {
  const best: number[] = [];
  for (let run = 0; run < 6; run++) {
    const tables = new BenchTables();
    const reads = new LedgerReads(tables);
    createAccounts(tables, reads);
    load(tables, reads, 1_000_000, new Prng(1)).settleTimes.forEach((time, i) => {
      best[i] = Math.min(best[i] ?? Number.POSITIVE_INFINITY, time / 1e6);
    });
  }
  const max = Math.max(...best).toFixed(2);
  console.log(`settle after ${BATCH} transfers: p50 ${median(best).toFixed(2)} ms, max ${max} ms`);
}

const sizes = process.argv.slice(2).map(Number);
for (const count of sizes.length > 0 ? sizes : [1_000_000, 5_000_000]) {
  const tables = new BenchTables();
  const reads = new LedgerReads(tables);
  createAccounts(tables, reads);
  const costs = load(tables, reads, count, new Prng(1));
  const append = costs.appendNs / count;
  const settle = costs.settleNs / count;
  console.log(
    `${count} transfers: appendEvent ${append.toFixed(0)} ns, settle ${settle.toFixed(0)} ns` +
      ' per transfer (on the core)',
  );
  measureQueries(tables, reads);
  measurePages(reads);
  measureRestore(tables, reads);
}
if (sizes.length === 0) measureSettle();
