/**
 * A small assembler for WebAssembly: enough to write one function over an imported memory. The
 * checksum's fast versions are generated with it at start, so the repository holds readable source
 * instead of a binary, and no tool has to be trusted or installed.
 *
 * It is not a compiler: the caller pushes instructions in stack order and counts its own locals.
 */
import { assert } from '../stdx/index.ts';

/** Value types by their binary codes. */
export const ValueType = { i32: 0x7f, v128: 0x7b } as const;
export type ValueType = (typeof ValueType)[keyof typeof ValueType];

const Section = { type: 1, import: 2, function: 3, export: 7, code: 10 } as const;
const FUNCTION_TYPE = 0x60;
const NO_RESULT = 0x40;
const END = 0x0b;

/** The instructions of one function, in stack order. Every method returns the object itself. */
export class Code {
  readonly bytes: number[] = [];

  get(local: number): this {
    return this.#op(0x20).#unsigned(local);
  }

  set(local: number): this {
    return this.#op(0x21).#unsigned(local);
  }

  tee(local: number): this {
    return this.#op(0x22).#unsigned(local);
  }

  constant(value: number): this {
    return this.#op(0x41).#signed(value);
  }

  add(): this {
    return this.#op(0x6a);
  }

  sub(): this {
    return this.#op(0x6b);
  }

  and(): this {
    return this.#op(0x71);
  }

  xor(): this {
    return this.#op(0x73);
  }

  shiftLeft(): this {
    return this.#op(0x74);
  }

  shiftRight(): this {
    return this.#op(0x76);
  }

  /** Replaces the top of the stack by 1 if it is zero, else by 0. */
  isZero(): this {
    return this.#op(0x45);
  }

  load(offset: number): this {
    return this.#op(0x28).#unsigned(2).#unsigned(offset);
  }

  store(offset: number): this {
    return this.#op(0x36).#unsigned(2).#unsigned(offset);
  }

  vectorLoad(offset: number): this {
    return this.#simd(0x00).#unsigned(4).#unsigned(offset);
  }

  vectorStore(offset: number): this {
    return this.#simd(0x0b).#unsigned(4).#unsigned(offset);
  }

  vectorAnd(): this {
    return this.#simd(0x4e);
  }

  vectorXor(): this {
    return this.#simd(0x51);
  }

  /** Each 32-bit lane to the right; pops the distance. */
  vectorShiftRight(): this {
    return this.#simd(0xad);
  }

  /**
   * Pops indices, then a table of 16 bytes; pushes the bytes at the indices. Relaxed: zero for an
   * index of 0x80 or more, the host's choice from 16 to 0x7f.
   */
  relaxedSwizzle(): this {
    return this.#simd(0x100);
  }

  block(): this {
    return this.#op(0x02).#op(NO_RESULT);
  }

  loop(): this {
    return this.#op(0x03).#op(NO_RESULT);
  }

  if(): this {
    return this.#op(0x04).#op(NO_RESULT);
  }

  end(): this {
    return this.#op(END);
  }

  /** Leaves (a block) or repeats (a loop) the construct `depth` levels up. */
  branch(depth: number): this {
    return this.#op(0x0c).#unsigned(depth);
  }

  branchIf(depth: number): this {
    return this.#op(0x0d).#unsigned(depth);
  }

  return(): this {
    return this.#op(0x0f);
  }

  #op(byte: number): this {
    this.bytes.push(byte);
    return this;
  }

  #simd(code: number): this {
    return this.#op(0xfd).#unsigned(code);
  }

  #unsigned(value: number): this {
    pushUnsigned(this.bytes, value);
    return this;
  }

  #signed(value: number): this {
    assert((value | 0) === value, 'Code: constant is not a signed 32-bit integer');
    for (;;) {
      const byte = value & 0x7f;
      value >>= 7;
      const done = (value === 0 && (byte & 0x40) === 0) || (value === -1 && (byte & 0x40) !== 0);
      this.bytes.push(done ? byte : byte | 0x80);
      if (done) return this;
    }
  }
}

export interface FunctionSource {
  /** The name under which the module exports it. */
  readonly name: string;
  /** All parameters are i32; there is no result. They are locals 0 … parameters − 1. */
  readonly parameters: number;
  /** Groups of further locals, numbered after the parameters in this order. */
  readonly locals: readonly { readonly count: number; readonly type: ValueType }[];
  readonly code: Code;
}

/**
 * The bytes of a module that imports `env.memory` (at least `pages` pages) and exports one
 * function.
 */
export function emitModule(pages: number, source: FunctionSource): Uint8Array {
  assert(pages > 0 && pages <= 65_536, 'emitModule: bad number of pages');
  assert(source.parameters >= 0 && source.parameters < 16, 'emitModule: bad parameters');
  const parameters = new Array<number>(source.parameters).fill(ValueType.i32);
  const head: number[] = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];
  pushSection(head, Section.type, [1, FUNCTION_TYPE, parameters.length, ...parameters, 0]);
  const memory: number[] = [0x02, 0x00];
  pushUnsigned(memory, pages);
  pushSection(head, Section.import, [1, ...name('env'), ...name('memory'), ...memory]);
  pushSection(head, Section.function, [1, 0]);
  pushSection(head, Section.export, [1, ...name(source.name), 0x00, 0]);
  // The code section has one function: its locals, its instructions, an end.
  const locals: number[] = [];
  pushUnsigned(locals, source.locals.length);
  for (const group of source.locals) {
    pushUnsigned(locals, group.count);
    locals.push(group.type);
  }
  const code = source.code.bytes;
  const functionHead: number[] = [1];
  const functionSize = locals.length + code.length + 1;
  pushUnsigned(functionHead, functionSize);
  head.push(Section.code);
  pushUnsigned(head, functionHead.length + functionSize);
  head.push(...functionHead, ...locals);
  const module = new Uint8Array(head.length + code.length + 1);
  module.set(head);
  module.set(code, head.length);
  module[module.length - 1] = END;
  return module;
}

function pushSection(target: number[], id: number, content: readonly number[]): void {
  target.push(id);
  pushUnsigned(target, content.length);
  target.push(...content);
}

function name(text: string): number[] {
  assert(text.length < 128, 'emitModule: name is too long');
  return [text.length, ...Array.from(text, (letter) => letter.charCodeAt(0))];
}

function pushUnsigned(target: number[], value: number): void {
  assert(value >>> 0 === value, 'pushUnsigned: not an unsigned 32-bit integer');
  while (value >= 0x80) {
    target.push((value & 0x7f) | 0x80);
    value >>>= 7;
  }
  target.push(value);
}
