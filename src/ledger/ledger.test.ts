/** The machine as a whole: full batches, many batches in one body, pulses, reserve and due. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { OPERATION_PULSE, REPLY_BODY_SIZE_MAX } from '../engine/index.ts';
import { u64FromBigInt } from '../stdx/index.ts';
import {
  accountCodec,
  createTransferResultCodec,
  decodeRecords,
  encodeRecords,
  idCodec,
  queryFilterCodec,
  transferCodec,
} from './format/codec.ts';
import { EVENTS_MAX, Operation, PULSE_EXPIRIES_MAX, TransferFlags } from './format/constants.ts';
import { decodeMultiBatch, encodeMultiBatch } from './format/multi-batch.ts';
import type { Transfer } from './format/objects.ts';
import { CreateTransferStatus } from './format/status.ts';
import { blankAccount, blankTransfer, LedgerHarness } from './ledger-test-helper.ts';
import type { Rows } from './rows.ts';

const { created, exists, id_must_not_be_zero, linked_event_failed } = CreateTransferStatus;

function withAccounts(count: number): LedgerHarness {
  const harness = new LedgerHarness();
  const accounts = Array.from({ length: count }, (_, i) => ({
    ...blankAccount,
    id: BigInt(i + 1),
  }));
  harness.createAccounts(accounts);
  return harness;
}

function transfer(id: number, options: Partial<Transfer> = {}): Transfer {
  const sides = { debit_account_id: 1n, credit_account_id: 2n, amount: 1n };
  return { ...blankTransfer, ...sides, id: BigInt(id), ...options };
}

/** How often each status occurs. */
function count(results: { status: number }[]): { [status: number]: number } {
  const counts: { [status: number]: number } = {};
  for (const { status } of results) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

function wordsAt(rows: Rows, row: number, word: number, length: number): Uint32Array {
  const at = rows.baseOf(row) + word;
  return rows.chunkOf(row).slice(at, at + length);
}

test('B12: a full batch that fails in all events', () => {
  const harness = withAccounts(2);
  const results = harness.createTransfers(Array.from({ length: EVENTS_MAX }, () => transfer(0)));
  assert.deepEqual(count(results), { [id_must_not_be_zero]: EVENTS_MAX });
});

test('B12: a full batch of one id', () => {
  const harness = withAccounts(2);
  const results = harness.createTransfers(Array.from({ length: EVENTS_MAX }, () => transfer(7)));
  assert.deepEqual(count(results), { [created]: 1, [exists]: EVENTS_MAX - 1 });
  assert(results.every(({ timestamp }) => timestamp === results[0]?.timestamp));
  assert.equal(harness.lookupAccounts([1n])[0]?.debits_posted, 1n);
});

test('B12: a full batch as one chain, whole and broken by its last event', () => {
  const harness = withAccounts(2);
  const chain = Array.from({ length: EVENTS_MAX }, (_, i) =>
    transfer(i + 1, { flags: i === EVENTS_MAX - 1 ? 0 : TransferFlags.linked }),
  );
  const broken = chain.with(EVENTS_MAX - 1, transfer(0));
  const failed = harness.createTransfers(broken);
  assert.deepEqual(count(failed), {
    [linked_event_failed]: EVENTS_MAX - 1,
    [id_must_not_be_zero]: 1,
  });
  assert.equal(harness.lookupAccounts([1n])[0]?.debits_posted, 0n);
  assert.deepEqual(harness.lookupTransfers(chain.map(({ id }) => id)), []);
  assert.deepEqual(count(harness.createTransfers(chain)), { [created]: EVENTS_MAX });
  assert.equal(harness.lookupAccounts([1n])[0]?.debits_posted, BigInt(EVENTS_MAX));
  harness.restart();
  assert.deepEqual(count(harness.createTransfers(chain)), {
    [exists]: 1,
    [linked_event_failed]: EVENTS_MAX - 1,
  });
});

test('B12: no events, and a lookup of ids that are all missing', () => {
  const harness = withAccounts(2);
  const empty = encodeMultiBatch([new Uint8Array(0)], 128);
  for (const operation of [Operation.createAccounts, Operation.createTransfers]) {
    assert.equal(harness.ledger.reserve(operation, empty), 0);
    const reply = harness.apply(operation, empty);
    assert.deepEqual(reply, encodeMultiBatch([new Uint8Array(0)], 16));
  }
  const ids = Array.from({ length: EVENTS_MAX }, (_, i) => BigInt(i + 1000));
  const body = encodeMultiBatch([encodeRecords(idCodec, ids)], 16);
  const nothing = encodeMultiBatch([new Uint8Array(0)], 128);
  assert.deepEqual(harness.apply(Operation.lookupAccounts, body), nothing);
  assert.deepEqual(harness.apply(Operation.lookupTransfers, body), nothing);
});

test('batches of one body: chains end with them, timestamps go on', () => {
  const harness = withAccounts(2);
  const linked = { flags: TransferFlags.linked };
  const batches = [
    [transfer(1), transfer(2, linked)],
    [],
    [transfer(3), transfer(0)],
    [transfer(4, linked), transfer(0)],
    [transfer(5)],
  ].map((events) => encodeRecords(transferCodec, events));
  const body = encodeMultiBatch(batches, 128);
  assert.equal(harness.ledger.reserve(Operation.createTransfers, body), 7);
  const replies = decodeMultiBatch(harness.apply(Operation.createTransfers, body), 16) ?? [];
  const results = replies.map((reply) => decodeRecords(createTransferResultCodec, reply));
  const expected = [
    [created, CreateTransferStatus.linked_event_chain_open],
    [],
    [created, id_must_not_be_zero],
    [linked_event_failed, id_must_not_be_zero],
    [created],
  ];
  assert.deepEqual(
    results.map((batch) => batch.map(({ status }) => status)),
    expected,
  );
  const first = results[0]?.[0]?.timestamp ?? 0n;
  const timestamps = results.flat().map(({ timestamp }) => Number(timestamp - first));
  assert.deepEqual(timestamps, [0, 1, 2, 3, 4, 5, 6]);
});

test('an import must lie before its own batch, not before the whole body', () => {
  const harness = withAccounts(2);
  harness.clock = 2000n;
  const imported = (id: number, timestamp: bigint): Transfer =>
    transfer(id, { flags: TransferFlags.imported, timestamp });
  const batches = [[imported(1, 2001n)], [imported(2, 2001n)], [imported(3, 2002n)]];
  const body = encodeMultiBatch(
    batches.map((events) => encodeRecords(transferCodec, events)),
    128,
  );
  const replies = decodeMultiBatch(harness.apply(Operation.createTransfers, body), 16) ?? [];
  assert.deepEqual(
    replies.map((reply) => decodeRecords(createTransferResultCodec, reply)[0]?.status),
    [CreateTransferStatus.imported_event_timestamp_must_not_advance, created, created],
  );
});

test('as many empty batches as fit', () => {
  const harness = withAccounts(2);
  const batches = Array.from({ length: 65_000 }, () => new Uint8Array(0));
  const body = encodeMultiBatch(batches, 128);
  assert.equal(harness.ledger.reserve(Operation.createTransfers, body), 0);
  const reply = decodeMultiBatch(harness.apply(Operation.createTransfers, body), 16);
  assert.equal(reply?.length, 65_000);
});

test('more expiries than one pulse may do', () => {
  const harness = withAccounts(2);
  const pending = { flags: TransferFlags.pending, timeout: 1 };
  const total = 20_000;
  for (let start = 0; start < total; start += 5000) {
    const events = Array.from({ length: 5000 }, (_, i) => transfer(start + i + 1, pending));
    assert.deepEqual(count(harness.createTransfers(events)), { [created]: 5000 });
  }
  assert.equal(harness.lookupAccounts([1n])[0]?.debits_pending, BigInt(total));
  harness.clock += 2_000_000_000n;
  const left: bigint[] = [];
  while (harness.due()) {
    assert.equal(harness.ledger.reserve(OPERATION_PULSE, new Uint8Array(0)), PULSE_EXPIRIES_MAX);
    harness.apply(OPERATION_PULSE, new Uint8Array(0));
    left.push(harness.lookupAccounts([1n])[0]?.debits_pending ?? 0n);
  }
  assert.deepEqual(left, [20_000n - 8190n, 20_000n - 2n * 8190n, 0n]);
  const { expiries, transfers } = harness.ledger.tables;
  assert.equal(expiries.count, total);
  // In order of creation, as all have the same timeout; timestamps ascend to the operation's.
  let last = 0n;
  for (let row = 0; row < total; row++) {
    const words = new BigUint64Array(wordsAt(expiries, row, 0, 8).buffer);
    assert((words[0] as bigint) > last);
    last = words[0] as bigint;
    const expired = wordsAt(transfers, row, 30, 2).buffer;
    assert.equal(words[1], new BigUint64Array(expired)[0]);
    assert.equal(words[2], BigInt(total + row));
    assert.equal(words[3], 0n);
    if (row === 8189) assert.equal(last, harness.last - 2n * 8191n);
  }
  assert.equal(last, harness.last);
});

test('expiries around the end of a limb', () => {
  for (const last of [-1n, 0n, 1n, 2n, 3n]) {
    const harness = withAccounts(2);
    const pending = { flags: TransferFlags.pending, timeout: 1 };
    harness.createTransfers([transfer(1, pending), transfer(2, pending), transfer(3, pending)]);
    const timestamp = (5n << 32n) + last;
    const context = { op: 99, timestamp: u64FromBigInt(timestamp) };
    harness.ledger.apply(context, OPERATION_PULSE, new Uint8Array(0), new Uint8Array(0));
    const { expiries } = harness.ledger.tables;
    const times = [0, 1, 2].map((row) => {
      return new BigUint64Array(wordsAt(expiries, row, 0, 2).buffer)[0];
    });
    assert.deepEqual(times, [timestamp - 2n, timestamp - 1n, timestamp]);
  }
});

test('lookups of several batches', () => {
  const harness = withAccounts(3);
  harness.createTransfers([transfer(1), transfer(2), transfer(3)]);
  const batches = [[1n, 9n], [2n, 2n], [], [9n], [3n, 1n]];
  const body = encodeMultiBatch(
    batches.map((ids) => encodeRecords(idCodec, ids)),
    16,
  );
  for (const [operation, codec] of [
    [Operation.lookupAccounts, accountCodec],
    [Operation.lookupTransfers, transferCodec],
  ] as const) {
    const replies = decodeMultiBatch(harness.apply(operation, body), 128) ?? [];
    assert.deepEqual(
      replies.map((reply) => reply.length / 128),
      [1, 2, 0, 0, 2],
    );
    const all = replies.flatMap((reply) => decodeRecords<{ id: bigint }>(codec as never, reply));
    assert.deepEqual(
      all.map(({ id }) => id),
      [1n, 2n, 2n, 3n, 1n],
    );
  }
});

test('queries of several batches', () => {
  const harness = withAccounts(3);
  harness.createTransfers([transfer(1, { code: 5 }), transfer(2, { code: 6 }), transfer(3)]);
  const filter = (code: number, limit: number): Uint8Array =>
    encodeRecords(queryFilterCodec, [
      {
        user_data_128: 0n,
        user_data_64: 0n,
        user_data_32: 0,
        ledger: 0,
        code,
        timestamp_min: 0n,
        timestamp_max: 0n,
        limit,
        flags: 0,
      },
    ]);
  const filters = [filter(5, 9), filter(0, 2), filter(9, 9), filter(0, 0), filter(6, 8000)];
  const body = encodeMultiBatch(filters, 64);
  const replies = decodeMultiBatch(harness.apply(Operation.queryTransfers, body), 128) ?? [];
  assert.deepEqual(
    replies.map((reply) => decodeRecords(transferCodec, reply).map(({ id }) => id)),
    [[1n], [1n, 2n], [], [], [2n]],
  );
});

test('a pulse with nothing to do does nothing', () => {
  const harness = withAccounts(2);
  assert.equal(harness.due(), false);
  const root = harness.ledger.root();
  assert.equal(harness.apply(OPERATION_PULSE, new Uint8Array(0)).length, 0);
  assert.deepEqual(harness.ledger.root(), root);
});

test('bodies and replies may stand anywhere in their buffers', () => {
  const { ledger } = withAccounts(2);
  const buffer = new ArrayBuffer(4096 + 16 + REPLY_BODY_SIZE_MAX);
  const events = encodeMultiBatch([encodeRecords(transferCodec, [transfer(1)])], 128);
  const body = new Uint8Array(buffer, 48, events.length);
  body.set(events);
  const reply = new Uint8Array(buffer, 4096 + 16, REPLY_BODY_SIZE_MAX).fill(0xff);
  const context = { op: 9, timestamp: u64FromBigInt((1n << 32n) + 5n) };
  const size = ledger.apply(context, Operation.createTransfers, body, reply);
  const [batch] = decodeMultiBatch(reply.subarray(0, size), 16) ?? [];
  const expected = [{ timestamp: (1n << 32n) + 5n, status: created }];
  assert.deepEqual(decodeRecords(createTransferResultCodec, batch ?? reply), expected);
});

test('timestamps that cross a limb within one batch', () => {
  const harness = withAccounts(2);
  harness.clock = (1n << 32n) - 3n;
  const results = harness.createTransfers([1, 2, 3, 4, 5].map((id) => transfer(id)));
  const first = (1n << 32n) - 2n;
  assert.deepEqual(
    results.map(({ timestamp }) => timestamp - first),
    [0n, 1n, 2n, 3n, 4n],
  );
  assert.deepEqual(
    harness.lookupTransfers([1n, 2n, 3n, 4n, 5n]).map(({ timestamp }) => timestamp - first),
    [0n, 1n, 2n, 3n, 4n],
  );
  harness.clock = 7n << 32n;
  const account = { ...blankAccount, id: 77n };
  const body = encodeMultiBatch([encodeRecords(accountCodec, [account])], 128);
  harness.apply(Operation.createAccounts, body);
  assert.equal(harness.lookupAccounts([77n])[0]?.timestamp, (7n << 32n) + 1n);
});
