/** Admission of bodies: limits at both ends of the request limit, and bytes that mean nothing. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { REPLY_BODY_SIZE_MAX } from '../../engine/index.ts';
import { Prng, writeU32 } from '../../stdx/index.ts';
import { Operation } from './constants.ts';
import { encodeMultiBatch } from './multi-batch.ts';
import { eventsMax, operationShape, validate } from './validate.ts';

const FULL = REPLY_BODY_SIZE_MAX;

/** A body with batches of so many zeroed events. */
function zeros(operation: number, counts: number[]): Uint8Array {
  const size = operationShape(operation)?.eventSize ?? 0;
  return encodeMultiBatch(
    counts.map((count) => new Uint8Array(count * size)),
    size,
  );
}

/** A query body with one filter for each limit. */
function filters(operation: number, limits: number[]): Uint8Array {
  const shape = operationShape(operation);
  assert(shape);
  const batches = limits.map((limit) => {
    const filter = new Uint8Array(shape.eventSize);
    writeU32(filter, shape.limitOffset, limit);
    return filter;
  });
  return encodeMultiBatch(batches, shape.eventSize);
}

test('only operations of 0.17 clients exist', () => {
  const known = [137, 140, 141, 142, 143, 144, 145, 146, 147];
  for (let operation = 128; operation < 256; operation++) {
    const expected = known.includes(operation) ? 'invalid-body' : 'invalid-operation';
    assert.equal(validate(operation, new Uint8Array(0), FULL), expected, `${operation}`);
  }
});

test('events per batch follow from the request limit', () => {
  const table: [number, number, number][] = [
    [Operation.createAccounts, FULL, 8189],
    [Operation.createTransfers, FULL, 8189],
    [Operation.lookupAccounts, FULL, 8189],
    [Operation.createTransfers, 4096, 31],
    [Operation.lookupTransfers, 4096, 255],
  ];
  for (const [operation, bodySizeMax, expected] of table) {
    const shape = operationShape(operation);
    assert(shape);
    assert.equal(eventsMax(shape, bodySizeMax), expected);
    assert.equal(validate(operation, zeros(operation, [expected]), bodySizeMax), 'valid');
    const tooMany = zeros(operation, [expected + 1]);
    assert.equal(validate(operation, tooMany, bodySizeMax), 'invalid-body');
  }
});

test('zero events are a request, an empty body is not', () => {
  assert.equal(validate(Operation.createTransfers, zeros(147, [0]), FULL), 'valid');
  assert.equal(validate(Operation.createTransfers, new Uint8Array(0), FULL), 'invalid-body');
});

test('the worst-case reply of all batches must fit', () => {
  const lookup = Operation.lookupAccounts;
  assert.equal(validate(lookup, zeros(lookup, [4000, 4189]), FULL), 'valid');
  assert.equal(validate(lookup, zeros(lookup, [4000, 4190]), FULL), 'invalid-body');
  const query = Operation.queryTransfers;
  assert.equal(validate(query, filters(query, [8189]), FULL), 'valid');
  assert.equal(validate(query, filters(query, [0xffff_ffff]), FULL), 'valid', 'limit is capped');
  assert.equal(validate(query, filters(query, [8188, 1]), FULL), 'valid');
  assert.equal(validate(query, filters(query, [8189, 1]), FULL), 'invalid-body');
  assert.equal(validate(query, filters(query, [8189, 0]), FULL), 'valid', 'limit 0 adds nothing');
});

test('queries have exactly one filter per batch', () => {
  for (const operation of [142, 143, 144, 145]) {
    assert.equal(validate(operation, zeros(operation, [1]), FULL), 'valid');
    assert.equal(validate(operation, zeros(operation, [1, 1, 1]), FULL), 'valid');
    assert.equal(validate(operation, zeros(operation, [0]), FULL), 'invalid-body');
    assert.equal(validate(operation, zeros(operation, [1, 2]), FULL), 'invalid-body');
  }
  for (const [size, expected] of [
    [0, 'invalid-body'],
    [63, 'invalid-body'],
    [64, 'valid'],
    [128, 'invalid-body'],
  ] as const) {
    assert.equal(validate(Operation.getChangeEvents, new Uint8Array(size), FULL), expected);
  }
});

test('random bytes never throw', () => {
  const prng = new Prng(7);
  let valid = 0;
  for (let round = 0; round < 20_000; round++) {
    const body = new Uint8Array(prng.chance(1, 4) ? prng.below(600) : 64 * prng.below(8));
    prng.fill(body);
    if (prng.chance(1, 2)) body.fill(0xff, Math.max(0, body.length - 128));
    if (body.length >= 4) writeU32(body, body.length - 4, prng.below(4) | (prng.below(2) << 16));
    if (validate(prng.between(136, 148), body, prng.below(2000)) === 'valid') valid++;
  }
  assert(valid > 0);
});
