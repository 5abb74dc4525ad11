import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytesEqual, Prng, toHex } from '../stdx/index.ts';
import { aegisStart, fieldDouble, sbox } from './aes-field.ts';
import { CHECKSUM_EMPTY, CHECKSUM_MEMORY_SIZE, type Checksum, createChecksum } from './checksum.ts';
import { checksumKinds, checksumVectors } from './vectors-test-helper.ts';
import { createMemory } from './webassembly.ts';

const counting = (length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => i);

/** Input and MAC, beside the ones of the captured file. */
const table: readonly (readonly [string, Uint8Array, string])[] = [
  ['empty', counting(0), '83cc600dc4e3e7e62d4055826174f149'],
  ['16 zero bytes', new Uint8Array(16), 'f72ad48dd05dd1656133101cd4be3a26'],
  ['00', counting(1), '6e12b8774264fed574e418fe77b706bc'],
  ['00..1e', counting(31), '419e43b0a730e59ecedf48700b4d97ba'],
  ['00..1f', counting(32), '2a7ca5353eba9161dc6c83c36d2e6adb'],
  ['00..20', counting(33), '205dbc4d693090b206092b05c26870c4'],
  ['00..3f', counting(64), 'b4e8e46cee04a401ec67bad73df4aa60'],
  ['00..ef', counting(240), 'cf36208392381922c05b21f99ce8fff6'],
  ['00..ff', counting(256), 'd6ba1c495ca4c976f5d0993644aa9acd'],
  ['256 zero bytes', new Uint8Array(256), '651b82f3ddd4fcbf2deb8496e8ff613c'],
  [
    'body of a register reply',
    Uint8Array.from({ length: 64 }, (_, i) => [0x00, 0xff, 0x0f][i] ?? 0),
    'b5d20e04fd672c08f88ed62b32da1c19',
  ],
];

function mac(checksum: Checksum, bytes: Uint8Array): string {
  const target = new Uint8Array(16);
  checksum.digest(bytes, 0, bytes.length, target, 0);
  return toHex(target);
}

test('every kind can be asked for and reproduces all vectors', () => {
  for (const kind of checksumKinds) {
    const checksum = createChecksum({ kind });
    assert.equal(checksum.kind, kind);
    for (const [name, input, expected] of table) {
      assert.equal(mac(checksum, input), expected, `${kind}: ${name}`);
    }
    for (const { name, input, mac: expected } of checksumVectors) {
      assert.equal(mac(checksum, input), expected, `${kind}: ${name}`);
    }
  }
  assert.equal(toHex(CHECKSUM_EMPTY), table[0]?.[2]);
});

test('without a wish the fastest kind is chosen', () => {
  assert.equal(createChecksum().kind, 'simd');
});

test('one changed bit changes the MAC', () => {
  for (const kind of checksumKinds) {
    const checksum = createChecksum({ kind });
    const bytes = counting(70);
    const seen = new Set([mac(checksum, bytes)]);
    for (let bit = 0; bit < 8 * bytes.length; bit++) {
      bytes[bit >> 3] ^= 1 << (bit & 7);
      seen.add(mac(checksum, bytes));
      bytes[bit >> 3] ^= 1 << (bit & 7);
    }
    assert.equal(seen.size, 8 * bytes.length + 1, kind);
  }
});

test('the length counts, not only the bytes: zeros at the end change the MAC', () => {
  for (const kind of checksumKinds) {
    const checksum = createChecksum({ kind });
    const seen = new Set<string>();
    for (let length = 0; length <= 200; length++) seen.add(mac(checksum, new Uint8Array(length)));
    assert.equal(seen.size, 201, kind);
  }
});

/** AEGIS-128L as its specification reads: bytes, one transformation after the other. */
function naiveMac(input: Uint8Array): string {
  const xor = (a: Uint8Array, b: Uint8Array): Uint8Array => a.map((x, i) => x ^ (b[i] as number));
  const round = (block: Uint8Array, key: Uint8Array): Uint8Array => {
    const shifted = block.map((_, i) => sbox[block[(i + 4 * (i % 4)) % 16] as number] as number);
    const mixed = shifted.map((x, i) => {
      const [y, z, w] = [1, 2, 3].map((n) => shifted[i - (i % 4) + ((i + n) % 4)] as number);
      return (
        fieldDouble(x) ^ fieldDouble(y as number) ^ (y as number) ^ (z as number) ^ (w as number)
      );
    });
    return xor(mixed, key);
  };
  let state: Uint8Array[] = Array.from({ length: 8 }, (_, i) =>
    aegisStart.slice(16 * i, 16 * i + 16),
  );
  const update = (m0: Uint8Array, m1: Uint8Array): void => {
    state = state.map((block, i) => {
      const key = i === 0 ? xor(block, m0) : i === 4 ? xor(block, m1) : block;
      return round(state[(i + 7) % 8] as Uint8Array, key);
    });
  };
  const zero = new Uint8Array(16);
  for (let i = 0; i < 10; i++) update(zero, zero);
  const padded = new Uint8Array(32 * Math.ceil(input.length / 32));
  padded.set(input);
  for (let i = 0; i < padded.length; i += 32) {
    update(padded.slice(i, i + 16), padded.slice(i + 16, i + 32));
  }
  const length = new Uint8Array(16);
  new DataView(length.buffer).setBigUint64(0, BigInt(input.length) * 8n, true);
  const t = xor(length, state[2] as Uint8Array);
  for (let i = 0; i < 7; i++) update(t, t);
  return toHex(state.slice(0, 7).reduce((a, b) => xor(a, b)));
}

