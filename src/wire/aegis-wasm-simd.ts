/**
 * AEGIS-128L with relaxed-SIMD WebAssembly: the fastest version without native code. The whole
 * state stays in the tower-field basis (see `tower-field`), which is possible because AEGIS as a
 * MAC uses nothing but additions and AES rounds: message blocks enter the basis with two lookups,
 * the tag leaves it with two.
 *
 * Block i of the state is kept with its rows rotated as if ShiftRows had been undone i times. A
 * round from block i − 1 to block i then needs no ShiftRows at all: the rotations are absorbed into
 * the permutations of MixColumns (different ones for each i mod 4), and eight blocks later they
 * have come full circle. That leaves 12 lookups and permutations for a round instead of 13, and one
 * addition less: 1.56 instead of 1.43 GB/s where this was measured.
 *
 * All indices are below 16 or at least 0x80, where relaxed swizzle does the same everywhere. Tables
 * are loaded into locals because V8 would rebuild vector constants at every use.
 */
import { assert } from '../stdx/index.ts';
import { type AegisParts, emitAegis, Layout, Local, xorLength } from './aegis-layout.ts';
import { aegisSeed } from './aegis-typescript.ts';
import { makeTowerTables } from './tower-field.ts';
import { type Code, ValueType } from './wasm-emit.ts';

const BLOCKS = 8;

/** Vector locals. */
const state = (block: number): number => Local.free + block;
const temporary = (n: number): number => Local.free + BLOCKS + n;
const TEMPORARIES = 8;
const constant = (slot: number): number => Local.free + BLOCKS + TEMPORARIES + slot;

/** Slots of 16 bytes from `Layout.simdTables` on; the first `CONSTANTS` are kept in locals. */
const Slot = {
  nibbleMask: 0,
  inverse: 1,
  inverseA: 2,
  outputI: 3,
  outputJ: 4,
  doubleI: 5,
  doubleJ: 6,
  sboxConstant: 7,
  /** The S-box constant is folded in: each message block meets exactly one round. */
  enterLow: 8,
  enterHigh: 9,
  /** MixColumns: rows one (three) further down, for blocks 0 … 3 mod 4. */
  rowNext: 10,
  rowPrevious: 14,
  leaveLow: 18,
  leaveHigh: 19,
  /** ShiftRows done 0 … 3 times. */
  shiftRows: 20,
} as const;
const CONSTANTS = 18;
const SLOTS = 24;

/** Index of a byte: columns of four rows. */
function at(row: number, column: number): number {
  return 4 * (column & 3) + (row & 3);
}

function permutation(source: (row: number, column: number) => number): Uint8Array {
  return Uint8Array.from({ length: 16 }, (_, i) => source(i & 3, i >> 2));
}

/** ShiftRows done `times` times, −3 … 3. */
function shiftRows(times: number): Uint8Array {
  return permutation((row, column) => at(row, column + times * row));
}

let image: Uint8Array | null = null;

/** Writes the seed and the tables into a memory. */
export function writeSimdTables(memory: Uint8Array): void {
  image ??= makeImage();
  memory.set(image, Layout.simdSeed);
}

/** Seed and tables as they lie in the memory, from `Layout.simdSeed` on. */
function makeImage(): Uint8Array {
  const tower = makeTowerTables();
  const bytes = new Uint8Array(Layout.simdTables - Layout.simdSeed + 16 * SLOTS);
  const put = (slot: number, table: Uint8Array): void => {
    assert(table.length === 16 && slot < SLOTS, 'makeImage: bad table');
    bytes.set(table, Layout.simdTables - Layout.simdSeed + 16 * slot);
  };
  put(Slot.nibbleMask, new Uint8Array(16).fill(0x0f));
  put(Slot.inverse, tower.inverse);
  put(Slot.inverseA, tower.inverseA);
  put(Slot.outputI, tower.outputI);
  put(Slot.outputJ, tower.outputJ);
  put(Slot.doubleI, tower.doubleI);
  put(Slot.doubleJ, tower.doubleJ);
  put(Slot.sboxConstant, new Uint8Array(16).fill(tower.constant));
  put(
    Slot.enterLow,
    tower.enterLow.map((x) => x ^ tower.constant),
  );
  put(Slot.enterHigh, tower.enterHigh);
  put(Slot.leaveLow, tower.leaveLow);
  put(Slot.leaveHigh, tower.leaveHigh);
  for (let i = 0; i < 4; i++) {
    put(
      Slot.rowNext + i,
      permutation((row, column) => at(row + 1, column + i)),
    );
    put(
      Slot.rowPrevious + i,
      permutation((row, column) => at(row + 3, column + 3 * i)),
    );
    put(Slot.shiftRows + i, shiftRows(i));
  }
  const seed = new Uint8Array(aegisSeed.buffer);
  for (let block = 0; block < BLOCKS; block++) {
    const back = shiftRows(-(block % 4));
    for (let i = 0; i < 16; i++) {
      const x = seed[16 * block + back[i]];
      bytes[16 * block + i] = tower.enterLow[x & 15] ^ tower.enterHigh[x >> 4];
    }
  }
  return bytes;
}

/** The module's bytes. */
export function emitSimd(): Uint8Array {
  const vectors = BLOCKS + TEMPORARIES + CONSTANTS;
  const parts: AegisParts = {
    locals: [{ count: vectors, type: ValueType.v128 }],
    loadState,
    storeState,
    update,
    padRest,
    lengthBlock,
    tag,
  };
  return emitAegis(parts);
}

