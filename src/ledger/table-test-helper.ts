/**
 * The language of `testdata/*.txt`: short rows that read like documentation and run like tests.
 *
 *   # prose
 *   == title                   a new case: an empty ledger, the clock at 1000 ns
 *   account 1 flags=history    created
 *   transfer 7 1>2 50 timeout=5 flags=pending   created
 *   transfer 8 pending=7 flags=post amount=30    created
 *
 * Rows of the same kind that follow each other are one batch; an empty line ends it. The last
 * column is the expected status; `@123` behind it, the expected timestamp. Events of a batch get
 * consecutive timestamps: the first batch of a case begins at 1001, and each later one two above
 * the end of the batch before it, as long as the clock stands still.
 *
 * What is not given in an event is 0, except ledger and code, which are 1 (posts and voids: 0).
 * Numbers may contain `_`, and be `max` (2^128 − 1) or `max-5`. `+5s` is the clock 5 seconds on.
 *
 *   balance 1 debits=50+20 credits=0+0 closed    posted+pending; flags if any
 *   stored 8 amount=30 timestamp=1008            fields of a stored transfer
 *   missing transfer 9 / missing account 9
 *   history 1 debits=50+20 credits=0+0 @1004     next row of get_account_balances
 *   history 1 end                                no more rows
 *   clock +5s / clock 2000                       moves the clock
 *   due yes / due no                             whether a pulse is due
 *   pulse 1                                      lets time act; so many pulses
 *   restart                                      through a checkpoint into a new ledger
 */
import assert from 'node:assert/strict';
import { AccountFilterFlags, AccountFlags, TransferFlags } from './format/constants.ts';
import type { Account, AccountBalance, Transfer } from './format/objects.ts';
import { CreateAccountStatus, CreateTransferStatus, statusName } from './format/status.ts';
import { AMOUNT_MAX, blankAccount, blankTransfer, LedgerHarness } from './ledger-test-helper.ts';

const SECOND = 1_000_000_000n;

interface Row {
  readonly line: number;
  readonly text: string;
  readonly words: string[];
}

export interface TableCase {
  readonly title: string;
  /** Statuses that its rows expect, for coverage. */
  readonly expects: string[];
  run(): void;
}

