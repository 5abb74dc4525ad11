/**
 * Where the WebAssembly versions of the checksum keep things in the first two pages of the memory
 * they work on, and the control flow that both share. Only what an AES round is differs between
 * them, so each hands in its pieces of code and gets a whole function back.
 */
import { assert } from '../stdx/index.ts';
import { AEGIS_RATE, AEGIS_ROUNDS_FINAL } from './aes-field.ts';
import { Code, emitModule, type FunctionSource } from './wasm-emit.ts';

/** Addresses in the memory, bytes. */
export const Layout = {
  /** State between two slices of one input (scalar: always), in the form of whoever runs. */
  state: 64,
  /** The padded last block, then the length block. */
  pad: 192,
  tag: 224,
  /** 32 bytes of ones, 32 of zeros: masks that cut off what follows the input. */
  masks: 256,
  /** Vector version: state after the initial rounds, then its tables of 16 bytes. */
  simdSeed: 512,
  simdTables: 640,
  /** Scalar version: the same, and the four round tables. */
  scalarSeed: 2048,
  scalarTables: 4096,
  /** Input that lives elsewhere is copied here in slices. */
  scratch: 65_536,
  scratchSize: 65_536,
} as const;

/** Pages that tables and scratch occupy. */
export const LAYOUT_PAGES = 2;

/** Parameters (first five) and control locals of the function; others follow from `free` on. */
export const Local = {
  /** Address of the input; with `last` unset its length is a multiple of 32. */
  pointer: 0,
  length: 1,
  /** Address of the state to start from. */
  from: 2,
  /** 1: finish and leave the tag; 0: leave the state. */
  last: 3,
  /** Length of the whole input, bytes. */
  total: 4,
  count: 5,
  step: 6,
  phase: 7,
  /** Bytes in the last, partial block. */
  rest: 8,
  free: 9,
} as const;

export type DigestFunction = (
  pointer: number,
  length: number,
  from: number,
  last: number,
  total: number,
) => void;

/** Pieces of code that depend on how the state is held. Each leaves the stack as it was. */
export interface AegisParts {
  readonly locals: FunctionSource['locals'];
  /** State from address `from`, and whatever constants are kept in locals. */
  loadState(code: Code): void;
  storeState(code: Code): void;
  /** One update with the 32 bytes at `pointer`. */
  update(code: Code): void;
  /** The 32 bytes at `pointer`, those from `rest` on cleared, to `Layout.pad`. */
  padRest(code: Code): void;
  /** (Length in bits, 64 bits of zero) xor S2, twice, to `Layout.pad`. */
  lengthBlock(code: Code): void;
  /** The tag to `Layout.tag`. */
  tag(code: Code): void;
}

/**
 * The module with its one function `digest`. There is a single copy of the large update code: the
 * inner loop runs it over the full blocks (phase 0), the padded rest (1) and seven times over the
 * length block (2).
 */
export function emitAegis(parts: AegisParts): Uint8Array {
  const code = new Code();
  parts.loadState(code);
  code.get(Local.length).constant(5).shiftRight().set(Local.count);
  code.constant(AEGIS_RATE).set(Local.step);
  code.loop();
  emitUpdates(code, parts);
  code.get(Local.phase).isZero().if();
  emitAfterBlocks(code, parts);
  code.end();
  code.get(Local.phase).constant(1).sub().isZero().if();
  code.constant(2).set(Local.phase);
  parts.lengthBlock(code);
  code.constant(Layout.pad).set(Local.pointer);
  code.constant(AEGIS_ROUNDS_FINAL).set(Local.count);
  code.constant(0).set(Local.step);
  code.branch(1);
  code.end();
  code.end();
  parts.tag(code);
  const control = { count: Local.free - 5, type: 0x7f } as const;
  assert(parts.locals.length > 0, 'emitAegis: no locals');
  return emitModule(LAYOUT_PAGES, {
    name: 'digest',
    parameters: 5,
    locals: [control, ...parts.locals],
    code,
  });
}

/** `count` updates, moving on by `step` each time. */
function emitUpdates(code: Code, parts: AegisParts): void {
  code.get(Local.count).if().loop();
  parts.update(code);
  code.get(Local.pointer).get(Local.step).add().set(Local.pointer);
  code.get(Local.count).constant(1).sub().tee(Local.count).branchIf(0);
  code.end().end();
}

/** Phase 0 is over: return, go back for the partial block, or fall through into phase 1's end. */
function emitAfterBlocks(code: Code, parts: AegisParts): void {
  code.get(Local.last).isZero().if();
  parts.storeState(code);
  code.return().end();
  code.constant(1).set(Local.phase);
  code.get(Local.length).constant(31).and().tee(Local.rest).if();
  parts.padRest(code);
  code.constant(Layout.pad).set(Local.pointer);
  code.constant(1).set(Local.count);
  code.branch(2);
  code.end();
}

/** For `lengthBlock`: adds the input's length in bits to the 64-bit number at an address. */
export function xorLength(code: Code, address: number): void {
  code.constant(0).constant(0).load(address);
  code.get(Local.total).constant(3).shiftLeft().xor().store(address);
  code
    .constant(0)
    .constant(0)
    .load(address + 4);
  code
    .get(Local.total)
    .constant(29)
    .shiftRight()
    .xor()
    .store(address + 4);
}
