/**
 * Runs semantics tables (see `table-syntax-test-helper`) against a state machine: any that claims
 * to be a ledger can be asked.
 */
import assert from 'node:assert/strict';
import type { Machine } from '../../engine/index.ts';
import { u64FromBigInt } from '../../stdx/index.ts';
import {
  AccountFlag,
  AccountStatus,
  concatenate,
  decodeAccount,
  decodeBatches,
  decodeResult,
  decodeTransfer,
  encodeAccount,
  encodeBatches,
  encodeChangeEventsFilter,
  encodeId,
  encodeTransfer,
  Operation,
  operationShapes,
  Reader,
  TransferStatus,
} from './index.ts';
import {
  accountFilterOf,
  accountOf,
  type Block,
  balancesOf,
  type Command,
  durationOf,
  Fields,
  flagNames,
  idOf,
  nameOf,
  queryFilterOf,
  readBalances,
  transferOf,
} from './table-syntax-test-helper.ts';

/** The clock's start; imported events may be older. */
const WALL_START = 1_000_000_000_000n;
const EMPTY = new Uint8Array(0);

/** Executes one table; fails with the line of the block that went wrong. */
export function runTable(machine: Machine, blocks: readonly Block[]): void {
  const runner = new Runner(machine);
  for (const block of blocks) {
    try {
      runner.run(block);
    } catch (error) {
      if (error instanceof Error) error.message = `line ${block.line}: ${error.message}`;
      throw error;
    }
  }
}

class Runner {
  readonly #machine: Machine;
  readonly #reply: Uint8Array = new Uint8Array(1_048_320);
  #wall: bigint = WALL_START;
  #last: bigint = 0n;
  #op: number = 0;
  /** Where results said that objects are. */
  readonly #timestamps: Map<string, bigint> = new Map();

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  run({ command, words, rows }: Block): void {
    switch (command) {
      case 'accounts':
        this.#create(Operation.createAccounts, rows);
        return;
      case 'transfers':
        this.#create(Operation.createTransfers, rows);
        return;
      case 'wait':
        this.#wall += durationOf(words[0] as string);
        return;
      case 'pulse':
        this.#pulse();
        return;
      case 'burned':
        this.#burned(words);
        return;
      default:
        assert.deepEqual(this.#read(command, words, rows), rows);
    }
  }

  #create(operation: number, rows: readonly string[]): void {
    const isAccounts = operation === Operation.createAccounts;
    const events = rows.map((row) => (row.split('->')[0] as string).trim().split(/\s+/));
    const bytes = events.map((words) =>
      isAccounts ? encodeAccount(accountOf(words)) : encodeTransfer(transferOf(words)),
    );
    const [reply] = this.#request(operation, concatenate(bytes));
    const statuses = isAccounts ? AccountStatus : TransferStatus;
    const got = rows.map((row, index) => {
      const { status, timestamp } = decodeResult(reply as Uint8Array, 16 * index);
      const [id] = events[index] as string[];
      if (status === AccountStatus.created) this.#timestamps.set(id as string, timestamp);
      const at = row.split('@')[1];
      const end = at !== undefined && this.#timestamps.get(at) === timestamp ? ` @${at}` : '';
      return `${(row.split('->')[0] as string).trim()} -> ${nameOf(statuses, status)}${end}`;
    });
    assert.deepEqual(got, rows);
  }

