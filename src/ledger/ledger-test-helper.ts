/**
 * A ledger with a clock and typed calls, for tests: assigns timestamps as an engine does, builds
 * bodies, validates them, and decodes replies. `restart` sends the whole state through a
 * checkpoint.
 */
import assert from 'node:assert/strict';
import {
  BLOCK_SIZE_MAX,
  type Block,
  OPERATION_PULSE,
  REPLY_BODY_SIZE_MAX,
} from '../engine/index.ts';
import { toHex, u64FromBigInt } from '../stdx/index.ts';
import { type Checksum, createChecksum } from '../wire/index.ts';
import {
  accountBalanceCodec,
  accountCodec,
  accountFilterCodec,
  createAccountResultCodec,
  createTransferResultCodec,
  decodeRecords,
  encodeRecords,
  idCodec,
  type RecordCodec,
  transferCodec,
} from './format/codec.ts';
import { Operation } from './format/constants.ts';
import { decodeMultiBatch, encodeMultiBatch } from './format/multi-batch.ts';
import type {
  Account,
  AccountBalance,
  AccountFilter,
  CreateAccountResult,
  CreateTransferResult,
  Transfer,
} from './format/objects.ts';
import { Ledger } from './ledger.ts';

export const AMOUNT_MAX: bigint = (1n << 128n) - 1n;

export const blankAccount: Account = {
  id: 0n,
  debits_pending: 0n,
  debits_posted: 0n,
  credits_pending: 0n,
  credits_posted: 0n,
  user_data_128: 0n,
  user_data_64: 0n,
  user_data_32: 0,
  reserved: 0,
  ledger: 1,
  code: 1,
  flags: 0,
  timestamp: 0n,
};

export const blankTransfer: Transfer = {
  id: 0n,
  debit_account_id: 0n,
  credit_account_id: 0n,
  amount: 0n,
  pending_id: 0n,
  user_data_128: 0n,
  user_data_64: 0n,
  user_data_32: 0,
  timeout: 0,
  ledger: 1,
  code: 1,
  flags: 0,
  timestamp: 0n,
};

/** Room for a block that a machine makes. */
export const blockTarget: Uint8Array = new Uint8Array(BLOCK_SIZE_MAX);

/** The machine's memory of past blocks, as a data file keeps them: the latest of each name. */
export class BlockStore {
  /** Blocks that came with a checksum, which was right. */
  withChecksum: number = 0;
  readonly #blocks: Map<number, Block> = new Map();

  put(block: Block): void {
    const name = block.kind * 0x1_0000_0000 + block.index;
    assert.ok(block.bytes.length <= BLOCK_SIZE_MAX);
    if (block.checksum !== undefined) {
      const computed = new Uint8Array(16);
      theChecksum().digest(block.bytes, 0, block.bytes.length, computed, 0);
      assert.deepEqual(block.checksum, computed, `checksum of block ${block.kind}/${block.index}`);
      this.withChecksum += 1;
    }
    if (block.bytes.length === 0) this.#blocks.delete(name);
    else this.#blocks.set(name, { ...block, bytes: block.bytes.slice() });
  }

  /** Ascending kind, then index. */
  all(): Block[] {
    return [...this.#blocks.entries()].sort(([a], [b]) => a - b).map(([, block]) => block);
  }
}

let sharedChecksum: Checksum | null = null;

function theChecksum(): Checksum {
  sharedChecksum ??= createChecksum();
  return sharedChecksum;
}

export function newLedger(): Ledger {
  return new Ledger({ checksum: theChecksum() });
}

export class LedgerHarness {
  ledger: Ledger = newLedger();
  /** Nanoseconds; a request's first event gets at least one more. */
  clock: bigint = 1000n;
  /** The highest timestamp used so far. */
  last: bigint = 0n;
  readonly blocks: BlockStore = new BlockStore();
  #op: number = 0;
  readonly #reply: Uint8Array = new Uint8Array(REPLY_BODY_SIZE_MAX);

  /** Executes a request, reads outside of the log, and returns a copy of the reply's body. */
  apply(operation: number, body: Uint8Array): Uint8Array {
    if (operation !== OPERATION_PULSE) {
      const verdict = this.ledger.validate(operation, body, REPLY_BODY_SIZE_MAX);
      assert.equal(verdict, 'valid');
      if (operation < Operation.createAccounts) {
        const size = this.ledger.query(operation, body, this.#reply.fill(0xa5));
        return this.#reply.slice(0, size);
      }
    }
    const start = this.last + 1n > this.clock ? this.last + 1n : this.clock;
    this.last = start + BigInt(this.ledger.reserve(operation, body));
    const context = { op: ++this.#op, timestamp: u64FromBigInt(this.last) };
    const size = this.ledger.apply(context, operation, body, this.#reply.fill(0xa5));
    return this.#reply.slice(0, size);
  }

  /** One batch, one kind of events, one kind of results. */
  call<E, R>(operation: number, event: RecordCodec<E>, result: RecordCodec<R>, events: E[]): R[] {
    const body = encodeMultiBatch([encodeRecords(event, events)], event.size);
    const batches = decodeMultiBatch(this.apply(operation, body), result.size);
    assert.equal(batches?.length, 1);
    return decodeRecords(result, batches[0] as Uint8Array);
  }

  createAccounts(accounts: Account[]): CreateAccountResult[] {
    return this.call(Operation.createAccounts, accountCodec, createAccountResultCodec, accounts);
  }

  createTransfers(transfers: Transfer[]): CreateTransferResult[] {
    const { createTransfers } = Operation;
    return this.call(createTransfers, transferCodec, createTransferResultCodec, transfers);
  }

  lookupAccounts(ids: bigint[]): Account[] {
    return this.call(Operation.lookupAccounts, idCodec, accountCodec, ids);
  }

  lookupTransfers(ids: bigint[]): Transfer[] {
    return this.call(Operation.lookupTransfers, idCodec, transferCodec, ids);
  }

  accountBalances(filter: AccountFilter): AccountBalance[] {
    const { getAccountBalances } = Operation;
    return this.call(getAccountBalances, accountFilterCodec, accountBalanceCodec, [filter]);
  }

  due(): boolean {
    return this.ledger.due(u64FromBigInt(this.clock));
  }

  /** Applies pulses as long as something is due; returns how many it took. */
  pulses(): number {
    let count = 0;
    while (this.due()) {
      this.apply(OPERATION_PULSE, new Uint8Array(0));
      count++;
    }
    return count;
  }

  /** Cuts a checkpoint into `blocks`. */
  cut(): void {
    this.ledger.cut(this.#op);
    for (;;) {
      const block = this.ledger.slice(blockTarget);
      if (block === null) break;
      this.blocks.put(block);
    }
  }

  /** Goes on with a new ledger, restored from a checkpoint; the root must be the same. */
  restart(): void {
    const root = toHex(this.ledger.root());
    this.cut();
    this.ledger = newLedger();
    for (const block of this.blocks.all()) this.ledger.restore(block);
    this.ledger.restored();
    assert.equal(toHex(this.ledger.root()), root, 'root after a restart');
  }
}
