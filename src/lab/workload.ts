/**
 * The events of the benchmark, written straight into the memory that is sent: accounts, and
 * transfers between two random ones, all of them valid. User data and codes are random, because
 * they feed the database's secondary indexes; a load of zeros would flatter it.
 */
import { AccountWord, RECORD_WORDS, TransferWord, writeTrailer } from '../ledger/index.ts';
import { assert, Prng } from '../stdx/index.ts';
import { type IdOrder, IdSequence } from './id-order.ts';

const LEDGER = 2;
const ACCOUNT_CODE = 1;
/** Amounts are 1 … this; the balances of any run stay far below 2^64. */
const AMOUNT_MAX = 20_000;

export interface WorkloadOptions {
  readonly idOrder: IdOrder;
  readonly seed: number;
  /** At least 2. */
  readonly accountCount: number;
  readonly transferCount: number;
}

export class Workload {
  readonly #options: WorkloadOptions;
  readonly #accountIds: Uint32Array;
  readonly #transferIds: IdSequence;
  readonly #prng: Prng;

  constructor(options: WorkloadOptions) {
    const { idOrder: order, seed, accountCount, transferCount } = options;
    assert(accountCount >= 2, 'Workload: a transfer needs two accounts');
    this.#options = options;
    this.#transferIds = new IdSequence({ order, seed, count: transferCount });
    this.#prng = new Prng(seed, 1);
    const accountIds = new IdSequence({ order, seed, count: accountCount });
    this.#accountIds = new Uint32Array(4 * accountCount);
    for (let n = 0; n < accountCount; n++) accountIds.write(n, this.#accountIds, 4 * n);
  }

  /** Writes accounts `first` … `first + count − 1` at the start of `words`. */
  writeAccounts(words: Uint32Array, first: number, count: number): void {
    assert(first >= 0 && first + count <= this.#options.accountCount, 'Workload: no such account');
    const prng = this.#prng;
    for (let i = 0; i < count; i++) {
      const at = i * RECORD_WORDS;
      words.fill(0, at, at + RECORD_WORDS);
      this.#writeAccountId(first + i, words, at + AccountWord.id);
      for (let word = AccountWord.userData128; word <= AccountWord.userData32; word++) {
        words[at + word] = prng.u32();
      }
      words[at + AccountWord.ledger] = LEDGER;
      words[at + AccountWord.codeFlags] = ACCOUNT_CODE;
    }
  }

  /** Writes transfers `first` … `first + count − 1` at the start of `words`. */
  writeTransfers(words: Uint32Array, first: number, count: number): void {
    assert(
      first >= 0 && first + count <= this.#options.transferCount,
      'Workload: no such transfer',
    );
    const { accountCount } = this.#options;
    const prng = this.#prng;
    for (let i = 0; i < count; i++) {
      const at = i * RECORD_WORDS;
      const debit = prng.below(accountCount);
      const step = 1 + prng.below(accountCount - 1);
      this.#transferIds.write(first + i, words, at + TransferWord.id);
      this.#writeAccountId(debit, words, at + TransferWord.debitAccountId);
      this.#writeAccountId((debit + step) % accountCount, words, at + TransferWord.creditAccountId);
      words.fill(0, at + TransferWord.amount, at + TransferWord.userData128);
      words[at + TransferWord.amount] = 1 + prng.below(AMOUNT_MAX);
      for (let word = TransferWord.userData128; word <= TransferWord.userData32; word++) {
        words[at + word] = prng.u32();
      }
      words[at + TransferWord.timeout] = 0;
      words[at + TransferWord.ledger] = LEDGER;
      // The code is a random number from 1 to 65535, the flags above it are zero.
      words[at + TransferWord.codeFlags] = 1 + prng.below(0xffff);
      words[at + TransferWord.timestamp] = 0;
      words[at + TransferWord.timestamp + 1] = 0;
    }
  }

  /** Writes the ids of transfers `first` … `first + count − 1`, for a lookup. */
  writeTransferIds(words: Uint32Array, first: number, count: number): void {
    for (let i = 0; i < count; i++) this.#transferIds.write(first + i, words, 4 * i);
  }

  #writeAccountId(n: number, words: Uint32Array, at: number): void {
    for (let i = 0; i < 4; i++) words[at + i] = this.#accountIds[4 * n + i];
  }
}

const counts = new Uint16Array(1);

/** Puts the trailer of a single batch behind `count` events; returns the size of the body. */
export function sealBatch(body: Uint8Array, eventSize: number, count: number): number {
  assert(count <= 0xffff, 'sealBatch: too many events');
  counts[0] = count;
  return writeTrailer(body, count * eventSize, eventSize, counts, 1);
}
