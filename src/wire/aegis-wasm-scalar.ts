/**
 * AEGIS-128L with plain WebAssembly, for hosts without relaxed SIMD: the same four round tables as
 * the TypeScript version. The state stays in memory and only two of its blocks are in locals at a
 * time: 32 locals do not fit the registers, and spilling them cost more than this (0.67 against
 * 0.71 GB/s where the TypeScript version makes 0.44).
 */
import { type AegisParts, emitAegis, Layout, Local, xorLength } from './aegis-layout.ts';
import { aegisSeed, roundTables } from './aegis-typescript.ts';
import { type Code, ValueType } from './wasm-emit.ts';

const WORDS = 32;

/** The block that a round starts from; columns wrap around, as ShiftRows does. */
const source = (word: number): number => Local.free + (word & 3);
/** The block it is added to. */
const target = (word: number): number => Local.free + 4 + word;
/** The last block before the update. */
const last = (word: number): number => Local.free + 8 + word;
const LOCALS = 12;

/** Writes the seed and the tables into a memory. */
export function writeScalarTables(memory: Uint8Array): void {
  memory.set(new Uint8Array(aegisSeed.buffer), Layout.scalarSeed);
  memory.set(new Uint8Array(roundTables.buffer), Layout.scalarTables);
}

/** The module's bytes. */
export function emitScalar(): Uint8Array {
  const parts: AegisParts = {
    locals: [{ count: LOCALS, type: ValueType.i32 }],
    loadState,
    storeState: () => {},
    update,
    padRest,
    lengthBlock,
    tag,
  };
  return emitAegis(parts);
}

function loadState(code: Code): void {
  for (let word = 0; word < WORDS; word++) {
    code
      .constant(0)
      .get(Local.from)
      .load(4 * word);
    code.store(Layout.state + 4 * word);
  }
}

/** Pushes a word of the state. */
function pushState(code: Code, block: number, word: number): void {
  code.constant(0).load(Layout.state + 16 * block + 4 * word);
}

/** Downwards: a round's source is the next round's target, so each word is loaded once. */
function update(code: Code): void {
  for (let word = 0; word < 4; word++) {
    pushState(code, 7, word);
    code.tee(last(word)).set(target(word));
  }
  for (let block = 7; block >= 0; block--) {
    for (let word = 0; word < 4; word++) {
      if (block === 0) code.get(last(word));
      else pushState(code, block - 1, word);
      code.set(source(word));
    }
    for (let word = 0; word < 4; word++) {
      code.constant(0).get(target(word));
      for (let row = 0; row < 4; row++) lookUp(code, source(word + row), row);
      if (block % 4 === 0)
        code
          .get(Local.pointer)
          .load(4 * block + 4 * word)
          .xor();
      code.store(Layout.state + 16 * block + 4 * word);
    }
    for (let word = 0; word < 4; word++) code.get(source(word)).set(target(word));
  }
}

/** Adds what the byte in this row of a column contributes: an entry of the row's table. */
function lookUp(code: Code, column: number, row: number): void {
  code.get(column);
  // Byte number `row`, times four.
  if (row === 0) code.constant(2).shiftLeft();
  else code.constant(8 * row - 2).shiftRight();
  const table = Layout.scalarTables + 1024 * row;
  code.constant(0x3fc).and().load(table).xor();
}

function padRest(code: Code): void {
  for (let offset = 0; offset < 32; offset += 4) {
    code.constant(0).get(Local.pointer).load(offset);
    code
      .constant(Layout.masks + 32)
      .get(Local.rest)
      .sub()
      .load(offset);
    code.and().store(Layout.pad + offset);
  }
}

function lengthBlock(code: Code): void {
  for (const start of [0, 16]) {
    for (let word = 0; word < 4; word++) {
      code.constant(0);
      pushState(code, 2, word);
      code.store(Layout.pad + start + 4 * word);
    }
    xorLength(code, Layout.pad + start);
  }
}

function tag(code: Code): void {
  for (let word = 0; word < 4; word++) {
    code.constant(0);
    pushState(code, 0, word);
    for (let block = 1; block < 7; block++) {
      pushState(code, block, word);
      code.xor();
    }
    code.store(Layout.tag + 4 * word);
  }
}