test('every kind equals a naive reading of the specification at all short lengths', () => {
  const prng = new Prng(1);
  const kinds = checksumKinds.map((kind) => createChecksum({ kind }));
  for (let length = 0; length <= 130; length++) {
    const input = new Uint8Array(length);
    prng.fill(input);
    const expected = naiveMac(input);
    for (const checksum of kinds) assert.equal(mac(checksum, input), expected, checksum.kind);
  }
});

test('all kinds agree on lengths up to 2 MiB at odd offsets, in place and copied', () => {
  const prng = new Prng(2);
  const memory = createMemory(CHECKSUM_MEMORY_SIZE + 2_097_152 + 65_536);
  const inside = new Uint8Array(memory.buffer, CHECKSUM_MEMORY_SIZE);
  prng.fill(inside);
  const outside = inside.slice();
  const reference = createChecksum({ kind: 'typescript' });
  const others = (['simd', 'scalar'] as const).map((kind) => createChecksum({ kind, memory }));
  const cases: (readonly [number, number])[] = [];
  const edges = [4096, 65_535, 65_536, 65_537, 131_071, 131_072, 1_048_320, 2_097_151, 2_097_152];
  for (const length of edges) cases.push([prng.below(64), length]);
  for (let i = 0; i < 300; i++) cases.push([prng.below(64), prng.below(1 << prng.between(1, 13))]);
  for (let i = 0; i < 8; i++) cases.push([prng.below(64), prng.below(300_000)]);
  const expected = new Uint8Array(16);
  const actual = new Uint8Array(19);
  for (const [offset, length] of cases) {
    reference.digest(outside, offset, length, expected, 0);
    for (const checksum of others) {
      for (const bytes of [inside, outside]) {
        checksum.digest(bytes, offset, length, actual, 3);
        const equal = bytesEqual(actual, 3, expected, 0, 16);
        assert.ok(equal, `${checksum.kind}: ${length} bytes at ${offset}`);
      }
    }
  }
  assert.deepEqual(inside, outside);
});

test('what follows the input, up to the very end of the memory, does not matter', () => {
  for (const kind of checksumKinds) {
    const memory = createMemory(CHECKSUM_MEMORY_SIZE + 65_536);
    const checksum = createChecksum({ kind, memory });
    const all = new Uint8Array(memory.buffer);
    for (let length = 0; length <= 70; length++) {
      for (const gap of [0, 1, 15, 31, 32, 33, 200]) {
        const start = all.length - gap - length;
        all.fill(0xee, start);
        all.set(counting(length), start);
        const target = new Uint8Array(16);
        checksum.digest(all, start, length, target, 0);
        assert.equal(toHex(target), mac(checksum, counting(length)), `${kind} ${length} ${gap}`);
      }
    }
  }
});

test('the target may lie inside the input', () => {
  for (const kind of checksumKinds) {
    const memory = createMemory(CHECKSUM_MEMORY_SIZE + 65_536);
    const checksum = createChecksum({ kind, memory });
    const bytes = new Uint8Array(memory.buffer, CHECKSUM_MEMORY_SIZE, 256);
    bytes.set(counting(256));
    checksum.digest(bytes, 0, 256, bytes, 100);
    assert.equal(toHex(bytes.slice(100, 116)), 'd6ba1c495ca4c976f5d0993644aa9acd', kind);
  }
});

test('two kinds and two memories do not disturb each other', () => {
  const memory = createMemory(CHECKSUM_MEMORY_SIZE + 65_536);
  const all = [
    createChecksum({ kind: 'simd', memory }),
    createChecksum({ kind: 'scalar', memory }),
    createChecksum({ kind: 'simd' }),
    createChecksum({ kind: 'typescript' }),
  ];
  for (let i = 0; i < 3; i++) {
    for (const checksum of all) {
      assert.equal(mac(checksum, counting(240)), 'cf36208392381922c05b21f99ce8fff6');
    }
  }
});

test('ranges outside the bytes are refused', () => {
  for (const kind of checksumKinds) {
    const checksum = createChecksum({ kind });
    const bytes = new Uint8Array(32);
    for (const [offset, length, targetOffset] of [
      [0, 33, 0],
      [33, 0, 0],
      [-1, 4, 0],
      [4, -1, 0],
      [0, 32, 17],
      [0, 32, -1],
    ] as const) {
      assert.throws(() => checksum.digest(bytes, offset, length, bytes, targetOffset), /range/);
    }
  }
});
