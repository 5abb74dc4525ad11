/** Multi-batch bodies: the worked examples of the protocol, round trips, and what is refused. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { fromHex, Prng, toHex } from '../../stdx/index.ts';
import {
  BATCHES_MAX,
  checkMultiBatch,
  decodeMultiBatch,
  encodeMultiBatch,
  trailerSize,
} from './multi-batch.ts';

const ff = (count: number): string => 'ff'.repeat(count);
const id = (low: string): string => low + '00'.repeat(15);

test('worked examples of the protocol', () => {
  const one = encodeMultiBatch([fromHex(id('65'))], 16);
  assert.equal(toHex(one), `${id('65')}${ff(12)}01000100`);
  const three = encodeMultiBatch(
    [fromHex(id('65') + id('66')), new Uint8Array(0), fromHex(id('67'))],
    16,
  );
  assert.equal(toHex(three), `${id('65')}${id('66')}${id('67')}${ff(8)}0100000002000300`);
  assert.equal(toHex(encodeMultiBatch([new Uint8Array(0)], 128)), `${ff(124)}00000100`);
});

test('trailer sizes', () => {
  const table = [
    [1, 16, 16],
    [7, 16, 16],
    [8, 16, 32],
    [1, 128, 128],
    [63, 128, 128],
    [64, 128, 256],
    [BATCHES_MAX, 16, 131_072],
  ];
  for (const [batches, elementSize, expected] of table) {
    assert.equal(trailerSize(batches, elementSize), expected);
  }
});

test('round trip of random batches', () => {
  const prng = new Prng(1);
  for (let round = 0; round < 300; round++) {
    const elementSize = prng.pick([16, 64, 128]);
    const batches = Array.from({ length: prng.between(1, 40) }, () => {
      const batch = new Uint8Array(prng.below(4) * elementSize);
      prng.fill(batch);
      return batch;
    });
    const body = encodeMultiBatch(batches, elementSize);
    assert.equal(body.length % elementSize, 0);
    assert.deepEqual(decodeMultiBatch(body, elementSize), batches);
  }
});

test('the largest number of batches', () => {
  const none = new Uint8Array(0);
  const body = encodeMultiBatch(
    Array.from({ length: BATCHES_MAX }, () => none),
    16,
  );
  assert.equal(checkMultiBatch(body, 16), BATCHES_MAX);
  const more = new Uint8Array(131_088);
  more.fill(0xff, more.length - 2);
  assert.equal(checkMultiBatch(more, 16), 0);
});

test('refuses what is not well formed', () => {
  const table: [string, string][] = [
    ['empty', ''],
    ['one byte', '01'],
    ['no batch', `${ff(12)}00000000`],
    ['count 65535', ff(16)],
    ['trailer longer than the body', '00000100'],
    ['padding not ff', `${ff(11)}fe00000100`.slice(2)],
    ['count without element', `${ff(12)}01000100`],
    ['element without count', `${id('65')}${ff(12)}00000100`],
    ['torn element', `6500${ff(12)}01000100`],
    ['too much padding', `${ff(28)}00000100`],
  ];
  for (const [name, hex] of table) {
    assert.equal(checkMultiBatch(fromHex(hex), 16), 0, name);
    assert.equal(decodeMultiBatch(fromHex(hex), 16), null, name);
  }
});

test('any one changed byte of a trailer is refused or changes the decoding', () => {
  const body = encodeMultiBatch([new Uint8Array(16), new Uint8Array(32)], 16);
  const original = decodeMultiBatch(body, 16);
  for (let offset = 48; offset < body.length; offset++) {
    const changed = body.slice();
    changed[offset] = (changed[offset] ?? 0) ^ 0x10;
    assert.notDeepEqual(decodeMultiBatch(changed, 16), original);
  }
});