/** Cuts a file into its cases. */
export function parseTable(text: string): TableCase[] {
  const cases: { title: string; rows: Row[] }[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    const trimmed = line.replace(/(^|\s)#.*$/, '').trim();
    if (trimmed.startsWith('== ')) cases.push({ title: trimmed.slice(3), rows: [] });
    else if (trimmed !== '' || line.trim() === '') {
      const words = trimmed === '' ? [] : trimmed.split(/\s+/);
      cases.at(-1)?.rows.push({ line: index + 1, text: trimmed, words });
    }
  }
  return cases.map(({ title, rows }) => ({
    title,
    expects: rows.filter(isEvent).map((row) => `${row.words[0]} ${statusOf(row)}`),
    run: () => new TableRun().run(rows),
  }));
}

function isEvent(row: Row): boolean {
  return row.words[0] === 'account' || row.words[0] === 'transfer';
}

function statusOf(row: Row): string {
  return (row.words.at(-1) as string).split('@')[0] as string;
}

class TableRun {
  readonly #harness: LedgerHarness = new LedgerHarness();
  readonly #history: Map<string, AccountBalance[]> = new Map();

  run(rows: Row[]): void {
    let batch: Row[] = [];
    for (const row of [...rows, { line: 0, text: '', words: [] }]) {
      const sameKind = batch.length > 0 && row.words[0] === batch[0]?.words[0];
      if (batch.length > 0 && !sameKind) {
        this.#batch(batch);
        batch = [];
      }
      if (isEvent(row)) batch.push(row);
      else if (row.words.length > 0) at(row, () => this.#command(row));
    }
    this.#harness.restart();
    this.#harness.restart();
  }

  #batch(rows: Row[]): void {
    const results = rows[0]?.words[0] === 'account' ? this.#accounts(rows) : this.#transfers(rows);
    for (const [index, row] of rows.entries()) {
      const [status, timestamp] = (row.words.at(-1) as string).split('@');
      at(row, () => {
        assert.equal(results[index]?.name, status);
        if (timestamp !== undefined) {
          assert.equal(results[index]?.timestamp, number(timestamp), 'timestamp');
        }
      });
    }
  }

  #accounts(rows: Row[]): { name: string; timestamp: bigint }[] {
    return this.#harness
      .createAccounts(rows.map((row) => at(row, () => accountOf(row))))
      .map((r) => ({ name: statusName(CreateAccountStatus, r.status), timestamp: r.timestamp }));
  }

  #transfers(rows: Row[]): { name: string; timestamp: bigint }[] {
    return this.#harness
      .createTransfers(rows.map((row) => at(row, () => transferOf(row))))
      .map((r) => ({ name: statusName(CreateTransferStatus, r.status), timestamp: r.timestamp }));
  }

  #command(row: Row): void {
    const harness = this.#harness;
    const [command, ...args] = row.words as [string, ...string[]];
    const commands: { [name: string]: () => void } = {
      balance: () => this.#balance(args),
      stored: () => this.#stored(args),
      history: () => this.#historyRow(args),
      missing: () => this.#missing(args),
      clock: () => {
        harness.clock = clockOf(args[0] as string, harness.clock);
      },
      due: () => assert.equal(harness.due() ? 'yes' : 'no', args[0]),
      pulse: () => assert.equal(harness.pulses(), Number(args[0])),
      restart: () => harness.restart(),
    };
    assert.ok(command in commands, `unknown command ${command}`);
    commands[command]?.();
  }

  #missing(args: string[]): void {
    const ids = [number(args[1] as string)];
    assert.ok(args[0] === 'account' || args[0] === 'transfer');
    const found: object[] =
      args[0] === 'account'
        ? this.#harness.lookupAccounts(ids)
        : this.#harness.lookupTransfers(ids);
    assert.deepEqual(found, []);
  }

  #balance(args: string[]): void {
    const [account] = this.#harness.lookupAccounts([number(args[0] as string)]);
    assert.ok(account, 'account exists');
    const actual: string[] = [];
    for (const arg of args.slice(1)) {
      const [name] = arg.split('=') as [string];
      if (name === 'debits') actual.push(pair(name, account.debits_posted, account.debits_pending));
      else if (name === 'credits') {
        actual.push(pair(name, account.credits_posted, account.credits_pending));
      } else if (name === 'closed' || name === 'open') {
        actual.push((account.flags & AccountFlags.closed) !== 0 ? 'closed' : 'open');
      } else throw new Error(`unknown column ${name}`);
    }
    assert.deepEqual(actual, args.slice(1).map(expanded));
  }

  #stored(args: string[]): void {
    const [transfer] = this.#harness.lookupTransfers([number(args[0] as string)]);
    assert.ok(transfer, 'transfer exists');
    for (const [name, value] of fields(args.slice(1))) {
      const stored = transfer[fieldName(name) as keyof Transfer];
      assert.equal(
        BigInt(stored),
        name === 'flags' ? flagsOf(value, TransferFlags) : number(value),
      );
    }
  }

  #historyRow(args: string[]): void {
    const id = args[0] as string;
    const rows = this.#history.get(id) ?? this.#fetchHistory(id);
    if (args[1] === 'end') {
      assert.deepEqual(rows, []);
      this.#history.delete(id);
      return;
    }
    const row = rows.shift();
    assert.ok(row, 'another row');
    const actual = [
      pair('debits', row.debits_posted, row.debits_pending),
      pair('credits', row.credits_posted, row.credits_pending),
      `@${row.timestamp}`,
    ];
    assert.deepEqual(actual, args.slice(1).map(expanded));
  }

  #fetchHistory(id: string): AccountBalance[] {
    const rows = this.#harness.accountBalances({
      account_id: number(id),
      user_data_128: 0n,
      user_data_64: 0n,
      user_data_32: 0,
      code: 0,
      timestamp_min: 0n,
      timestamp_max: 0n,
      limit: 8189,
      flags: AccountFilterFlags.debits | AccountFilterFlags.credits,
    });
    this.#history.set(id, rows);
    return rows;
  }
}

