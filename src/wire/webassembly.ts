/**
 * The few WebAssembly types this room needs. They are declared here because neither the ES library
 * nor Node's types have them, and locally (not as globals) so that they cannot collide with the
 * ones a consumer's DOM library brings.
 */
import { assert } from '../stdx/index.ts';

/** Bytes in one page of a memory. */
export const WASM_PAGE_SIZE = 65_536;

/** A `WebAssembly.Memory` of fixed size: page-aligned bytes that generated code can read. */
export interface WasmMemory {
  readonly buffer: ArrayBuffer;
}

/** Compiled code, opaque. */
export interface WasmModule {
  readonly wasmModule?: never;
}

interface WasmNamespace {
  readonly Memory: new (pages: {
    readonly initial: number;
    readonly maximum: number;
  }) => WasmMemory;
  readonly Module: new (bytes: Uint8Array) => WasmModule;
  readonly Instance: new <Exports>(
    module: WasmModule,
    imports: { readonly env: { readonly memory: WasmMemory } },
  ) => { readonly exports: Exports };
  validate(bytes: Uint8Array): boolean;
}

declare const WebAssembly: WasmNamespace | undefined;

/** `null` where the host has switched WebAssembly off; everything still works, slower. */
export const wasm: WasmNamespace | null = typeof WebAssembly === 'undefined' ? null : WebAssembly;

/** A zeroed memory that never grows (growing would detach every view of it). */
export function createMemory(sizeBytes: number): WasmMemory {
  assert(Number.isSafeInteger(sizeBytes) && sizeBytes > 0, 'createMemory: bad size');
  const pages = Math.ceil(sizeBytes / WASM_PAGE_SIZE);
  assert(pages <= 65_536, 'createMemory: more than 4 GiB');
  if (wasm === null) return { buffer: new ArrayBuffer(pages * WASM_PAGE_SIZE) };
  return new wasm.Memory({ initial: pages, maximum: pages });
}
