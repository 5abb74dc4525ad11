/** Public objects to bytes and back: round trips of random objects, and the fixtures' requests. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { Prng, toHex } from '../../stdx/index.ts';
import {
  accountBalanceCodec,
  accountCodec,
  accountFilterCodec,
  changeEventCodec,
  changeEventsFilterCodec,
  createAccountResultCodec,
  createTransferResultCodec,
  decodeRecords,
  encodeRecords,
  idCodec,
  queryFilterCodec,
  type RecordCodec,
  transferCodec,
} from './codec.ts';

/** Bytes of a record that must be zero: offset and end. */
function roundTrip<T>(codec: RecordCodec<T>, zeros: readonly [number, number][] = []): void {
  const prng = new Prng(codec.size);
  const bytes = new Uint8Array(codec.size * 20);
  prng.fill(bytes);
  for (let record = 0; record < 20; record++) {
    for (const [from, to] of zeros)
      bytes.fill(0, record * codec.size + from, record * codec.size + to);
  }
  const again = encodeRecords(codec, decodeRecords(codec, bytes));
  assert.equal(toHex(again), toHex(bytes));
}

test('every byte survives decode and encode', () => {
  roundTrip(idCodec);
  roundTrip(accountCodec);
  roundTrip(transferCodec);
  roundTrip(createAccountResultCodec, [[12, 16]]);
  roundTrip(createTransferResultCodec, [[12, 16]]);
  roundTrip(accountFilterCodec, [[46, 104]]);
  roundTrip(queryFilterCodec, [[34, 40]]);
  roundTrip(accountBalanceCodec, [[72, 128]]);
  roundTrip(changeEventsFilterCodec, [[20, 64]]);
  roundTrip(changeEventCodec, [[89, 128]]);
});

test('a transfer as the official client sends it', () => {
  const bytes = encodeRecords(transferCodec, [
    {
      id: 1n,
      debit_account_id: 2n,
      credit_account_id: 3n,
      amount: 1n << 127n,
      pending_id: 0x0102n,
      user_data_128: 4n,
      user_data_64: 5n,
      user_data_32: 6,
      timeout: 7,
      ledger: 8,
      code: 9,
      flags: 0x102,
      timestamp: 10n,
    },
  ]);
  const u128 = (low: string): string => low.padEnd(32, '0');
  const expected = [
    u128('01'),
    u128('02'),
    u128('03'),
    `${u128('').slice(2)}80`,
    u128('0201'),
    u128('04'),
    '0500000000000000',
    '06000000',
    '07000000',
    '08000000',
    '0900',
    '0201',
    '0a00000000000000',
  ].join('');
  assert.equal(toHex(bytes), expected);
});

test('values that do not fit are refused', () => {
  const view = new DataView(new ArrayBuffer(16));
  assert.throws(() => idCodec.encode(view, 1n << 128n));
  assert.throws(() => idCodec.encode(view, -1n));
});
