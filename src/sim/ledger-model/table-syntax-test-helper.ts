/**
 * The language of semantics tables: text files that say what the ledger does in examples, with
 * prose between them. A line that starts with a command word begins a block; the indented lines
 * under it are its rows; everything else is prose.
 *
 *   accounts                     one create_accounts request, a row per event:
 *     A1 history ledger=2 -> created
 *   transfers                    one create_transfers request, a row per event:
 *     T1 A1 A2 10 pending timeout=5 -> created
 *   balances                     lookup of accounts: debits, credits, as pending/posted, then flags
 *     A1 10/0 0/0 closed
 *   lookup T1 T2                 the rows are the transfers found: id and stored amount
 *     T1 10
 *   account_transfers A1 debits reversed limit=1      likewise
 *   query_transfers user_data_64=5                    likewise
 *   query_accounts code=2                             the rows are account ids
 *   account_balances A1          the rows are balances: transfer, debits, credits
 *     T1 10/0 0/0
 *   change_events                the rows are kind, transfer, amount, account and balances twice
 *     pending T1 10 A1 10/0 0/0 A2 0/0 10/0
 *   wait 5s                      moves the clock; also ns. Expires nothing by itself
 *   pulse                        expires what is due; as many times as needed
 *   burned T1 T2                 these ids can never be used
 *
 * Ids are A and T with a number, 0, or max; `-` is 0. A new world begins at every line that starts
 * with `#`. A row that ends in `@T1` also says that the result's timestamp is that of T1 (or A1).
 */
import assert from 'node:assert/strict';
import {
  type Account,
  AccountFilterFlag,
  AccountFlag,
  encodeAccountFilter,
  encodeQueryFilter,
  QueryFilterFlag,
  type Reader,
  type Transfer,
  TransferFlag,
  U128_MAX,
} from './index.ts';

const commands = [
  'accounts',
  'transfers',
  'balances',
  'lookup',
  'account_transfers',
  'query_transfers',
  'query_accounts',
  'account_balances',
  'change_events',
  'wait',
  'pulse',
  'burned',
] as const;
export type Command = (typeof commands)[number];

export interface Block {
  readonly line: number;
  readonly command: Command;
  readonly words: readonly string[];
  readonly rows: string[];
}

