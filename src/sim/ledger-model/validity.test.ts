import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromHex, Prng, toHex, writeU32 } from '../../stdx/index.ts';
import {
  decodeAccount,
  decodeBatches,
  decodeTransfer,
  encodeAccount,
  encodeBatches,
  encodeTransfer,
  LedgerModel,
  Operation,
  operationShapes,
  trailerSize,
} from './index.ts';

const REQUEST_MAX = 1_048_320;
const model = new LedgerModel();

/** A body of batches with so many zero events each. */
function bodyOf(operation: number, ...counts: number[]): Uint8Array {
  const { eventSize } = operationShapes.get(operation) ?? assert.fail('unknown operation');
  return encodeBatches(
    counts.map((count) => new Uint8Array(count * eventSize)),
    eventSize,
  );
}

/** A query body with one filter per limit. */
function queryOf(operation: number, ...limits: number[]): Uint8Array {
  const body = bodyOf(operation, ...limits.map(() => 1));
  const { eventSize } = operationShapes.get(operation) ?? assert.fail('unknown operation');
  const at = eventSize === 128 ? 120 : 56;
  for (const [index, limit] of limits.entries()) writeU32(body, index * eventSize + at, limit);
  return body;
}

test('trailers are the smallest multiple of the element size', () => {
  const table: readonly (readonly [number, number, number])[] = [
    [1, 16, 16],
    [7, 16, 16],
    [8, 16, 32],
    [1, 128, 128],
    [63, 128, 128],
    [64, 128, 256],
  ];
  for (const [count, size, expected] of table) assert.equal(trailerSize(count, size), expected);
});

test('batches of two, none and one, as an official client sends them', () => {
  const id = (n: string): string => n.padEnd(32, '0');
  const body = fromHex(`${id('65')}${id('66')}${id('67')}ffffffffffffffff0100000002000300`);
  const batches = decodeBatches(body, 16) ?? assert.fail('malformed');
  assert.deepEqual(
    batches.map((batch) => batch.length),
    [32, 0, 16],
  );
  assert.equal(toHex(encodeBatches(batches, 16)), toHex(body));
});

test('a trailer that is not exactly right is refused', () => {
  const good = 'ffffffffffffffffffffffff00000100';
  assert.equal(decodeBatches(fromHex(good), 16)?.length, 1);
  const table = [
    '',
    '00',
    '0100',
    'ffffffffffffffffffffffff00000000',
    'ffffffffffffffffffffffffffff0000',
    'ffffffffffffffffffffffffffffffff',
    'ffffffffffffffffffffffff0000ffff',
    'ffffffffffffffffffffffff01000100',
    'ffffffffff00ffffffffffff00000100',
    'feffffffffffffffffffffff00000100',
    'ffffffffffffffffffffffff00000200',
    `${good}ff`,
    `00${good}`,
    `${'00'.repeat(16)}${good}`,
  ];
  for (const hex of table) assert.equal(decodeBatches(fromHex(hex), 16), null, hex);
});

test('there are 1 to 65534 batches', () => {
  for (const count of [65_534, 65_535]) {
    const body = new Uint8Array(trailerSize(count, 16)).fill(0xff);
    body.fill(0, body.length - 2 * count - 2);
    body.set([count & 0xff, count >> 8], body.length - 2);
    assert.equal(decodeBatches(body, 16)?.length ?? null, count === 65_534 ? count : null);
  }
});

test('a batch holds as many events as request and reply have room for', () => {
  const table: readonly (readonly [number, number, number])[] = [
    [Operation.createTransfers, REQUEST_MAX, 8189],
    [Operation.lookupAccounts, REQUEST_MAX, 8189],
    [Operation.createAccounts, 4096, 31],
    [Operation.lookupTransfers, 4096, 255],
  ];
  for (const [operation, bodySizeMax, most] of table) {
    assert.equal(model.validate(operation, bodyOf(operation, most), bodySizeMax), 'valid');
    const more = bodyOf(operation, most + 1);
    assert.equal(model.validate(operation, more, bodySizeMax), 'invalid-body');
  }
});

test('a query carries one filter per batch, and its limits must fit into the reply', () => {
  const { queryAccounts, getAccountTransfers } = Operation;
  const table: readonly (readonly [Uint8Array, number, string])[] = [
    [queryOf(queryAccounts, 8189), queryAccounts, 'valid'],
    [queryOf(queryAccounts, 0xffff_ffff), queryAccounts, 'valid'],
    [queryOf(queryAccounts, 4000, 4189), queryAccounts, 'valid'],
    [queryOf(queryAccounts, 4000, 4190), queryAccounts, 'invalid-body'],
    [queryOf(queryAccounts, 0xffff_ffff, 0), queryAccounts, 'valid'],
    [queryOf(queryAccounts, 0xffff_ffff, 1), queryAccounts, 'invalid-body'],
    [queryOf(getAccountTransfers, 8189), getAccountTransfers, 'valid'],
    [queryOf(getAccountTransfers, 8189, 1), getAccountTransfers, 'invalid-body'],
    [bodyOf(queryAccounts, 0), queryAccounts, 'invalid-body'],
    [bodyOf(queryAccounts, 2), queryAccounts, 'invalid-body'],
    [new Uint8Array(64), Operation.getChangeEvents, 'valid'],
    [new Uint8Array(128), Operation.getChangeEvents, 'invalid-body'],
    [new Uint8Array(0), Operation.getChangeEvents, 'invalid-body'],
  ];
  for (const [body, operation, verdict] of table) {
    assert.equal(model.validate(operation, body, REQUEST_MAX), verdict);
  }
});

test('only creating uses up timestamps, one per event of all batches', () => {
  assert.equal(
    model.reserve(Operation.createTransfers, bodyOf(Operation.createTransfers, 3, 0, 4)),
    7,
  );
  assert.equal(model.reserve(Operation.createAccounts, bodyOf(Operation.createAccounts, 0)), 0);
  assert.equal(model.reserve(Operation.lookupAccounts, bodyOf(Operation.lookupAccounts, 5)), 0);
  assert.equal(model.reserve(4, new Uint8Array(0)), 8190);
});

test('structures survive decoding and encoding', () => {
  const prng = new Prng(5);
  const bytes = new Uint8Array(128);
  for (let i = 0; i < 200; i++) {
    prng.fill(bytes);
    assert.deepEqual(encodeAccount(decodeAccount(bytes)), bytes);
    assert.deepEqual(encodeTransfer(decodeTransfer(bytes)), bytes);
  }
});
