/**
 * How fast the ledger machine is by itself: create_transfers in full batches, without network, log
 * or disk. For each combination of id order and reading half (account events and indexes on or off)
 * a process of its own applies the transfers and measures every batch.
 *
 *   node bench/ledger.ts [--transfers=5_000_000] [--accounts=10_000] [--batch=8189]
 *                        [--ids=random,sequential] [--reads=on,off] [--kind=plain|two-phase|linked]
 *                        [--checkpoint]
 *
 * Prints transfers per second of wall clock and of CPU time, batch times in milliseconds, memory,
 * and with --checkpoint how long a cut, all of its slices, the root and a restore take.
 */
import { execFileSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { BLOCK_SIZE_MAX, type Block, REPLY_BODY_SIZE_MAX } from '../src/engine/index.ts';
import {
  accountCodec,
  encodeMultiBatch,
  encodeRecords,
  Ledger,
  Operation,
  TransferFlags,
  TransferWord,
  trailerSize,
  writeTrailer,
} from '../src/ledger/index.ts';
import { blankAccount } from '../src/ledger/ledger-test-helper.ts';
import { LedgerReads } from '../src/ledger/reads.ts';
import { u64FromBigInt } from '../src/stdx/index.ts';
import { createChecksum } from '../src/wire/index.ts';

const RECORD_WORDS = 32;

/** The reading half without its work: what is left is the writing half alone. */
class NoReads extends LedgerReads {
  override appendEvent(): void {}
  override truncateEvents(): void {}
  override settle(): void {}
  override cut(): number {
    return 0;
  }
  override slice(): Block | null {
    return null;
  }
  override sliceAhead(): Block | null {
    return null;
  }
  override restored(): void {}
}

interface Settings {
  transfers: number;
  accounts: number;
  batch: number;
  ids: string;
  reads: string;
  kind: string;
  checkpoint: boolean;
}

interface Figures {
  perSecondWall: number;
  perSecondCpu: number;
  created: number;
  batchMs: { p50: number; p99: number; max: number };
  rssMiB: number;
  arrayMiB: number;
  checkpointMs: { cut: number; slices: number; root: number; restore: number } | null;
}

const number = (text: string): number => Number(text.replaceAll('_', ''));

function main(): void {
  const { values } = parseArgs({
    options: {
      transfers: { type: 'string', default: '5_000_000' },
      accounts: { type: 'string', default: '10_000' },
      batch: { type: 'string', default: '8189' },
      ids: { type: 'string', default: 'random,sequential' },
      reads: { type: 'string', default: 'off,on' },
      kind: { type: 'string', default: 'plain' },
      checkpoint: { type: 'boolean', default: false },
      one: { type: 'boolean', default: false },
    },
  });
  if (values.one) {
    const settings = {
      transfers: number(values.transfers),
      accounts: number(values.accounts),
      batch: number(values.batch),
      ids: values.ids,
      reads: values.reads,
      kind: values.kind,
      checkpoint: values.checkpoint,
    };
    process.stdout.write(JSON.stringify(measure(settings)));
    return;
  }
  console.log(
    'ids         reads  M/s wall  M/s CPU   p50 ms   p99 ms   max ms  RSS MiB  arrays MiB',
  );
  for (const reads of values.reads.split(',')) {
    for (const ids of values.ids.split(',')) {
      const args = process.argv.slice(2).filter((arg) => !/^--(ids|reads)/.test(arg));
      const command = [import.meta.filename, ...args, `--ids=${ids}`, `--reads=${reads}`, '--one'];
      const output = execFileSync(process.execPath, command, { encoding: 'utf8' });
      print(ids, reads, JSON.parse(output) as Figures);
    }
  }
}

function print(ids: string, reads: string, figures: Figures): void {
  const { p50, p99, max } = figures.batchMs;
  const columns = [
    (figures.perSecondWall / 1e6).toFixed(2).padStart(8),
    (figures.perSecondCpu / 1e6).toFixed(2).padStart(8),
    ...[p50, p99, max].map((ms) => ms.toFixed(2).padStart(8)),
    figures.rssMiB.toFixed(0).padStart(8),
    figures.arrayMiB.toFixed(0).padStart(11),
  ];
  console.log(`${ids.padEnd(11)} ${reads.padEnd(5)} ${columns.join(' ')}`);
  if (figures.checkpointMs === null) return;
  const { cut, slices, root, restore } = figures.checkpointMs;
  const times = { cut, slices, root, restore };
  console.log(`  checkpoint, ms: ${JSON.stringify(times)}`);
}

function measure(settings: Settings): Figures {
  const checksum = createChecksum();
  const ledger = new Ledger({
    checksum,
    ...(settings.reads === 'off' ? { reads: (tables) => new NoReads(tables) } : {}),
  });
  const reply = new Uint8Array(REPLY_BODY_SIZE_MAX);
  let timestamp = 1_750_000_000_000_000_000n;
  let op = 0;
  const apply = (operation: number, body: Uint8Array): void => {
    timestamp += BigInt(ledger.reserve(operation, body)) + 1n;
    ledger.apply({ op: ++op, timestamp: u64FromBigInt(timestamp) }, operation, body, reply);
  };
  for (const body of accountBodies(settings.accounts)) apply(Operation.createAccounts, body);

  const maker = new TransferMaker(settings);
  const times: number[] = [];
  let wallMs = 0;
  let cpuUs = 0;
  for (let done = 0; done < settings.transfers; done += settings.batch) {
    const body = maker.next();
    const cpu = process.cpuUsage();
    const start = performance.now();
    apply(Operation.createTransfers, body);
    const elapsed = performance.now() - start;
    const used = process.cpuUsage(cpu);
    times.push(elapsed);
    wallMs += elapsed;
    cpuUs += used.user + used.system;
  }
  times.sort((a, b) => a - b);
  const quantile = (q: number): number => times[Math.floor((times.length - 1) * q)] as number;
  const events = times.length * settings.batch;
  const memory = process.memoryUsage();
  return {
    perSecondWall: events / (wallMs / 1e3),
    perSecondCpu: events / (cpuUs / 1e6),
    created: ledger.tables.transfers.count,
    batchMs: { p50: quantile(0.5), p99: quantile(0.99), max: quantile(1) },
    rssMiB: memory.rss / 2 ** 20,
    arrayMiB: memory.arrayBuffers / 2 ** 20,
    checkpointMs: settings.checkpoint ? checkpoint(ledger) : null,
  };
}

function accountBodies(count: number): Uint8Array[] {
  const bodies: Uint8Array[] = [];
  for (let first = 1; first <= count; first += 8000) {
    const accounts = Array.from({ length: Math.min(8000, count + 1 - first) }, (_, i) => ({
      ...blankAccount,
      id: BigInt(first + i),
    }));
    bodies.push(encodeMultiBatch([encodeRecords(accountCodec, accounts)], 128));
  }
  return bodies;
}

/** Bodies of random transfers, made in one buffer that is used again. */
class TransferMaker {
  readonly #settings: Settings;
  /** Word 0: the state of a generator (xorshift32) that leaves no garbage behind. */
  readonly #random: Int32Array = Int32Array.of(0x2545f491);
  readonly #body: Uint8Array;
  readonly #words: Uint32Array;
  #made: number = 0;

  constructor(settings: Settings) {
    this.#settings = settings;
    const size = settings.batch * 128;
    this.#body = new Uint8Array(size + trailerSize(1, 128));
    this.#words = new Uint32Array(this.#body.buffer, 0, size / 4);
    writeTrailer(this.#body, size, 128, Uint16Array.of(settings.batch), 1);
  }

  next(): Uint8Array {
    const { batch, kind } = this.#settings;
    this.#words.fill(0);
    for (let i = 0; i < batch; i++) {
      const at = i * RECORD_WORDS;
      this.#setId(at, this.#made);
      if (kind === 'two-phase' && i % 2 === 1) this.#post(at);
      else this.#transfer(at, kind, i < batch - 1 && i % 4 !== 3);
      this.#made++;
    }
    return this.#body;
  }

  #u32(): number {
    let state = this.#random[0] as number;
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    this.#random[0] = state;
    return state >>> 0;
  }

  #setId(at: number, index: number): void {
    const words = this.#words;
    if (this.#settings.ids === 'sequential') {
      words[at] = index + 1;
      return;
    }
    for (let limb = 0; limb < 4; limb++) words[at + limb] = this.#u32();
  }

  #transfer(at: number, kind: string, linked: boolean): void {
    const { accounts } = this.#settings;
    const words = this.#words;
    const debit = this.#u32() % accounts;
    const credit = (debit + 1 + (this.#u32() % (accounts - 1))) % accounts;
    words[at + TransferWord.debitAccountId] = debit + 1;
    words[at + TransferWord.creditAccountId] = credit + 1;
    words[at + TransferWord.amount] = 1 + (this.#u32() % 1000);
    words[at + TransferWord.ledger] = 1;
    let flags = 0;
    if (kind === 'two-phase') {
      flags = TransferFlags.pending;
      words[at + TransferWord.timeout] = 3600;
    } else if (kind === 'linked' && linked) flags = TransferFlags.linked;
    words[at + TransferWord.codeFlags] = 1 | (flags << 16);
  }

  /** Posts the transfer just before it. */
  #post(at: number): void {
    const words = this.#words;
    words.copyWithin(at + TransferWord.pendingId, at - RECORD_WORDS, at - RECORD_WORDS + 4);
    words.fill(0xffff_ffff, at + TransferWord.amount, at + TransferWord.amount + 4);
    words[at + TransferWord.codeFlags] = TransferFlags.post_pending_transfer << 16;
  }
}

function checkpoint(ledger: Ledger): Figures['checkpointMs'] {
  const blocks: Block[] = [];
  const target = new Uint8Array(BLOCK_SIZE_MAX);
  const start = performance.now();
  ledger.cut(1);
  const cut = performance.now();
  for (let block = ledger.slice(target); block !== null; block = ledger.slice(target)) {
    blocks.push({ ...block, bytes: block.bytes.slice() });
  }
  const sliced = performance.now();
  const root = ledger.root();
  const rooted = performance.now();
  const copy = new Ledger({ checksum: createChecksum() });
  for (const block of blocks) copy.restore(block);
  copy.restored();
  const restored = performance.now();
  if (String(copy.root()) !== String(root)) throw new Error('restored ledger has another root');
  return {
    cut: Math.round(cut - start),
    slices: Math.round(sliced - cut),
    root: Math.round(rooted - sliced),
    restore: Math.round(restored - rooted),
  };
}

main();
