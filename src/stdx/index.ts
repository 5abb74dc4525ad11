/**
 * stdx: what the language lacks and every room needs. Reading order: `assert` (what a broken
 * belief does), `u64` (why time is two limbs), `bytes`, `prng` (where chance comes from).
 */
export { AssertionError, assert, unreachable } from './assert.ts';
export {
  bytesEqual,
  fromHex,
  isZero,
  readSafeU64,
  readU16,
  readU32,
  readU64,
  toHex,
  writeSafeU64,
  writeU16,
  writeU32,
  writeU64,
} from './bytes.ts';
export { Prng } from './prng.ts';
export {
  type U64,
  U64_ZERO,
  u64,
  u64Add,
  u64Compare,
  u64Difference,
  u64FromBigInt,
  u64FromNumber,
  u64Max,
  u64ToBigInt,
  u64ToNumber,
} from './u64.ts';
