/**
 * AEGIS-128L as a MAC in plain TypeScript: the reference that the WebAssembly versions are compared
 * with, and the last resort where they do not run. Key and nonce are zero and the message is the
 * associated data, so the state after the initial rounds is a constant. One AES round of a column
 * is four table lookups (S-box, row shift and column mix in one).
 */
import { assert } from '../stdx/index.ts';
import {
  AEGIS_RATE,
  AEGIS_ROUNDS_FINAL,
  AEGIS_ROUNDS_INITIAL,
  aegisStart,
  fieldDouble,
  sbox,
} from './aes-field.ts';

/** Four tables of 256 words: entry x of table r is what byte x in row r adds to its column. */
export const roundTables: Int32Array = (() => {
  const tables = new Int32Array(1024);
  for (let x = 0; x < 256; x++) {
    const s = sbox[x];
    const double = fieldDouble(s);
    const column = double | (s << 8) | (s << 16) | ((double ^ s) << 24);
    for (let row = 0; row < 4; row++) {
      tables[256 * row + x] =
        row === 0 ? column : (column << (8 * row)) | (column >>> (32 - 8 * row));
    }
  }
  return tables;
})();

const table0 = roundTables.subarray(0, 256);
const table1 = roundTables.subarray(256, 512);
const table2 = roundTables.subarray(512, 768);
const table3 = roundTables.subarray(768, 1024);

/** The state after the ten initial rounds: 32 little-endian words, block by block. */
export const aegisSeed: Int32Array = (() => {
  const state = new Int32Array(32);
  for (let i = 0; i < 32; i++) state[i] = readWord(aegisStart, 4 * i);
  const zero = new Int32Array(8);
  for (let i = 0; i < AEGIS_ROUNDS_INITIAL; i++) update(state, zero);
  return state;
})();

const state = new Int32Array(32);
const block = new Int32Array(8);
const padded = new Uint8Array(AEGIS_RATE);

/** Writes the 16-byte MAC of `bytes[offset, offset + length)` to `target[targetOffset, + 16)`. */
export function digestTypescript(
  bytes: Uint8Array,
  offset: number,
  length: number,
  target: Uint8Array,
  targetOffset: number,
): void {
  assert(offset >= 0 && length >= 0 && offset + length <= bytes.length, 'digest: out of range');
  assert(targetOffset >= 0 && targetOffset + 16 <= target.length, 'digest: target out of range');
  state.set(aegisSeed);
  const end = offset + length;
  let position = offset;
  for (; position + AEGIS_RATE <= end; position += AEGIS_RATE) absorb(bytes, position);
  if (position < end) {
    padded.fill(0);
    for (let i = 0; position + i < end; i++) padded[i] = bytes[position + i];
    absorb(padded, 0);
  }
  finish(length, target, targetOffset);
}

function absorb(bytes: Uint8Array, offset: number): void {
  for (let i = 0; i < 8; i++) block[i] = readWord(bytes, offset + 4 * i);
  update(state, block);
}

function finish(length: number, target: Uint8Array, targetOffset: number): void {
  const bits = length * 8;
  block[0] = bits ^ state[8];
  block[1] = Math.floor(bits / 0x1_0000_0000) ^ state[9];
  block[2] = state[10];
  block[3] = state[11];
  block.copyWithin(4, 0, 4);
  for (let i = 0; i < AEGIS_ROUNDS_FINAL; i++) update(state, block);
  for (let i = 0; i < 4; i++) {
    let word = 0;
    for (let j = 0; j < 7; j++) word ^= state[4 * j + i];
    for (let j = 0; j < 4; j++) target[targetOffset + 4 * i + j] = word >>> (8 * j);
  }
}

/**
 * One update with the two message blocks in `m`. Downwards, so that no old block is needed twice.
 */
function update(s: Int32Array, m: Int32Array): void {
  const last0 = s[28];
  const last1 = s[29];
  const last2 = s[30];
  const last3 = s[31];
  for (let i = 28; i > 0; i -= 4) mixRound(s, i, s[i - 4], s[i - 3], s[i - 2], s[i - 1]);
  mixRound(s, 0, last0, last1, last2, last3);
  for (let i = 0; i < 4; i++) {
    s[i] ^= m[i];
    s[16 + i] ^= m[4 + i];
  }
}

/** Adds one AES round of the block (a, b, c, d) to the block at word `i`. */
function mixRound(s: Int32Array, i: number, a: number, b: number, c: number, d: number): void {
  s[i] ^= mixColumn(a, b, c, d);
  s[i + 1] ^= mixColumn(b, c, d, a);
  s[i + 2] ^= mixColumn(c, d, a, b);
  s[i + 3] ^= mixColumn(d, a, b, c);
}

function mixColumn(a: number, b: number, c: number, d: number): number {
  return table0[a & 0xff] ^ table1[(b >>> 8) & 0xff] ^ table2[(c >>> 16) & 0xff] ^ table3[d >>> 24];
}

function readWord(bytes: Uint8Array, i: number): number {
  return bytes[i] | (bytes[i + 1] << 8) | (bytes[i + 2] << 16) | (bytes[i + 3] << 24);
}
