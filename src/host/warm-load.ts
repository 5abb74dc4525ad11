/** Made-up load to warm up with: accounts, and batches of plain transfers between them. */
import {
  accountCodec,
  encodeMultiBatch,
  encodeRecords,
  TransferWord,
  trailerSize,
  writeTrailer,
} from '../ledger/index.ts';
import { Prng } from '../stdx/index.ts';

const RECORD_SIZE = 128;
const RECORD_WORDS = RECORD_SIZE / 4;

/** Body of a request that creates accounts 1 to `count`. */
export function accountsBody(count: number): Uint8Array {
  const accounts = Array.from({ length: count }, (_, i) => ({
    id: BigInt(i + 1),
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
  }));
  return encodeMultiBatch([encodeRecords(accountCodec, accounts)], RECORD_SIZE);
}

/** One request body that is filled anew for each batch. */
export class TransfersBody {
  readonly bytes: Uint8Array;
  readonly #accounts: number;
  readonly #words: Uint32Array;
  readonly #prng: Prng = new Prng(1);

  /** Of `events` transfers between accounts 1 to `accounts`. */
  constructor(events: number, accounts: number) {
    const size = events * RECORD_SIZE;
    this.bytes = new Uint8Array(size + trailerSize(1, RECORD_SIZE));
    this.#accounts = accounts;
    this.#words = new Uint32Array(this.bytes.buffer, 0, size / 4);
    writeTrailer(this.bytes, size, RECORD_SIZE, Uint16Array.of(events), 1);
  }

  fill(): void {
    for (let at = 0; at < this.#words.length; at += RECORD_WORDS) this.#fillTransfer(at);
  }

  #fillTransfer(at: number): void {
    const words = this.#words;
    const prng = this.#prng;
    const accounts = this.#accounts;
    const debit = prng.below(accounts);
    const credit = (debit + 1 + prng.below(accounts - 1)) % accounts;
    words.fill(0, at, at + RECORD_WORDS);
    for (let i = 0; i < 4; i++) words[at + TransferWord.id + i] = prng.u32() | 1;
    words[at + TransferWord.debitAccountId] = debit + 1;
    words[at + TransferWord.creditAccountId] = credit + 1;
    words[at + TransferWord.amount] = 1 + prng.below(1_000);
    words[at + TransferWord.ledger] = 1;
    words[at + TransferWord.codeFlags] = 1;
  }
}