  #pulse(): void {
    for (let i = 0; this.#machine.due(u64FromBigInt(this.#base())); i++) {
      assert.ok(i < 10, 'a pulse that never ends');
      this.#apply(4, EMPTY);
    }
  }

  /** Tries each id: a burned one is refused, and nothing changes. */
  #burned(ids: readonly string[]): void {
    this.#create(
      Operation.createTransfers,
      ids.map((id) => `${id} A1 A2 0 -> id_already_failed`),
    );
  }

  #read(command: Command, words: readonly string[], rows: readonly string[]): string[] {
    const filter = new Fields(words.filter((word) => !/^[AT]\d+$/.test(word)));
    const target = words.find((word) => /^[AT]\d+$/.test(word)) ?? '0';
    switch (command) {
      case 'balances': {
        const ids = rows.map((row) => encodeId(idOf(row.split(' ')[0] as string)));
        return this.#objects(Operation.lookupAccounts, concatenate(ids), 128).map((bytes) => {
          const account = decodeAccount(bytes);
          return [
            `A${account.id}`,
            balancesOf(account),
            ...flagNames(AccountFlag, account.flags),
          ].join(' ');
        });
      }
      case 'lookup':
        return this.#transfers(
          Operation.lookupTransfers,
          concatenate(words.map((word) => encodeId(idOf(word)))),
        );
      case 'account_transfers':
        return this.#transfers(Operation.getAccountTransfers, accountFilterOf(target, filter));
      case 'query_transfers':
        return this.#transfers(Operation.queryTransfers, queryFilterOf(filter));
      case 'query_accounts':
        return this.#objects(Operation.queryAccounts, queryFilterOf(filter), 128).map(
          (bytes) => `A${decodeAccount(bytes).id}`,
        );
      case 'account_balances':
        return this.#balances(accountFilterOf(target, filter));
      default:
        return this.#changeEvents(filter);
    }
  }

  #transfers(operation: number, body: Uint8Array): string[] {
    return this.#objects(operation, body, 128).map((bytes) => {
      const transfer = decodeTransfer(bytes);
      return `T${transfer.id} ${transfer.amount}`;
    });
  }

  #balances(body: Uint8Array): string[] {
    return this.#objects(Operation.getAccountBalances, body, 128).map((bytes) => {
      const reader = new Reader(bytes);
      const balances = readBalances(reader);
      const timestamp = reader.u64();
      const id = [...this.#timestamps].find(([name, at]) => name[0] === 'T' && at === timestamp);
      return `${id?.[0]} ${balances}`;
    });
  }

  #changeEvents(filter: Fields): string[] {
    const body = encodeChangeEventsFilter({ ...filter.range(), limit: filter.number('limit', 99) });
    this.#apply(Operation.getChangeEvents, body);
    const kinds = ['single', 'pending', 'posted', 'voided', 'expired'];
    return this.#records(this.#replyBytes, 384).map((bytes) => {
      const reader = new Reader(bytes);
      const id = reader.u128();
      const amount = reader.u128();
      const parts = [`${kinds[bytes[88] as number]} T${id} ${amount}`];
      for (const [offset, flagsOffset] of [
        [128, 238],
        [240, 350],
      ] as const) {
        const account = new Reader(bytes, offset);
        parts.push(`A${account.u128()} ${readBalances(account)}`);
        parts.push(...flagNames(AccountFlag, new Reader(bytes, flagsOffset).u16()));
      }
      return parts.join(' ');
    });
  }

  #objects(operation: number, batch: Uint8Array, size: number): Uint8Array[] {
    const [reply] = this.#request(operation, batch);
    return this.#records(reply as Uint8Array, size);
  }

  #records(bytes: Uint8Array, size: number): Uint8Array[] {
    const count = bytes.length / size;
    return Array.from({ length: count }, (_, i) => bytes.subarray(i * size, (i + 1) * size));
  }

  /** One batch there, one batch back. */
  #request(operation: number, batch: Uint8Array): Uint8Array[] {
    const shape = operationShapes.get(operation);
    assert.ok(shape !== undefined);
    const body = encodeBatches([batch], shape.eventSize);
    assert.equal(this.#machine.validate(operation, body, 1_048_320), 'valid');
    this.#apply(operation, body);
    return decodeBatches(this.#replyBytes, shape.resultSize) ?? assert.fail('malformed reply');
  }

  #replyBytes: Uint8Array = EMPTY;

  #apply(operation: number, body: Uint8Array): void {
    this.#op += 1;
    this.#last = this.#base() + BigInt(this.#machine.reserve(operation, body));
    const context = { op: this.#op, timestamp: u64FromBigInt(this.#last) };
    const size = this.#machine.apply(context, operation, body, this.#reply);
    this.#replyBytes = this.#reply.slice(0, size);
  }

  #base(): bigint {
    return this.#wall > this.#last ? this.#wall : this.#last + 1n;
  }
}
