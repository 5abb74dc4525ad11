/**
 * Warming up: JavaScript becomes fast by running, and a server that has just started has run
 * nothing. So while nobody asks for anything it applies made-up transfers to a ledger that is
 * thrown away, a small batch at a time, until the paths that all load takes are compiled. It costs
 * about a third of a second of processor time, once, and gives way to any real work.
 */
import { REPLY_BODY_SIZE_MAX } from '../engine/index.ts';
import {
  accountCodec,
  encodeMultiBatch,
  encodeRecords,
  Ledger,
  Operation,
  TransferWord,
  trailerSize,
  writeTrailer,
} from '../ledger/index.ts';
import { Prng, u64Add, u64FromNumber } from '../stdx/index.ts';
import { createChecksum } from '../wire/index.ts';

const ACCOUNTS = 256;
/** Enough that indexes are sealed, which happens every 65,536 rows. */
const BATCHES = 72;
const BATCH_EVENTS = 1_000;
const RECORD_SIZE = 128;
const PAUSE_MS = 4;

export interface WarmUpOptions {
  /** A number that moves whenever the server does real work. */
  readonly progress: () => number;
}

/** Runs in the background until it is done or stopped; never keeps the process alive. */
export class WarmUp {
  readonly #options: WarmUpOptions;
  readonly #batches: Iterator<void>;
  #timer: NodeJS.Timeout | null = null;
  #progress: number;
  #isDone: boolean = false;

  constructor(options: WarmUpOptions) {
    this.#options = options;
    this.#batches = batches();
    this.#progress = options.progress();
    this.#arm();
  }

  get isDone(): boolean {
    return this.#isDone;
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #arm(): void {
    this.#timer = setTimeout(() => this.#next(), PAUSE_MS);
    this.#timer.unref();
  }

  #next(): void {
    const progress = this.#options.progress();
    const isIdle = progress === this.#progress;
    this.#progress = progress;
    this.#isDone = isIdle && this.#batches.next().done === true;
    if (!this.#isDone) this.#arm();
  }
}

function* batches(): Generator<void, void, void> {
  const ledger = new Ledger({ checksum: createChecksum() });
  const reply = new Uint8Array(REPLY_BODY_SIZE_MAX);
  let timestamp = u64FromNumber(1_000_000_000_000);
  let op = 0;
  const apply = (operation: number, body: Uint8Array): void => {
    timestamp = u64Add(timestamp, ledger.reserve(operation, body) + 1);
    op++;
    ledger.validate(operation, body, body.length);
    ledger.apply({ op, timestamp }, operation, body, reply);
  };
  apply(Operation.createAccounts, accountsBody());
  const prng = new Prng(1);
  const size = BATCH_EVENTS * RECORD_SIZE;
  const body = new Uint8Array(size + trailerSize(1, RECORD_SIZE));
  writeTrailer(body, size, RECORD_SIZE, Uint16Array.of(BATCH_EVENTS), 1);
  const words = new Uint32Array(body.buffer, 0, size / 4);
  for (let batch = 0; batch < BATCHES; batch++) {
    for (let i = 0; i < BATCH_EVENTS; i++) fillTransfer(words, i * (RECORD_SIZE / 4), prng);
    apply(Operation.createTransfers, body);
    yield;
  }
}

function accountsBody(): Uint8Array {
  const accounts = Array.from({ length: ACCOUNTS }, (_, i) => ({
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

function fillTransfer(words: Uint32Array, at: number, prng: Prng): void {
  const debit = prng.below(ACCOUNTS);
  words.fill(0, at, at + RECORD_SIZE / 4);
  for (let i = 0; i < 4; i++) words[at + TransferWord.id + i] = prng.u32() | 1;
  words[at + TransferWord.debitAccountId] = debit + 1;
  words[at + TransferWord.creditAccountId] =
    ((debit + 1 + prng.below(ACCOUNTS - 1)) % ACCOUNTS) + 1;
  words[at + TransferWord.amount] = 1 + prng.below(1_000);
  words[at + TransferWord.ledger] = 1;
  words[at + TransferWord.codeFlags] = 1;
}
