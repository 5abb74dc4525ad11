/**
 * For tests of this room: the captured vectors (an official client's bytes and the replies it
 * accepted), and a pool small enough for tests, poisoned.
 */
import { readFileSync } from 'node:fs';
import { fromHex } from '../stdx/index.ts';
import { MessagePool, type PoolOptions } from './pool.ts';

interface VectorFile {
  readonly checksums: readonly {
    readonly name: string;
    readonly input_hex: string;
    readonly checksum_hex: string;
  }[];
  readonly steps: readonly {
    readonly step: string;
    readonly messages: readonly { readonly command: string; readonly hex: string }[];
  }[];
}

const file: VectorFile = JSON.parse(
  readFileSync(new URL('../../test/fixtures/ledger-wire-vectors.json', import.meta.url), 'utf8'),
);

/** All checksum vectors of the file. */
export const checksumVectors: readonly { name: string; input: Uint8Array; mac: string }[] =
  file.checksums.map((vector) => ({
    name: vector.name,
    input: fromHex(vector.input_hex),
    mac: vector.checksum_hex,
  }));

/** All messages of all steps, in file order. */
export const messageVectors: readonly { step: string; command: string; bytes: Uint8Array }[] =
  file.steps.flatMap(({ step, messages }) =>
    messages.map(({ command, hex }) => ({ step, command, bytes: fromHex(hex) })),
  );

export const checksumKinds = ['simd', 'scalar', 'typescript'] as const;

/** A pool for tests: 8 requests of 16 KiB, 2 replies, 16 small; poisoned. */
export function testPool(options: Partial<PoolOptions> = {}): MessagePool {
  return new MessagePool({
    requestSlotSize: 16_384,
    requestSlots: 8,
    replySlots: 2,
    smallSlots: 16,
    poison: true,
    ...options,
  });
}

export function concat(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}
