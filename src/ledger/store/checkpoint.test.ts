/**
 * Checkpoints and the root, under a random workload of everything that changes the ledger: the root
 * against its definition computed the slow way, a cut against the state at its moment while the
 * ledger goes on, and a restored ledger against one that never stopped.
 */
import assert from 'node:assert/strict';
import test from 'node:test';
import { BLOCK_SIZE_MAX } from '../../engine/index.ts';
import { Prng, toHex } from '../../stdx/index.ts';
import { createChecksum } from '../../wire/index.ts';
import { AccountFlags, TransferFlags } from '../format/constants.ts';
import type { Account, Transfer } from '../format/objects.ts';
import {
  BlockStore,
  blankAccount,
  blankTransfer,
  blockTarget,
  LedgerHarness,
  newLedger,
} from '../ledger-test-helper.ts';
import type { Rows } from '../rows.ts';

const checksum = createChecksum();

function mac(bytes: Uint8Array): Uint8Array {
  const target = new Uint8Array(16);
  checksum.digest(bytes, 0, bytes.length, target, 0);
  return target;
}

function concat(parts: Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}

/** The definition: all records in one piece, cut into leaves, hashed bottom up. */
function slowRoot(sections: Map<number, Uint8Array>): string {
  const recordSizes = [128, 128, 1, 16, 32];
  const entries = recordSizes.map((size, index) => {
    const bytes = sections.get(index + 1) ?? new Uint8Array(0);
    const hashes: Uint8Array[] = [];
    for (let at = 0; at < bytes.length; at += BLOCK_SIZE_MAX) {
      hashes.push(mac(bytes.subarray(at, at + BLOCK_SIZE_MAX)));
    }
    const count = new BigUint64Array([BigInt(bytes.length / size)]);
    return concat([new Uint8Array(count.buffer), mac(concat(hashes))]);
  });
  return toHex(mac(concat(entries)));
}

/** Sections 1, 2, 3 and 5 as the tables show them; burned ids are not visible. */
function sectionsOf({ ledger }: LedgerHarness): Map<number, Uint8Array> {
  const { accounts, expiries, transfers } = ledger.tables;
  const bytes = (rows: Rows): Uint8Array =>
    concat(Array.from({ length: rows.leafCount() }, (_, leaf) => rows.leaf(leaf).slice()));
  const statuses = new Uint8Array(transfers.count);
  for (let row = 0; row < statuses.length; row++) statuses[row] = ledger.tables.pendingStatus(row);
  return new Map([
    [1, bytes(accounts)],
    [2, bytes(transfers)],
    [3, statuses],
    [5, bytes(expiries)],
  ]);
}

/** The sections as a checkpoint holds them. */
function sectionsIn(blocks: BlockStore): Map<number, Uint8Array> {
  const sections = new Map<number, Uint8Array>();
  for (const { kind, bytes } of blocks.all()) {
    if (kind <= 5) sections.set(kind, concat([sections.get(kind) ?? new Uint8Array(0), bytes]));
  }
  return sections;
}

class Workload {
  readonly prng: Prng;
  readonly harness: LedgerHarness = new LedgerHarness();
  #accounts: number = 0;
  #transfers: number = 0;

  constructor(seed: number) {
    this.prng = new Prng(seed);
  }