function loadState(code: Code): void {
  for (let block = 0; block < BLOCKS; block++) {
    code
      .get(Local.from)
      .vectorLoad(16 * block)
      .set(state(block));
  }
  for (let slot = 0; slot < CONSTANTS; slot++) {
    code
      .constant(0)
      .vectorLoad(Layout.simdTables + 16 * slot)
      .set(constant(slot));
  }
}

function storeState(code: Code): void {
  for (let block = 0; block < BLOCKS; block++) {
    code
      .constant(0)
      .get(state(block))
      .vectorStore(Layout.state + 16 * block);
  }
}

/** Downwards, so that only the last block's old value has to be kept aside. */
function update(code: Code): void {
  const last = temporary(7);
  code.get(state(BLOCKS - 1)).set(last);
  for (let block = BLOCKS - 1; block >= 0; block--) {
    round(code, block === 0 ? last : state(block - 1), block);
    if (block % 4 === 0) message(code, 4 * block);
    else code.get(constant(Slot.sboxConstant));
    code.vectorXor().set(state(block));
  }
}

/** Pushes the block at `pointer` + offset in the tower basis, plus the S-box constant. */
function message(code: Code, offset: number): void {
  const [low, high] = [temporary(0), temporary(1)];
  code.get(Local.pointer).vectorLoad(offset).set(high);
  splitNibbles(code, high, low, high);
  lookUp(code, Slot.enterLow, low);
  lookUp(code, Slot.enterHigh, high);
  code.vectorXor();
}

/** Pushes the target block plus one AES round of `source`, but for the S-box constant. */
function round(code: Code, source: number, target: number): void {
  const [k, i, j, ak, io, jo] = [0, 1, 2, 3, 4, 5].map(temporary) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  splitNibbles(code, source, k, i);
  code.get(k).get(i).vectorXor().set(j);
  lookUp(code, Slot.inverseA, k);
  code.set(ak);
  lookUp(code, Slot.inverse, i);
  code.get(ak).vectorXor().set(io);
  lookUp(code, Slot.inverse, j);
  code.get(ak).vectorXor().set(jo);
  lookUp(code, Slot.inverse, io);
  code.get(j).vectorXor().set(io);
  lookUp(code, Slot.inverse, jo);
  code.get(i).vectorXor().set(jo);
  mixColumns(code, io, jo, target);
}

/**
 * With s the S-box's output: t = 2·s + (next row of s); the new column is t + (next row of t) +
 * (previous row of s), which is the 2, 3, 1, 1 of MixColumns.
 */
function mixColumns(code: Code, io: number, jo: number, target: number): void {
  const [s, t] = [temporary(0), temporary(1)];
  const next = constant(Slot.rowNext + (target % 4));
  const previous = constant(Slot.rowPrevious + (target % 4));
  lookUp(code, Slot.outputI, io);
  lookUp(code, Slot.outputJ, jo);
  code.vectorXor().set(s);
  lookUp(code, Slot.doubleI, io);
  lookUp(code, Slot.doubleJ, jo);
  code.vectorXor().get(s).get(next).relaxedSwizzle().vectorXor().set(t);
  code.get(state(target)).get(t).vectorXor();
  code.get(t).get(next).relaxedSwizzle().vectorXor();
  code.get(s).get(previous).relaxedSwizzle().vectorXor();
}

/** There is no shift of bytes: the low halves are cleared first, then whole words are shifted. */
function splitNibbles(code: Code, source: number, low: number, high: number): void {
  assert(low !== source, 'splitNibbles: source is overwritten too early');
  code.get(source).get(constant(Slot.nibbleMask)).vectorAnd().set(low);
  code.get(source).get(low).vectorXor().constant(4).vectorShiftRight().set(high);
}

function lookUp(code: Code, slot: number, index: number): void {
  assert(slot < CONSTANTS, 'lookUp: not in a local');
  code.get(constant(slot)).get(index).relaxedSwizzle();
}

function padRest(code: Code): void {
  for (const offset of [0, 16]) {
    code.constant(0);
    code.get(Local.pointer).vectorLoad(offset);
    code
      .constant(Layout.masks + 32)
      .get(Local.rest)
      .sub()
      .vectorLoad(offset);
    code.vectorAnd().vectorStore(Layout.pad + offset);
  }
}

function lengthBlock(code: Code): void {
  const block = temporary(2);
  pushShifted(code, 2);
  leave(code);
  code.set(block);
  for (const offset of [0, 16])
    code
      .constant(0)
      .get(block)
      .vectorStore(Layout.pad + offset);
  for (const offset of [0, 16]) xorLength(code, Layout.pad + offset);
}

function tag(code: Code): void {
  code.constant(0);
  for (let block = 0; block < BLOCKS - 1; block++) {
    pushShifted(code, block);
    if (block > 0) code.vectorXor();
  }
  leave(code);
  code.vectorStore(Layout.tag);
}

/** Pushes a block of the state with its rows where AES has them. */
function pushShifted(code: Code, block: number): void {
  code.get(state(block));
  code.constant(0).vectorLoad(Layout.simdTables + 16 * (Slot.shiftRows + (block % 4)));
  code.relaxedSwizzle();
}

/** Takes the top of the stack out of the tower basis. */
function leave(code: Code): void {
  const [low, high] = [temporary(0), temporary(1)];
  code.set(high);
  splitNibbles(code, high, low, high);
  code
    .constant(0)
    .vectorLoad(Layout.simdTables + 16 * Slot.leaveLow)
    .get(low)
    .relaxedSwizzle();
  code
    .constant(0)
    .vectorLoad(Layout.simdTables + 16 * Slot.leaveHigh)
    .get(high)
    .relaxedSwizzle();
  code.vectorXor();
}