/** Runs `body` and says in which row it failed. */
function at<T>(row: Row, body: () => T): T {
  try {
    return body();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new Error(`line ${row.line}: ${row.text}\n${message}`, { cause: error });
  }
}

function number(text: string): bigint {
  if (text.startsWith('max')) return AMOUNT_MAX - (text === 'max' ? 0n : number(text.slice(4)));
  if (text.startsWith('2^63')) return (1n << 63n) - (text === '2^63' ? 0n : number(text.slice(5)));
  return BigInt(text.replaceAll('_', ''));
}

function clockOf(text: string, now: bigint): bigint {
  const relative = text.match(/^\+(\d+)(s|ns)$/);
  if (relative === null) return number(text);
  return now + BigInt(relative[1] as string) * (relative[2] === 's' ? SECOND : 1n);
}

function pair(name: string, posted: bigint, pending: bigint): string {
  return `${name}=${posted}+${pending}`;
}

/** `debits=max+5` with its numbers spelled out. */
function expanded(text: string): string {
  const match = text.match(/^(debits|credits)=([^+]+)\+(.+)$/);
  if (match === null) return text.replace(/_/g, '');
  return pair(match[1] as string, number(match[2] as string), number(match[3] as string));
}

function fields(words: string[]): [string, string][] {
  return words.map((word) => {
    const equals = word.indexOf('=');
    assert.ok(equals > 0, `field ${word}`);
    return [word.slice(0, equals), word.slice(equals + 1)];
  });
}

/** Short names of fields. */
function fieldName(name: string): string {
  const short: { [name: string]: string } = {
    debit: 'debit_account_id',
    credit: 'credit_account_id',
    pending: 'pending_id',
    ud128: 'user_data_128',
    ud64: 'user_data_64',
    ud32: 'user_data_32',
  };
  return short[name] ?? name;
}

/** Short names of flags; a number stands for itself. */
function flagsOf(text: string, names: { readonly [name: string]: number }): bigint {
  const short: { [name: string]: string } = {
    debits_limited: 'debits_must_not_exceed_credits',
    credits_limited: 'credits_must_not_exceed_debits',
    post: 'post_pending_transfer',
    void: 'void_pending_transfer',
  };
  let flags = 0;
  for (const name of text.split('|')) {
    const value = names[short[name] ?? name] ?? Number(name);
    assert.ok(Number.isInteger(value), `flag ${name}`);
    flags |= value;
  }
  return BigInt(flags);
}

function filled<T extends object>(blank: T, words: string[], flags: { [name: string]: number }): T {
  const object = { ...blank } as { [name: string]: bigint | number };
  for (const [name, text] of fields(words)) {
    const field = fieldName(name);
    assert.ok(field in object, `field ${name}`);
    const value = name === 'flags' ? flagsOf(text, flags) : number(text);
    object[field] = typeof object[field] === 'bigint' ? value : Number(value);
  }
  return object as T;
}

/** account <id> [field=value …] status */
function accountOf(row: Row): Account {
  const words = row.words.slice(2, -1);
  return { ...filled(blankAccount, words, AccountFlags), id: number(row.words[1] as string) };
}

/** transfer <id> [<debit>'>'<credit>] [<amount>] [field=value …] status */
function transferOf(row: Row): Transfer {
  const words = row.words.slice(2, -1);
  const second = /\bflags=\S*(post|void)\b/.test(row.text);
  let base = second ? { ...blankTransfer, ledger: 0, code: 0 } : { ...blankTransfer };
  base = { ...base, id: number(row.words[1] as string) };
  if (words[0]?.includes('>')) {
    const [debit, credit] = (words.shift() as string).split('>') as [string, string];
    base = { ...base, debit_account_id: number(debit), credit_account_id: number(credit) };
  }
  const amount = words.findIndex((word) => !word.includes('='));
  if (amount >= 0) base = { ...base, amount: number(words.splice(amount, 1)[0] as string) };
  return filled(base, words, TransferFlags);
}
