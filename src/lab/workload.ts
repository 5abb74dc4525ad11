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
  readonly #random: Uint32Array;

  constructor(options: WorkloadOptions) {
    const { idOrder: order, seed, accountCount, transferCount } = options;
    assert(accountCount >= 2, 'Workload: a transfer needs two accounts');
    this.#options = options;
    this.#transferIds = new IdSequence({ order, seed, count: transferCount });
    const prng = new Prng(seed, 1);
    this.#random = Uint32Array.from({ length: 4 }, () => prng.u32());
    const accountIds = new IdSequence({ order, seed, count: accountCount });
    this.#accountIds = new Uint32Array(4 * accountCount);
    for (let n = 0; n < accountCount; n++) accountIds.write(n, this.#accountIds, 4 * n);
  }

  /** Writes accounts `first` … `first + count − 1` at the start of `words`. */
  writeAccounts(words: Uint32Array, first: number, count: number): void {
    assert(first >= 0 && first + count <= this.#options.accountCount, 'Workload: no such account');
    for (let i = 0; i < count; i++) {
      const at = i * RECORD_WORDS;
      words.fill(0, at, at + RECORD_WORDS);
      copyId(this.#accountIds, first + i, words, at + AccountWord.id);
      for (let word = AccountWord.userData128; word <= AccountWord.userData32; word++) {
        words[at + word] = random(this.#random);
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
    const ids = this.#transferIds;
    const accountIds = this.#accountIds;
    const state = this.#random;
    for (let i = 0; i < count; i++) {
      const at = i * RECORD_WORDS;
      const debit = below(state, accountCount);
      const other = debit + 1 + below(state, accountCount - 1);
      const credit = other < accountCount ? other : other - accountCount;
      ids.write(first + i, words, at + TransferWord.id);
      copyId(accountIds, debit, words, at + TransferWord.debitAccountId);
      copyId(accountIds, credit, words, at + TransferWord.creditAccountId);
      for (let word = TransferWord.amount; word < TransferWord.userData128; word++) {
        words[at + word] = 0;
      }
      words[at + TransferWord.amount] = 1 + below(state, AMOUNT_MAX);
      for (let word = TransferWord.userData128; word <= TransferWord.userData32; word++) {
        words[at + word] = random(state);
      }
      words[at + TransferWord.timeout] = 0;
      words[at + TransferWord.ledger] = LEDGER;
      // The code is a random number from 1 to 65535, the flags above it are zero.
      words[at + TransferWord.codeFlags] = 1 + below(state, 0xffff);
      words[at + TransferWord.timestamp] = 0;
      words[at + TransferWord.timestamp + 1] = 0;
    }
  }

  /** Writes the ids of transfers `first` … `first + count − 1`, for a lookup. */
  writeTransferIds(words: Uint32Array, first: number, count: number): void {
    for (let i = 0; i < count; i++) this.#transferIds.write(first + i, words, 4 * i);
  }
}

/**
 * The next 32 random bits of a shift-register generator with its state in a typed array: the load
 * must cost little beside the server that it measures, and needs no better chance than this.
 */
function random(state: Uint32Array): number {
  const first = state[0];
  const last = state[3];
  const mixed = first ^ (first << 11);
  state[0] = state[1];
  state[1] = state[2];
  state[2] = last;
  const next = (last ^ (last >>> 19) ^ mixed ^ (mixed >>> 8)) >>> 0;
  state[3] = next;
  return next;
}

/** Nearly uniform in 0 … bound − 1. */
function below(state: Uint32Array, bound: number): number {
  return Math.floor((random(state) * bound) / 0x1_0000_0000);
}

function copyId(ids: Uint32Array, n: number, words: Uint32Array, at: number): void {
  const from = 4 * n;
  words[at] = ids[from];
  words[at + 1] = ids[from + 1];
  words[at + 2] = ids[from + 2];
  words[at + 3] = ids[from + 3];
}

const counts = new Uint16Array(1);

/** Puts the trailer of a single batch behind `count` events; returns the size of the body. */
export function sealBatch(body: Uint8Array, eventSize: number, count: number): number {
  assert(count <= 0xffff, 'sealBatch: too many events');
  counts[0] = count;
  return writeTrailer(body, count * eventSize, eventSize, counts, 1);
}
