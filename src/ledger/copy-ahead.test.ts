/**
 * Plain transfers are copied into the table a window at a time, before it is known which of them
 * are created. Whatever fails in between, and wherever a chunk of the table ends, each transfer
 * must be stored as it came.
 */
import assert from 'node:assert/strict';
import test from 'node:test';
import { EVENTS_MAX, TransferFlags } from './format/constants.ts';
import type { Transfer } from './format/objects.ts';
import { CreateTransferStatus } from './format/status.ts';
import { blankAccount, blankTransfer, LedgerHarness } from './ledger-test-helper.ts';

const { created, debit_account_not_found, id_must_not_be_zero, linked_event_failed } =
  CreateTransferStatus;

/** Events of the batch under test: more than two windows. */
const COUNT = 600;

/** What the event at `index` is: it has something of its own in every field that may differ. */
function transfer(id: number, options: Partial<Transfer> = {}): Transfer {
  return {
    ...blankTransfer,
    id: (BigInt(id) << 96n) + BigInt(id),
    debit_account_id: 1n + BigInt(id % 2),
    credit_account_id: 2n - BigInt(id % 2),
    amount: BigInt(id % 97),
    user_data_128: BigInt(id) << 64n,
    user_data_64: BigInt(id) << 16n,
    user_data_32: id,
    code: 1 + (id % 60_000),
    ...options,
  };
}

/** A ledger with `rows` transfers, in batches as large as they may be. */
function withTransfers(rows: number): LedgerHarness {
  const harness = new LedgerHarness();
  harness.createAccounts([
    { ...blankAccount, id: 1n },
    { ...blankAccount, id: 2n },
  ]);
  for (let start = 0; start < rows; start += EVENTS_MAX) {
    const length = Math.min(EVENTS_MAX, rows - start);
    harness.createTransfers(Array.from({ length }, (_, i) => transfer(start + i + 1)));
  }
  assert.equal(harness.ledger.tables.transfers.count, rows);
  return harness;
}

type Event = readonly [Transfer, number];

/** How the events of a batch come about, with the status that each must get. */
const batches: { readonly [name: string]: (index: number, id: number) => Event } = {
  'all created': (_, id) => [transfer(id), created],
  'the first fails': (index, id) =>
    index === 0 ? [transfer(id, { id: 0n }), id_must_not_be_zero] : [transfer(id), created],
  'every seventh fails': (index, id) =>
    index % 7 === 3 ? [transfer(id, { id: 0n }), id_must_not_be_zero] : [transfer(id), created],
  'failures burn ids': (index, id) =>
    index % 50 === 49
      ? [transfer(id, { debit_account_id: 9n, credit_account_id: 1n }), debit_account_not_found]
      : [transfer(id), created],
  'pending ones in between': (index, id) => [
    transfer(id, index % 5 === 2 ? { flags: TransferFlags.pending, timeout: id } : {}),
    created,
  ],
  'chains of four, every other broken by its last': (index, id) => {
    if (index % 20 < 12 || index % 20 >= 16) return [transfer(id), created];
    const isBroken = index % 40 >= 20;
    if (index % 20 < 15) {
      const event = transfer(id, { flags: TransferFlags.linked });
      return [event, isBroken ? linked_event_failed : created];
    }
    return isBroken ? [transfer(id, { id: 0n }), id_must_not_be_zero] : [transfer(id), created];
  },
};

function check(rows: number, name: string, make: (index: number, id: number) => Event): void {
  const harness = withTransfers(rows);
  const events = Array.from({ length: COUNT }, (_, i) => make(i, rows + i + 1));
  const results = harness.createTransfers(events.map(([event]) => event));
  const where = `${name}, from row ${rows} on`;
  assert.deepEqual(
    results.map(({ status }) => status),
    events.map(([, status]) => status),
    where,
  );
  const expected = events.flatMap(([event, status], i) =>
    status === created ? [{ ...event, timestamp: results[i]?.timestamp }] : [],
  );
  const ids = events.map(([{ id }]) => id);
  assert.deepEqual(harness.lookupTransfers(ids), expected, where);
  // And by position: the rows follow each other, without a gap.
  const { transfers } = harness.ledger.tables;
  assert.equal(transfers.count, rows + expected.length, where);
  for (const [i, event] of expected.entries()) {
    const at = transfers.baseOf(rows + i);
    const low = transfers.chunkOf(rows + i)[at];
    assert.equal(BigInt(low as number), event.id & 0xffff_ffffn, where);
  }
  harness.restart();
  assert.deepEqual(harness.lookupTransfers(ids), expected, `${where}, restored`);
}

test('each transfer is stored as it came, whatever fails before it', () => {
  for (const [name, make] of Object.entries(batches)) check(0, name, make);
});

test('each transfer is stored as it came where a chunk of the table ends', () => {
  const rowsPerChunk = new LedgerHarness().ledger.tables.transfers.rowMask + 1;
  assert.equal(rowsPerChunk, 16_384);
  // The chunk ends before, within, and at the end of a window.
  for (const left of [0, 1, 100, 256, 300]) {
    for (const [name, make] of Object.entries(batches)) check(rowsPerChunk - left, name, make);
  }
});
