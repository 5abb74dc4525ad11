/** Derived blocks: what is cut comes back, whatever happens while it is handed out. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BLOCK_SIZE_MAX, type Block } from '../engine/index.ts';
import { answer, check, encodeQuery, type Query, randomQuery } from './query-test-helper.ts';
import { LedgerReads } from './reads.ts';
import { type FakeTables, History } from './reads-test-helper.ts';

const target = new Uint8Array(BLOCK_SIZE_MAX);

/** What a data file keeps: the latest bytes of every block. */
class Blocks {
  readonly bytes = new Map<string, Block>();
  /** Blocks written, replaced ones included. */
  written: number = 0;

  put(block: Block): void {
    assert.ok(block.kind >= 16 && block.kind <= 127, 'kind');
    assert.ok(block.bytes.length > 0 && block.bytes.length <= BLOCK_SIZE_MAX, 'size');
    this.written += 1;
    this.bytes.set(`${block.kind}/${block.index}`, { ...block, bytes: block.bytes.slice() });
  }

  handOut(reads: LedgerReads): void {
    reads.cut();
    for (let block = reads.slice(target); block !== null; block = reads.slice(target)) {
      this.put(block);
    }
    assert.equal(reads.slice(target), null);
  }

  /** Blocks of account events as words; a page that was stored before it grew ends in zeros. */
  eventWords(): { readonly [name: string]: string } {
    const words: { [name: string]: string } = {};
    for (const [name, { kind, bytes }] of this.bytes) {
      if (kind <= 20) words[name] = new Uint32Array(bytes.buffer).join(' ').replace(/( 0)+$/, '');
    }
    return words;
  }

  restore(tables: FakeTables, segmentRows: number, kinds?: (kind: number) => boolean): LedgerReads {
    const reads = new LedgerReads(tables, { segmentRows });
    const blocks = [...this.bytes.values()].sort((a, b) => a.kind - b.kind || a.index - b.index);
    for (const block of blocks) if (kinds?.(block.kind) ?? true) reads.restore(block);
    reads.restored();
    return reads;
  }
}

test('a restored reading half answers and goes on as the one that was cut', () => {
  for (let seed = 0; seed < 40; seed++) {
    const segmentRows = [2, 8, 64][seed % 3] as number;
    const history = new History({ seed: 7000 + seed, segmentRows, accounts: 3 + (seed % 9) });
    const blocks = new Blocks();
    for (let round = 0; round < 5; round++) {
      for (let i = history.prng.below(30); i > 0; i--) history.step();
      blocks.handOut(history.reads);
      history.tables = history.tables.clone();
      // Every other time some blocks are lost, as when only the tables were sent over.
      const lost = history.prng.between(15, 22);
      const all = history.prng.chance(1, 2);
      const kinds = all ? undefined : (kind: number): boolean => kind !== lost && lost !== 15;
      history.reads = blocks.restore(history.tables, segmentRows, kinds);
      if (!all) blocks.bytes.clear();
      for (let i = 0; i < 4; i++) check(history, randomQuery(history));
      // A half that was restored without blocks has to write all of them.
      blocks.handOut(history.reads);
      const again = blocks.restore(history.tables, segmentRows);
      assert.equal(again.eventCount, history.reads.eventCount);
    }
    for (let i = 0; i < 10; i++) history.step();
    for (let i = 0; i < 10; i++) check(history, randomQuery(history));
  }
});

test('a cut shows one moment though events go on while it is handed out', () => {
  let interleaved = 0;
  for (let seed = 0; seed < 40; seed++) {
    const segmentRows = [2, 8, 64][seed % 3] as number;
    const history = new History({ seed: 8000 + seed, segmentRows, accounts: 3 + (seed % 5) });
    const blocks = new Blocks();
    for (let round = 0; round < 4; round++) {
      for (let i = history.prng.below(40); i > 0; i--) history.step();
      const tables = history.tables.clone();
      const queries: Query[] = Array.from({ length: 8 }, () => randomQuery(history));
      const ask = (reads: LedgerReads): Uint8Array[][] =>
        queries.map((query) => answer(reads, query.operation, encodeQuery(query)));
      for (const query of queries) check(history, query);
      const wanted = ask(history.reads);
      history.reads.cut();
      const steps = (): void => {
        for (let i = history.prng.below(3); i > 0; i--) {
          history.step();
          interleaved += 1;
        }
      };
      for (;;) {
        steps();
        const block = history.reads.slice(target);
        if (block === null) break;
        // Steps between taking a block and writing it: its bytes must not change.
        steps();
        blocks.put(block);
      }
      assert.deepEqual(ask(blocks.restore(tables, segmentRows)), wanted);
      // Stored events are, byte for byte, those of a half that read the tables alone.
      const rebuilt = new Blocks();
      rebuilt.handOut(new Blocks().restore(tables, segmentRows));
      assert.deepEqual(blocks.eventWords(), rebuilt.eventWords());
    }
  }
  assert.ok(interleaved > 500, `only ${interleaved} steps between blocks`);
});

test('only what changed since the last cut is handed out', () => {
  const history = new History({ seed: 1, segmentRows: 64, accounts: 20 });
  const blocks = new Blocks();
  for (let i = 0; i < 100; i++) history.step();
  blocks.handOut(history.reads);
  assert.ok(blocks.written >= 6);
  blocks.written = 0;
  blocks.handOut(history.reads);
  assert.equal(blocks.written, 0);
  history.reads = blocks.restore(history.tables, 64);
  blocks.handOut(history.reads);
  assert.equal(blocks.written, 0);
  history.createAccounts(1);
  blocks.handOut(history.reads);
  assert.equal(blocks.written, 0, 'an account without events has no derived data');
});
