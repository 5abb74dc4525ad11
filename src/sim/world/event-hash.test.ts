import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventHash } from './event-hash.ts';

function digest(fold: (hash: EventHash) => void): string {
  const hash = new EventHash();
  fold(hash);
  return hash.digest();
}

test('EventHash has fixed values: the same on every machine and every version of Node', () => {
  assert.equal(
    digest((hash) => {
      hash.integer(-1);
      hash.integer(2 ** 53 - 1);
      hash.text('Roundelay ♪');
      hash.bytes(new Uint8Array([1, 2, 3, 4, 5, 6, 7]));
      hash.event({ type: 'written', token: 7, error: 'no-space' });
      hash.effect({ type: 'timer', timer: 'wake', afterNs: null });
    }),
    'c9dda4817fc6c031',
  );
});

test('EventHash tells apart order, boundaries, zeros and single bits', () => {
  const words = (...values: number[]): string => digest((hash) => values.map((v) => hash.word(v)));
  const seen = new Set([
    words(),
    words(0),
    words(0, 0),
    words(1, 2),
    words(2, 1),
    digest((hash) => hash.bytes(new Uint8Array([1, 0]))),
    digest((hash) => hash.bytes(new Uint8Array([1]))),
    digest((hash) => [hash.text('ab'), hash.text('c')]),
    digest((hash) => [hash.text('a'), hash.text('bc')]),
  ]);
  assert.equal(seen.size, 9);
  // Every single bit of a long input shows in the digest, and no two do so in the same way.
  const input = new Uint8Array(64);
  const digests = new Set([digest((hash) => hash.bytes(input))]);
  for (let bit = 0; bit < 512; bit++) {
    input[bit >> 3]! ^= 1 << (bit & 7);
    digests.add(digest((hash) => hash.bytes(input)));
    input[bit >> 3]! ^= 1 << (bit & 7);
  }
  assert.equal(digests.size, 513);
});

test('EventHash digests spread: no collision among 200,000 neighbours', () => {
  const seen = new Set<string>();
  for (let i = 0; i < 200_000; i++) seen.add(digest((hash) => hash.word(i)));
  assert.equal(seen.size, 200_000);
});
