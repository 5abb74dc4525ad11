/**
 * Runs a generated module: decides whether the input can be read where it lies, copies it in slices
 * otherwise, and fetches the tag. Modules are emitted and compiled once per process and kind;
 * an instance for each memory is cheap.
 */
import { assert } from '../stdx/index.ts';
import { type DigestFunction, LAYOUT_PAGES, Layout } from './aegis-layout.ts';
import { emitScalar, writeScalarTables } from './aegis-wasm-scalar.ts';
import { emitSimd, writeSimdTables } from './aegis-wasm-simd.ts';
import { AEGIS_RATE } from './aes-field.ts';
import {
  createMemory,
  WASM_PAGE_SIZE,
  type WasmMemory,
  type WasmModule,
  wasm,
} from './webassembly.ts';

export type WasmKind = 'simd' | 'scalar';

const modules: { [kind in WasmKind]: WasmModule | null | undefined } = {
  simd: undefined,
  scalar: undefined,
};

/** The compiled module of a kind, or `null` where the host does not accept it. */
function moduleOf(kind: WasmKind): WasmModule | null {
  const known = modules[kind];
  if (known !== undefined) return known;
  const bytes = kind === 'simd' ? emitSimd() : emitScalar();
  const accepted = wasm?.validate(bytes) ?? false;
  const module = accepted && wasm !== null ? new wasm.Module(bytes) : null;
  modules[kind] = module;
  return module;
}

export class WasmChecksum {
  readonly kind: WasmKind;
  readonly #memory: Uint8Array;
  readonly #run: DigestFunction;
  readonly #seed: number;

  private constructor(kind: WasmKind, memory: WasmMemory, run: DigestFunction) {
    this.kind = kind;
    this.#memory = new Uint8Array(memory.buffer);
    this.#run = run;
    this.#seed = kind === 'simd' ? Layout.simdSeed : Layout.scalarSeed;
    this.#memory.fill(0xff, Layout.masks, Layout.masks + 32);
    if (kind === 'simd') writeSimdTables(this.#memory);
    else writeScalarTables(this.#memory);
  }

  /** `null` where the host does not accept the module. */
  static create(kind: WasmKind, memory: WasmMemory | null): WasmChecksum | null {
    const module = moduleOf(kind);
    if (module === null || wasm === null) return null;
    const shared = memory ?? createMemory(LAYOUT_PAGES * WASM_PAGE_SIZE);
    assert(shared.buffer.byteLength >= LAYOUT_PAGES * WASM_PAGE_SIZE, 'WasmChecksum: memory');
    const instance = new wasm.Instance<{ digest: DigestFunction }>(module, {
      env: { memory: shared },
    });
    return new WasmChecksum(kind, shared, instance.exports.digest);
  }

  /** See `Checksum`. */
  digest(
    bytes: Uint8Array,
    offset: number,
    length: number,
    target: Uint8Array,
    targetOffset: number,
  ): void {
    assert(offset >= 0 && length >= 0 && offset + length <= bytes.length, 'digest: out of range');
    assert(targetOffset >= 0 && targetOffset + 16 <= target.length, 'digest: target out of range');
    const memory = this.#memory;
    const pointer = bytes.byteOffset + offset;
    // The last block is read as a whole and masked, so it must not reach beyond the memory.
    if (bytes.buffer === memory.buffer && pointer + length + AEGIS_RATE <= memory.length) {
      this.#run(pointer, length, this.#seed, 1, length);
    } else {
      this.#digestCopy(bytes, offset, length);
    }
    for (let i = 0; i < 16; i++) target[targetOffset + i] = memory[Layout.tag + i];
  }

  /** Slices are multiples of the rate, so only the last one has a partial block. */
  #digestCopy(bytes: Uint8Array, offset: number, length: number): void {
    let from: number = this.#seed;
    let done = 0;
    for (;;) {
      const size = Math.min(length - done, Layout.scratchSize);
      const last = done + size === length;
      const slice = bytes.subarray(offset + done, offset + done + size);
      this.#memory.set(slice, Layout.scratch);
      this.#run(Layout.scratch, size, from, last ? 1 : 0, length);
      if (last) return;
      done += size;
      from = Layout.state;
    }
  }
}
