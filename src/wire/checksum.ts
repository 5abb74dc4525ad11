/**
 * The checksum of headers and bodies: AEGIS-128L used as a MAC, as the protocol fixes it. The best
 * implementation that works here is chosen at start and proven on vectors before anything trusts
 * it.
 */
import { assert, bytesEqual, fromHex } from '../stdx/index.ts';
import { LAYOUT_PAGES } from './aegis-layout.ts';
import { digestTypescript } from './aegis-typescript.ts';
import { WasmChecksum } from './aegis-wasm.ts';
import { AEGIS_RATE } from './aes-field.ts';
import { WASM_PAGE_SIZE, type WasmMemory } from './webassembly.ts';

/** Bytes of a checksum. */
export const CHECKSUM_SIZE = 16;

export type ChecksumKind = 'simd' | 'scalar' | 'typescript';

export interface Checksum {
  readonly kind: ChecksumKind;
  /**
   * Writes the MAC of `bytes[offset, offset + length)` to `target[targetOffset, + 16)`. Works in
   * place when `bytes` lies in the memory this was created with and copies through scratch pages
   * otherwise. `target` may lie anywhere, also inside the input.
   */
  digest(
    bytes: Uint8Array,
    offset: number,
    length: number,
    target: Uint8Array,
    targetOffset: number,
  ): void;
}

export interface ChecksumOptions {
  /** Where messages live; its first `CHECKSUM_MEMORY_SIZE` bytes are given up to the checksum. */
  readonly memory?: WasmMemory;
  /** Forces one implementation; asserts that it works here. */
  readonly kind?: ChecksumKind;
}

/** Bytes at the front of a memory that tables and scratch occupy. */
export const CHECKSUM_MEMORY_SIZE: number = LAYOUT_PAGES * WASM_PAGE_SIZE;

/** Bytes after the input that may be read (and ignored); where there are fewer, it is copied. */
export const CHECKSUM_OVERREAD: number = AEGIS_RATE;

/** MAC of no bytes at all: `checksum_body` of every message without a body. */
export const CHECKSUM_EMPTY: Uint8Array = fromHex('83cc600dc4e3e7e62d4055826174f149');

/** The best implementation that works here, or the one asked for. */
export function createChecksum(options: ChecksumOptions = {}): Checksum {
  const kinds: readonly ChecksumKind[] =
    options.kind === undefined ? ['simd', 'scalar', 'typescript'] : [options.kind];
  for (const kind of kinds) {
    const checksum = createKind(kind, options.memory ?? null);
    if (checksum !== null && matchesVectors(checksum)) return checksum;
  }
  assert(false, 'createChecksum: no implementation passes its vectors');
}

function createKind(kind: ChecksumKind, memory: WasmMemory | null): Checksum | null {
  if (kind !== 'typescript') return WasmChecksum.create(kind, memory);
  return { kind, digest: digestTypescript };
}

/** Two vectors that go through every path: no input; full blocks, padding, no alignment. */
function matchesVectors(checksum: Checksum): boolean {
  const input = new Uint8Array(34).map((_, i) => (i + 255) & 0xff);
  const mac = new Uint8Array(CHECKSUM_SIZE);
  checksum.digest(input, 0, 0, mac, 0);
  if (!bytesEqual(mac, 0, CHECKSUM_EMPTY, 0, CHECKSUM_SIZE)) return false;
  checksum.digest(input, 1, 33, mac, 0);
  const expected = fromHex('205dbc4d693090b206092b05c26870c4');
  return bytesEqual(mac, 0, expected, 0, CHECKSUM_SIZE);
}