  /** One request of a random kind; returns its results. */
  step(): unknown {
    const { harness, prng } = this;
    harness.clock += BigInt(prng.below(400_000_000));
    if (harness.due() && prng.chance(1, 2)) return harness.pulses();
    if (this.#accounts < 10 || prng.chance(1, 10)) {
      return harness.createAccounts(
        Array.from({ length: prng.between(1, 300) }, () => this.#account()),
      );
    }
    return harness.createTransfers(
      Array.from({ length: prng.between(1, 400) }, () => this.#transfer()),
    );
  }

  #account(): Account {
    const { prng } = this;
    if (prng.chance(9, 10)) this.#accounts++;
    const flags = prng.pick([0, 0, 0, AccountFlags.history, AccountFlags.linked]);
    return { ...blankAccount, id: BigInt(this.#accounts), flags };
  }

  #transfer(): Transfer {
    const { prng } = this;
    if (prng.chance(9, 10)) this.#transfers++;
    const flags = prng.chance(1, 8) ? TransferFlags.linked : 0;
    const base = { ...blankTransfer, id: BigInt(this.#transfers), amount: BigInt(prng.below(99)) };
    const second = prng.pick([0, 0, 0, 0, 4, 8]);
    if (second !== 0) {
      const pending_id = BigInt(Math.max(1, this.#transfers - prng.below(100)));
      return { ...base, pending_id, flags: flags | second, amount: 0n, ledger: 0, code: 0 };
    }
    const sides = {
      debit_account_id: BigInt(prng.below(this.#accounts) + 1),
      // Sometimes an account that does not exist: the id burns.
      credit_account_id: BigInt(prng.below(this.#accounts + 2) + 1),
    };
    if (prng.chance(1, 2)) return { ...base, ...sides, flags };
    return { ...base, ...sides, flags: flags | TransferFlags.pending, timeout: prng.below(6) };
  }
}

test('the root is what its definition says, and so is the content of a checkpoint', () => {
  const empty = new LedgerHarness();
  assert.equal(toHex(empty.ledger.root()), slowRoot(new Map()));
  const workload = new Workload(21);
  const { harness } = workload;
  for (let round = 0; round < 40; round++) {
    for (let i = workload.prng.below(20); i > 0; i--) workload.step();
    const root = toHex(harness.ledger.root());
    harness.cut();
    assert.equal(toHex(harness.ledger.rootOfCut()), root);
    const stored = sectionsIn(harness.blocks);
    const seen = sectionsOf(harness).set(4, stored.get(4) ?? new Uint8Array(0));
    assert.equal(slowRoot(seen), root);
    assert.equal(slowRoot(stored), root);
  }
  assert(harness.ledger.tables.expiries.count > 0);
  assert((sectionsIn(harness.blocks).get(4)?.length ?? 0) > 0);
  assert(harness.ledger.tables.accounts.count > 2048, 'more than one leaf');
  assert(harness.blocks.withChecksum > 100, 'leaf hashes are checksums of blocks');
});

test('only what changed since the last cut is handed out', () => {
  const workload = new Workload(22);
  const { harness } = workload;
  const names = (): string[] => {
    harness.ledger.cut(1);
    const result: string[] = [];
    for (;;) {
      const block = harness.ledger.slice(blockTarget);
      if (block === null) break;
      if (block.kind <= 5) result.push(`${block.kind}/${block.index}`);
    }
    return result;
  };
  while (harness.ledger.tables.accounts.count < 5000) workload.step();
  assert(names().length > 5);
  assert.deepEqual(names(), []);
  harness.createTransfers([
    {
      ...blankTransfer,
      id: 1n << 100n,
      debit_account_id: 1n,
      credit_account_id: 4999n,
      amount: 1n,
    },
  ]);
  const { accounts, transfers } = harness.ledger.tables;
  const lastTransfers = transfers.leafCount() - 1;
  assert(accounts.count > 4999);
  assert.deepEqual(names(), ['1/0', '1/2', `2/${lastTransfers}`, '3/0']);
  assert.deepEqual(names(), []);
});

test('a cut holds the state of its moment, whatever happens while it is handed out', () => {
  const workload = new Workload(23);
  const { harness, prng } = workload;
  const blocks = new BlockStore();
  let ahead = 0;
  for (let round = 0; round < 40; round++) {
    for (let i = prng.below(10); i > 0; i--) workload.step();
    const root = toHex(harness.ledger.root());
    harness.ledger.cut(round);
    for (;;) {
      if (prng.chance(1, 3)) workload.step();
      const block = harness.ledger.slice(blockTarget);
      if (block === null) break;
      const before = block.bytes.slice();
      if (prng.chance(1, 3)) workload.step();
      assert.deepEqual(block.bytes, before, 'a block changed while it was held');
      blocks.put(block);
    }
    assert.equal(toHex(harness.ledger.rootOfCut()), root);
    assert.equal(slowRoot(sectionsIn(blocks)), root);
    assert(blocks.withChecksum > 0);
    const copy = newLedger();
    for (const block of blocks.all()) copy.restore(block);
    copy.restored();
    assert.equal(toHex(copy.root()), root);
    // The next cut leaves these out.
    for (let i = prng.below(12); i > 0; i--) {
      workload.step();
      const block = harness.ledger.sliceAhead(blockTarget);
      if (block === null) continue;
      blocks.put(block);
      ahead++;
    }
  }
  assert(ahead > 5, `${ahead} blocks ahead of their cut`);
});

test('a restored ledger answers like one that never stopped', () => {
  const steady = new Workload(24);
  const restarted = new Workload(24);
  const chance = new Prng(25);
  for (let round = 0; round < 150; round++) {
    assert.deepEqual(restarted.step(), steady.step());
    if (chance.chance(1, 8)) restarted.harness.restart();
    if (chance.chance(1, 8)) restarted.harness.cut();
    if (!chance.chance(1, 10)) continue;
    const root = toHex(steady.harness.ledger.root());
    assert.equal(toHex(restarted.harness.ledger.root()), root);
  }
});