/** `title → blocks`, in order. */
export function parseTables(text: string): Map<string, Block[]> {
  const tables = new Map<string, Block[]>();
  let blocks: Block[] = [];
  text.split('\n').forEach((content, index) => {
    if (content.startsWith('#')) {
      blocks = [];
      tables.set(content.replace(/^#+ */, ''), blocks);
    } else if (content.startsWith('  ')) {
      blocks.at(-1)?.rows.push(content.trim());
    } else {
      const [first, ...words] = content.trim().split(/\s+/);
      const command = commands.find((known) => known === first);
      if (command !== undefined) blocks.push({ line: index + 1, command, words, rows: [] });
    }
  });
  return tables;
}

/** `name=value` words and bare flag words. */
export class Fields {
  readonly #words: readonly string[];
  constructor(words: readonly string[]) {
    this.#words = words;
  }
  big(name: string): bigint {
    const word = this.#words.find((candidate) => candidate.startsWith(`${name}=`));
    return word === undefined ? 0n : idOf(word.slice(name.length + 1));
  }
  number(name: string, otherwise: number = 0): number {
    const given = this.#words.some((candidate) => candidate.startsWith(`${name}=`));
    return given ? Number(this.big(name)) : otherwise;
  }
  flags(known: { readonly [name: string]: number }): number {
    const names = this.#words.filter((word) => !word.includes('='));
    return names.reduce((flags, name) => {
      const flag = Object.entries(known).find(([key]) => snake(key) === name);
      return flags | (flag?.[1] ?? assert.fail(`unknown flag ${name}`));
    }, 0);
  }
  userData(): { userData128: bigint; userData64: bigint; userData32: number } {
    return {
      userData128: this.big('user_data_128'),
      userData64: this.big('user_data_64'),
      userData32: this.number('user_data_32'),
    };
  }
  range(): { timestampMin: bigint; timestampMax: bigint; reservedIsZero: boolean } {
    return {
      timestampMin: this.big('timestamp_min'),
      timestampMax: this.big('timestamp_max'),
      reservedIsZero: true,
    };
  }
}

export function accountOf([id, ...words]: readonly string[]): Account {
  const fields = new Fields(words);
  return {
    id: idOf(id as string),
    debitsPending: fields.big('debits_pending'),
    debitsPosted: fields.big('debits_posted'),
    creditsPending: fields.big('credits_pending'),
    creditsPosted: fields.big('credits_posted'),
    ...fields.userData(),
    reserved: fields.number('reserved'),
    ledger: fields.number('ledger', 1),
    code: fields.number('code', 1),
    flags: fields.flags(AccountFlag) | fields.number('flags'),
    timestamp: fields.big('timestamp'),
  };
}

/** A post or void leaves ledger and code to its pending transfer unless it names them. */
export function transferOf(row: readonly string[]): Transfer {
  const [id, debit, credit, amount, ...words] = row as [string, string, string, string];
  const fields = new Fields(words);
  const flags = fields.flags(TransferFlag) | fields.number('flags');
  const isCompletion = (flags & 12) !== 0;
  return {
    id: idOf(id),
    debitAccountId: idOf(debit),
    creditAccountId: idOf(credit),
    amount: idOf(amount),
    pendingId: fields.big('pending_id'),
    ...fields.userData(),
    timeout: fields.number('timeout'),
    ledger: fields.number('ledger', isCompletion ? 0 : 1),
    code: fields.number('code', isCompletion ? 0 : 1),
    flags,
    timestamp: fields.big('timestamp'),
  };
}

export function accountFilterOf(account: string, fields: Fields): Uint8Array {
  return encodeAccountFilter({
    accountId: idOf(account),
    ...fields.userData(),
    code: fields.number('code'),
    ...fields.range(),
    limit: fields.number('limit', 99),
    flags: fields.flags(AccountFilterFlag),
  });
}

export function queryFilterOf(fields: Fields): Uint8Array {
  return encodeQueryFilter({
    ...fields.userData(),
    ledger: fields.number('ledger'),
    code: fields.number('code'),
    ...fields.range(),
    limit: fields.number('limit', 99),
    flags: fields.flags(QueryFilterFlag),
  });
}

/** A1, T1, 0, -, max, max-1, 12_000. */
export function idOf(word: string): bigint {
  if (word === '-') return 0n;
  const [base, less] = word.split('-') as [string, string | undefined];
  const value = base === 'max' ? U128_MAX : BigInt(base.replace(/^[AT]/, '').replaceAll('_', ''));
  return value - BigInt(less ?? 0);
}

export function durationOf(word: string): bigint {
  const [, count, unit] = /^(-?\d+)(s|ns)$/.exec(word) ?? assert.fail(`no duration: ${word}`);
  return BigInt(count as string) * (unit === 's' ? 1_000_000_000n : 1n);
}

export function readBalances(reader: Reader): string {
  const [debitsPending, debitsPosted] = [reader.u128(), reader.u128()];
  const [creditsPending, creditsPosted] = [reader.u128(), reader.u128()];
  return balancesOf({ debitsPending, debitsPosted, creditsPending, creditsPosted });
}

export function balancesOf(balances: {
  debitsPending: bigint;
  debitsPosted: bigint;
  creditsPending: bigint;
  creditsPosted: bigint;
}): string {
  const { debitsPending, debitsPosted, creditsPending, creditsPosted } = balances;
  return `${debitsPending}/${debitsPosted} ${creditsPending}/${creditsPosted}`;
}

/** Only what changes: whether it is closed. */
export function flagNames(known: { readonly closed: number }, flags: number): string[] {
  return (flags & known.closed) !== 0 ? ['closed'] : [];
}

export function nameOf(statuses: { readonly [name: string]: number }, status: number): string {
  const found = Object.entries(statuses).find(([, code]) => code === status);
  return snake(found?.[0] ?? `status ${status}`);
}

function snake(name: string): string {
  return name.replaceAll(/[A-Z]|\d+/g, (part) => `_${part.toLowerCase()}`);
}
